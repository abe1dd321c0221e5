"""Every exception and warning that tallybayes raises beside the built-in ones.

Each one is also a :class:`ValueError` (or a :class:`UserWarning`), so that code written for
scikit-learn catches what it used to catch.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable
from pathlib import Path

__all__ = [
    "IncompatibleTallies",
    "ModelFileError",
    "NegativeTally",
    "RuledOutWarning",
    "StaleWarning",
    "UnseenLevel",
    "listed",
    "warn_user",
]

PACKAGE = str(Path(__file__).parent)


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warns at the line that called into the package, however deep the reason lies."""
    level, frame = 1, sys._getframe(0)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def listed(names: Iterable[str], most: int = 20) -> str:
    """Names as a readable list, cut after `most`."""
    names = list(names)
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest} more" if rest > 0 else "")


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


class StaleWarning(UserWarning):
    """Something chosen on rows, such as a calibration, is older than the counts."""
