"""Text: from documents to counts of terms.

:class:`CountVectorizer` takes scikit-learn's place in a pipeline and gives the same matrix,
:class:`TermWeighting` transforms it, and :class:`TextNB` classifies documents. Names are loaded on
first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

_HOME = {
    "CountVectorizer": "tallybayes.estimators.vectorizer",
    "TermWeighting": "tallybayes.estimators.vectorizer",
    "TextNB": "tallybayes.estimators.text",
}

__all__ = ["CountVectorizer", "TermWeighting", "TextNB"]

if TYPE_CHECKING:
    from tallybayes.estimators.text import TextNB
    from tallybayes.estimators.vectorizer import CountVectorizer, TermWeighting


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'tallybayes.text' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
