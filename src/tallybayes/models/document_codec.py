"""A classifier of documents in a model file."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallybayes.errors import ModelFileError
from tallybayes.families.text import BINS
from tallybayes.models.codec import field_values, plain, restored_parameters
from tallybayes.models.documents import (
    EventName,
    FixedIdf,
    PlainDocuments,
    PlainLearner,
    Transforms,
)
from tallybayes.models.weighted_documents import DocumentModel, TextModel, spelling_of
from tallybayes.persistence import (
    NonNegative,
    Positive,
    Shape,
    Tree,
    Within,
    fit,
    joined,
    need,
)
from tallybayes.tally.saved import Labels, plain_terms, restored_terms, term_counts
from tallybayes.tally.terms import MAX_TERM_WEIGHT, MIN_TERM_WEIGHT
from tallybayes.weighted.document_learning import LearnedDocuments, Ridge
from tallybayes.weighted.documents import BinWeights, Reading
from tallybayes.weighted.ridge import DocumentFigures, Features
from tallybayes.weighted.unlabelled import Unlabelled

__all__ = ["plain_model", "restored_model"]


Array = NDArray[np.float64]

MAX_WEIGHT = 1e100
"""Weights beyond this are damage; products stay finite."""
MAX_IDF = 1e4  # logarithms of counts are far below
MAX_ORDERS = 12  # of n-grams that have bins of their own
ROOM = (1 << 24, 64)
"""Numbers that a score may have beside the file's: so many, and so many for each pair."""

Size = Annotated[int, Within(1, 2**31 - 1)]
Idf = Annotated[float, Within(0.0, MAX_IDF)]


# ---- what a file holds, arrays in their places ---------------------------------------------------
class _Options(NamedTuple):
    ngram_range: tuple[Size, Size]
    lowercase: bool
    strip_accents: Literal["ascii", "unicode"] | None
    stop_words: Literal["english"] | list[str] | None
    n_features: Size | None
    analyzer: Literal["word", "char", "char_wb", "cjk"]
    token_pattern: str = ""


class _Figures(NamedTuple):
    log_loss: float | None  # None is infinite, and of no documents not known
    accuracy: NonNegative | None
    log_loss_se: NonNegative | None
    accuracy_se: NonNegative | None
    documents: Annotated[int, Within(0, 2**53)]


@dataclass(frozen=True, eq=False, kw_only=True)
class _Documents:
    estimator: str
    parameters: dict[str, Any]
    options: dict[str, Any]
    classes: Labels
    figures: _Figures
    pruned: Annotated[float, Within(0.0, MAX_TERM_WEIGHT)] = 0.0
    terms: Any
    tally: dict[str, Any]
    extra: dict[str, Any] | None = None


class _FixedIdf(NamedTuple):
    idf: Annotated[Array, Shape(None), Within(0.0, MAX_IDF)]
    terms: Any


@dataclass(frozen=True, eq=False, kw_only=True)
class _Plain(_Documents):
    """A model that nothing is learned for."""

    event: EventName
    alpha: Annotated[float, Within(MIN_TERM_WEIGHT)]
    tf: Literal["log"] | None
    idf: bool
    length_normalize: bool
    other_idf: Idf | None
    fixed: _FixedIdf | None = None


class _Weights(NamedTuple):
    bins: Annotated[Array, Shape(None), Within(0.0, MAX_WEIGHT)]
    intercept: Annotated[Array, Shape("n_classes"), Within(-MAX_WEIGHT, MAX_WEIGHT)]


class _Ridge(NamedTuple):
    column: Annotated[NDArray[np.int32], Shape("n_terms"), Within(-1)]
    idf: Annotated[Array, Shape("n_terms"), Within(-MAX_IDF, MAX_IDF)]
    coefficients: Annotated[NDArray[np.float32], Shape(None, "n_scores")]


@dataclass(frozen=True, eq=False, kw_only=True)
class _Weighted(_Documents):
    """A model with weights, and a ridge if it has one."""

    reading: Reading
    penalty: Positive | None
    stale: bool
    learned_with: str | None = None
    weights: _Weights
    unlabelled: Unlabelled | None = None
    ridge: _Ridge | None = None


