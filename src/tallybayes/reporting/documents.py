"""A classifier of documents as a page evaluates it: splitting rules, terms, and their numbers.

A page has no room for a million terms. It holds the terms that change scores most for their
size; its score of a text is the model's score of the text without the other terms.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.export.form import exact
from tallybayes.models.documents import LinearScorer, PlainDocuments
from tallybayes.models.weighted_documents import DocumentModel
from tallybayes.reporting.form import exact_single, front_coded, whole
from tallybayes.tally import TermCounts
from tallybayes.tokens import MARKS, WORDS
from tallybayes.tokens.analyzer import (
    CJK_BLOCKS,
    WHITE_SPACE,
    is_word,
    makes_terms_in_python,
    marked,
)
from tallybayes.tokens.counting import Documents

__all__ = ["TextForm", "splitting_of", "text_form"]


# ---- terms and their numbers ---------------------------------------------------------------------
Array = NDArray[np.float64]
Index = NDArray[np.intp]

MAX_CHARACTERS = 1_400_000
"""Characters of the page that terms may take."""
MAX_EXACT_COUNT = 512
"""Counts whose log(1 + count) in single precision travels, for NumPy's rounding of it."""


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
    options = classifier._counter.options
    if options["n_features"] is not None:
        return "buckets"
    splitting = splitting_of(classifier._counter.vectorizer)
    if splitting is None:
        return "analyzer"
    model = classifier._fitted()
    if isinstance(model, PlainDocuments):
        numbers: _Numbers = _LinearNumbers(model)
    else:
        assert isinstance(model, DocumentModel)
        numbers = _WeightedNumbers(model, documents)
    carried = _carried(model.tally, numbers)
    at = np.flatnonzero(carried)
    content = {
        "split": splitting,
        "all": int(model.tally.n_terms),
        "terms": front_coded(model.tally.terms[at].tolist()),
        "base": exact(model.scorer.intercept),
        **_pairs(model.tally, numbers.pair, at),
        **numbers.document(at),
    }
    return TextForm(carried, content)


def _carried(tally: TermCounts, numbers: _Numbers) -> NDArray[np.bool_]:
    """The terms that change scores most for their room, as far as there is room."""
    pairs = np.diff(tally.start)
    lengths = np.strings.str_len(tally.terms)
    room = 6.0 + 0.7 * lengths + 4.0 * pairs + numbers.room()
    strength = np.zeros(tally.n_terms)
    held = np.flatnonzero(pairs)
    if len(held):
        strength[held] = np.maximum.reduceat(np.abs(numbers.pair), tally.start[held])
    worth = tally.frequency * (strength + numbers.more()) / room
    order = np.argsort(-worth, kind="stable")
    kept = np.zeros(tally.n_terms, dtype=bool)
    kept[order[np.cumsum(room[order]) <= MAX_CHARACTERS]] = True
    return kept


def _pairs(tally: TermCounts, pair: Array, at: Index) -> dict[str, Any]:
    """The values of pairs of terms and classes: each distinct value stands once."""
    sizes = np.diff(tally.start)[at]
    first = np.repeat(tally.start[at] - np.concatenate([[0], np.cumsum(sizes)[:-1]]), sizes)
    places = first + np.arange(sizes.sum())
    values, index = np.unique(pair[places], return_inverse=True)
    return {
        "pairs": whole(sizes),
        "classes": whole(tally.classes[places]),
        "value": whole(index),
        "values": exact(values),
    }


class _Numbers:
    """The numbers of a score of documents beside its pairs."""

    pair: Array

    def room(self) -> Array | float:
        """Characters that a term takes beside its name and its pairs."""
        return 0.0

    def more(self) -> Array | float:
        """How far a term moves scores beside its pairs, in nats."""
        return 0.0

    def document(self, at: Index) -> dict[str, Any]:
        """As JSON, for some terms."""
        raise NotImplementedError


class _LinearNumbers(_Numbers):
    """Of multinomial, complement and Bernoulli models."""

    def __init__(self, model: PlainDocuments) -> None:
        scorer = model.scorer
        assert isinstance(scorer, LinearScorer)
        self.scorer, self.numbers, self.pair = scorer, scorer.numbers, scorer.numbers.pair
        self.transforms, self.fixed = model.learner.summed, model._fixed_idf

    def document(self, at: Index) -> dict[str, Any]:
        numbers, idf, transforms = self.numbers, self.scorer.idf, self.transforms
        return {
            "kind": "linear",
            "each": exact(numbers.each),
            "read": exact(numbers.read),
            "row": exact(numbers.row[at]) if numbers.read.any() else None,
            "occurs": transforms is None,
            "logTf": transforms is not None and transforms.tf == "log",
            "normalize": transforms is not None and transforms.length_normalize,
            "fixed": None if self.fixed is None else exact(self.fixed[at]),
            "idf": None if idf is None else exact(idf[at]),
        }


