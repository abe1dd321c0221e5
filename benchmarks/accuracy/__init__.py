"""How well the models classify: log-loss and accuracy by cross-validation, beside their peers.

``data`` finds the files that ``datasets.toml`` names and ``readers`` reads them; ``models`` holds
one small adapter a model; ``folds`` runs the cross-validation, ``verdict`` compares, and ``report``
writes it down. To add a model, write an adapter and name it in ``models/__init__.py``.
"""
