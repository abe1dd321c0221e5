"""Base of the classifiers of tables: rows are read and learned by column name."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from numbers import Real
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Tags
from sklearn.utils.validation import _check_feature_names, _check_n_features

from tallybayes.decisions import MAX_SCORES
from tallybayes.engines.contract import Labels, merged_tables, need_columns
from tallybayes.engines.registry import ENGINES, engine_of
from tallybayes.engines.tables import Shifts, collect_table
from tallybayes.errors import SourceError, StaleWarning, shown, warn_user
from tallybayes.estimators.base import LearnedRows, TallyClassifier, draw_waterfall, learning
from tallybayes.estimators.saving import EXTRA
from tallybayes.estimators.sources import (
    Counted,
    HowToCount,
    ReadBy,
    hits_of,
    labelled,
    need_name,
    opened_for,
    predicted_where_rows_lie,
    remember,
    right_where_rows_lie,
    rows_of,
    spelling_of,
    tables_of,
)
from tallybayes.explain.explanation import Explanation, explanation_of, top_terms_of_column
from tallybayes.models.base import Model, joined_declared
from tallybayes.models.calibration import Isotonic
from tallybayes.models.class_weights import (
    ClassWeights,
    by_class,
    need_same_class_weights,
    resolved,
    weighted,
)
from tallybayes.models.data_warnings import (
    warn_of_odd_values,
    warn_of_unknown_keys,
    warn_of_unseen,
    warn_of_zones,
)
from tallybayes.models.declarations import Declared, Reading, check_counts, declared, names_declared
from tallybayes.models.rows import (
    Names,
    RowsToCount,
    arranged,
    as_scored,
    first_rows,
    need_finite,
    rows_to_count,
    rows_to_forget,
    warn_of_mixed,
)
from tallybayes.models.table import Chosen, TableModel, need_same_declarations
from tallybayes.schema import places_among
from tallybayes.sources.contract import Source, is_distributed, restarted
from tallybayes.sources.files import is_relation, is_source, is_spark_frame, source_of
from tallybayes.tables import AllBut, Table, read_table
from tallybayes.tables.columns import frame, stacked, values_of
from tallybayes.tally import Moments, TableTally
from tallybayes.threads import get_num_threads
from tallybayes.validation import (
    as_numpy,
    label_array,
    labels_and_codes,
    labels_named,
    read_given,
)

if TYPE_CHECKING:
    from tallybayes.label_shift import ClassPriorEstimate
    from tallybayes.sources.rows import PredictedRows, Predictions

__all__ = ["TableClassifier"]

Array = NDArray[np.float64]
Index = NDArray[np.intp]


class TableClassifier(TallyClassifier):
    """Base of the classifiers of tables. Not for direct use."""

    _reads = "tables"
    columns: Any
    classes: Any
    half_life: float | None
    class_alpha: Any
    class_prior: Any
    _default_class_alpha = 1.0
    _model_type: type[TableModel] = TableModel
    _warned_before: set[Hashable] | None = None  # what one of several fits need not warn of again

    sample_size = 1 << 17
    """How many rows of a source are looked at, at most, for what is chosen on rows."""

    # ---- what a subclass defines -----------------------------------------------------------------
    @property
    @abstractmethod
    def chooses_on_rows(self) -> bool:
        """Whether something is chosen on rows, by `fit`."""

    @abstractmethod
    def _choose(self, x: Table, own: Index, weight: Array | None, groups: Index | None) -> None:
        """Chooses what is chosen on rows, on rows that were counted with these weights; rows of a
        group are left out together."""

    _stale: tuple[str, str]
    """What is said of a model whose choices on rows are older than its counts, and what to do."""

    if TYPE_CHECKING:

        def _fitted(self) -> TableModel: ...
        def _attribute(self, name: str) -> TableModel: ...

    def _fresh(self) -> TableModel:
        """The model, with a warning where what was chosen on rows is older than the counts."""
        model = self._fitted()
        if model.chosen.stale:
            self._warn_of_stale(model)
        return model

    def _warn_of_stale(self, model: TableModel) -> None:
        warn_user(StaleWarning(*self._stale), StaleWarning, warned=model.warned)

    # ---- reading rows ----------------------------------------------------------------------------
    def _table(self, x: Any, out: Container[str], needed: Container[str] | None = None) -> Table:
        """Rows as plain columns; see :func:`read_table`."""
        table = read_table(as_numpy(x), get_num_threads(), out, needed)
        for size, axis in ((table.n_rows, "sample"), (len(table.columns), "feature")):
            if not size and not (axis == "feature" and table.named and "_model" in self.__dict__):
                raise ValueError(
                    f"Found array with 0 {axis}(s) (shape={table.shape}) while a minimum of 1 is "
                    f"required by {self._name}."
                )
        return table

    def _read_rows(self, x: Any, *, learning: bool = False) -> Any:
        what = (model := self._fitted()).reading.declared
        out, needed = what.columns_left_out, model.seen.seen if learning else None
        table = self._table(x, out if learning else AllBut({*model.names} - out), needed)
        if not table.named:
            _check_n_features(self, np.empty((1, len(table.columns))), reset=False)
        records = table.named and isinstance(x, list | tuple)
        if learning:
            seen, required, counted = model.seen, model.required, model.counted
            return rows_to_count(table, seen, required, counted, what, records=records)
        if records and table.n_rows:
            warn_of_unknown_keys(x, model.seen.seen, model.warned)
        x = as_scored(
            arranged(table, model.names, model.required, what, records), model.holds, what
        )
        learned = model.tally.classes.count.sum()
        warn_of_unseen(x, model.tally_read.schema, float(learned), model.warned)
        warn_of_odd_values(x, model.watched, model.warned)
        return x

    def _first_rows(self, x: Any, *, more_may_come: bool = False) -> RowsToCount:
        """The rows that a model begins with; later dicts may have keys that these do not."""
        what = declared(self.columns)
        named = [*what.families, *(name for group in what.groups for name in group)]
        table = self._table(x, what.columns_left_out, named)
        names, records = list(table.columns), table.named and isinstance(x, list | tuple)
        names_of_frame = SimpleNamespace()
        if not records:
            _check_feature_names(names_of_frame, x if hasattr(x, "columns") else None, reset=True)
        if records and more_may_come:
            names = list(dict.fromkeys([*names, *names_declared(self.columns)]))
        elif lacking := [name for name in named if name not in table.columns]:
            raise ValueError(
                f"columns= names {lacking[0]!r}, which X does not have; its columns are {names}"
            )
        seen = Names(names, frozenset(names_declared(self.columns) if records else names))
        has_names = records or hasattr(names_of_frame, "feature_names_in_")
        return first_rows(table, seen, what, has_names=has_names)

    @property
    def n_features_in_(self) -> int:
        """How many columns the model has."""
        return len(self._attribute("n_features_in_").names)

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """The model's columns, where X had names that are strings; of dicts, their keys."""
        model = self._attribute("feature_names_in_")
        if not model.has_names:
            raise AttributeError(f"{self._name} was trained on columns without names")
        return np.array(model.names, dtype=object)

    # ---- learning --------------------------------------------------------------------------------
    def _declared_classes(self) -> list[Any]:
        named = [] if self.classes is None else label_array(self.classes).ravel().tolist()
        return [*named, *(self.class_prior if isinstance(self.class_prior, Mapping) else ())]

    def _count_afresh(
        self,
        classes: NDArray[Any],
        x: RowsToCount,
        codes: NDArray[np.int32],
        weights: Any,
        groups: Index | None = None,
        *,
        declared: Any = None,
        action: str = "fit",
    ) -> TableModel:
        """See the base; `declared` are classes that may occur besides."""
        aged = self._aged(weights, len(codes))
        together, analyzers = x.declared.together, x.declared.analyzers
        tally = collect_table(x, classes, codes, aged, together, analyzers)
        if declared is not None:
            tally = tally.with_classes(labels_named(declared))
        if weights is not None and weights.min(initial=0.0) < 0.0:
            tally.need_non_negative(f"{action} with these negative weights")
        need_finite(tally, {}, x)
        model = self._hold(tally, x.names, x.declared, has_names=x.has_names)
        if weights is not None:
            model.note_strings(x, weights)
        if self.chooses_on_rows:
            own = places_among(classes, model.schema.classes)[codes]
            self._choose_first(x, own, aged, groups)
        return model

    def _choose_first(
        self, x: Table, own: Index, weights: Array | None, groups: Index | None = None
    ) -> None:
        """Chooses what is chosen on rows, on the first ones, or a sample of them, as they were
        counted; `own` are their classes."""
        model = self._model
        if weights is not None and not weights.all():  # the tally holds nothing of weight 0
            kept = np.flatnonzero(weights)
            x, own, weights = x.take(kept), own[kept], weights[kept]
            groups = None if groups is None else groups[kept]
        self._choose(as_scored(x, model.holds, model.reading.declared), own, weights, groups)

    def _choose_again(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None, groups: Any = None
    ) -> None:
        """Chooses on rows that were learned, under the parameters as they are now."""
        self._choose(*self._rows_to_choose_on(X, y, sample_weight, groups))

    def _rows_to_choose_on(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None, groups: Any = None
    ) -> LearnedRows:
        """Learned rows, after what was chosen on rows is dropped."""
        self._validate_params()
        old = self._fitted()
        self._model = old.with_tally(old.tally)
        self._model.chosen = Chosen()  # what is learned again need not be kept
        self._take_held(old.tally, old.seen, old.reading.declared)
        return self._learned_rows(X, y, sample_weight, groups)

    def _choose_without(
        self, X: Any, y: Any, sample_weight: ArrayLike | None, groups: Any = None
    ) -> Self:
        if self.chooses_on_rows and len(y):
            self._choose_again(X, y, sample_weight, groups)
        return self

    def _hold(
        self, tally: TableTally, seen: Names, what: Declared, *, has_names: bool
    ) -> TableModel:
        """Starts a model with a tally, in place of what was learned before."""
        self.__dict__.pop("_rows", None)
        if self.classes is not None:
            tally = tally.with_classes(labels_named(self.classes))
        if isinstance(self.class_prior, Mapping):  # it declares the classes that it names
            tally = tally.with_classes(labels_named(list(self.class_prior)))
        prior = self._class_prior(tally.schema.classes)
        model = self._model_type(tally, prior, self._name)
        model.seen, model.has_names = seen, has_names
        model.reading = self._reading(what)
        self._model = model
        if self._warned_before is not None:
            model.warned = self._warned_before
        warn_of_mixed(tally, model.warned)
        warn_of_zones(tally.schema, model.warned)
        check_counts(tally, what, model.warned)
        return model

    @learning
    def fit(
        self, X: Any, y: Any, sample_weight: ArrayLike | None = None, groups: Any = None
    ) -> Self:
        """Count the rows of X from scratch.

        Parameters
        ----------
        X : table (n_rows, n_columns), or source of rows
            pandas, polars or pyarrow table, anything with ``__arrow_c_stream__``, a list of dicts,
            or an array. A source is read part by part, never whole: a path, folder, pattern or list
            of Parquet, Arrow, CSV or JSON lines files, a ``pyarrow.RecordBatchReader`` or dataset,
            an iterator of record batches, a ``polars.LazyFrame``, a DuckDB relation, a Spark
            DataFrame.
        y : array-like (n_rows,) or str
            Class labels, without missing values; or the column of X that has them, which a source
            needs. Labels of text files are whole numbers where all are written as such.
        sample_weight : array-like (n_rows,) or str, optional
            A row of weight w adds w to the counts, and is one observation: a cell of a table of
            frequencies is given as often as it was seen. A column of X where y is one. What is
            chosen from counts is chosen in effective rows, (Σw)² / Σw² of them: a common factor
            does not change it. The smoothing of declared families is in units of weight; that of
            others is in effective rows where these weigh more than 1.
        groups : array-like (n_rows,) or str, optional
            Rows that belong together, such as those of one customer, have one value; a column of X
            where y is one, which is then not learned from. Wherever rows are left out to choose
            something on them, rows of a group are left out together.

        Returns
        -------
        self
            The estimator itself.

        Raises
        ------
        ValueError
            For bad parameters or data; the estimator is then as it was before.
        """
        if isinstance(y, str):
            self._fit_source(X, y, sample_weight, groups=groups)
            return self
        return self._fit_rows(X, y, sample_weight, groups)

    @learning
    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        groups: Any = None,
    ) -> Self:
        """Count the rows of X in addition. New classes and levels may come at any time.

        Parameters
        ----------
        X : table (n_rows, n_columns)
            As for :meth:`fit`.
        y : array-like (n_rows,) or str
            Class labels, or the column of X that has them.
        classes : array-like, optional
            Classes that may occur, beside those of y.
        sample_weight : array-like (n_rows,) or str, optional
            How much each row counts; 1 by default.
        groups : array-like (n_rows,) or str, optional
            As for :meth:`fit`: the first rows are those that something is chosen on. Of later ones
            nothing is left out; a column of X is still not learned from.

        Returns
        -------
        self
            The estimator itself.

        Raises
        ------
        ValueError
            For bad parameters or data; the estimator is then as it was before.
        """
        first = not self.__sklearn_is_fitted__()
        if not first:
            self._fitted()  # of all rows learned so far
        class_weight = self._class_weight_to_learn()
        if isinstance(y, str):
            if first:
                self._fit_source(X, y, sample_weight, classes, groups=groups)
            else:
                self._partial_fit_source(X, y, sample_weight, class_weight, classes, groups)
                self._model.class_weight = class_weight
            return self._declare(classes)
        if first:
            self._validate_params()
            x = self._first_rows(X, more_may_come=True)
        else:
            x = self._read_rows(X, learning=True)
        labels, given, together = read_given(X, y, sample_weight, groups, x.n_rows, self._name)
        known, codes = labels_and_codes(labels)
        weights = weighted(given, class_weight, known, codes)
        if first:
            model = self._count_afresh(
                known, x, codes, weights, together, declared=classes, action="partial_fit"
            )
        else:
            aged, what = self._aged(weights, len(codes)), x.declared
            batch = collect_table(x, known, codes, aged, what.together, what.analyzers)
            if classes is not None:
                batch = batch.with_classes(labels_named(classes))
            self._add_batch(batch, len(codes), weights, x.names, x.declared, x)
            model = self._fitted()
            if weights is not None:
                model.note_strings(x, weights)
        model.class_weight = class_weight
        return self._declare(classes)

    def _declare(self, classes: Any) -> Self:
        """Keeps classes that may occur."""
        if classes is not None:
            model = self._fitted()
            named = labels_named(classes)
            model.declared_classes = joined_declared(model.declared_classes, named)
        return self

    # ---- reading the model -----------------------------------------------------------------------
    @property
    def schema_(self) -> Any:
        """What was decided about each column, and why, as a frame."""
        model = self._attribute("schema_")
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
            Rows to explain.

        Returns
        -------
        Explanation
            ``base + contributions.sum(axis=2)`` is :meth:`predict_joint_log_proba`.
        """
        return explanation_of(self._fitted(), self._read_rows(X), draw_waterfall)

    def top_terms(self, column: str, label: Any, n: int = 10) -> list[tuple[Any, float]]:
        """The terms of a column of text that add most to a class against all others: of one
        occurrence, in a text of this one term.

        Parameters
        ----------
        column : str
            A column that is read as text.
        label : label
            A class.
        n : int, default=10
            How many.

        Returns
        -------
        list of (term, float)
            With what each adds to the score of the class, in nats.

        Raises
        ------
        ValueError
            For a column that is not read as text, or a label that is not a class of the model.
        """
        model = self._fitted()
        return top_terms_of_column(model.text_terms, column, model.schema.classes, label, n)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags

    @abstractmethod
    def _reading(self, what: Declared) -> Reading:
        """How a tally is read, from the parameters as they are now."""

    @abstractmethod
    def _kept(self, chosen: Chosen) -> Chosen:
        """The choices made on rows that the parameters request; stale where one is lacking."""

    @property
    def tally_(self) -> TableTally:
        """Everything that was counted, and the names of all columns. The model takes a copy before
        it changes it again."""
        tally = super().tally_
        names = tuple(self._fitted().seen.seen)
        return TableTally(replace(tally.schema, column_names=names), tally.classes, tally.groups)

    # ---- holding other counts --------------------------------------------------------------------
    def _add_batch(
        self,
        batch: TableTally,
        n_rows: int,
        weights: Any,
        seen: Names,
        what: Declared,
        rows: Table | None = None,
        places: Mapping[str, str] | None = None,
    ) -> None:
        tally = self._model.tally
        if self.half_life is not None:
            tally = tally * 0.5 ** (n_rows / self.half_life)
        both = merged_tables(tally, batch)
        need_finite(both, places or {}, rows, batch)
        if weights is not None and weights.min(initial=0.0) < 0.0:
            action = "partial_fit with these negative weights"
            self._take_rest(both, seen, what, [], action=action)
        else:
            self._take(both, seen, what)

    def _take_rest(
        self, rest: TableTally, seen: Names, what: Declared, gone: Iterable[Any], *, action: str
    ) -> None:
        """Holds what a subtraction has left; raises NegativeTally where more was removed than
        there was. `gone` are the labels of rows that were forgotten."""
        model = self._fitted()
        model.need_rows_to_forget()
        if self.half_life is not None:
            model.weights_decayed()
        model.settle(rest, model.tally.aligned(rest.schema))
        rest.need_non_negative(action)
        self._take_held(rest, seen, what, model.tally.weightless_classes(gone))

    def _take_counted(
        self, tally: TableTally, largest: dict[str, float], seen: Names, what: Declared
    ) -> None:
        model = self._fitted()
        before = model.tally.aligned(model.schema.join(tally.schema))
        tally = tally.aligned(before.schema)
        groups = before.schema.groups
        for columns, part, was in zip(groups, tally.groups, before.groups, strict=True):
            if isinstance(part, Moments) and isinstance(was, Moments):
                held = [largest.get(name, 0.0) for name in columns.names or ()]
                part.take_bounds(was.largest_squares())
                part.take_bounds(np.array([held, np.zeros(len(held))]))
        self._take_held(tally, seen, what, model.tally.weightless_classes())

    def _take_held(
        self,
        tally: TableTally,
        seen: Names,
        what: Declared,
        weightless: NDArray[Any] | None = None,
    ) -> None:
        """Holds a tally without the classes, levels and columns that no row holds, unless they are
        declared; `weightless` classes have rows of weight 0, and stay, too.

        Weights and calibrations were learned for classes and columns: those stay until they are
        learned again, or nothing is left. What came since goes.
        """
        model = self._fitted()
        if not tally.classes.count.any():
            self._model = model = model.with_tally(model.tally)
            model.chosen = Chosen()
        weighting = model.chosen.weighting
        declared = None if self.classes is None else labels_named(self.classes)
        keep = joined_declared(declared, model.declared_classes)
        if self._keeps_classes(model):
            keep = tally.schema.classes
        elif weighting is not None:
            keep = joined_declared(keep, weighting.classes)
        if weightless is not None and len(weightless):
            keep = weightless if keep is None else joined_declared(keep, weightless)
        tally = tally.held(keep)
        gone = set(model.schema.names_of_groups) - set(tally.schema.names_of_groups)
        gone -= set(names_declared(self.columns))
        if weighting is not None:
            gone -= {column.name for column in weighting.learned.columns}
        self._take(tally, self._still_seen(tally, seen, gone), what.without(gone))

    def _still_seen(self, tally: TableTally, seen: Names, gone: set[str]) -> Names:
        """The columns after rows were removed that had the last values of the columns `gone`."""
        model = self._fitted()
        if not model.has_names:  # their places are their names
            return seen
        if tally.classes.count.any():  # a column of a frame stays, whatever it holds
            gone &= set(seen.seen) - seen.firm
        else:
            gone |= set(seen.seen) - set(names_declared(self.columns))
        return Names([name for name in seen.seen if name not in gone], seen.firm - gone)

    def _keeps_classes(self, model: TableModel) -> bool:
        """Whether a class prior or a calibration names a value for each class."""
        return self.class_prior is not None or isinstance(model.chosen.calibration, Isotonic)

    def _take(self, tally: TableTally, seen: Names, what: Declared) -> None:
        """Holds another tally of the columns `seen`, with the class prior for its classes."""
        self._validate_params()
        model = self._fitted().with_tally(tally)
        model.prior = self._class_prior(tally.schema.classes)
        model.seen, model.reading = seen, self._reading(what)
        model.chosen = self._kept(model.chosen)
        self._model = model
        warn_of_mixed(tally, model.warned)
        warn_of_zones(tally.schema, model.warned)
        check_counts(tally, what, model.warned)

    # ---- subtracting and merging -----------------------------------------------------------------
    def _rows_to_forget(self, x: Any) -> Table:
        """Rows that were learned, as they were counted."""
        model = self._fitted()
        table = self._table(x, model.reading.declared.columns_left_out, model.seen.seen)
        if not table.named:
            _check_n_features(self, np.empty((1, len(table.columns))), reset=False)
        levels = {
            group.names[0]: frozenset(group.levels[0].tolist())
            for group in model.schema.groups
            if group.names is not None
            and group.levels is not None
            and model.counted[group.names[0]].numbers
        }
        return rows_to_forget(
            table,
            model.seen,
            model.required,
            levels,
            model.counted,
            model.reading.declared,
            records=table.named and isinstance(x, list | tuple),
        )

    @learning
    def forget(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Remove rows that were counted before: the model is as if it had never seen them.

        Classes, levels and columns that no row holds any more are gone, unless they were declared
        (``classes=``, a class prior that is given, ``columns=``). A class whose rows all have
        weight 0 goes when one of them is forgotten. A model that holds no rows
        predicts nothing, and learns again as if it were new. Two things stay: what weights and an
        isotonic calibration were learned for, until they are learned again; and the grid of a
        column of more than 4,096 different numbers, which does not get finer again.

        Parameters
        ----------
        X : table (n_rows, n_columns), or source of rows
            Rows that were counted.
        y : array-like (n_rows,) or str
            The labels they were counted with, or the column of X that has them.
        sample_weight : array-like (n_rows,) or str, optional
            The weights that the rows were learned with.

        Returns
        -------
        self
            The estimator itself.

        Raises
        ------
        NegativeTally
            A ValueError: more would be removed than was counted, as far as a count, n or a sum
            of squares can show it. The estimator is then as it was before.
        """
        model = self._fitted()
        if isinstance(y, str):
            self._forget_source(X, y, sample_weight)
            return self
        x = self._rows_to_forget(X)
        labels, given, _ = read_given(X, y, sample_weight, None, x.n_rows, self._name)
        known, codes = labels_and_codes(labels)
        weights = weighted(given, model.class_weight, known, codes)
        what = model.reading.declared
        batch = collect_table(x, known, codes, weights, what.together, what.analyzers)
        rest = merged_tables(model.tally, batch * -1.0)
        self._take_rest(rest, model.seen, what, known.tolist(), action="forget")
        return self

    @learning
    def _forget_weightless(self, label: Any) -> Self:
        """Removes a row of weight 0: its class goes with it, unless the class has rows that
        weigh."""
        model = self._fitted()
        kept = model.tally.weightless_classes([label])
        if len(kept) < len(model.tally.weightless_classes()):
            self._take_held(model.tally, model.seen, model.reading.declared, kept)
        return self

    def _expect_values_of(self, model: TallyClassifier) -> None:
        whole = model._fitted()
        assert isinstance(whole, TableModel)
        strings = {name for name, held in whole.counted.items() if held.strings}
        self._fitted().with_strings |= strings

    @learning
    def decay(self, factor: float) -> Self:
        """Multiply everything that was counted by a factor, so that newer rows weigh more.

        By 0, everything is forgotten, and what was declared stays. A row learned with weight w
        weighs w·factor afterwards: to forget it later, pass that as its sample_weight.

        Parameters
        ----------
        factor : float
            From 0 to 1.

        Returns
        -------
        self
            The estimator itself.

        Raises
        ------
        ValueError
            If the factor is not a number from 0 to 1.
        """
        if not (isinstance(factor, Real) and 0.0 <= factor <= 1.0):
            raise ValueError(f"decay takes a factor from 0 to 1, got {shown(factor)}")
        model = self._fitted()
        scaled = model.tally * float(factor)
        if factor:
            if math.frexp(factor)[0] != 0.5:  # a power of two leaves every weight its digits
                model.weights_decayed()
            self._model = model.with_tally(scaled)
        else:
            self._take_held(scaled, model.seen, model.reading.declared)
            self._model.decayed = 0.0
        return self

    @learning
    def _merge(self, theirs: Model, other: TallyClassifier) -> Self:
        mine = self._fitted()
        assert isinstance(theirs, TableModel)
        need_same_declarations(mine, theirs)
        need_same_class_weights(mine.class_weight, theirs.class_weight)
        seen = mine.seen.joined(*theirs.seen)
        what = mine.reading.declared.completed(theirs.reading.declared, mine.counted)
        self._take(merged_tables(mine.tally, theirs.tally), seen, what)
        self._model.declared_classes = joined_declared(
            mine.declared_classes, theirs.declared_classes
        )
        self._fitted().with_strings |= theirs.with_strings
        self._model.decayed = max(self._model.decayed, theirs.decayed)
        self._model.noised = "; ".join(filter(None, (mine.noised, theirs.noised)))
        return self

    # ---- the classes of rows without labels ------------------------------------------------------
    def estimate_class_prior(self, rows: Any, confidence: float = 0.9) -> ClassPriorEstimate:
        """Estimate the class shares of rows without labels, from the margins of their columns.

        If only the classes moved since the model was fitted, the shares of levels and of bins of
        numbers are those of the classes, mixed. No prediction is made, and no row is needed.

        Parameters
        ----------
        rows : TableTally, list of TableTally, table or source of rows
            Rows without labels, or their counts, such as :func:`tallybayes.collect` gives without a
            target; labels are not read. Of rows, and of at least 10 tallies of parts that were
            drawn alike, the dependence of columns within classes is measured. Of one tally it is
            taken from the calibration of the model; without one it is assumed, and the interval is
            then approximate.
        confidence : float, default=0.9
            The share of intervals that hold the true share.

        Returns
        -------
        ClassPriorEstimate
            A mapping of labels to shares, which :meth:`with_class_prior` takes. It has intervals,
            and ``misfits`` names the columns that no class shares explain: there more moved than
            the classes, and shares and intervals are not reliable.

        Raises
        ------
        ValueError
            If there are no rows, no column in common (an IncompatibleTallies), or confidence is not
            between 0 and 1.
        NegativeTally
            If a count is negative.

        See Also
        --------
        tallybayes.compare : What moved, column by column.

        Examples
        --------
        >>> import numpy as np
        >>> import pandas as pd
        >>> from tallybayes import NaiveBayes
        >>> y = np.repeat(["no", "yes"], 500)
        >>> X = pd.DataFrame({"pay": ["card", "cash", "cash", "cash"] * 125 + ["card"] * 500})
        >>> found = NaiveBayes().fit(X, y).estimate_class_prior(X[400:])
        >>> round(found["yes"], 2), found.fits
        (0.83, True)
        """
        # slow to import, and seldom needed
        from tallybayes.label_shift import MIN_BETA, class_prior_of_margins, in_parts

        if not 0.0 < confidence < 1.0:
            raise ValueError(
                f"confidence is a share between 0 and 1, such as 0.9; got {confidence!r}"
            )
        model = self._fitted()
        several = isinstance(rows, list | tuple) and rows and isinstance(rows[0], TableTally)
        if several or isinstance(rows, TableTally):
            tallies = rows if several else [rows]
            for tally in tallies:
                if not isinstance(tally, TableTally) or not tally.schema.by_name:
                    raise ValueError(
                        "estimate_class_prior takes tallies of columns by name, such as "
                        f"tallybayes.collect gives; got {tally!r}"
                    )
            new = in_parts(tallies)
        else:
            new = self._counted_in_parts(rows)
        calibration = model.chosen.calibration
        dependence = None if calibration is None else 1.0 / max(calibration.beta, MIN_BETA)
        return class_prior_of_margins(model.tally, new, confidence, dependence)

    def _counted_in_parts(self, rows: Any) -> TableTally:
        """The tally of rows without labels, a class for each of some random parts."""
        if is_source(rows):
            tables: Iterable[Any] = self._parts_to_read(opened_for(self, rows))
        else:
            tables = [rows]
        from tallybayes.label_shift import UNLABELLED_PARTS

        rng, parts, shifts = np.random.default_rng(0), np.arange(UNLABELLED_PARTS), dict[str, int]()
        found: TableTally | None = None
        for table in tables:
            read = self._read_rows(table, learning=True)
            codes = rng.integers(UNLABELLED_PARTS, size=read.n_rows).astype(np.int32)
            what = read.declared
            part = collect_table(read, parts, codes, None, what.together, what.analyzers, shifts)
            found = part if found is None else found + part
        if found is None:
            raise ValueError("there are no rows whose class shares could be estimated")
        return found

    # ---- rows of a source, learned and predicted part by part, or where they lie -----------------
    @property
    def read_by_(self) -> ReadBy:
        """How the rows of a source were read by which the model was fitted: the columns of labels
        and weights, the kinds of the others, and the spelling of values. Paths that are given later
        are read alike, and a model file keeps it."""
        self._fitted()
        return ReadBy.of(self.__dict__.get(EXTRA))

    def _aged(self, weights: Any, n_rows: int) -> Any:
        """Weights with the half-life: the last row weighs most."""
        if self.half_life is None:
            return weights
        age = np.arange(n_rows - 1, -1, -1) / self.half_life
        return 0.5**age if weights is None else weights * 0.5**age

    def _count_source(
        self,
        x: Any,
        target: str,
        weight: Any,
        what: Declared,
        prepare: Callable[[Table], RowsToCount],
        class_weight: ClassWeights,
        max_rows: int | None = 0,
        group: Any = None,
        known: Sequence[str] = (),
    ) -> Counted:
        """The tally of a source's rows, whose `known` columns hold scalars; see
        :meth:`HowToCount.over`."""
        need_name(weight, "sample_weight")
        need_name(group, "groups")
        named = [*what.families, *(name for group in what.groups for name in group)]
        needed = {target, weight, group, *named, *known}
        out = what.columns_left_out - {group}
        x = as_numpy(x)
        engine = engine_of(x, "stream", passing=("duckdb",))  # rows in DuckDB are a stream
        if engine.name in ENGINES:
            later = partial(opened_for, self) if known else source_of  # what a model reads later
            source: Any = rows_of(x, get_num_threads(), out, needed, later)
        else:
            source = engine.open(x)
        need_columns(named, list(engine.columns(source)), "column that columns= names:")
        half_life = self.half_life
        shifts: Shifts = {}  # of the grids of the parts so far

        def fading(n_rows: int) -> float:
            return 1.0 if half_life is None else float(0.5 ** (n_rows / half_life))

        def count(rows: RowsToCount, labels: Labels) -> TableTally:
            classes, codes, given = labels
            weights = weighted(given, class_weight, classes, codes)
            aged, what = self._aged(weights, len(codes)), rows.declared
            return collect_table(rows, classes, codes, aged, what.together, what.analyzers, shifts)

        fades = None if half_life is None else fading
        keeps = group in what.columns_left_out
        how = HowToCount(target, weight, prepare, count, fades, group, keeps)
        written = [name for name in what.families if what.is_text(name)]
        return how.over(engine, source, as_written=written, left_out=out, max_rows=max_rows)

    def _fit_source(
        self,
        x: Any,
        target: str,
        weight: Any,
        classes: Any = None,
        at_least: int = 0,
        groups: Any = None,
    ) -> Counted:
        """Counts the rows of a source in place of those before, and gives their tally with a sample
        of `at_least` rows, if there are so many."""
        self._validate_params()
        whole = not is_source(as_numpy(x))  # its rows are in memory, and all are looked at
        most = None if whole else max(at_least, self.sample_size)
        if not self.chooses_on_rows:
            most = at_least
        what = declared(self.columns)

        def begin(table: Table) -> RowsToCount:
            seen = Names(list(table.columns), frozenset(table.columns))
            return first_rows(table, seen, what, has_names=True)

        counted = self._count_source(x, target, weight, what, begin, {}, most, groups)
        tally, class_weight = counted.tally, ClassWeights()
        if self.class_weight is not None:
            known, count = tally.schema.classes, tally.classes.count
            class_weight = resolved(self.class_weight, known, count, self._declared_classes())
            tally = tally.weighted(by_class(class_weight, known))
        if classes is not None:
            tally = tally.with_classes(labels_named(classes))
        tally.need_non_negative("fit with these negative weights")
        need_finite(tally, counted.infinite)
        first = counted.first
        model = self._hold(tally, first.names, first.declared, has_names=True)
        model.class_weight = class_weight
        if weight is not None:
            model.prior.need_rows(model.tally.classes)
        if self.chooses_on_rows:
            sample, classes = counted.sample, model.schema.classes
            own = places_among(sample.labels, classes).astype(np.intp)
            weights = weighted(sample.weights, class_weight, classes, own)
            self._choose_first(sample.x, own, weights, sample.groups_of())
        if not whole:
            remember(self, ReadBy(target, weight=weight, spelling=spelling_of(x)))
        return counted

    def _partial_fit_source(
        self,
        x: Any,
        target: str,
        weight: Any,
        class_weight: ClassWeights,
        classes: Any,
        group: Any = None,
    ) -> None:
        """Adds the rows of a source to those of the model."""
        model = self._fitted()
        what = model.reading.declared

        def prepare(table: Table) -> RowsToCount:
            seen, counted = model.seen, model.counted
            return rows_to_count(table, seen, model.required, counted, what, records=False)

        counted = self._count_source(
            x, target, weight, what, prepare, class_weight, 0, group, known=model.seen.seen
        )
        first = counted.first
        batch = counted.tally
        if classes is not None:
            batch = batch.with_classes(labels_named(classes))
        names, declared, places = first.names, first.declared, counted.infinite
        self._add_batch(batch, counted.n_rows, None, names, declared, None, places)

    def _forget_source(self, x: Any, target: str, weight: Any) -> None:
        """Takes the rows of a source away."""
        model = self._fitted()
        what, seen = model.reading.declared, model.seen

        def prepare(table: Table) -> RowsToCount:
            rows = self._rows_to_forget(table)
            return RowsToCount(rows.columns, rows.n_rows, True, seen, what)

        counted = self._count_source(
            x, target, weight, what, prepare, model.class_weight, known=model.seen.seen
        )
        rest = merged_tables(model.tally, counted.tally * -1.0)
        self._take_rest(rest, seen, what, counted.tally.schema.classes.tolist(), action="forget")

    def _names_to_read(self, source: Source) -> list[str]:
        """The columns of a source that the model reads.

        Raises
        ------
        SourceError
            If one is lacking.
        """
        model = self._fitted()
        what = model.reading.declared
        there = source.columns()
        names = [name for name in model.names if name in there]
        lacking = [n for n in model.required if n not in there and n not in what.columns_left_out]
        if lacking and not model.has_names:
            raise SourceError(
                f"this {self._name} was trained on columns without names, which {source.name} has: "
                "give the rows as an array"
            )
        if lacking:
            raise SourceError(
                f"{source.name} lacks the column(s) {lacking} that the model was trained with; it "
                f"has {list(there)}"
            )
        return names

    def _parts_to_read(
        self, source: Source, label: Sequence[str] = (), more: Sequence[str] = ()
    ) -> Iterator[Table]:
        """The parts of a source, with the columns that the model reads, labels, and more."""
        names = self._names_to_read(source)
        model = self._fitted()
        what = model.reading.declared
        written = [*label, *(name for name in names if what.is_text(name))]
        asked = dict.fromkeys([*names, *label, *more])
        return tables_of(source, list(asked), written)

    def _over_parts(self, x: Any, do: Callable[[Any], Any]) -> Any:
        """What `do` returns for the rows of a source, part by part, one below the other."""
        source = opened_for(self, x)
        results = restarted(lambda: [do(table) for table in self._parts_to_read(source)])
        if not results:
            self._raise_no_rows(source)
        return np.concatenate(results)

    def _raise_no_rows(self, source: Source) -> NoReturn:
        raise ValueError(
            f"Found array with 0 sample(s): {source.name} has no rows, while a minimum of 1 is "
            f"required by {self._name}."
        )

    def predict(self, X: Any) -> Any:
        """The most probable class of each row.

        Parameters
        ----------
        X : table (n_rows, n_columns), or source of rows
            Rows to predict; see `fit`.

        Returns
        -------
        array (n_rows,), duckdb.DuckDBPyRelation or pyspark.sql.DataFrame
            Labels; of equally probable classes the first. For a relation of DuckDB a relation, as
            :meth:`predict_rows` gives the rows, which is evaluated when it is read, in a
            database of its own. For a Spark DataFrame a Spark DataFrame: all its columns,
            ``prediction``, and ``p(label)`` for each class, evaluated when they are read.

        Raises
        ------
        ValueError
            If X lacks a column, or a value cannot be read.
        """
        if is_relation(X):
            from tallybayes.sources.databases import relation_of

            return relation_of(self.predict_rows(X))
        if is_spark_frame(X):
            source = source_of(X)
            assert is_distributed(source)
            return predicted_where_rows_lie(self, source, self._names_to_read(source))
        return self._predicted(X)

    def _predicted(self, X: Any) -> Any:
        """The most probable class of each row, as an array."""
        if is_source(X):
            return self._over_parts(X, super().predict)
        return super().predict(X)

    def predict_rows(self, X: Any, *, keep: Sequence[str] | None = None) -> PredictedRows:
        """The rows of a source with their predictions, made batch by batch when they are read.

        Parameters
        ----------
        X : source of rows
            Rows to predict: files, a table or query of a database (:func:`tallybayes.table`,
            :func:`tallybayes.sql`), a DuckDB relation, a ``LazyFrame``, record batches, a
            ``pyarrow.dataset.Dataset``. Of a Spark DataFrame :meth:`predict` gives the rows.
        keep : sequence of str, optional
            Columns of X that stay; by default those that the model does not read. Columns of CSV
            and JSON lines stay as strings as they are written, those of other sources as they are.

        Returns
        -------
        PredictedRows
            An Arrow stream of the columns that stay, ``prediction``, and ``p(label)`` for each
            class.

        Raises
        ------
        ValueError
            If X lacks a column. Values that cannot be read raise when they are.

        Examples
        --------
        >>> import duckdb, tallybayes
        >>> db = duckdb.connect()
        >>> _ = db.sql("CREATE TABLE days AS SELECT 7 AS id, 'sun' AS sky, 1 AS y")
        >>> _ = db.sql("INSERT INTO days VALUES (8, 'rain', 0)")
        >>> days = tallybayes.table("days", db)
        >>> model = tallybayes.NaiveBayes({"id": None}).fit(days, "y")
        >>> predicted = model.predict_rows(days, keep=["id"])
        >>> _ = db.cursor().from_arrow(predicted).create("predictions")
        >>> db.sql("SELECT id, prediction FROM predictions").fetchall()
        [(7, 1), (8, 0)]
        """
        from tallybayes.sources.rows import PredictedRows  # which imports Arrow

        source = opened_for(self, X)
        if is_distributed(source):
            raise SourceError(
                f"the rows of {source.name} stay on the cluster: predict gives them there, with "
                "their predictions beside them"
            )
        what = self._fitted().reading.declared
        read = [name for name in self._names_to_read(source) if name not in what.columns_left_out]
        written = [name for name in read if what.is_text(name)]
        there = list(source.columns())
        kept = [name for name in there if name not in read] if keep is None else list(keep)
        need_columns(kept, there, "column that keep= names:")

        def predict(table: Table) -> Predictions:
            return self.predict(table), self.predict_proba(table)

        return PredictedRows(source, kept, read, written, self.classes_, predict)

    def predict_joint_log_proba(self, X: Any) -> Any:
        """log P(c) + log p(x | c), in nats.

        Parameters
        ----------
        X : table (n_rows, n_columns), or source of rows
            Rows to predict; see `fit`.

        Returns
        -------
        array (n_rows, n_classes)
            −inf where a class rules a row out.
        """
        if is_source(X):
            return self._over_parts(X, super().predict_joint_log_proba)
        return super().predict_joint_log_proba(X)

    def _posterior(self, X: Any, *, log: bool) -> Array:
        if is_source(X):
            posterior: Array = self._over_parts(X, partial(super()._posterior, log=log))
            return posterior
        return super()._posterior(X, log=log)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of rows whose label is predicted.

        Parameters
        ----------
        X : table (n_rows, n_columns), or source of rows
            Rows to predict; see `fit`.
        y : array-like (n_rows,) or str
            Their labels, or the column of X that has them.
        sample_weight : array-like (n_rows,) or str, optional
            How much each row counts, or the column of X that holds it; 1 by default.

        Returns
        -------
        float
            The accuracy, by weight.

        Raises
        ------
        ValueError
            For a row without a label, as in :meth:`fit`; of files and databases,
            :func:`tallybayes.labelled` leaves such rows out.
        """
        if not isinstance(y, str):
            return float(super().score(X, y, sample_weight))
        need_name(sample_weight, "sample_weight")
        source = self._labelled_rows(X, [y, sample_weight])

        def right_of() -> tuple[float, float]:
            """The weight of the rows that are predicted as they are labelled, and that of all."""
            if is_distributed(source):
                names = [*self._names_to_read(source), *filter(None, (y, sample_weight))]
                return right_where_rows_lie(self, source, names, y, sample_weight)
            right = total = 0.0
            for part in self._labelled_parts(source, y, sample_weight):
                hits, mass = hits_of(self, *part)
                right, total = right + hits, total + mass
            return right, total

        right, total = restarted(right_of)
        if not total:
            self._raise_no_rows(source)
        return right / total

    def _labelled_rows(self, x: Any, beside: Sequence[str | None]) -> Source:
        """Rows with their labels, of which other columns than the model's may hold anything."""
        model = self._fitted()
        what = model.reading.declared
        read = [*beside, *(name for name in model.names if name not in what.columns_left_out)]
        opened = partial(opened_for, self)
        return rows_of(as_numpy(x), get_num_threads(), AllBut(filter(None, read)), opened=opened)

    def _labelled_parts(
        self, source: Source, target: str, weight: str | None
    ) -> Iterator[tuple[Table, list[Any], Array | None]]:
        """The parts of a source: what the model reads, the labels, and the weights."""
        known = {str(label): label for label in self.classes_.tolist()}  # text has no types
        for table in self._parts_to_read(source, [target], [] if weight is None else [weight]):
            yield labelled(table, target, weight, known)

    def _in_memory(
        self, X: Any, y: Any, sample_weight: Any, groups: Any, names: Sequence[str]
    ) -> tuple[Any, NDArray[Any], Any, Any]:
        """Of a source at most `MAX_SCORES` rows, drawn at random; all where they have groups."""
        if not isinstance(y, str):
            if is_source(as_numpy(X)):
                raise ValueError(
                    "the labels of a source are in one of its columns: give the column's name as y"
                )
            return super()._in_memory(X, y, sample_weight, groups, names)
        need_name(sample_weight, "sample_weight")
        need_name(groups, "groups")
        beside = [name for name in (sample_weight, groups, *names) if name is not None]
        source = self._labelled_rows(X, [y, *beside])
        if is_distributed(source):
            raise SourceError(
                f"the rows of {source.name} stay on the cluster, and scores are kept of rows in "
                "memory: give a sample of them as a data frame"
            )
        for name in (y, *beside):
            need_columns([name], list(source.columns()), "column of rows to compare:")

        def drawn() -> list[Table]:
            rng, tables = np.random.default_rng(0), list[Table]()
            keys: list[Array] = []
            for table in self._parts_to_read(source, [y], beside):
                tables.append(table)
                keys.append(rng.random(table.n_rows))
                every = np.concatenate(keys)
                if groups is None and len(every) > MAX_SCORES:
                    limit = np.partition(every, MAX_SCORES)[MAX_SCORES]
                    kept = [np.flatnonzero(own < limit) for own in keys]
                    tables = [one.take(rows) for one, rows in zip(tables, kept, strict=True)]
                    keys = [own[rows] for own, rows in zip(keys, kept, strict=True)]
            return tables

        tables = restarted(drawn)
        if not tables:
            self._raise_no_rows(source)
        known = {str(label): label for label in self.classes_.tolist()}  # text has no types
        table = stacked(tables)
        together = None if groups is None else values_of(table.columns[groups])
        x, labels, weights = labelled(table, y, sample_weight, known)
        return x, label_array(labels), weights, together

    def _values_in(self, X: Any, name: str) -> list[Any]:
        if not is_source(as_numpy(X)):
            return super()._values_in(X, name)
        source = opened_for(self, X)
        need_columns([name], list(source.columns()), "column that within= names:")
        parts = tables_of(source, [name], ())
        return [value for table in parts for value in values_of(table.columns[name])]

    def _log_proba_without(self, X: Any, y: Any, sample_weight: Any) -> Array:
        of_rows = super()._log_proba_without
        if not isinstance(y, str):
            return of_rows(X, y, sample_weight)
        need_name(sample_weight, "sample_weight")
        source = self._labelled_rows(X, [y, sample_weight])

        def without() -> list[Array]:
            return [of_rows(*part) for part in self._labelled_parts(source, y, sample_weight)]

        results = restarted(without)
        if not results:
            self._raise_no_rows(source)
        return np.concatenate(results)
