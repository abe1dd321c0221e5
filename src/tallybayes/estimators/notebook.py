"""Fitted classifiers in notebooks: scikit-learn's diagram of the parameters, and what was learned.

scikit-learn's contract for this is two methods, which are the same in all versions from 1.6 on.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError

from tallybayes.readable import html_table

__all__ = ["ShownInNotebooks"]

MAX_SHOWN = 10
"""Classes, and columns, that are listed."""


class ShownInNotebooks:
    """Base of classifiers that show in a notebook what they have learned. Not for direct use."""

    def __dir__(self) -> list[str]:
        """The attributes that can be read: a model that lost all its rows has fewer."""
        return [name for name in object.__dir__(self) if _has(self, name)]

    def _repr_html_inner(self) -> str:
        html: str = super()._repr_html_inner()  # type: ignore[misc]
        return html + _learned(self)

    def _repr_mimebundle_(self, **more: Any) -> dict[str, str]:
        found: dict[str, str] = super()._repr_mimebundle_(**more)  # type: ignore[misc]
        if "text/html" in found:
            found["text/html"] += _learned(self)
        return found


def _has(model: Any, name: str) -> bool:
    try:
        getattr(model, name)
    except (AttributeError, ValueError):
        return False
    return True


def _learned(model: Any) -> str:
    """What a fitted model holds, as HTML; nothing for one that is not fitted."""
    try:
        held = model._fitted()
    except (NotFittedError, ValueError):  # a ValueError of one that lost all its documents
        return ""
    if not len(model.classes_):  # or all its rows
        return ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        head, columns = _columns(model, held)
        classes = _classes(model)
    return f"<details open><summary>What was learned: {head}</summary>{classes}{columns}</details>"


def _classes(model: Any) -> str:
    """The classes with their rows, the largest first."""
    counted = model.class_count_ if hasattr(model, "class_count_") else model.tally_.documents
    rows = np.asarray(counted, dtype=np.float64)
    order = np.argsort(-rows, kind="stable")[:MAX_SHOWN].tolist()
    labels, total = np.asarray(model.classes_).tolist(), max(float(rows.sum()), 1e-300)
    lines = [(labels[k], f"{rows[k]:,.10g}", f"{100.0 * rows[k] / total:.1f} %") for k in order]
    return html_table(["class", "rows", "share"], lines, _more(len(rows), "classes"))


def _columns(model: Any, held: Any) -> tuple[str, str]:
    """How many classes and columns there are, and the columns."""
    n = len(model.classes_)
    head = f"{n} class{'es' if n != 1 else ''}"
    if hasattr(model, "tally_") and hasattr(model.tally_, "n_terms"):
        return f"{head}, {model.tally_.n_terms:,} terms", ""
    if not hasattr(held, "columns_read"):
        return f"{head}, {model.n_features_in_:,} columns", ""
    read = held.columns_read
    table = html_table(
        ["column", "holds", "family"],
        [(r.name, r.holds, r.family) for r in read[:MAX_SHOWN]],
        _more(len(read), "columns"),
    )
    details = f"<details><summary>Columns</summary>{table}</details>"
    return f"{head}, {len(read):,} column{'s' if len(read) != 1 else ''}", details


def _more(n: int, what: str) -> str:
    return f"… and {n - MAX_SHOWN:,} more {what}" if n > MAX_SHOWN else ""
