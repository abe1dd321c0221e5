"""Times and memory beside scikit-learn and other peers.

``case`` says what a case is, ``actions`` the calls that are timed, ``checks`` what equal answers
are; ``gaussian``, ``categorical``, ``text`` and ``small`` declare the cases of the five estimators,
``tables`` and ``one_by_one`` those of NaiveBayes; ``measure`` runs them,
``processes`` the one that needs processes of its own, and ``report`` writes them down.
"""
