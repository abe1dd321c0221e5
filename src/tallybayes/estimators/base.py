"""What all classifiers share: parameters, predictions, SQL and the report, and learning."""

from __future__ import annotations

import copy
import functools
import os
import threading
import warnings
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Self, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils._param_validation import Interval, StrOptions

from tallybayes import scoring
from tallybayes.decisions import Costs, Decided, Scores, in_set, need_coverage, scores_of
from tallybayes.errors import IncompatibleTallies, StaleWarning, listed, warn_user
from tallybayes.estimators import saving
from tallybayes.estimators.saving import SCORES
from tallybayes.families.priors import ClassPrior
from tallybayes.models.base import Model, same
from tallybayes.models.class_weights import (
    ClassWeights,
    by_class,
    changed,
    learnable,
    resolved,
    weighted,
)
from tallybayes.models.data_warnings import warn_of_light_rows
from tallybayes.persistence import digest_of
from tallybayes.progress import learning_shown
from tallybayes.readable import html_table
from tallybayes.score import Formula, Kind
from tallybayes.tables import AllBut, read_table
from tallybayes.tables.columns import values_of
from tallybayes.tally import TableTally
from tallybayes.threads import get_num_threads, new_lock
from tallybayes.validation import (
    LeftOut,
    as_numpy,
    as_rows,
    codes_of,
    label_array,
    labels_and_codes,
    labels_given,
    like,
    read_given,
    rows_of,
    unfitted,
    warn_of_other_order,
)

if TYPE_CHECKING:
    from tallybayes.estimators.costs import CostClassifier
    from tallybayes.export.javascript import JavaScript
    from tallybayes.export.tensors import ModelProto

__all__ = [
    "LIVE",
    "LOCK",
    "Classifier",
    "TallyClassifier",
    "class_prior_of",
    "draw_waterfall",
    "equal",
    "learning",
    "lock_of",
    "take_place",
    "twin_of",
]

Array = NDArray[np.float64]


# ---- the parameters of an estimator: their values, and scikit-learn's check of them --------------
# The check reads the signature of the class and tries each constraint, which takes longer than to
# count some hundred rows. Plain values cannot change, so what was accepted once is not checked
# again.
PLAIN_TYPES = frozenset((type(None), bool, int, float, str))
MAX_ACCEPTED = 64  # sets of parameters that are remembered of each class

Plain = tuple[tuple[type, ...], tuple[Any, ...]]


# ---- in notebooks: scikit-learn's diagram of the parameters, and what was learned ----------------
# scikit-learn's contract for this is two methods, which are the same in all versions from 1.6 on.
MAX_SHOWN = 10
"""Classes, and columns, that are listed."""


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


# ---- SQL: the names of the columns in a table ----------------------------------------------------
def _given(formula: Formula, names: Mapping[str, str] | Sequence[str] | None) -> dict[str, str]:
    """The table's names of the model's columns."""
    known = list(formula.kinds)
    if names is None:
        if not formula.has_names:
            raise ValueError(
                f"the model was trained on {len(known)} columns without names: give those of the "
                "table in names=, in this order"
            )
        return {}
    if isinstance(names, Mapping):
        strange = [name for name in names if name not in formula.kinds]
        if strange:
            raise ValueError(f"names= names {strange[0]!r}, which is not a column of the model")
        return dict(names)
    if isinstance(names, str) or len(names) != len(known):
        raise ValueError(
            f"names= has the names of all {len(known)} columns of the model in order, or is a "
            f"mapping of some; got {names!r}"
        )
    return dict(zip(known, names, strict=True))


# ---- the report, and the picture of an explanation -----------------------------------------------
# They are imported when they are asked for, because Matplotlib and templates are extras.
def draw_waterfall(explanation: Any, **options: Any) -> Any:
    """The waterfall of an explanation; options are those of ``from_explanation``."""
    from tallybayes.plots import WaterfallDisplay

    return WaterfallDisplay.from_explanation(explanation, **options)


def equal(a: Any, b: Any, hold_the_same: Callable[[Any, Any], bool]) -> bool:
    """Whether two estimators are of one class and the same parameters, and, if they are fitted,
    hold the same."""
    if type(a) is not type(b) or not same(a.get_params(deep=False), b.get_params(deep=False)):
        return False
    fitted: bool = a.__sklearn_is_fitted__()
    if fitted != b.__sklearn_is_fitted__():
        return False
    return not fitted or hold_the_same(a, b)


CHOOSING = frozenset({"fit", "recalibrate", "reweight", "count_from"})
"""Methods after which a model predicts otherwise though its counts may be the same."""


class Classifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """What classifiers of rows and of documents share: they are equal where they hold the same, are
    saved, decide by costs, make sets of classes, and show themselves in a notebook and on one page.
    Not for direct use."""

    _reads: ClassVar[str]

    save = saving.save
    report = saving.report
    summary = saving.summary

    def __eq__(self, other: object) -> bool:
        """Whether two models are of one class and hold the same parameters, schema and counts, and
        whatever was chosen or learned on rows beside them. Two that are not fitted are compared by
        their parameters."""
        if not isinstance(other, Classifier):
            return NotImplemented
        if self is other:
            return True
        if not same(self.__dict__.get(SCORES), other.__dict__.get(SCORES)):
            return False
        return equal(self, other, type(self)._holds_the_same)

    def _holds_the_same(self, other: Any) -> bool:
        """Whether another fitted model of the class and the parameters holds the same."""
        return bool(self._fitted().equals(other._fitted()))

    def __hash__(self) -> int:
        """Of the class alone: a model may be a key, and stays one when it learns."""
        return hash(type(self))

    def __getstate__(self) -> Any:
        state = dict(super().__getstate__())
        state.pop(LOCK, None)
        return state

    def __dir__(self) -> list[str]:
        """The attributes that can be read: a model that lost all its rows has fewer."""
        return [name for name in object.__dir__(self) if _has(self, name)]

    def _repr_html_inner(self) -> str:
        html: str = super()._repr_html_inner()
        return html + _learned(self)

    def _repr_mimebundle_(self, **more: Any) -> dict[str, str]:
        found: dict[str, str] = super()._repr_mimebundle_(**more)
        if "text/html" in found:
            found["text/html"] += _learned(self)
        return found

    # ---- decisions by cost -----------------------------------------------------------------------
    def decide(self, X: Any, costs: Any) -> Decided:
        """The decision of the least expected cost for each row.

        Decisions may be more than the classes: "ask a person" has a price like any other. So no
        threshold is chosen on data; the probabilities decide, as good as they are.

        Parameters
        ----------
        X : rows (n_rows, n_features)
            Rows to decide about.
        costs : data frame, mapping or array-like
            What each decision costs in each class: a row a class, a column a decision. A frame of
            pandas has the classes as its index, or any frame in its first column; a mapping gives
            each class a mapping of decisions to costs. Without names, an array (n_classes,
            n_classes) of actual and decided class.

        Returns
        -------
        Decided
            ``decision`` (n_rows,), of several of equal cost the first, and ``expected``
            (n_rows, n_decisions), the expected cost of each.

        Raises
        ------
        ValueError
            For a class without costs, a decision without a finite cost, or bad rows.
        """
        return Costs.read(costs, self.classes_).decide(as_numpy(self.predict_proba(X)))

    def with_costs(self, costs: Any) -> CostClassifier:
        """A classifier of this model whose ``predict`` decides by costs.

        Parameters
        ----------
        costs : data frame, mapping or array-like
            As for :meth:`decide`.

        Returns
        -------
        CostClassifier
            It holds a copy of this model, which is unchanged.

        Raises
        ------
        ValueError
            As for :meth:`decide`.
        """
        from tallybayes.estimators.costs import CostClassifier  # which few models need

        return CostClassifier(unfitted(self), costs)._holding(copy.copy(self))

    # ---- sets of classes -------------------------------------------------------------------------
    def conformalize(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        within: str | Sequence[str] = (),
        groups: ArrayLike | str | None = None,
    ) -> Self:
        """Keep the scores of learned rows, from which prediction sets are made.

        Each row is predicted by what is learned without it: a plain model by exact leave-one-out, a
        weighted one by the parts of its fit that left the row out, which are fitted again. The
        scores, at most 65,536, travel in the model file. When the counts change they are stale.

        Parameters
        ----------
        X : rows (n_rows, n_features), or source of rows
            Rows that the model has learned, all or a fair sample of them. Of a source, which
            models of tables take, at most 65,536 rows are drawn, or all where groups are given.
        y : array-like (n_rows,) or str
            Their labels, or the column of X that has them.
        sample_weight : array-like (n_rows,) or str, optional
            The weights that they were learned with, or the column of X that has them.
        within : str or sequence of str, default=()
            Columns of X that sets may be asked within, beside "class".
        groups : array-like (n_rows,) or str, optional
            Rows of a group, such as those of one patient, are left out together, or the column of X
            that has the groups. Sets then hold for rows of groups that are new.

        Returns
        -------
        self
            The estimator itself.

        Raises
        ------
        ValueError
            For bad rows, a column that X lacks, or a source that the model cannot compare; the
            estimator is then as it was before.
        """
        names = [within] if isinstance(within, str) else list(within)
        names = [name for name in names if name != "class"]
        X, y, sample_weight, groups = self._in_memory(X, y, sample_weight, groups, names)
        columns = {name: self._values_in(X, name) for name in names}
        found = self._left_out_once(X, y, sample_weight, groups)
        rows = found.rows
        self.__dict__[SCORES] = Scores.of(
            self.classes_.copy(),
            self._digest(),
            found.log_proba,
            codes_of(y[rows], self.classes_).astype(np.intp),
            found.weight,
            {name: [values[i] for i in rows.tolist()] for name, values in columns.items()},
        )
        return self

    def p_values(
        self,
        X: Any,
        *,
        within: str | None = None,
        method: Literal["scores", "full"] = "scores",
        learned: tuple[Any, Any] | None = None,
    ) -> Array:
        """How usual each row would be under each class: the share of learned rows that their own
        classes fit no better.

        Parameters
        ----------
        X : rows (n_rows, n_features)
            Rows to compare.
        within : str, optional
            Compare rows with those of the class in question ("class"), or with those that have the
            same value in a column that :meth:`conformalize` was given.
        method : {"scores", "full"}, default="scores"
            "full" counts each row under each class in turn, and leaves each learned row out of the
            counts with it; see :meth:`prediction_set`.
        learned : (X, y), optional
            All rows that the model has learned, for "full".

        Returns
        -------
        float64 array (n_rows, n_classes)
            Above 0, at most 1.

        Raises
        ------
        ValueError
            Without scores, for a column that they were not kept by, or for a model whose choices
            "full" would have to make again.
        """
        if method not in ("scores", "full"):
            raise ValueError(f"method is 'scores' or 'full', got {method!r}")
        if method == "full":
            return self._full_p_values(X, within, learned)
        if learned is not None:
            raise ValueError("learned= gives method='full' its rows: leave it out, or ask for that")
        return self._compared(self._scores_kept(within), X, within)

    def prediction_set(
        self,
        X: Any,
        coverage: float = 0.95,
        *,
        within: str | None = None,
        method: Literal["scores", "full"] = "scores",
        learned: tuple[Any, Any] | None = None,
    ) -> NDArray[np.bool_]:
        """The classes that a row may have: sets that hold the true class as often as asked.

        A class is in the set if its p-value is above 1 − coverage. An empty set says that no class
        fits the row as well as learned rows are fit by their own: it is like nothing seen, or
        between the classes.

        With ``method="scores"`` the coverage is measured, not proven: a new row is predicted by one
        row more than those it is compared with. With ``method="full"`` it is proven for rows of
        which any order is equally probable: the row is counted under each class in turn, and all
        rows are compared in these counts. That takes as many passes over the learned rows as there
        are rows and classes.

        Parameters
        ----------
        X : rows (n_rows, n_features)
            Rows to predict.
        coverage : float, default=0.95
            The share of rows whose set holds their class, between 0 and 1.
        within : str, optional
            Have that share in each class ("class"), or for each value of a column that
            :meth:`conformalize` was given. A value that no learned row had gets every class.
        method : {"scores", "full"}, default="scores"
            "full" is for models of which nothing is chosen by the counts: :class:`NaiveBayes` with
            a declared family for each column, and the classifiers of arrays.
        learned : (X, y), optional
            All rows that the model has learned, for "full", which needs no scores.

        Returns
        -------
        bool array (n_rows, n_classes)
            Whether each class is in the set, in the order of ``classes_``.

        Raises
        ------
        ValueError
            For a coverage that is not between 0 and 1, and as :meth:`p_values`.
        """
        coverage = need_coverage(coverage)
        if method != "scores" or learned is not None:
            found = self.p_values(X, within=within, method=method, learned=learned)
        else:
            scores = self._scores_kept(within)
            scores.warn_of_few(within, coverage, self.classes_)
            found = self._compared(scores, X, within)
        return in_set(found, coverage)

    def _compared(self, scores: Scores, X: Any, within: str | None) -> NDArray[np.float64]:
        """The p-values of rows, of which each class is compared with the scores that are kept."""
        values: list[Any] = []
        if within is not None and within != "class":
            values = self._values_in(X, within)
        new = scores_of(as_numpy(self._log_proba_compared(X)))
        return scores.p_values(new, self.classes_, within, values)

    def _scores_kept(self, within: str | None) -> Scores:
        """The scores that are kept, with a warning where counts have changed since."""
        classes = self.classes_
        scores: Scores | None = self.__dict__.get(SCORES)
        if scores is None:
            raise ValueError(
                f"prediction sets are made from the scores of learned rows, and this "
                f"{type(self).__name__} keeps none: call conformalize(X, y) with rows that it has "
                "learned"
            )
        if within not in (None, "class", *scores.columns):
            raise ValueError(
                f"sets are made within 'class' or a column that was named before, got {within!r}; "
                f"conformalize was given {listed(map(repr, scores.columns)) or 'no column'}: call "
                f"conformalize(X, y, within=[{within!r}])"
            )
        if len(classes) and scores.counts != self._digest():
            warn_user(
                StaleWarning(
                    "the scores of learned rows are older than the counts",
                    "call conformalize(X, y) with rows that were learned",
                ),
                StaleWarning,
            )
        return scores

    def _in_memory(
        self, X: Any, y: Any, sample_weight: Any, groups: Any, names: Sequence[str]
    ) -> tuple[Any, NDArray[Any], Any, Any]:
        """Rows with what comes with them, in memory; `names` are columns that stay."""
        if isinstance(y, str):
            raise ValueError(
                f"y={y!r} names a column, and the rows of a {type(self).__name__} have their "
                "labels beside them: give rows in memory, and y as an array"
            )
        return as_rows(X), label_array(y), sample_weight, groups

    def _values_in(self, X: Any, name: str) -> list[Any]:
        """The values of a column of rows."""
        if self._reads == "documents":
            raise ValueError(f"documents have no columns: sets are within 'class', not {name!r}")
        columns = read_table(as_numpy(X), get_num_threads(), AllBut([name])).columns
        if name not in columns:
            raise ValueError(f"within= names {name!r}, which X does not have; it has {[*columns]}")
        return values_of(columns[name])

    def _full_p_values(self, X: Any, within: str | None, learned: tuple[Any, Any] | None) -> Array:
        """The p-values of rows that are counted under each class in turn."""
        self._need_no_choice()
        if learned is None:
            raise ValueError(
                "method='full' compares with the learned rows themselves, which no model keeps: "
                "give them as learned=(X, y)"
            )
        classes, x = self.classes_, as_rows(X)
        old, y = as_rows(learned[0]), label_array(learned[1])
        own, ones = codes_of(y, classes).astype(np.intp), np.ones(len(y))
        values: list[Any] = []
        columns: dict[str, list[Any]] = {}
        if within is not None and within != "class":
            values, columns[within] = self._values_in(x, within), self._values_in(old, within)
        found = np.empty((len(self.predict_proba(x)), len(classes)))
        for i in range(len(found)):
            one = rows_of(x, np.array([i]))
            for c in range(len(classes)):
                label = classes[c : c + 1]
                more = copy.copy(self).partial_fit(one, label)
                log_proba = more._log_proba_without(old, y, None)
                kept = Scores.of(classes, "", log_proba, own, ones, columns)
                new = scores_of(more._log_proba_without(one, label, None))
                shares = kept.p_values(new, classes, within, values[i : i + 1])
                found[i, c] = shares[0, c]
        return found

    def _need_no_choice(self) -> None:
        """Raises ValueError where something that predicts is chosen by the counts, and not by the
        parameters."""
        raise ValueError(
            f"method='full' is for models of which nothing is chosen by the counts, and a "
            f"{type(self).__name__} learns more than counts: use method='scores'"
        )

    def _left_out_once(self, X: Any, y: Any, sample_weight: Any, groups: Any = None) -> LeftOut:
        """Learned rows, each predicted by what is learned without it, or without its group."""
        from tallybayes.cross_validation import leave_one_out

        found = self._left_out(X, y, sample_weight, groups)
        if found is not None:
            return found
        return LeftOut.of_all(leave_one_out(self, X, y, sample_weight, groups), sample_weight)

    def _left_out(self, X: Any, y: Any, sample_weight: Any, groups: Any = None) -> LeftOut | None:
        """Predictions of learned rows by a fit that is repeated; None where the counts without a
        row say it all, as here."""
        return None

    def _log_proba_compared(self, X: Any) -> Any:
        """log P(c | x) of rows that are compared with those left out."""
        return self.predict_log_proba(X)

    @abstractmethod
    def _digest(self) -> str:
        """Tells these counts from others."""

    @abstractmethod
    def _log_proba_without(self, X: Any, y: Any, sample_weight: Any) -> Array:
        """log P(c | x) of rows that were learned, each by the counts of all others."""

    # ---- ONNX ------------------------------------------------------------------------------------
    def to_onnx(
        self,
        *,
        names: Mapping[str, str] | Sequence[str] | None = None,
        types: Mapping[str, Kind] | None = None,
        opset: int = 18,
    ) -> ModelProto:
        """The model in ONNX, in float64, for any runtime of ai.onnx.ml 4.

        Each column is an input of shape (n, 1): strings, or float64 for numbers, booleans (1 and 0)
        and dates (days since 1970). NaN is a missing number and "" a missing string. A text is an
        input of its tokens, (n, most tokens), filled up with "": the graph makes the n-grams.
        Columns
        without names are one input ``X`` of shape (n, n_features). The outputs are ``label`` (n,)
        and ``probabilities`` (n, n_classes), in the order of ``classes_``.

        A row that :meth:`predict` refuses, because of an infinite number, a negative count or a
        level that is an error, has NaN as its probabilities; its label is "", −2⁶³, NaN or False.
        So has what ONNX does not compute exactly: see :meth:`NaiveBayes.to_sql`.

        Parameters
        ----------
        names : mapping or sequence of str, optional
            What the inputs are called, where that is not the name of the column: by the columns'
            names, or all of them in order.
        types : mapping, optional
            By column, what its input holds, where that is not what was learned: "text", "number",
            "integer", "decimal", "boolean" or "date". A column of levels is taken for text, so that
            levels that are stored as numbers need it.
        opset : int, default=18
            The version of ai.onnx.

        Returns
        -------
        ModelProto
            Of onnx: its ``SerializeToString()`` is the content of a file.

        Raises
        ------
        ImportError
            Where onnx is not installed (extra ``onnx``).
        ValueError
            For what ONNX cannot express, by name; for a name that it forbids, or an opset that
            lacks an operator.
        """
        found: ModelProto = self._written("onnx", names, kinds=types, opset=opset)
        return found

    # ---- Python and JavaScript -------------------------------------------------------------------
    def to_python(self, *, names: Mapping[str, str] | Sequence[str] | None = None) -> str:
        """The model as a module of Python that needs the standard library alone.

        It has ``predict_proba(row)``, which gives the probability of each label as a dict,
        ``predict(row)`` and ``classes``. A row is a dict of values by column name; columns without
        names are ``x0``, ``x1``, …. None, NaN and a key that is lacking are missing values. A row
        that :meth:`predict` refuses raises ValueError, and so does one with a missing value among
        more than eight columns read with their covariance. A model of documents takes a document.

        Parameters
        ----------
        names : mapping or sequence of str, optional
            What the keys of a row are, where that is not the name of the column: by the columns'
            names, or all of them in order.

        Returns
        -------
        str
            The text of the module.

        Raises
        ------
        ValueError
            For what has no such form, by name: documents whose terms are hashed or made by a
            function, groups of counts under a Dirichlet prior, densities of other packages without
            a law.
        """
        return str(self._written("python", names))

    def to_javascript(
        self, *, names: Mapping[str, str] | Sequence[str] | None = None
    ) -> JavaScript:
        """The model as a module of JavaScript, for a browser, Node or an edge worker.

        It exports ``predictProba(row)``, which gives the probabilities in the order of the exported
        ``classes``, and ``predict(row)``. A row is an object of values by column name; columns
        without names are ``x0``, ``x1``, …. null, undefined and NaN are missing values, and a date
        is a Date, a string in ISO 8601 or days since 1970. What :meth:`to_python` refuses is a
        RangeError.

        Parameters
        ----------
        names : mapping or sequence of str, optional
            What the keys of a row are, where that is not the name of the column: by the columns'
            names, or all of them in order.

        Returns
        -------
        JavaScript
            ``code``, an ES module, and ``types``, its declarations for TypeScript.

        Raises
        ------
        ValueError
            As :meth:`to_python`, for labels that are whole numbers of 2⁵³ or more, and for
            documents that are cut by a pattern that is not one of this package.
        """
        found: JavaScript = self._written("javascript", names)
        return found

    # ---- files of these forms --------------------------------------------------------------------
    def export(
        self,
        path: str | os.PathLike[str],
        *,
        names: Mapping[str, str] | Sequence[str] | None = None,
        **options: Any,
    ) -> list[str]:
        """Write the model to a file that predicts without this package, by its ending.

        ``.onnx`` is written as by :meth:`to_onnx`, ``.py`` as by :meth:`to_python`, ``.mjs`` and
        ``.js`` as by :meth:`to_javascript`, with the types beside it in ``.d.mts`` or ``.d.ts``.
        Files are replaced whole or not at all.

        Parameters
        ----------
        path : str or path
            The file to write.
        names : mapping or sequence of str, optional
            What columns are called there; see the method.
        **options
            Others of the method.

        Returns
        -------
        list of str
            The files that were written.

        Raises
        ------
        ValueError
            For another ending, and as the method.
        """
        from tallybayes.export import ENDINGS, writer
        from tallybayes.replacing import replacing

        path = os.fspath(path)
        ending = os.path.splitext(path)[1].lower()
        if ending not in ENDINGS:
            raise ValueError(
                f"the ending of a file says what is written, one of {', '.join(ENDINGS)}, got "
                f"{path!r}"
            )
        name = ENDINGS[ending]
        written = getattr(self, f"to_{name}")(names=names, **options)
        files: dict[str, bytes] = writer(name, "saved")(written, path)
        for own, content in files.items():
            with replacing(own) as file:
                file.write(content)
        return list(files)

    def _written(
        self, back_end: str, names: Mapping[str, str] | Sequence[str] | None, **options: Any
    ) -> Any:
        """The model as a back end writes it, whose columns have names without `names`, too."""
        from tallybayes.export import writer

        formula = self._formula()
        given = None if names is None else _given(formula, names)
        return writer(back_end)(formula, names=given, **options)

    def _formula(self) -> Formula:
        """What the model predicts."""
        formula: Formula = self._fitted().formula()
        return formula


