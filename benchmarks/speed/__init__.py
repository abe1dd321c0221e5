"""Times and memory of the five classifiers beside scikit-learn's.

``case`` says what a case is, ``actions`` the calls that are timed, ``checks`` what equal answers
are; ``gaussian``, ``categorical``, ``text`` and ``small`` declare the cases; ``measure`` runs them,
``processes`` the one that needs processes of its own, and ``report`` writes them down.
"""
