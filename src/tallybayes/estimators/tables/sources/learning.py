"""Learning from rows that are read part by part; the label is a column of them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.engines.contract import Labels, merged_tables, need_columns
from tallybayes.engines.tables import Shifts
from tallybayes.estimators.tables.declared_classes import with_classes
from tallybayes.estimators.tables.sources.counted_rows import Counted, HowToCount
from tallybayes.estimators.tables.sources.part_by_part import count_parts, need_name, rows_of
from tallybayes.estimators.tables.sources.predicting import PredictingSources
from tallybayes.labels import places_among
from tallybayes.models.class_weights import ClassWeights, by_class, resolved, weighted
from tallybayes.models.declarations import Declared, declared
from tallybayes.models.rows import Names, RowsToCount, first_rows, need_finite, rows_to_count
from tallybayes.models.table import TableModel
from tallybayes.sources.files import is_source
from tallybayes.tables import Table
from tallybayes.tally import TableTally
from tallybayes.threads import get_num_threads
from tallybayes.validation import as_numpy

__all__ = ["FromSources"]

Array = NDArray[np.float64]


class FromSources(PredictingSources):
    """Base of a table classifier that learns the rows of a source, too. Not for direct use."""

    columns: Any
    half_life: float | None

    sample_size = 1 << 17
    """How many rows of a source are looked at, at most, for what is chosen on rows."""

    @property
    @abstractmethod
    def chooses_on_rows(self) -> bool:
        """Whether something is chosen on rows, by `fit`."""

    @abstractmethod
    def _hold(
        self, tally: TableTally, seen: Names, what: Declared, *, has_names: bool
    ) -> TableModel:
        """Starts a model with a tally."""

    @abstractmethod
    def _choose_first(
        self,
        x: Table,
        own: NDArray[np.intp],
        weights: Array | None,
        groups: NDArray[np.intp] | None = None,
    ) -> None:
        """Chooses what is chosen on rows, on a sample of the first ones."""

    @abstractmethod
    def _counted(self, x: Table, labels: Labels, what: Declared, bits: Shifts = None) -> TableTally:
        """The tally of rows; see :func:`collect_table`."""

    @abstractmethod
    def _rows_to_forget(self, x: Any) -> Table:
        """Rows that were learned, as they were counted."""

    @abstractmethod
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
        """Merges the tally of rows into the model's."""

    @abstractmethod
    def _take_rest(
        self, rest: TableTally, seen: Names, what: Declared, gone: Iterable[Any], *, action: str
    ) -> None:
        """Holds what a subtraction has left."""

    # ---- learning --------------------------------------------------------------------------------
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
        :func:`count_parts`."""
        need_name(weight, "sample_weight")
        need_name(group, "groups")
        named = [*what.families, *(name for group in what.groups for name in group)]
        needed = {target, weight, group, *named, *known}
        out = what.columns_left_out - {group}
        source = rows_of(as_numpy(x), get_num_threads(), out, needed)
        need_columns(named, list(source.columns()), "column that columns= names:")
        half_life = self.half_life
        shifts: Shifts = {}  # of the grids of the parts so far

        def fading(n_rows: int) -> float:
            return 1.0 if half_life is None else float(0.5 ** (n_rows / half_life))

        def count(rows: RowsToCount, labels: Labels) -> TableTally:
            classes, codes, given = labels
            weights = weighted(given, class_weight, classes, codes)
            aged = self._aged(weights, len(codes))
            return self._counted(rows, Labels(classes, codes, aged), rows.declared, shifts)

        fades = None if half_life is None else fading
        keeps = group in what.columns_left_out
        return count_parts(
            source,
            HowToCount(target, weight, prepare, count, fades, group, keeps),
            as_written=[name for name in what.families if what.is_text(name)],
            left_out=out,
            max_rows=max_rows,
        )

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
        begin = self._first_of_source
        counted = self._count_source(x, target, weight, what, begin, {}, most, groups)
        tally, class_weight = counted.tally, ClassWeights()
        if self.class_weight is not None:
            known, count = tally.schema.classes, tally.classes.count
            class_weight = resolved(self.class_weight, known, count, self._declared_classes())
            tally = tally.weighted(by_class(class_weight, known))
        tally = with_classes(tally, classes)
        tally.need_non_negative("fit with these negative weights")
        need_finite(tally, counted.infinite)
        first = counted.first
        model = self._hold(tally, first.names, first.declared, has_names=True)
        model.class_weight = class_weight
        if weight is not None:
            model.prior.need_rows(model.tally.classes)
        if self.chooses_on_rows:
            self._choose_on(counted, class_weight)
        return counted

    def _first_of_source(self, table: Table) -> RowsToCount:
        names = list(table.columns)
        seen = Names(names, frozenset(names))
        return first_rows(table, seen, declared(self.columns), has_names=True)

    def _choose_on(self, counted: Counted, class_weight: ClassWeights) -> None:
        model, sample = self._fitted(), counted.sample
        assert isinstance(model, TableModel)
        own = places_among(sample.labels, model.schema.classes).astype(np.intp)
        weights = weighted(sample.weights, class_weight, model.schema.classes, own)
        self._choose_first(sample.x, own, weights, sample.groups_of())

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
        assert isinstance(model, TableModel)
        what = model.reading.declared

        def prepare(table: Table) -> RowsToCount:
            seen, counted = model.seen, model.counted
            return rows_to_count(table, seen, model.required, counted, what, records=False)

        counted = self._count_source(
            x, target, weight, what, prepare, class_weight, 0, group, known=model.seen.seen
        )
        first = counted.first
        batch = with_classes(counted.tally, classes)
        names, declared, places = first.names, first.declared, counted.infinite
        self._add_batch(batch, counted.n_rows, None, names, declared, None, places)

    def _forget_source(self, x: Any, target: str, weight: Any) -> None:
        """Takes the rows of a source away."""
        model = self._fitted()
        assert isinstance(model, TableModel)
        what, seen = model.reading.declared, model.seen

        def prepare(table: Table) -> RowsToCount:
            rows = self._rows_to_forget(table)
            return RowsToCount(rows.columns, rows.n_rows, True, seen, what)

        counted = self._count_source(
            x, target, weight, what, prepare, model.class_weight, known=model.seen.seen
        )
        rest = merged_tables(model.tally, counted.tally * -1.0)
        self._take_rest(rest, seen, what, counted.tally.schema.classes.tolist(), action="forget")