# ---- learning by one thread at a time, on a copy that replaces the model at the end --------------
# So no batch is lost if several threads learn, other threads read the model as it was before or as
# it is afterwards, and a refused call changes nothing.
LOCK = "_lock"
"""The attribute that holds an estimator's lock. It is not copied, and not part of a pickle."""
LIVE = "_live"
"""The attribute that holds a score that follows rows one by one; other learning drops it."""

LONG = CHOOSING | {"partial_fit"}
"""Methods that may take so long that a progress bar is due."""

Method = TypeVar("Method", bound=Callable[..., Any])


def lock_of(estimator: Any) -> threading.RLock:
    """The lock that learning takes; made when it is first asked for."""
    held: dict[str, threading.RLock] = estimator.__dict__
    return held.get(LOCK) or new_lock(estimator, LOCK, in_place=False)


def twin_of(estimator: Any) -> Any:
    """Another estimator with the same attributes, its lock and its model the same ones."""
    twin = object.__new__(type(estimator))
    twin.__dict__.update(estimator.__dict__)
    twin.__dict__.pop(LIVE, None)
    return twin


def take_place(twin: Any, estimator: Any) -> None:
    """Gives the estimator its twin's attributes, without those that are gone.

    It is one step for signals and other threads: Python looks for both after a call, not after an
    operator, and the first call after the attributes have changed is one that drops all others.
    """
    held = estimator.__dict__
    gone = map(held.__delitem__, held.keys() - twin.__dict__.keys())
    held |= twin.__dict__
    deque(gone, maxlen=0)


