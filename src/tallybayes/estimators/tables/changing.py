"""Methods that change the counts of a table: adding, forgetting, decaying and merging rows."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Container, Iterable, Mapping
from dataclasses import replace
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import _check_n_features

from tallybayes.engines.contract import Labels, merged_tables
from tallybayes.estimators.base import TallyClassifier
from tallybayes.estimators.locked_learning import learning
from tallybayes.estimators.tables.declared_classes import labels_named
from tallybayes.estimators.tables.row_by_row import RowByRow
from tallybayes.estimators.tables.sources.learning import FromSources
from tallybayes.models.base import Model, joined_declared
from tallybayes.models.calibration import Isotonic
from tallybayes.models.class_weights import need_same_class_weights
from tallybayes.models.declarations import Declared, Reading, check_counts, names_declared
from tallybayes.models.rows import Names, need_finite, rows_to_forget, warn_of_mixed
from tallybayes.models.table import Chosen, TableModel, need_same_declarations
from tallybayes.tables import Table
from tallybayes.tally import Moments, TableTally
from tallybayes.validation import labels_and_codes, read_labels, warn_of_other_order

__all__ = ["ChangingTables"]

Array = NDArray[np.float64]


class ChangingTables(RowByRow, FromSources):
    """Base of a classifier of tables whose counts change. Not for direct use."""

    columns: Any
    class_prior: Any

    @abstractmethod
    def _reading(self, what: Declared) -> Reading:
        """How a tally is read, from the parameters as they are now."""

    @abstractmethod
    def _kept(self, chosen: Chosen) -> Chosen:
        """The choices made on rows that the parameters request; stale where one is lacking."""

    @abstractmethod
    def _table(self, x: Any, out: Container[str], needed: Container[str] | None = None) -> Table:
        """Rows as plain columns."""

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
        weighting, keep = model.chosen.weighting, self._declared_labels()
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

    def _declared_labels(self) -> NDArray[Any] | None:
        """The classes that were declared, in ``classes=`` of the model or of partial_fit."""
        mine = None if self.classes is None else labels_named(self.classes)
        return joined_declared(mine, self._fitted().declared_classes)

    def _take(self, tally: TableTally, seen: Names, what: Declared) -> None:
        """Holds another tally of the columns `seen`, with the class prior for its classes."""
        self._validate_params()
        model = self._fitted().with_tally(tally)
        model.prior = self._class_prior(tally.schema.classes)
        model.seen, model.reading = seen, self._reading(what)
        model.chosen = self._kept(model.chosen)
        self._model = model
        warn_of_mixed(tally, model.warned)
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
        warn_of_other_order(X, y, sample_weight)
        y = read_labels(y, x, self._name)
        known, codes = labels_and_codes(y)
        weights = self._weights(sample_weight, x, known, codes)
        batch = self._counted(x, Labels(known, codes, weights), model.reading.declared)
        rest = merged_tables(model.tally, batch * -1.0)
        self._take_rest(rest, model.seen, model.reading.declared, known.tolist(), action="forget")
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
            raise ValueError(f"decay takes a factor from 0 to 1, got {factor!r}")
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
        return self
