"""A classifier of documents in a model file: plain values for the header, and arrays."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.errors import ModelFileError
from tallybayes.estimators.table_files import constructed, field_values, plain, restored
from tallybayes.families.text import BINS
from tallybayes.models.documents import (
    EVENTS,
    FixedIdf,
    PlainDocuments,
    PlainLearner,
    TextModel,
    Transforms,
)
from tallybayes.models.weighted_documents import DocumentModel, spelling_of
from tallybayes.persistence import (
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
from tallybayes.tally.saved import (
    MAX_TERM_WEIGHT,
    MIN_TERM_WEIGHT,
    labels,
    plain_terms,
    restored_terms,
    term_counts,
)
from tallybayes.weighted.document_learning import LearnedDocuments, Ridge
from tallybayes.weighted.documents import SHARES, BinWeights, Reading
from tallybayes.weighted.ridge import DocumentFigures, Features
from tallybayes.weighted.unlabelled import Unlabelled

__all__ = ["plain_text_model", "restored_text_model"]


Arrays = dict[str, NDArray[Any]]

MAX_WEIGHT = 1e100
"""Weights beyond this are damage; products stay finite."""
MAX_IDF = 1e4  # logarithms of counts are far below
MAX_ORDERS = 12  # of n-grams that have bins of their own
ROOM = (1 << 24, 64)
"""Numbers that a score may have beside the file's: so many, and so many for each pair."""

OPTIONS: dict[str, Check] = {
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
        "log_loss": optional(number()),  # None is infinite
        "accuracy": number(0.0),
        "log_loss_se": optional(number(0.0)),
        "accuracy_se": number(0.0),
        "documents": whole(0, 2**53),
    }
)
UNLABELLED = record({"weight": number(0.0), "iterations": whole(1, 2**31)})
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
        "unlabelled": optional(UNLABELLED),
        "pruned": number(0.0),
        "extra": anything,
    },
    {"unlabelled": None, "pruned": 0.0, "extra": None},
)
PLAIN = record(
    {
        "estimator": text,
        "parameters": anything,
        "options": anything,
        "classes": labels,
        "event": one_of(*EVENTS),
        "alpha": number(above=0.0),
        "tf": optional(one_of("log")),
        "idf": flag,
        "length_normalize": flag,
        "other_idf": optional(number(0.0)),
        "figures": FIGURES,
        "pruned": number(0.0),
        "extra": anything,
    },
    {"pruned": 0.0, "extra": None},
)
"""The header of a model that nothing is learned for."""


# ---- to a file -----------------------------------------------------------------------------------
def plain_text_model(
    estimator: Any, model: TextModel, options: dict[str, Any]
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
    tally, buckets = model.tally, options["n_features"] is not None
    header = {
        "estimator": type(estimator).__name__,
        "parameters": plain(_without_defaults(parameters, "max_terms", "half_life")),
        "options": {name: value for name, value in options.items() if name != "dtype"},
        "classes": tally.labels,
        "figures": _plain_figures(model.figures),
    }
    if tally.pruned > 0.0:
        header["pruned"] = tally.pruned
    arrays: Arrays = {
        **plain_terms(tally.terms, buckets),
        "tally.documents": tally.documents,
        "tally.start": tally.start,
        "tally.classes": tally.classes,
        "tally.counts": tally.counts,
    }
    if tally.sums is not None:
        arrays["tally.sums"] = tally.sums
    if isinstance(model, PlainDocuments):
        return header | _plain_reading(model), arrays | _plain_idf(model.fixed, buckets)
    assert isinstance(model, DocumentModel)
    learned = model.learned
    header |= {"reading": learned.reading._asdict(), "penalty": None, "stale": model.stale}
    arrays["weights.bins"] = learned.weights.weights
    arrays["weights.intercept"] = learned.weights.intercept
    if model.unlabelled is not None:
        header["unlabelled"] = {
            "weight": model.unlabelled.weight,
            "iterations": model.unlabelled.iterations,
        }
        arrays["unlabelled.path"] = model.unlabelled.path
    if learned.ridge is not None:
        header["penalty"] = learned.ridge.penalty
        arrays |= {f"ridge.{k}": v for k, v in field_values(learned.ridge.features).items()}
        arrays["ridge.coefficients"] = learned.ridge.coefficients
    return header, arrays


def _plain_figures(figures: DocumentFigures) -> dict[str, Any]:
    held = figures._asdict()
    return {name: value if np.isfinite(value) else None for name, value in held.items()}


def _plain_reading(model: PlainDocuments) -> dict[str, Any]:
    learner = model.learner
    return {
        "event": learner.event,
        "alpha": learner.alpha,
        **learner.transforms._asdict(),
        "other_idf": None if model.fixed is None else model.fixed.other,
    }


def _plain_idf(fixed: FixedIdf | None, buckets: bool) -> Arrays:
    if fixed is None:
        return {}
    terms = plain_terms(fixed.terms, buckets)
    return {"fixed.idf": fixed.idf, **{f"fixed.{k}": v for k, v in terms.items()}}


# ---- and back ------------------------------------------------------------------------------------
class _Held:
    """The arrays of a file, each checked as it is taken; in the end all have to be taken."""

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
) -> tuple[Any, TextModel, dict[str, Any], Any]:
    """The inverse of :func:`plain_text_model`: the estimator, its model, the options of its
    counter, and what was kept beside it.

    Raises
    ------
    Unfit
        Where parts do not fit each other.
    """
    is_plain = isinstance(given, dict) and bool({"event", "alpha"} & set(given))
    header, held = (PLAIN if is_plain else HEADER)(given, "the header"), _Held(arrays)
    options = _options(header["options"])
    tally = _tally(held, header["classes"], options["n_features"], header["pruned"])
    make = _plain_model if is_plain else _weighted_model
    model = make(header, held, tally, options)
    held.need_empty()
    return _estimator(header["parameters"], estimator_type), model, options, header["extra"]


