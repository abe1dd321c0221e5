"""Naive Bayes for a table: numbers, categories, yes/no and gaps in one model."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Tags
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_feature_names, _check_n_features

from tallybayes.engines.table import collect_table
from tallybayes.engines.table_score import TableScore
from tallybayes.errors import IncompatibleTallies, UnseenLevel
from tallybayes.estimators.base import TallyClassifier
from tallybayes.estimators.explanation import Explanation
from tallybayes.estimators.frames import frame
from tallybayes.estimators.labels import labels_and_codes, read_labels
from tallybayes.estimators.model import Model
from tallybayes.estimators.one_row import counted_rows, row_counter, row_scorer
from tallybayes.estimators.rows import read_weights
from tallybayes.estimators.table_reading import (
    NUMBER_FAMILIES,
    TEXT_FAMILIES,
    ColumnReading,
    read_columns,
)
from tallybayes.parameters import Unseen
from tallybayes.schema import Columns, Schema
from tallybayes.scoring import warn_ruled_out
from tallybayes.tables import Empty, Numbers, Table, Texts, read_table
from tallybayes.tables.columns import texts_of
from tallybayes.tally import TableTally

__all__ = ["NaiveBayes"]

Array = NDArray[np.float64]


class TableModel(Model):
    """The state of a :class:`NaiveBayes`: a tally by column names, and how it is read."""

    names: list[str]
    reading: dict[str, Any]

    def with_tally(self, tally: TableTally) -> TableModel:
        twin = TableModel(tally, self.family, self.prior, self.dtype, self.whose)
        twin.names, twin.reading = self.names, self.reading
        return twin

    @property
    def columns_read(self) -> list[ColumnReading]:
        """Each column's family and parameters."""
        return self.once("columns", self._read_columns)  # type: ignore[no-any-return]

    def _read_columns(self) -> list[ColumnReading]:
        classes = np.exp(self.log_prior) * max(float(self.tally.classes.count.sum()), 1.0)
        return read_columns(self.tally, self.names, classes=classes, **self.reading)

    @property
    def score(self) -> TableScore:
        return self.once(  # type: ignore[no-any-return]
            "score",
            lambda: TableScore(
                [r.part for r in self.columns_read if r.part is not None], self.log_prior
            ),
        )


