"""A classifier of documents as a model file holds it: plain values for the header, and arrays."""

from __future__ import annotations

import re
from typing import Any

from numpy.typing import NDArray

from tallybayes.errors import ModelFileError
from tallybayes.estimators.persistence.parameters import constructed, field_values, plain, restored
from tallybayes.estimators.persistence.tallies import labels
from tallybayes.estimators.persistence.term_arrays import (
    plain_terms,
    restored_terms,
    term_counts,
)
from tallybayes.families.text.ratios import BINS
from tallybayes.models.documents import DocumentModel, spelling_of
from tallybayes.persistence.checks import (
    Check,
    anything,
    array,
    each,
    either,
    flag,
    need,
    number,
    one_of,
    optional,
    record,
    text,
    whole,
)
from tallybayes.tally import TermCounts
from tallybayes.weighted.documents.bin_weights import BinWeights
from tallybayes.weighted.documents.choice import SHARES, Reading
from tallybayes.weighted.documents.held_out import DocumentFigures
from tallybayes.weighted.documents.learning import LearnedDocuments, Ridge
from tallybayes.weighted.documents.ridge import Features

__all__ = ["plain_text_model", "restored_text_model"]

Arrays = dict[str, NDArray[Any]]

LARGEST = 1e100
"""Weights beyond this are damage; products stay finite."""
IDF = 1e4  # logarithms of counts are far below
ORDERS = 12  # of n-grams that have bins of their own
ROOM = (1 << 24, 64)
"""Numbers that a score may have beside the file's: so many, and so many for each pair."""

OPTIONS = {
    "ngram_range": each(whole(1, 2**31 - 1), of=tuple, length=2),
    "lowercase": flag,
    "strip_accents": optional(one_of("ascii", "unicode")),
    "stop_words": optional(either(one_of("english"), each(text))),
    "n_features": optional(whole(1, 2**31 - 1)),
    "analyzer": one_of("word", "char", "char_wb", "cjk"),
}
READING = record(
    {
        "tau": number(above=0.0),
        "share": one_of(*SHARES),
        "power": number(0.0),
        "mean_length": number(above=0.0),
    }
)
FIGURES = record(
    {
        "log_loss": number(),
        "accuracy": number(0.0),
        "log_loss_se": number(0.0),
        "accuracy_se": number(0.0),
        "documents": whole(0, 2**53),
    }
)
HEADER = record(
    {
        "estimator": text,
        "parameters": anything,
        "options": anything,
        "classes": labels,
        "reading": READING,
        "figures": FIGURES,
        "penalty": optional(number(above=0.0)),
        "stale": flag,
        "extra": anything,
    },
    {"extra": None},
)


# ---- to a file -----------------------------------------------------------------------------------
def plain_text_model(
    estimator: Any, model: DocumentModel, options: dict[str, Any]
) -> tuple[dict[str, Any], Arrays]:
    """Header and arrays of a classifier of documents.

    Raises
    ------
    ModelFileError
        If its analyzer is a function.
    """
    parameters = estimator.get_params(deep=False)
    for analyzer in (parameters["analyzer"], options["analyzer"]):
        if callable(analyzer):
            raise ModelFileError(
                f"a model file holds no code, and the analyzer is {analyzer!r}: use an analyzer by "
                "name, such as 'word' with a token_pattern, or pickle the model"
            )
    tally, learned = model.tally, model.learned
    header = {
        "estimator": type(estimator).__name__,
        "parameters": plain(parameters),
        "options": {name: value for name, value in options.items() if name != "dtype"},
        "classes": tally.labels,
        "reading": learned.reading._asdict(),
        "figures": learned.figures._asdict(),
        "penalty": None,
        "stale": model.stale,
    }
    arrays: Arrays = {
        **plain_terms(tally.terms, options["n_features"] is not None),
        "tally.documents": tally.documents,
        "tally.start": tally.start,
        "tally.classes": tally.classes,
        "tally.counts": tally.counts,
        "weights.bins": learned.weights.weights,
        "weights.intercept": learned.weights.intercept,
    }
    if learned.ridge is not None:
        header["penalty"] = learned.ridge.penalty
        arrays |= {f"ridge.{k}": v for k, v in field_values(learned.ridge.features).items()}
        arrays["ridge.coefficients"] = learned.ridge.coefficients
    return header, arrays


# ---- and back ------------------------------------------------------------------------------------
class _Held:
    """The arrays of a file, each checked as it is taken; in the end none is left."""

    def __init__(self, arrays: Arrays) -> None:
        self._arrays = dict(arrays)

    def take(self, name: str, check: Check) -> NDArray[Any]:
        need(name in self._arrays, f"the file lacks {name}")
        return check(self._arrays.pop(name), name)  # type: ignore[no-any-return]

    def need_empty(self) -> None:
        for name in self._arrays:
            need(False, f"the file has {name[:100]!r}, which a model of documents does not have")


