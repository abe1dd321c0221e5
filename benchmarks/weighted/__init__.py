"""What WeightedNaiveBayes promises, measured: one module a part, each with a page of its own.

``sets``, ``adult``, ``scale``, ``robust``, ``honest`` and ``degenerate`` each turn `Options` into a
page; ``bars`` says which promise is met, ``trial`` times models in turn, ``generated`` makes mixed
rows, and ``apart`` calls a function in a process of its own.
"""
