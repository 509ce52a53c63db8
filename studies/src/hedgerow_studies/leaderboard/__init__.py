"""The leaderboard: methods (``rivals``) against each other on synthetic and real problems.

``courses``                     a course has rounds; a round is one history and a judge
``drawn_courses``, ``series_courses``, ``bikes_course``, ``portfolio_course``    what there is
``contest``                     every method in every round, cell by cell
``standings``                   ranks, paired differences, coverage
``page``                        what is written and drawn about them
"""
