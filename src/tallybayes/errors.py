"""Every exception and warning that tallybayes raises beside the built-in ones.

Each one is also a :class:`ValueError` (or a :class:`UserWarning`), so that code written for
scikit-learn catches what it used to catch.
"""

from __future__ import annotations

__all__ = [
    "IncompatibleTallies",
    "ModelFileError",
    "NegativeTally",
    "RuledOutWarning",
    "UnseenLevel",
]


class IncompatibleTallies(ValueError):
    """Two tallies that do not count the same thing were combined."""


class NegativeTally(ValueError):
    """More was taken away than had been counted."""


class UnseenLevel(ValueError):
    """A level that training did not see arrived where ``unseen="error"``."""


class ModelFileError(ValueError):
    """A file is no whole and unaltered tallybayes model that this version can read."""


class RuledOutWarning(UserWarning):
    """Every class gives a row the probability 0; its posterior is the class prior."""