class _WeightedNumbers(_Numbers):
    """Of the weighted model: ratios that follow from counts, and the ridge."""

    def __init__(self, model: DocumentModel, documents: Documents) -> None:
        self.model, self.scorer = model, model.scorer
        self.pair = self.scorer.pair
        scorer = self.scorer
        self.has_ridge = bool(len(scorer.u))
        tf = documents.tf * scorer.idf[documents.terms]
        row = np.repeat(np.arange(len(documents)), np.diff(documents.indptr))
        norms = np.sqrt(np.bincount(row, tf.astype(np.float64) ** 2, len(documents)))
        self._norm = float(norms[norms > 0.0].mean()) if (norms > 0.0).any() else 1.0

    def room(self) -> Array:
        of_ridge = 16.0 + 4.0 / 3.0 * 4.0 * self.scorer.u.shape[1]
        return np.where(self.scorer.column >= 0, of_ridge, 0.0)

    def more(self) -> Array:
        scorer = self.scorer
        if not self.has_ridge:
            return np.zeros(len(scorer.column))
        most = np.abs(scorer.u).max(axis=1)[np.maximum(scorer.column, 0)]
        return np.where(scorer.column >= 0, most * scorer.idf / self._norm, 0.0)

    def document(self, at: Index) -> dict[str, Any]:
        table, learned, scorer = self.model.table, self.model.learned, self.scorer
        reading = learned.reading
        bins = table.bins()[at]
        weight = np.where(bins >= 0, learned.weights.weights[bins], 0.0)
        cells, cell = np.unique(
            np.stack([weight, table.frequency[at]], axis=1), axis=0, return_inverse=True
        )
        found: dict[str, Any] = {
            "kind": "weighted",
            "cell": whole(cell.ravel()),
            "cellWeight": exact(cells[:, 0]),
            "cellRows": exact(cells[:, 1]),
            "tau": float(reading.tau),
            "share": exact(table.share(reading.share)),
            "meanLength": float(reading.mean_length),
            "power": float(reading.power),
            "tf": exact_single(np.log1p(np.arange(MAX_EXACT_COUNT), dtype=np.float32)),
            "ridge": None,
        }
        if self.has_ridge:
            column = scorer.column[at]
            there = column >= 0
            idf, index = np.unique(scorer.idf[at], return_inverse=True)
            found["ridge"] = {
                "there": whole(there),
                "idf": whole(index),
                "idfs": exact(idf),
                "u": exact_single(scorer.u[column[there]]),
            }
        return found


# ---- how a page splits documents into terms, with this Python's tables of characters -------------
PATTERNS = {WORDS: "words", MARKS: "marks"}


def splitting_of(vectorizer: Any) -> dict[str, Any] | None:
    """The rules of a CountVectorizer as JSON; None where the page has no such rules: a function, or
    another pattern.

    Parameters
    ----------
    vectorizer : CountVectorizer
    """
    unit, pattern = vectorizer.analyzer, "marks"
    if makes_terms_in_python(vectorizer) or unit not in ("word", "char", "char_wb", "cjk"):
        return None
    if unit == "word":
        if vectorizer.token_pattern not in PATTERNS:
            return None
        pattern = PATTERNS[vectorizer.token_pattern]
    accents = vectorizer.strip_accents
    return {
        "unit": unit,
        "pattern": pattern,
        "lowercase": bool(vectorizer.lowercase),
        "accents": accents,
        "stop": sorted(vectorizer.get_stop_words() or ()) if unit in ("word", "cjk") else [],
        "ngrams": [int(n) for n in vectorizer.ngram_range],
        "word": _ranges(is_word()),
        "space": _ranges((marked() & WHITE_SPACE) > 0),
        "alone": [list(block) for block in CJK_BLOCKS] if unit == "cjk" else [],
        "combining": _ranges(_combining()) if accents == "unicode" else None,
    }


def _ranges(there: NDArray[np.bool_]) -> dict[str, Any]:
    """Where runs of code points begin and end, each as the distance from the one before."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], there, [False]]).astype(np.int8)))
    return whole(np.diff(np.concatenate([[0], edges])))


@cache
def _combining() -> NDArray[np.bool_]:
    """The code points that are dropped with accents."""
    return np.array([unicodedata.combining(chr(c)) > 0 for c in range(0x110000)])