def restored_text_model(
    given: Any, arrays: Arrays, estimator_type: Any
) -> tuple[Any, DocumentModel, dict[str, Any], Any]:
    """The inverse of :func:`plain_text_model`: the estimator, its model, the options of its
    counter, and what was kept beside it.

    Raises
    ------
    Unfit
        Where parts do not fit each other.
    """
    header, held = HEADER(given, "the header"), _Held(arrays)
    options = _options(header["options"])
    tally = _tally(held, header["classes"], options["n_features"])
    ridge = _ridge(held, header["penalty"], tally)
    reading = Reading(**header["reading"])
    need(1e-9 <= reading.tau <= 1e9, "reading.tau is from 1e-9 to 1e9")
    need(reading.power <= 1.0, "reading.power is from 0 to 1")
    need(1e-3 <= reading.mean_length <= 1e15, "reading.mean_length is from 1e-3 to 1e15")
    weights = BinWeights(
        held.take("weights.bins", array("f8", -1, least=0.0, most=LARGEST)),
        held.take("weights.intercept", array("f8", tally.n_classes, least=-LARGEST, most=LARGEST)),
    )
    held.need_empty()
    figures = DocumentFigures(**header["figures"])
    learned = LearnedDocuments(reading, weights, ridge, figures)
    spelling = spelling_of(options["analyzer"], options["n_features"])
    model = DocumentModel(tally, spelling, learned, stale=header["stale"])
    _need_score(model)
    return _estimator(header["parameters"], estimator_type), model, options, header["extra"]


def _options(given: Any) -> dict[str, Any]:
    word = isinstance(given, dict) and given.get("analyzer") == "word"
    rules = {**OPTIONS, "token_pattern": text} if word else OPTIONS
    options: dict[str, Any] = record(rules)(given, "options")
    need(options["ngram_range"][0] <= options["ngram_range"][1], "options.ngram_range ascends")
    if word:
        need(
            _is_pattern(options["token_pattern"]),
            "options.token_pattern is a pattern with at most one group",
        )
    return options


def _is_pattern(pattern: str) -> bool:
    """Whether it is a regular expression of tokens."""
    try:
        return re.compile(pattern).groups < 2
    except (re.error, OverflowError, RecursionError):
        return False


def _tally(held: _Held, classes: NDArray[Any], n_features: int | None) -> TermCounts:
    names = ("terms.buckets",) if n_features is not None else ("terms.text", "terms.end")
    terms = restored_terms({name: held.take(name, anything) for name in names}, n_features)
    fields = ("documents", "start", "classes", "counts")
    arrays = {name: held.take(f"tally.{name}", anything) for name in fields}
    tally = term_counts(terms, classes, arrays, "tally")
    need(not len(classes) or tally.documents.sum() > 0.0, "tally.documents holds a document")
    return tally


def _ridge(held: _Held, penalty: float | None, tally: TermCounts) -> Ridge | None:
    if penalty is None:
        return None
    n_scores = 1 if tally.n_classes == 2 else tally.n_classes
    coefficients = held.take("ridge.coefficients", array("f4", -1, n_scores))
    most = len(coefficients) - 1
    column = held.take("ridge.column", array("i4", tally.n_terms, least=-1, most=most))
    idf = held.take("ridge.idf", array("f8", tally.n_terms, least=-IDF, most=IDF))
    return Ridge(penalty, Features(column, idf), coefficients)


def _need_score(model: DocumentModel) -> None:
    """Raises where weights are not of the bins of the terms, or a score would be far larger than
    the file."""
    table, n_bins = model.table, len(model.learned.weights.weights)
    fits = n_bins % BINS == 0 and table.n_bins <= n_bins <= BINS * ORDERS
    need(fits, "weights.bins has one for each bin")
    rows = min(table.n_terms, (int(table.row.max(initial=-1)) + 1) * (n_bins // BINS))
    free, of_a_pair = ROOM
    need(
        rows * table.n_classes <= free + of_a_pair * len(table.counts),
        "tally has about as many frequencies and classes as pairs",
    )


def _estimator(given: Any, estimator_type: Any) -> Any:
    parameters = restored(given, "parameters")
    need(isinstance(parameters, dict), "parameters is a dict")
    known = estimator_type._get_param_names()
    for name in parameters:
        need(name in known, f"parameters has {str(name)[:100]!r}, which this version lacks")
    return constructed(estimator_type, "parameters", **parameters)
