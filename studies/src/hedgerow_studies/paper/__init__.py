"""The paper, figure by figure: every table and figure of its Section 6 and Appendix E, recomputed.

studies    what is computed: ``study`` (the contract), ``distributions``, ``synthetic``,
           ``portfolio``, ``interpretation``
running    cells, one by one, in processes, or on a cluster; kept, so that a run can be resumed
pages      what is drawn and said about it, beside the published figures
"""
