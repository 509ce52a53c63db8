"""The paper, figure by figure: every table and figure of its Section 6 and Appendix E, recomputed.

``study``       the contract: cells in (``hedgerow_studies.running``), rows of a table out
``…_studies``   what is computed: distributions, synthetic problems, portfolios, one tree
``catalogue``   all of them by name
``published``   what the paper prints
``pages``       what is drawn and said about the results, beside the published figures
"""
