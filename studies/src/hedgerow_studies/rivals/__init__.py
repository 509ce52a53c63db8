"""Rivals: methods of other schools behind one small interface, hedgerow's own entries among them.

A method is one file of this folder: its name, which problems it can do, a grid of at most a dozen
settings, and how it learns with one of them. ``method`` has the interface and chooses settings for
everybody on the same folds; ``catalogue`` finds the files, and those of other people by their path.

``programs``              the robust programs that several share: scenarios, and what may move them
``residual_robust``       conditional mean and residuals (Kannan, Bayraksan & Luedtke 2024)
``trimming``              partial mass near a context (Esteban-Pérez & Morales 2022)
``wasserstein_affine``    affine rules in a Wasserstein ball (Mohajerin Esfahani & Kuhn 2018)
``conditional_kl``        a divergence around kernel weights (Bertsimas & Van Parys 2022)
``conformal``             the worst of a conformal box (Patel, Rayan & Tewari 2024)
``weighted_averages``     weighted sample averages (Bertsimas & Kallus 2020)
``quantiles``             linear, boosted and forest quantiles
``spo_plus``              decision-focused linear predictions (Elmachtoub & Grigas 2022)
``hedgerow_entries``      this library: defaults, search, unhedged, stopped early, a network
"""

from hedgerow_studies.rivals.catalogue import catalogue, from_file
from hedgerow_studies.rivals.method import Fitted, Method, Problem

__all__ = ["Fitted", "Method", "Problem", "catalogue", "from_file"]