class NaiveBayes(TallyClassifier):
    """Naive Bayes for a table, straight from the data frame.

    Texts, categories and booleans are levels; numbers and dates are counted as moments and on a
    grid of their own bits, and their family (Gaussian, bins or a smoothed density) is chosen when
    the tally is read, by leave-one-out. Gaps are left out of the product. The model is the same in
    whatever order and batches the rows come.

    Parameters
    ----------
    columns : "auto" or mapping, default="auto"
        Families by column name, for example ``{"age": Gaussian(), "job": Categorical(), "id":
        None}``; None leaves a column out. Columns not named are decided for. See
        :mod:`tallybayes.families`.
    classes : array-like, optional
        Classes that may occur; others may still come.
    alpha : float, default=1.0
        Smoothing of level counts, in rows.
    class_alpha : float, default=1.0
        Smoothing of the class prior: (count + class_alpha) / (m + K·class_alpha).
    class_prior : array-like (n_classes,), optional
        A class prior that no count changes; it sums to 1. Needs ``class_alpha=0``.
    missing : {"ignore", "level"}, default="ignore"
        Gaps are left out of the product, or are evidence themselves.
    unseen : {"smooth", "ignore", "error"}, default="smooth"
        What predicting does with a level that training did not have: give it the probability
        α / (n_cj + α·N_j), leave the column out of the product, or raise.

    Attributes
    ----------
    classes_, class_count_ : arrays (n_classes,)
    schema_ : frame
        What was decided about each column, and why.
    n_features_in_ : int
    feature_names_in_ : array of str (n_features,)
        Where X had names.
    tally_ : TableTally

    Examples
    --------
    >>> from tallybayes import NaiveBayes
    >>> rows = [
    ...     {"outlook": "sunny", "humidity": 85},
    ...     {"outlook": "rain", "humidity": 70},
    ...     {"outlook": "overcast", "humidity": None},
    ... ]
    >>> model = NaiveBayes().fit(rows, ["no", "yes", "yes"])
    >>> model.predict([{"outlook": "overcast"}]).tolist()
    ['yes']
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **TallyClassifier._parameter_constraints,
        "columns": [StrOptions({"auto"}), dict],
        "classes": ["array-like", None],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "class_prior": ["array-like", None],
        "missing": [StrOptions({"ignore", "level"})],
        "unseen": [StrOptions({"smooth", "ignore", "error"})],
    }

    def __init__(
        self,
        columns: Any = "auto",
        *,
        classes: ArrayLike | None = None,
        alpha: float = 1.0,
        class_alpha: float = 1.0,
        class_prior: ArrayLike | None = None,
        missing: Literal["ignore", "level"] = "ignore",
        unseen: Unseen = "smooth",
    ) -> None:
        self.columns = columns
        self.classes = classes
        self.alpha = alpha
        self.class_alpha = class_alpha
        self.class_prior = class_prior
        self.missing = missing
        self.unseen = unseen

    # ---- reading rows ----------------------------------------------------------------------------
    def _declared(self, names: list[str]) -> dict[str, Any]:
        """Families by column name; raises ValueError for a column or family that cannot be."""
        if isinstance(self.columns, str):
            return {}
        known = set(names)
        declared = {}
        for name, family in self.columns.items():
            if str(name) not in known:
                raise ValueError(
                    f"columns= names {name!r}, which X does not have; its columns are {names}"
                )
            if family is not None and not isinstance(family, TEXT_FAMILIES + NUMBER_FAMILIES):
                raise ValueError(
                    f"columns[{name!r}] is {family!r}: give a family from tallybayes.families, or "
                    "None to leave the column out"
                )
            declared[str(name)] = family
        return declared

    def _read_rows(self, x: Any, *, first: bool = False, learning: bool = False) -> Any:
        table = read_table(x)
        for size, what in ((table.n_rows, "sample"), (len(table.columns), "feature")):
            if not size:
                raise ValueError(
                    f"Found array with 0 {what}(s) (shape={table.shape}) while a minimum of 1 is "
                    "required by NaiveBayes."
                )
        if first:
            _check_feature_names(
                self, x if table.named and hasattr(x, "columns") else None, reset=True
            )
            self.n_features_in_ = len(table.columns)
            return self._coerced(table, {}, self._declared(list(table.columns)))
        model = self._fitted()
        assert isinstance(model, TableModel)
        if not table.named:
            _check_n_features(self, np.empty((1, len(table.columns))), reset=False)
        table = self._arranged(table, model.names, learning, isinstance(x, list | tuple))
        holds = {g.names[0]: g.kind for g in model.schema.groups if g.names is not None}
        return self._coerced(table, holds, model.reading["families"])

    def _arranged(self, table: Table, names: list[str], learning: bool, records: bool) -> Table:
        """The model's columns, in its order. Records may lack keys; frames may not lack columns."""
        lacking = [name for name in names if name not in table.columns]
        if lacking and not records:
            raise ValueError(
                f"X lacks the column(s) {lacking} that the model was trained with; it has "
                f"{list(table.columns)}. Add them, with gaps where nothing is known."
            )
        columns = {name: table.columns.get(name, Empty(table.n_rows)) for name in names}
        return Table(columns, table.n_rows, table.named)

    def _coerced(
        self, table: Table, holds: Mapping[str, str], families: Mapping[str, Any]
    ) -> Table:
        """Columns as the model, or the declared family, counts them."""
        columns = {}
        for name, column in table.columns.items():
            family = families.get(name)
            if name in families and family is None:
                continue
            texts = isinstance(family, TEXT_FAMILIES) or holds.get(name) == "levels"
            numbers = isinstance(family, NUMBER_FAMILIES) or holds.get(name) in ("moments", "grid")
            if texts and isinstance(column, Numbers):
                column = texts_of(column)
            elif numbers and isinstance(column, Texts):
                column = self._as_numbers(name, column)
            columns[name] = column
        return Table(columns, table.n_rows, table.named)

    def _as_numbers(self, name: str, column: Texts) -> Numbers:
        values = []
        for level in column.levels:
            try:
                values.append({"True": 1.0, "False": 0.0}.get(level) or float(level))
            except ValueError:
                if level == "False":
                    values.append(0.0)
                    continue
                row = np.flatnonzero(column.codes == column.levels.index(level))
                where = f"row {int(row[0])}, " if len(row) else ""
                raise ValueError(
                    f"{where}column {name!r} holds the text {level!r}, but the model counts this "
                    "column as numbers. Declare it as Categorical() before training, or clean it."
                ) from None
        return Numbers(np.array([*values, np.nan])[column.codes], "float")

    # ---- learning --------------------------------------------------------------------------------
    def _family(self) -> Any:
        return None

    def _columns(self, x: Any) -> Columns:
        raise AssertionError("a table has no single group of columns")

    def _counted(self, table: Table, classes: NDArray[Any], codes: Any, weights: Any) -> TableTally:
        return collect_table(table, classes, codes, weights)

    def _count_afresh(
        self, classes: NDArray[Any], x: Table, codes: NDArray[np.int32], weights: Any
    ) -> Model:
        tally = self._counted(x, classes, codes, weights)
        if weights is not None and weights.min(initial=0.0) < 0.0:
            tally.need_non_negative("fit with these negative weights")
        return self._hold(tally, self._all_names(list(x.columns)))

    def _hold(self, tally: TableTally, names: list[str]) -> Model:
        """Starts a model with a tally; `names` are all columns, those without a value too."""
        if self.classes is not None:
            declared, _ = labels_and_codes(np.asarray(self.classes).ravel())
            tally = tally.aligned(tally.schema.join(Schema(declared, (), by_name=True)))
        prior = self._class_prior(len(tally.schema.classes))
        model = TableModel(tally, None, prior, np.dtype(np.float64), self._name)
        model.names = names
        model.reading = {
            "families": self._declared(model.names),
            "alpha": float(self.alpha),
            "unseen": self.unseen,
            "missing": self.missing,
        }
        self._model = model
        return model

    def _all_names(self, names: list[str]) -> list[str]:
        declared = {} if isinstance(self.columns, str) else self.columns
        left_out = [str(name) for name, family in declared.items() if family is None]
        return [*names, *(name for name in left_out if name not in names)]

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Counts the rows of X afresh.

        Parameters
        ----------
        X : table (n_rows, n_columns)
            pandas, polars or pyarrow table, anything with ``__arrow_c_stream__``, a list of dicts,
            or an array.
        y : array-like (n_rows,)
            Class labels, without gaps.
        sample_weight : array-like (n_rows,), optional
            A row of weight w counts as w rows.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For bad parameters or data; the estimator is then as it was before.
        """
        waiting = self.__dict__.pop("_rows", None)  # rows learned before are replaced, too
        try:
            return super().fit(X, y, sample_weight)
        except BaseException:
            if waiting is not None:
                self.__dict__["_rows"] = waiting
            raise

    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Counts the rows of X in addition. New classes and levels may come at any time.

        Parameters
        ----------
        X : table (n_rows, n_columns)
            As for :meth:`fit`.
        y : array-like (n_rows,)
        classes : array-like, optional
            Classes that may occur, beside those of y.
        sample_weight : array-like (n_rows,), optional

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For bad parameters or data; the estimator is then as it was before.
        """
        if "_rows" in self.__dict__:
            self._take_rows()
        with self._unchanged_on_error():
            if "_model" not in self.__dict__:
                self._validate_params()
                x = self._read_rows(X, first=True, learning=True)
                y = read_labels(y, x, self._name)
                weights = read_weights(sample_weight, x)
                known, codes = labels_and_codes(y)
                self._count_afresh(known, x, codes, weights)
            else:
                x = self._read_rows(X, learning=True)
                y = read_labels(y, x, self._name)
                weights = read_weights(sample_weight, x)
                known, codes = labels_and_codes(y)
                batch = self._counted(x, known, codes, weights)
                self._take(self._merged(batch), weights)
            if classes is not None:
                more, _ = labels_and_codes(np.asarray(classes).ravel())
                schema = self._fitted().schema
                self._take(
                    self._fitted().tally.aligned(schema.join(Schema(more, (), by_name=True))), None
                )
        return self

    def _merged(self, batch: TableTally) -> TableTally:
        return self._fitted().tally.merged(batch)

    def _take(self, tally: TableTally, weights: Any) -> None:
        """Holds another tally, with the class prior for its classes."""
        if weights is not None and weights.min(initial=0.0) < 0.0:
            tally.need_non_negative("partial_fit with these negative weights")
        model = self._fitted().with_tally(tally)
        if len(tally.schema.classes) != len(self._fitted().schema.classes):
            model.prior = self._class_prior(len(tally.schema.classes))
        self._model = model

    def forget(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Takes rows away that were counted before: the inverse of `partial_fit`.

        Parameters
        ----------
        X : table (n_rows, n_columns)
        y : array-like (n_rows,)
        sample_weight : array-like (n_rows,), optional
            The weights that the rows were learned with.

        Returns
        -------
        self

        Raises
        ------
        NegativeTally
            A ValueError: more would be taken away than was counted, as far as a count, n or a sum
            of squares can show it. The estimator is then as it was before.
        """
        model = self._fitted()
        x = self._read_rows(X, learning=True)
        y = read_labels(y, x, self._name)
        weights = read_weights(sample_weight, x)
        known, codes = labels_and_codes(y)
        batch = self._counted(x, known, codes, weights)
        rest = model.tally.merged(batch * -1.0)
        before = model.tally.aligned(rest.schema)
        for part, was in zip(rest.parts, before.parts, strict=True):
            part.settle(was)
        rest.need_non_negative("forget")
        self._model = model.with_tally(rest.aligned(model.schema))
        return self

    # ---- one row at a time -----------------------------------------------------------------------
    def _fitted(self) -> Model:
        if "_rows" in self.__dict__:
            self._take_rows()
        return super()._fitted()

    def _attribute(self, name: str) -> Model:
        if "_rows" in self.__dict__:
            self._take_rows()
        return super()._attribute(name)

    def __sklearn_is_fitted__(self) -> bool:
        return "_model" in self.__dict__ or "_rows" in self.__dict__

    def __getstate__(self) -> Any:
        if "_rows" in self.__dict__:
            self._take_rows()
        return super().__getstate__()

    def _take_rows(self) -> None:
        """Merges the tally of the rows learned one by one into the model's."""
        batch = counted_rows(self.__dict__["_rows"])
        if "_model" in self.__dict__:
            self._take(self._model.tally.merged(batch), None)
        else:
            self._hold(batch, list(self.__dict__["_row_names"]))
        del self.__dict__["_rows"]

    def learn_one(self, x: Mapping[str, Any], y: Any, w: float = 1.0) -> Self:
        """Counts one row.

        The row is read by the model when it is next asked for something; learning costs no reading.

        Parameters
        ----------
        x : dict
            Values by column name; a key that is lacking is a gap. The first row of a new model says
            which columns there are; other keys are ignored later.
        y : label
        w : float, default=1.0
            Weight, from 0 on.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For a text in a column of numbers, an infinite number, or a negative weight. Nothing of
            the row is counted then.
        """
        rows = self.__dict__.get("_rows")
        if rows is None:
            rows = self._open_rows(x)
        if not 0.0 <= w < np.inf or y is None or y != y:
            raise ValueError(
                f"learn_one takes a label and a finite weight from 0 on, got y={y!r}, w={w!r}; "
                "forget_one takes rows away"
            )
        rows.learn(x, y, w)
        return self

    def _open_rows(self, x: Mapping[str, Any]) -> Any:
        model = self.__dict__.get("_model")
        if model is None:
            self._validate_params()
            names = [str(name) for name in x]
            self.n_features_in_ = len(names)
            self.__dict__["_row_names"] = names
            rows = row_counter(names, None, self._declared(names))
        else:
            rows = row_counter(model.names, model.schema, model.reading["families"])
        self.__dict__["_rows"] = rows
        return rows

    def forget_one(self, x: Mapping[str, Any], y: Any, w: float = 1.0) -> Self:
        """Takes one row away; see :meth:`forget`."""
        return self.forget([dict(x)], [y], [w])

    def _row_scorer(self) -> Any:
        model = self._fitted()
        assert isinstance(model, TableModel)
        return model.once("row_scorer", lambda: row_scorer(model.score))

    def predict_one(self, x: Mapping[str, Any]) -> Any:
        """The most probable label of one row as a dict; a key that is lacking is a gap.

        Raises
        ------
        ValueError
            For a text in a column of numbers, or, with ``unseen="error"``, a level that training
            did not have.
        """
        try:
            best = self._row_scorer().best(x)
        except KeyError as error:
            raise self._unseen_in_row(x, error) from None
        if best < 0:
            warn_ruled_out(1, 1)
            best = -1 - best
        return self._model.once("labels", self._model.schema.classes.tolist)[best]

    def predict_proba_one(self, x: Mapping[str, Any]) -> dict[Any, float]:
        """P(c | x) of one row as a dict, by label."""
        try:
            shares = self._row_scorer().posterior(x)
        except KeyError as error:
            raise self._unseen_in_row(x, error) from None
        if not shares:
            warn_ruled_out(1, 1)
            shares = np.exp(self._model.log_prior).tolist()
        labels = self._model.once("labels", self._model.schema.classes.tolist)
        return dict(zip(labels, shares, strict=True))

    def _unseen_in_row(self, x: Mapping[str, Any], error: KeyError) -> UnseenLevel:
        name = error.args[0]
        return UnseenLevel(
            f"column {name!r} of the row holds {x[name]!r}, which training did not have. Learn it "
            'first, or choose unseen="smooth" or "ignore".'
        )

    def decay(self, factor: float) -> Self:
        """Multiplies everything that was counted by a factor, so that newer rows weigh more.

        A row learned with weight w weighs w·factor afterwards: to forget it later, pass that as its
        sample_weight.

        Parameters
        ----------
        factor : float
            From 0 to 1.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If the factor is not from 0 to 1.
        """
        if not 0.0 <= factor <= 1.0:
            raise ValueError(f"decay takes a factor from 0 to 1, got {factor!r}")
        model = self._fitted()
        self._model = model.with_tally(model.tally * float(factor))
        return self

    def merge(self, other: TallyClassifier) -> Self:
        """Adds the rows that another model has counted, in place; see :class:`TallyClassifier`."""
        mine = self._fitted()
        if not isinstance(other, NaiveBayes):
            raise IncompatibleTallies(
                f"a NaiveBayes cannot take in a {type(other).__name__}: merge models of one kind"
            )
        with self._unchanged_on_error():
            theirs = other._fitted()
            self._take(mine.tally.merged(theirs.tally), None)
            model = self._fitted()
            assert isinstance(model, TableModel)
            assert isinstance(theirs, TableModel)
            model.names = [*model.names, *(n for n in theirs.names if n not in model.names)]
        return self

    # ---- reading the model -----------------------------------------------------------------------
    @property
    def schema_(self) -> Any:
        """What was decided about each column, and why, as a frame."""
        model = self._attribute("schema_")
        assert isinstance(model, TableModel)
        readings = model.columns_read
        return frame(
            {
                "column": [r.name for r in readings],
                "holds": [r.holds for r in readings],
                "family": [r.family for r in readings],
                "why": [r.why for r in readings],
            }
        )

    @property
    def class_log_prior_(self) -> Array:
        """log P(c), in nats, float64 (n_classes,)."""
        return self._attribute("class_log_prior_").log_prior.copy()

    def explain(self, X: Any) -> Explanation:
        """What each column adds to the score of each class.

        Parameters
        ----------
        X : table (n_rows, n_columns)

        Returns
        -------
        Explanation
            ``base + contributions.sum(axis=2)`` is :meth:`predict_joint_log_proba`.
        """
        model = self._fitted()
        assert isinstance(model, TableModel)
        x = self._read_rows(X)
        shares = model.score.contributions(x)
        contributions = np.zeros((x.n_rows, len(model.log_prior), len(model.names)))
        for j, name in enumerate(model.names):
            if name in shares:
                contributions[:, :, j] = shares[name]
        return Explanation(
            model.log_prior.copy(), contributions, model.schema.classes, list(model.names)
        )

    def explain_one(self, row: Mapping[str, Any]) -> Explanation:
        """:meth:`explain` of one row as a dict; ``print`` it for a readable table."""
        return self.explain([dict(row)])

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags
