"""A classifier of documents as a page evaluates it: splitting rules, terms, and their numbers.

A page has no room for a million terms. It holds the terms that change scores most for their
size; its score of a text is the model's score of the text without the other terms.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.export.form import (
    characters,
    exact,
    front_coded,
    need_rules,
    splitting,
    sums_form,
)
from tallybayes.score import Inexpressible, TermSums
from tallybayes.tally import TermCounts
from tallybayes.tokens.counting import Documents

__all__ = ["TextForm", "text_form"]


# ---- terms and their numbers ---------------------------------------------------------------------
Array = NDArray[np.float64]

MAX_CHARACTERS = 1_400_000
"""Characters of the page that terms may take."""


@dataclass(frozen=True, eq=False)
class TextForm:
    """A classifier of documents as a page evaluates it.

    Parameters
    ----------
    carried : boolean array (n_terms,)
        The terms that the page has.
    content : dict
        The form as JSON.
    """

    carried: NDArray[np.bool_]
    content: dict[str, Any]

    def document(self) -> dict[str, Any]:
        """The form as JSON."""
        return self.content

    def kept(self, documents: Documents) -> Documents:
        """Documents without the terms that the page does not have."""
        held = self.carried[documents.terms]
        ends = np.concatenate([[0], np.cumsum(held)])
        return replace(
            documents,
            indptr=ends[documents.indptr].astype(np.int64),
            terms=documents.terms[held],
            counts=documents.counts[held],
        )


def text_form(classifier: Any, documents: Documents) -> TextForm | str:
    """The form of a :class:`tallybayes.TextNB`, or the reason why there is none.

    Parameters
    ----------
    classifier : TextNB
    documents : Documents
        Some, by which the size of a usual document is known.

    Returns
    -------
    TextForm or {"buckets", "analyzer"}
        Terms that are hashed have no names; an analyzer may be a function, or have a pattern of its
        own.
    """
    if classifier._counter.options["n_features"] is not None:
        return "buckets"
    formula = classifier._formula()
    [term] = formula.terms
    try:
        split = characters(splitting(need_rules(term)))
    except Inexpressible:
        return "analyzer"
    sums = term.sums()
    tally = classifier._fitted().tally
    carried = _carried(tally, sums, documents)
    at = np.flatnonzero(carried)
    text = {
        "split": split,
        "terms": front_coded(tally.terms[at].tolist()),
        "nClasses": tally.n_classes,
        "sums": [sums_form(one.take(at)) for one in sums],
    }
    content = {"all": int(tally.n_terms), "base": exact(formula.offset), "text": text}
    return TextForm(carried, content)


def _carried(tally: TermCounts, sums: list[TermSums], documents: Documents) -> NDArray[np.bool_]:
    """The terms that change scores most for their room, as far as there is room."""
    pairs = np.diff(tally.start)
    lengths = np.strings.str_len(tally.terms)
    room, strength = 6.0 + 0.7 * lengths + 4.0 * pairs, np.zeros(tally.n_terms)
    held = np.flatnonzero(pairs)
    for one in sums:
        if one.pair is not None and len(held):
            strength[held] = np.maximum.reduceat(np.abs(one.pair), tally.start[held])
        elif one.pair is None:  # the ridge: numbers of each term, for the length of a usual text
            of_some = one.cell >= 0
            most = np.abs(one.common).max(axis=1)[one.cell[of_some]]
            by = np.ones(tally.n_terms) if one.by is None else one.by
            strength[of_some] += most * by[of_some] / _usual_length(documents, by)
            room[of_some] += 16.0 + 4.0 / 3.0 * 4.0 * one.common.shape[1]
    order = np.argsort(-tally.frequency * strength / room, kind="stable")
    kept = np.zeros(tally.n_terms, dtype=bool)
    kept[order[np.cumsum(room[order]) <= MAX_CHARACTERS]] = True
    return kept


def _usual_length(documents: Documents, by: Array) -> float:
    """The mean root of the sum of squares of documents that have terms; 1 for none."""
    row = np.repeat(np.arange(len(documents)), np.diff(documents.indptr))
    squares = (documents.tf * by[documents.terms]).astype(np.float64) ** 2
    norms = np.sqrt(np.bincount(row, squares, len(documents)))
    return float(norms[norms > 0.0].mean()) if (norms > 0.0).any() else 1.0