def _figures(given: dict[str, Any]) -> DocumentFigures:
    held: dict[str, Any] = {k: np.inf if v is None else v for k, v in given.items()}
    return DocumentFigures(**held)


def _plain_model(
    header: dict[str, Any], held: _Held, tally: TermCounts, options: dict[str, Any]
) -> PlainDocuments:
    """A model that nothing is learned for."""
    need(header["alpha"] >= MIN_TERM_WEIGHT, f"alpha is from {MIN_TERM_WEIGHT:g} on")
    transforms = Transforms(header["tf"], header["idf"], header["length_normalize"])
    learner = PlainLearner(header["event"], header["alpha"], transforms)
    need(learner.summed is not None or not any(transforms), "Bernoulli takes no transform")
    fixed = None
    need(transforms.fixes_idf == (header["other_idf"] is not None), "other_idf is of a fixed idf")
    if learner.summed is not None:
        sums = held.take(
            "tally.sums", array("f8", len(tally.counts), minimum=0.0, maximum=MAX_TERM_WEIGHT)
        )
        tally = replace(tally, sums=sums)
    if header["other_idf"] is not None:
        need(header["other_idf"] <= MAX_IDF, f"other_idf is at most {MAX_IDF:g}")
        terms = _terms(held, options["n_features"], "fixed.")
        idf = held.take("fixed.idf", array("f8", len(terms), minimum=0.0, maximum=MAX_IDF))
        fixed = FixedIdf(terms, idf, header["other_idf"])
    return PlainDocuments(tally, learner, fixed, _figures(header["figures"]))


def _weighted_model(
    header: dict[str, Any], held: _Held, tally: TermCounts, options: dict[str, Any]
) -> DocumentModel:
    """A model with weights, and a ridge if it has one."""
    ridge = _ridge(held, header["penalty"], tally)
    reading = Reading(**header["reading"])
    need(1e-9 <= reading.tau <= 1e9, "reading.tau is from 1e-9 to 1e9")
    need(reading.power <= 1.0, "reading.power is from 0 to 1")
    need(1e-3 <= reading.mean_length <= 1e15, "reading.mean_length is from 1e-3 to 1e15")
    weights = BinWeights(
        held.take("weights.bins", array("f8", -1, minimum=0.0, maximum=MAX_WEIGHT)),
        held.take(
            "weights.intercept",
            array("f8", tally.n_classes, minimum=-MAX_WEIGHT, maximum=MAX_WEIGHT),
        ),
    )
    learned = LearnedDocuments(reading, weights, ridge, _figures(header["figures"]))
    spelling = spelling_of(options["analyzer"], options["n_features"])
    unlabelled = header["unlabelled"]
    if unlabelled is not None:
        path = held.take("unlabelled.path", array("f8", -1, 3))
        unlabelled = Unlabelled(path=path, **unlabelled)
    model = DocumentModel(tally, spelling, learned, header["stale"], unlabelled)
    _need_score(model)
    return model


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


def _tally(held: _Held, classes: NDArray[Any], n_features: int | None, pruned: float) -> TermCounts:
    terms = _terms(held, n_features)
    fields = ("documents", "start", "classes", "counts")
    arrays = {name: held.take(f"tally.{name}", anything) for name in fields}
    tally = term_counts(terms, classes, arrays, "tally")
    need(not len(classes) or tally.documents.sum() > 0.0, "tally.documents holds a document")
    need(pruned <= MAX_TERM_WEIGHT, f"pruned is at most {MAX_TERM_WEIGHT:g}")
    return replace(tally, pruned=pruned)


def _terms(held: _Held, n_features: int | None, before: str = "") -> NDArray[Any]:
    names = ("terms.buckets",) if n_features is not None else ("terms.text", "terms.end")
    return restored_terms({name: held.take(before + name, anything) for name in names}, n_features)


def _ridge(held: _Held, penalty: float | None, tally: TermCounts) -> Ridge | None:
    if penalty is None:
        return None
    n_scores = 1 if tally.n_classes == 2 else tally.n_classes
    coefficients = held.take("ridge.coefficients", array("f4", -1, n_scores))
    most = len(coefficients) - 1
    column = held.take("ridge.column", array("i4", tally.n_terms, minimum=-1, maximum=most))
    idf = held.take("ridge.idf", array("f8", tally.n_terms, minimum=-MAX_IDF, maximum=MAX_IDF))
    return Ridge(penalty, Features(column, idf), coefficients)


def _need_score(model: DocumentModel) -> None:
    """Raises where weights are not of the bins of the terms, or a score would be far larger than
    the file."""
    table, n_bins = model.table, len(model.learned.weights.weights)
    fits = n_bins % BINS == 0 and table.n_bins <= n_bins <= BINS * MAX_ORDERS
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


def _without_defaults(parameters: dict[str, Any], *names: str) -> dict[str, Any]:
    """Parameters without those that came later, where they are None: earlier versions read the
    file."""
    return {k: given for k, given in parameters.items() if k not in names or given is not None}