# ---- to a file -----------------------------------------------------------------------------------
def plain_model(estimator: Any) -> tuple[dict[str, Any], Tree]:
    """Header and arrays of a classifier of documents.

    Raises
    ------
    ModelFileError
        If its analyzer is a function.
    """
    model, options = estimator._held()
    parameters = estimator.get_params(deep=False)
    for analyzer in (parameters["analyzer"], options["analyzer"]):
        if callable(analyzer):
            raise ModelFileError(
                f"a model file holds no code, and the analyzer is {analyzer!r}: use an analyzer by "
                "name, such as 'word' with a token_pattern, or pickle the model"
            )
    for name in ("max_terms", "half_life"):  # without them earlier versions read the file
        if parameters[name] is None:
            del parameters[name]
    tally, buckets = model.tally, options["n_features"] is not None
    figures = model.figures._asdict().items()
    header: Tree = {
        "estimator": type(estimator).__name__,
        "parameters": plain(parameters),
        "options": {name: value for name, value in options.items() if name != "dtype"},
        "classes": tally.labels,
        "figures": {name: value if np.isfinite(value) else None for name, value in figures},
    }
    if tally.pruned > 0.0:
        header["pruned"] = tally.pruned
    names = ("documents", "start", "classes", "counts", "sums")
    arrays: Tree = {
        "terms": plain_terms(tally.terms, buckets),
        "tally": {name: getattr(tally, name) for name in names},
    }
    if isinstance(model, PlainDocuments):
        fixed, learner = model.fixed, model.learner
        header |= {"event": learner.event, "alpha": learner.alpha, **learner.transforms._asdict()}
        header["other_idf"] = None if fixed is None else fixed.other
        if fixed is not None:
            arrays["fixed"] = {"idf": fixed.idf, "terms": plain_terms(fixed.terms, buckets)}
        return header, arrays
    assert isinstance(model, DocumentModel)
    learned, ridge = model.learned, model.learned.ridge
    header |= {
        "reading": learned.reading._asdict(),
        "penalty": None if ridge is None else ridge.penalty,
        "stale": model.stale,
    }
    if model.learned_with is not None:
        header["learned_with"] = model.learned_with
    arrays["weights"] = {"bins": learned.weights.weights, "intercept": learned.weights.intercept}
    if model.unlabelled is not None:
        header["unlabelled"] = model.unlabelled._asdict()
        arrays["unlabelled"] = {"path": header["unlabelled"].pop("path")}
    if ridge is not None:
        arrays["ridge"] = field_values(ridge.features) | {"coefficients": ridge.coefficients}
    return header, arrays


# ---- and back ------------------------------------------------------------------------------------
def restored_model(estimator_type: Any, header: dict[str, Any], tree: Tree) -> tuple[Any, Any]:
    """The inverse of :func:`plain_model`: the classifier, and what was kept beside it.

    Raises
    ------
    Unfit
        Where parts do not fit each other.
    """
    given = joined(header, tree, "the header")
    kind = _Plain if {"event", "alpha"} & given.keys() else _Weighted
    k = np.size(given.get("classes", ()))
    sizes = {"n_classes": k, "n_scores": 1 if k == 2 else k}
    file: _Plain | _Weighted = fit(kind, given, "the header", sizes)
    options: _Options = fit(_Options, file.options, "options")
    low, high = options.ngram_range
    need(low <= high, "options.ngram_range ascends")
    word = "token_pattern" in file.options
    need(word == (options.analyzer == "word"), "options has a token_pattern for words")
    need(_is_pattern(options.token_pattern), "options.token_pattern has at most one group")
    terms = restored_terms(file.terms, options.n_features, "terms")
    counts = term_counts(terms, file.classes, file.tally, "tally", file.pruned)
    need(not k or counts.documents.sum() > 0.0, "tally.documents holds a document")
    lacking = np.inf if file.figures.documents else np.nan
    known = (lacking if value is None else value for value in file.figures)
    figures = DocumentFigures(*known)  # type: ignore[arg-type]
    model: TextModel
    if isinstance(file, _Plain):
        transforms = Transforms(file.tf, file.idf, file.length_normalize)
        learner = PlainLearner(file.event, file.alpha, transforms)
        summed = learner.summed is not None
        need(summed or not any(transforms), "Bernoulli takes no transform")
        need(summed == (counts.sums is not None), "tally.sums are of terms with values")
        need(transforms.fixes_idf == (file.other_idf is not None), "other_idf is of a fixed idf")
        need((file.other_idf is None) == (file.fixed is None), "other_idf is of a fixed idf")
        fixed = None
        if file.fixed is not None and file.other_idf is not None:
            terms = restored_terms(file.fixed.terms, options.n_features, "fixed.terms")
            need(len(terms) == len(file.fixed.idf), "fixed.idf has one for each term")
            fixed = FixedIdf(terms, file.fixed.idf, file.other_idf)
        model = PlainDocuments(counts, learner, fixed, figures)
    else:
        need(
            (file.penalty is None) == (file.ridge is None),
            "it has a penalty and a ridge, or neither",
        )
        ridge = None
        if file.ridge is not None and file.penalty is not None:
            column, idf, coefficients = file.ridge
            fits = len(column) == counts.n_terms and column.max(initial=-1) < len(coefficients)
            need(fits, "ridge.column names the coefficients that there are, one for each term")
            ridge = Ridge(file.penalty, Features(column, idf), coefficients)
        learned = LearnedDocuments(file.reading, BinWeights(*file.weights), ridge, figures)
        spelling = spelling_of(options.analyzer, options.n_features)
        model = DocumentModel(
            counts, spelling, learned, file.stale, file.unlabelled, file.learned_with
        )
        _need_score(model)
    estimator = restored_parameters(estimator_type, file.parameters)
    estimator._take(model, file.options)
    return estimator, file.extra


def _is_pattern(pattern: str) -> bool:
    """Whether it is a regular expression of tokens."""
    try:
        return re.compile(pattern).groups < 2
    except (re.error, OverflowError, RecursionError):
        return False


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
