"""Why a document got its classes: what each of its terms adds to each class's score."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import import_module
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from tallybayes.models.columns.text_terms import TextTerms
from tallybayes.models.documents.contract import TextModel
from tallybayes.readable import html_table, shaded
from tallybayes.tokens.documents import in_one_string
from tallybayes.tokens.rows import Documents

__all__ = [
    "DocumentExplanation",
    "explain_document",
    "explained",
    "top_terms",
    "top_terms_of_column",
    "waterfall_of",
]

Array = NDArray[np.float64]

MAX_SHOWN_TERMS = 10


@dataclass(frozen=True, eq=False, repr=False)
class DocumentExplanation:
    """A document's score taken apart: ``base + contributions.sum(axis=0)``.

    Parameters
    ----------
    document : str
    terms : list
        The terms of the document that the model knows. The terms that matter most between the
        predicted class and the next one come first.
    contributions : float64 array (n_terms, n_classes)
        In nats.
    base : float64 array (n_classes,)
        The intercepts, in nats.
    classes : array (n_classes,)
    probabilities : float64 array (n_classes,)
    """

    document: str
    terms: list[Any]
    contributions: Array
    base: Array
    classes: NDArray[Any]
    probabilities: Array

    @property
    def label(self) -> Any:
        """The most probable class."""
        return self.classes.tolist()[self._best]

    @property
    def _best(self) -> int:
        return int((self.base + self.contributions.sum(axis=0)).argmax())

    @property
    def for_label(self) -> Array:
        """What each term adds to the score of the most probable class against the next one, in
        nats, float64 (n_terms,)."""
        return _against_next(self.base + self.contributions.sum(axis=0), self.contributions)

    def places(self, term: str) -> list[tuple[int, int]]:
        """Where a term stands in the document, by (begin, end)."""
        tokens = map(re.escape, term.split(" ")) if " " in term else [re.escape(term)]
        found = re.finditer(r"\s*".join(tokens), self.document, re.IGNORECASE)
        return [m.span() for m in found if _is_whole(self.document, term, *m.span())]

    def spans(self) -> list[tuple[int, int, float]]:
        """Where terms stand in the document, by (begin, end), and what each adds for the label, in
        nats, in the order of the document; a term that stands more than once is at each place."""
        return self.spans_of(self.for_label)

    def spans_of(self, nats: Array) -> list[tuple[int, int, float]]:
        """Where terms stand in the document, by (begin, end), each with its number of some.

        Parameters
        ----------
        nats : float64 array (n_terms,)
        """
        pairs = zip(self.terms, nats.tolist(), strict=True)
        return sorted(
            (*place, value)
            for term, value in pairs
            if isinstance(term, str)
            for place in self.places(term)
        )

    def plot(self, ax: Any = None, **options: Any) -> Any:
        """A waterfall: what each term adds, from the intercept to the total.

        It needs the extra ``plots``.

        Parameters
        ----------
        ax : axes, optional
            Where to draw; new axes unless given.
        **options
            ``label``, ``against`` and ``max_display`` of ``WaterfallDisplay.from_explanation``.

        Returns
        -------
        tallybayes.plots.WaterfallDisplay
            Drawn.
        """
        return waterfall_of(self, ax=ax, **options)

    def _repr_html_(self) -> str:
        """The document with its terms shaded, and the terms as a table."""
        label, proba = self.label, self.probabilities[self._best]
        values = self.for_label.tolist()
        lines = [(term, f"{value:+.3f}") for term, value in zip(self.terms, values, strict=True)]
        hidden = len(lines) - MAX_SHOWN_TERMS
        more = f"… and {hidden:,} more terms" if hidden > 0 else ""
        table = html_table(["term", "nats"], lines[:MAX_SHOWN_TERMS], more)
        head = html_table([label, f"{100.0 * proba:.1f} %"], [])
        return head + shaded(self.document, self.spans()) + table

    def __str__(self) -> str:
        lines = [f"{self.label}: {100.0 * self.probabilities[self._best]:.1f} %"]
        values = self.for_label.tolist()
        shown = zip(self.terms[:MAX_SHOWN_TERMS], values[:MAX_SHOWN_TERMS], strict=True)
        lines += [f"{value:+8.3f}  {term}" for term, value in shown]
        if len(self.terms) > MAX_SHOWN_TERMS:
            rest = values[MAX_SHOWN_TERMS:]
            lines.append(f"{sum(rest):+8.3f}  {len(rest)} more terms")
        return "\n".join(lines)

    __repr__ = __str__


def waterfall_of(explanation: Any, **options: Any) -> Any:
    """The waterfall of an explanation. Displays lie above, and are found by name."""
    display = import_module("tallybayes.plots").WaterfallDisplay
    return display.from_explanation(explanation, **options)


def _is_whole(document: str, term: str, begin: int, end: int) -> bool:
    """Whether a match does not begin or end within a longer word of letters and digits."""
    before, after = document[begin - 1 : begin], document[end : end + 1]
    cut_before = term[:1].isalnum() and before.isalnum() and before.isascii()
    return not cut_before and not (term[-1:].isalnum() and after.isalnum() and after.isascii())


def _against_next(scores: Array, contributions: Array) -> Array:
    if len(scores) < 2:
        return np.zeros(len(contributions))
    order = np.argsort(-scores, kind="stable")
    found: Array = contributions[:, order[0]] - contributions[:, order[1]]
    return found


def explain_document(model: TextModel, rows: Documents, document: Any) -> DocumentExplanation:
    """Takes the score of a single document apart.

    Parameters
    ----------
    model : TextModel
    rows : Documents
        The document as a row of the model's terms.
    document : str, bytes or list of tokens
    """
    contributions = model.scorer.contributions(rows)
    base = model.scorer.intercept
    terms = model.tally.terms[rows.terms].tolist()
    proba = np.exp(log_softmax(base + contributions.sum(axis=0)))
    shown = in_one_string(document)
    return explained(shown, terms, contributions, base, model.tally.labels, proba)


def explained(
    document: str,
    terms: list[Any],
    contributions: Array,
    base: Array,
    classes: NDArray[Any],
    probabilities: Array,
) -> DocumentExplanation:
    """An explanation with its terms in order; parameters are those of
    :class:`DocumentExplanation`."""
    with np.errstate(invalid="ignore"):  # classes that are ruled out
        effect = np.abs(_against_next(base + contributions.sum(axis=0), contributions))
    order = np.argsort(-effect, kind="stable")
    return DocumentExplanation(
        document,
        [terms[i] for i in order.tolist()],
        contributions[order],
        base,
        classes,
        probabilities,
    )


def top_terms(model: TextModel, label: Any, n: int) -> list[tuple[Any, float]]:
    """The terms that add most to a class against all others, of one occurrence in a document of
    mean length, without the ridge.

    Parameters
    ----------
    model : TextModel
    label : label
    n : int

    Raises
    ------
    ValueError
        For a label that is not a class of the model.
    """
    place = _place(model.tally.labels, label)
    return _best(model.tally.terms.tolist(), model.of_one_occurrence(place), n)


def top_terms_of_column(
    text_terms: dict[str, TextTerms], column: str, classes: NDArray[Any], label: Any, n: int
) -> list[tuple[Any, float]]:
    """The terms of a column that add most to a class against all others, of one occurrence in a
    text of this one term.

    Parameters
    ----------
    text_terms : dict of str to TextTerms
    column : str
    classes : array (n_classes,)
    label : label
    n : int

    Raises
    ------
    ValueError
        For a column that is not read as text, or a label that is not a class of the model.
    """
    if column not in text_terms:
        there = f"the columns of text are {sorted(text_terms)}" if text_terms else "no column is"
        raise ValueError(f"{column!r} is not read as text; {there}")
    terms, contributions = text_terms[column].of_one_occurrence()
    return _best(terms, contributions[:, _place(classes, label)], n)


def _place(classes: NDArray[Any], label: Any) -> int:
    found = np.flatnonzero(classes == label)
    if not found.size:
        raise ValueError(f"{label!r} is not a class of the model: name one of {classes.tolist()}")
    return int(found[0])


def _best(terms: list[Any], value: Array, n: int) -> list[tuple[Any, float]]:
    if not isinstance(n, Integral) or n < 0:
        raise ValueError(f"n is how many terms, a whole number from 0 on, got {n!r}")
    best = np.argsort(-value, kind="stable")[: int(n)].tolist()
    return [(terms[i], float(value[i])) for i in best]