def learning(method: Method) -> Method:
    """A method that learns, on a twin that takes the estimator's place when it is done.

    Methods that only read take no lock.
    """

    name = method.__name__

    @functools.wraps(method)
    def learn(self: Any, *args: Any, **kwargs: Any) -> Any:
        shown = learning_shown(f"{type(self).__name__}.{name}") if name in LONG else nullcontext()
        with lock_of(self), shown:
            twin = twin_of(self)
            method(twin, *args, **kwargs)
            if name in CHOOSING:
                twin.__dict__.pop(SCORES, None)
            take_place(twin, self)
        return self

    return cast("Method", learn)


# ---- the base of the classifiers of arrays and of tables: labels, weights, class priors, copies --
def class_prior_of(
    given: Any,
    classes: NDArray[Any],
    alpha: Any,
    uniform: bool,
    name: str,
    *,
    default: float = 0.0,
) -> ClassPrior:
    """The class prior that an estimator's parameters describe.

    Parameters
    ----------
    given : array-like (n_classes,), mapping of labels to probabilities, or None
        A prior that overrides the counts.
    classes : array (n_classes,)
    alpha : float or "auto"
        class_alpha, equation (12).
    uniform : bool
        Every class alike, whatever the counts.
    name : str
        The parameter that gives the prior.
    default : float
        What class_alpha is unless it is set; that does not contradict a given prior.

    Raises
    ------
    ValueError
        If the prior does not fit, or is requested in two ways.
    """
    n_classes = len(classes)
    if given is None and not uniform:
        return ClassPrior(alpha=None if alpha == "auto" else alpha)
    if alpha not in (0.0, default):
        other = f"{name}=" if given is not None else "fit_prior=False"
        raise ValueError(
            f"class_alpha={alpha!r} smooths a prior that is estimated from counts, but {other} "
            "says not to estimate it: give one of the two"
        )
    if given is None:
        return ClassPrior(given=np.full(n_classes, 1.0 / max(n_classes, 1)))
    if isinstance(given, Mapping):
        given = _in_order(given, classes, name)
    prior = np.array(given, dtype=np.float64)  # the user's may change
    if prior.shape != (n_classes,):
        raise ValueError(
            f"Number of priors must match number of classes. {name} has the shape {prior.shape}, "
            f"and there are {n_classes} classes: give one probability a class, in sorted order."
        )
    if not (prior >= 0.0).all():
        k = int(np.flatnonzero(~(prior >= 0.0))[0])
        raise ValueError(f"Priors must be non-negative. {name}[{k}] is {prior[k].item()!r}.")
    if not np.isclose(prior.sum(), 1.0):
        raise ValueError(
            f"The sum of the priors should be 1. {name} sums to {prior.sum().item()!r}: divide it "
            "by its sum."
        )
    return ClassPrior(given=prior)


