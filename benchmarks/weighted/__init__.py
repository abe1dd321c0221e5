"""What WeightedNaiveBayes promises, measured: one module a part, each with a page of its own.

``sets``, ``more``, ``compared``, ``adult``, ``scale``, ``robust``, ``permuted``, ``honest``,
``reported``, ``degenerate``, ``peers`` and ``draws`` each turn `Options` into a page; ``bars`` says
which promise is met, ``trial`` times models in turn, ``cases`` are tables with a limit of time,
``generated`` makes mixed rows, and ``apart`` calls a function in a process of its own.
"""