def _in_order(given: Mapping[Any, float], classes: NDArray[Any], name: str) -> list[float]:
    """The probabilities of a prior by label, in the order of the classes."""
    labels = classes.tolist()
    if set(given) != set(labels):
        raise ValueError(
            f"{name} names the classes {sorted(map(str, given))}, the model has "
            f"{list(map(str, labels))}: give one probability to each"
        )
    return [given[label] for label in labels]


class LearnedRows(NamedTuple):
    """Rows that a model has counted.

    Parameters
    ----------
    x : rows (n_rows, n_features)
    own : index array (n_rows,)
        The class of each row.
    weights : float64 array (n_rows,), optional
        What it was counted with; None for weight 1.
    groups : index array (n_rows,), optional
        The number of its group.
    """

    x: Any
    own: NDArray[np.intp]
    weights: Array | None
    groups: NDArray[np.intp] | None


class TallyClassifier(Classifier):
    """Base class of the naive Bayes classifiers. Not for direct use."""

    _own_parameter_names: ClassVar[list[str]]
    _accepted: ClassVar[frozenset[Plain]]

    def _validate_params(self) -> None:
        values = self._parameters()
        plain, cls = (tuple(map(type, values)), values), type(self)
        if not PLAIN_TYPES.issuperset(plain[0]):
            super()._validate_params()
            return
        accepted: frozenset[Plain] = cls.__dict__.get("_accepted", frozenset())  # of this class
        if plain not in accepted:
            super()._validate_params()
            kept = accepted if len(accepted) < MAX_ACCEPTED else ()
            # replaced in one step: other threads read the old set or the new one
            cls._accepted = frozenset([*kept, plain])

    def _parameters(self) -> tuple[Any, ...]:
        cls = type(self)
        names: list[str] | None = cls.__dict__.get("_own_parameter_names")
        if names is None:
            names = cls._own_parameter_names = cls._get_param_names()
        return tuple([self.__dict__[name] for name in names])

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "class_alpha": [Interval(Real, 0, None, closed="left")],
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }
    _prior_parameter: ClassVar[str] = "class_prior"
    _default_class_alpha: ClassVar[float] = 0.0

    class_weight: dict[Any, float] | Literal["balanced"] | None
    _name: ClassVar[str]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._name = cls.__name__

    # ---- what a subclass defines -----------------------------------------------------------------
    @abstractmethod
    def _first_rows(self, x: Any) -> Any:
        """X as the kernels read it, for a model that begins with these rows."""

    @abstractmethod
    def _count_afresh(
        self,
        classes: NDArray[Any],
        x: Any,
        codes: NDArray[np.int32],
        weights: Array | None,
        groups: NDArray[np.intp] | None = None,
    ) -> Model:
        """Starts a model with rows: it counts them, and chooses what is chosen on rows, of which
        those of a group are left out together."""

    @abstractmethod
    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Counts the rows of X in place of those before."""

    @abstractmethod
    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Counts the rows of X in addition."""

    @abstractmethod
    def forget(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Takes rows away that were counted before."""

    @abstractmethod
    def _merge(self, theirs: Any, other: Any) -> Self:
        """Adds another model's counts; `other` was read before, since its lock is another."""

    def _class_prior(self, classes: NDArray[Any]) -> ClassPrior:
        given = getattr(self, self._prior_parameter)
        uniform = not getattr(self, "fit_prior", True)
        name, default = self._prior_parameter, self._default_class_alpha
        return class_prior_of(given, classes, self.class_alpha, uniform, name, default=default)

    def _declared_smoothing(self) -> float:
        """The largest alpha that is stated in rows of weight 1, 0 where none is."""
        return 0.0

    def _declared_classes(self) -> list[Any]:
        """Labels that may occur, whatever the rows hold."""
        return []

    # ---- state -----------------------------------------------------------------------------------
    def __sklearn_is_fitted__(self) -> bool:
        return "_model" in self.__dict__

    def __copy__(self) -> Self:
        """A shallow copy shares the tally; whichever changes it first takes a copy of its own."""
        twin = type(self).__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin.__dict__.pop(LOCK, None)
        if "_model" in self.__dict__:
            twin._model = self._model.sharing()
        return twin

    # ---- learning --------------------------------------------------------------------------------
    def _fit_rows(
        self, X: Any, y: Any, sample_weight: ArrayLike | None, groups: Any = None
    ) -> Self:
        """Counts the rows of X in place of those before; see `fit` of a subclass."""
        self._validate_params()
        x = self._first_rows(X)
        labels, given, together = read_given(X, y, sample_weight, groups, x.shape[0], self._name)
        classes, codes = labels_and_codes(labels)
        class_weight, weights = ClassWeights(), given
        if self.class_weight is not None:
            count = np.bincount(codes, given, len(classes)).astype(np.float64)
            class_weight = resolved(self.class_weight, classes, count, self._declared_classes())
            weights = weighted(given, class_weight, classes, codes)
        model = self._count_afresh(classes, x, codes, weights, together)
        model.class_weight = class_weight
        if weights is not None:  # they may all be 0
            model.prior.need_rows(model.tally.classes)
            if (smoothing := self._declared_smoothing()) > 0.0:
                warn_of_light_rows(model.tally.classes, smoothing, model.warned)
        return self

    def _class_weight_to_learn(self) -> ClassWeights:
        """By label, what the weights of rows that are learned now are multiplied by.

        Raises
        ------
        ValueError
            Where that is not what the rows before were counted with.
        """
        return learnable(self.class_weight, self._class_weight_held())

    def _class_weight_held(self) -> ClassWeights | None:
        """By label, what the weights of the rows that are held were multiplied by; None where there
        are no rows."""
        model = self.__dict__.get("_model")
        if model is None or not model.tally.classes.count.any():
            return None
        return model.class_weight  # type: ignore[no-any-return]

    def _learned_rows(
        self, X: Any, y: Any, sample_weight: Any, groups: Any = None, *, learning: bool = False
    ) -> LearnedRows:
        """Rows that the model has counted; `learning` as they were read then."""
        model = self._fitted()
        x, classes = self._read_rows(X, learning=learning), model.schema.classes
        labels, given, together = read_given(X, y, sample_weight, groups, x.shape[0], self._name)
        own = codes_of(labels, classes)
        weights = weighted(given, model.class_weight, classes, own)
        return LearnedRows(x, own.astype(np.intp), weights, together)

    def merge(self, other: TallyClassifier) -> Self:
        """Add the rows that another model has counted, in place.

        Classes are joined by label; columns and levels of tables by name, levels of arrays by code.
        Moments are moved to this model's origin. Hyperparameters stay this model's.

        Parameters
        ----------
        other : fitted estimator of the same class
            A model of other rows.

        Returns
        -------
        self
            The estimator itself.

        Raises
        ------
        IncompatibleTallies
            A ValueError: the two do not count or declare the same columns, or have counted with
            different class weights. Both are then as they were.
        """
        self._fitted()
        if not isinstance(other, type(self)):
            raise IncompatibleTallies(
                f"a {self._name} cannot take in a {type(other).__name__}: merge models of one kind"
            )
        return self._merge(other._fitted(), other)

    def __add__(self, other: Self) -> Self:
        """A new model of the rows of both; see :meth:`merge`."""
        if not isinstance(other, TallyClassifier):
            return NotImplemented
        return copy.copy(self).merge(other)

    def __radd__(self, other: Any) -> Self:
        """``0 + model`` is a copy of the model, so that ``sum(models)`` merges them."""
        if type(other) is not int or other != 0:
            return NotImplemented
        return copy.copy(self)

    def with_class_prior(self, p: ArrayLike | Mapping[Any, float]) -> Self:
        """The same counts under another class prior, as a new model.

        For training data whose classes were not drawn in their true proportions.

        Parameters
        ----------
        p : array-like (n_classes,) or mapping
            Probabilities that sum to 1, in the order of ``classes_`` or by label.

        Returns
        -------
        TallyClassifier
            A new model; this one is unchanged.

        Raises
        ------
        ValueError
            If p does not give one probability to each class.
        """
        model = self._fitted()
        classes = model.schema.classes
        if p is None:
            raise ValueError("with_class_prior needs the prior: one probability for each class")
        if isinstance(p, Mapping):
            p = _in_order(p, classes, "the prior")
        prior = class_prior_of(p, classes, 0.0, False, self._prior_parameter)
        twin = copy.copy(self)
        twin.set_params(**{self._prior_parameter: prior.given, "class_alpha": 0.0})
        twin._model.prior = prior
        twin._model.taken = twin._parameters()
        return twin

    def with_class_weight(
        self, class_weight: Mapping[Any, float] | Literal["balanced"] | None
    ) -> Self:
        """The same rows under other class weights, as a new model.

        A tally is scaled class by class, so that this is what fitting with these weights counts, to
        rounding. So rows that come in batches can be balanced at the end. What was chosen on rows
        is stale.

        Parameters
        ----------
        class_weight : mapping, "balanced" or None
            As the parameter; "balanced" by the rows that are counted now.

        Returns
        -------
        TallyClassifier
            A new model; this one is unchanged. Its parameter ``class_weight`` is a dict of the
            weights, with which it learns more rows.

        Raises
        ------
        ValueError
            For a weight that is not a weight, labels that are not classes, or a class that was
            counted with weight 0, whose rows are lost.
        """
        model = self._fitted()
        classes = model.schema.classes
        count = model.tally.classes.count
        change = changed(model.class_weight, class_weight, classes, count)
        twin = copy.copy(self)
        of_classes = zip(classes.tolist(), change.by_class.tolist(), strict=True)
        twin.set_params(class_weight=dict(of_classes))
        twin._model = twin._model.with_tally(model.tally.weighted(change.factor))
        twin._model.class_weight = change.weights
        return twin

    # ---- leaving out -----------------------------------------------------------------------------
    def _log_proba_without(self, X: Any, y: Any, sample_weight: ArrayLike | None) -> Array:
        """log P(c | x) of rows that were learned, each by all others; see
        :func:`tallybayes.leave_one_out`."""
        found, own, weight = self._posterior_without(X, y, sample_weight)
        return self._fitted().predicted_without(found, own, weight)

    def _posterior_without(
        self, X: Any, y: Any, sample_weight: ArrayLike | None
    ) -> tuple[Array, NDArray[np.intp], Array]:
        """The posterior of likelihood and prior alone; and the class and the weight of each row."""
        model = self._fitted()
        x, own, weights, _ = self._learned_rows(X, y, sample_weight)
        weight = np.ones(len(own)) if weights is None else weights
        return model.posterior_without(x, own, weight), own, weight

    def _digest(self) -> str:
        model = self._fitted()

        def of_counts() -> str:
            return digest_of([model.log_prior], model.tally.digest())

        return model.once("digest", of_counts)

    def _need_no_choice(self) -> None:
        """Here nothing is chosen by the counts."""

    def _expect_values_of(self, model: TallyClassifier) -> None:
        """Makes this model, from which rows were removed, answer for values that only those rows
        had and `model` still has. An array may hold any number, so there is nothing to do here."""

    def _choose_without(
        self, X: Any, y: Any, sample_weight: ArrayLike | None, groups: Any = None
    ) -> Self:
        """This model, after rows were removed: what was chosen on rows is chosen again, on these
        rows that it still counts. Here nothing is chosen on rows."""
        return self

    @abstractmethod
    def _read_rows(self, x: Any, *, learning: bool = False) -> Any:
        """X as the kernels read it; `learning` for rows to count."""

    def _fitted(self) -> Model:
        model = self.__dict__.get("_model")
        if model is None:
            raise NotFittedError(
                f"This {self._name} instance is not fitted yet. Call 'fit' or 'partial_fit' with "
                "appropriate arguments before using this estimator."
            )
        return model  # type: ignore[no-any-return]

    def _attribute(self, name: str) -> Model:
        """The model, for a fitted attribute; AttributeError before it is fitted."""
        model = self.__dict__.get("_model")
        if model is None:
            raise AttributeError(f"{self._name} has no attribute {name!r} before it is fitted")
        return model  # type: ignore[no-any-return]

    # ---- predicting ------------------------------------------------------------------------------
    def predict(self, X: Any) -> Any:
        """The most probable class of each row.

        Parameters
        ----------
        X : array-like or sparse matrix (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        array (n_rows,)
            Labels; of equally probable classes the first.

        Raises
        ------
        ValueError
            For other features than in training, or values that they do not admit.
        """
        model = self._fitted()
        best = scoring.best_class(model.score, self._read_rows(X))
        return like(X, model.tally.schema.classes[best])

    def predict_joint_log_proba(self, X: Any) -> Any:
        """log P(c) + log p(x | c), in nats.

        Parameters
        ----------
        X : array-like or sparse matrix (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        array (n_rows, n_classes)
            −inf where a class rules a row out.
        """
        model = self._fitted()
        x = self._read_rows(X)
        return like(X, self._as_output(scoring.joint_log_likelihood(model.score, x), x))

    def predict_log_proba(self, X: Any) -> Any:
        """log P(c | x), in nats.

        Parameters
        ----------
        X : array-like or sparse matrix (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        array (n_rows, n_classes)
            A row that every class rules out gets the class prior, with a RuledOutWarning.
        """
        return like(X, self._posterior(X, log=True))

    def predict_proba(self, X: Any) -> Any:
        """P(c | x).

        Parameters
        ----------
        X : array-like or sparse matrix (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        array (n_rows, n_classes)
            Rows sum to 1. A row that every class rules out gets the class prior, with a
            RuledOutWarning.
        """
        return like(X, self._posterior(X, log=False))

    def _posterior(self, X: Any, *, log: bool) -> Array:
        model = self._fitted()
        x = self._read_rows(X)
        return self._as_output(scoring.posterior(model.score, x, model.log_prior, log=log), x)

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """The share of rows whose label is predicted.

        Parameters
        ----------
        X : array-like or sparse matrix (n_rows, n_features)
            Rows to predict.
        y : array-like (n_rows,)
            Their labels.
        sample_weight : array-like (n_rows,), optional
            How much each row counts; 1 by default.

        Returns
        -------
        float
            The accuracy, by weight.

        Raises
        ------
        ValueError
            For a row without a label, as in :meth:`fit`.
        """
        warn_of_other_order(X, y, sample_weight)
        labels_given(y)
        return float(super().score(X, y, sample_weight))

    def _as_output(self, scores: Array, x: Any) -> Array:
        """Scores in the type that scikit-learn returns for these rows."""
        return scores

    # ---- fitted attributes -----------------------------------------------------------------------
    @property
    def classes_(self) -> NDArray[Any]:
        """Class labels, sorted, (n_classes,)."""
        return self._attribute("classes_").schema.classes

    @property
    def class_count_(self) -> Array:
        """Rows, or weight, of each class, float64 (n_classes,)."""
        return self._attribute("class_count_").tally.classes.count.copy()

    @property
    def class_weight_(self) -> dict[Any, float]:
        """What a row's weight was multiplied by, by label, for each class."""
        model = self._attribute("class_weight_")
        weights = by_class(model.class_weight, model.schema.classes)
        return dict(zip(model.schema.classes.tolist(), weights.tolist(), strict=True))

    @property
    def tally_(self) -> TableTally:
        """Everything that was counted. The model takes a copy before it changes it again."""
        return self._attribute("tally_").sharing().tally

    # ---- SQL -------------------------------------------------------------------------------------
    def _select(
        self,
        table: str | Sequence[str],
        dialect: str,
        names: Mapping[str, str] | Sequence[str] | None,
        types: Mapping[str, Kind] | None,
        keep: Sequence[str],
        costs: Costs | None = None,
    ) -> str:
        """One SELECT that predicts, or decides by costs."""
        from tallybayes.export import writer

        formula = self._formula()
        given = _given(formula, names)
        write = writer("sql")
        return str(write(formula, table, dialect, names=given, kinds=types, keep=keep, costs=costs))

    def to_sql(
        self,
        table: str | Sequence[str],
        dialect: str = "duckdb",
        *,
        names: Mapping[str, str] | Sequence[str] | None = None,
        types: Mapping[str, Kind] | None = None,
        keep: Sequence[str] = (),
    ) -> str:
        """One SELECT that predicts the rows of a table where they lie.

        Its result has the column ``prediction`` with the label that :meth:`predict` returns, and
        for each class a column ``p(label)`` with the probability that :meth:`predict_proba`
        returns, in the order of ``classes_``.
        (BigQuery has no such names: they are ``p0_label``, … there.) A row that :meth:`predict`
        refuses, because of an infinite number, a negative count or a level that is an error, has
        NULL in all of them. Names, levels and labels are quoted, whatever characters they hold.

        NULL has also what :meth:`predict` answers, but SQL does not compute exactly: counts above
        2²⁰, or not whole, in a column read by a formula such as ``NegativeBinomial()``; and rows
        with a missing value among more than eight columns read with their covariance.

        Parameters
        ----------
        table : str or sequence of str
            The name of the table, or schema and table. It is quoted, and so are the columns: where
            the database folds names, give them as it stores them.
        dialect : str, default="duckdb"
            Whose SQL: "duckdb", "postgres", "spark", "bigquery", "snowflake", "sqlite", "mysql",
            "clickhouse", "trino", "redshift", "databricks" or "tsql" (SQL Server).
        names : mapping or sequence of str, optional
            What the table calls the model's columns: by their names, or all of them in order. A
            model of arrays without names needs it.
        types : mapping, optional
            By column of the model, what the table's column holds, where that is not what was
            learned: "text", "number", "integer", "decimal", "boolean" or "date". A column of levels
            is taken for text (booleans where its levels are True and False), so that levels that
            are stored as numbers need it.
        keep : sequence of str, optional
            Columns of the table that the result has besides, before the others.

        Returns
        -------
        str
            A statement without a semicolon: it can stand in ``CREATE VIEW … AS`` or ``FROM (…)``.

        Raises
        ------
        ImportError
            Where sqlglot is not installed (extra ``sql``).
        ValueError
            For what SQL cannot express, by name: columns of text, columns that hold numbers and
            strings, groups of counts under a Dirichlet prior, densities of other packages; for a
            name that the dialect cannot have, or a statement that is beyond its limits.
        """
        return self._select(table, dialect, names, types, keep)
