"""The model of a fitted classifier of arrays: one group of columns, and the family that reads
it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.engines.arrays import class_counts, collect_array, collect_into, compiled
from tallybayes.engines.contract import CompiledScore
from tallybayes.families.priors import ClassPrior
from tallybayes.models.base import Model, kept
from tallybayes.models.data_warnings import tiny_columns, warn_of_tiny
from tallybayes.schema import Columns, Schema
from tallybayes.score import Formula, Kind, Parameters, terms_of
from tallybayes.tables.columns import as_text
from tallybayes.tally import Moments, TableTally

if TYPE_CHECKING:
    from tallybayes.engines.leave_one_out import CompiledWithout

__all__ = ["ArrayModel", "declared_levels"]

Array = NDArray[np.float64]


def declared_levels(levels: Any, n_features: int) -> tuple[NDArray[Any], ...]:
    """The declared values of each column as arrays.

    Raises
    ------
    ValueError
        If there is not one non-empty list of distinct values for each column.
    """
    if isinstance(levels, str) or len(levels) != n_features:
        raise ValueError(
            f"levels declares {len(levels)} columns, X has {n_features}: give one list of values "
            "for each column"
        )
    declared = []
    for j, values in enumerate(levels):
        items = values.tolist() if isinstance(values, np.ndarray) else list(values)
        array = np.array(values)
        if array.ndim == 1 and len({type(item) for item in items}) > 1:  # 1 and "1" differ
            array = np.empty(len(items), dtype=object)
            array[:] = items
        if array.ndim != 1 or not len(array):
            raise ValueError(f"levels[{j}] must be a list of at least one value, got {values!r}")
        if len(set(array.tolist())) != len(array):
            raise ValueError(f"levels[{j}] declares a value twice: {array.tolist()!r}")
        declared.append(array)
    return tuple(declared)


class ArrayModel(Model):
    """A tally of one group of columns, with the family it is read by; see :class:`Model`.

    Parameters
    ----------
    tally : TableTally
    family : Family
    prior : ClassPrior
    dtype : dtype
        What X was trained as, for attributes that follow it.
    whose : str
        The estimator's name, for messages.
    """

    tally: TableTally

    def __init__(
        self,
        tally: TableTally,
        family: Any,
        prior: ClassPrior,
        dtype: np.dtype[Any],
        whose: str,
    ) -> None:
        super().__init__(tally, prior, whose)
        self.family = family
        self.dtype = dtype

    @property
    def prior_enters(self) -> bool:
        return bool(getattr(self.family, "uses_prior", True))

    @property
    def columns(self) -> Columns:
        return self.tally.schema.groups[0]

    @property
    def group(self) -> Any:
        """The tally of the columns."""
        return self.tally.groups[0]

    def warn_of_tiny(self) -> None:
        """Warns, once for each fit, of columns whose squares underflow."""
        if isinstance(self.group, Moments):
            names = self.columns.names or range(self.columns.n_features)
            warn_of_tiny([names[j] for j in tiny_columns(self.group).tolist()], self.warned)

    @kept
    def parameters(self) -> Parameters:
        self.need_classes()
        self.warn_of_tiny()
        parameters = self.family.parameters(self.group, self.tally.classes)
        for value in vars(parameters).values():  # attributes hand them out
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
        return parameters  # type: ignore[no-any-return]

    @kept
    def score(self) -> CompiledScore:
        """The scorer of rows, compiled."""
        return compiled(
            self.parameters,
            self.prior_in_score(),
            self.columns,
            fallback=int(np.argmax(self.log_prior)),
            whose=self.whose,
        )

    def formula(self) -> Formula:
        columns, parameters = self.columns, self.parameters
        names = columns.names or tuple(f"x{j}" for j in range(columns.n_features))
        levels = None
        if columns.levels is not None:
            levels = [[as_text(level) for level in of.tolist()] for of in columns.levels]
        kind: Kind = "number" if levels is None else "text"
        least = 1 if getattr(parameters, "non_negative", False) else 0
        offset, terms = terms_of(parameters, names, levels)
        return Formula(
            classes=self.schema.classes,
            offset=offset + self.prior_in_score(),
            terms=terms,
            ruled_out=np.exp(self.log_prior),
            fallback=int(np.argmax(self.log_prior)),
            kinds=dict.fromkeys(names, kind),
            least=dict.fromkeys(names, least),
            takes_missing=False,
            has_names=columns.names is not None,
        )

    def prior_in_score(self) -> NDArray[np.float64]:
        """The class prior as it enters the score: not at all for weights that are not
        likelihood."""
        if self.prior_enters:
            return self.log_prior
        return np.zeros(len(self.schema.classes))

    def likelihood_without(self, x: Any, own: NDArray[np.int64], weight: Array) -> Array:
        return self._without.scores(x, own, weight, lambda: self._likelihood.joint(x))

    @kept
    def _likelihood(self) -> CompiledScore:
        nothing = np.zeros(len(self.schema.classes))
        return compiled(self.parameters, nothing, self.columns, whose=self.whose)

    @kept
    def _without(self) -> CompiledWithout:
        """The family's leave-one-out score, compiled."""
        from tallybayes.engines.leave_one_out import compile_without

        classes = self.tally.classes
        everyone = classes.pooled()
        return compile_without(
            self.family.without(self.group, classes),
            self.family.without(self.group.pooled(), everyone),
            self.columns,
            self.whose,
        )

    def count(
        self, x: Any, codes: NDArray[np.int32], weights: NDArray[np.float64] | None
    ) -> tuple[TableTally, NDArray[np.intp]]:
        """The tally of a batch, for the classes that occur in it, and which those are."""
        if len(codes) == 1:
            present, local = codes.astype(np.intp), np.zeros(1, dtype=np.int32)
        else:
            seen = class_counts(codes, len(self.schema.classes), None).count > 0.0
            present = np.flatnonzero(seen)
            local = codes
            if len(present) < len(seen):
                local = (np.cumsum(seen, dtype=np.int32) - 1)[codes].astype(np.int32)
        counted = collect_array(self.columns, x, local, len(present), weights, whose=self.whose)
        schema = Schema(self.schema.classes[present], (counted.columns,))
        return TableTally(schema, counted.classes, (counted.tally,)), present

    def collect(
        self, x: Any, codes: NDArray[np.int32], weights: NDArray[np.float64] | None
    ) -> bool:
        """Counts rows straight into the tally, in place, where that is possible; whether it was."""
        classes, group = self.tally.classes, self.tally.groups[0]
        with self._changing:
            done = collect_into(self.columns, x, codes, weights, classes, group, whose=self.whose)
            if done:
                self.changed()
        return done

    def add(self, batch: TableTally, rows: NDArray[np.intp]) -> None:
        """Adds the tally of a batch to the classes `rows`, in place; levels grow as needed."""
        with self._changing:
            self._add(batch, rows)

    def _add(self, batch: TableTally, rows: NDArray[np.intp]) -> None:
        columns = self.columns.join(batch.schema.groups[0])
        schema = Schema(self.schema.classes, (columns,))
        if columns.n_levels is not None:
            batch = batch.aligned(Schema(batch.schema.classes, (columns,)))
            self.tally = self.tally.aligned(schema)
        for mine, theirs in zip(self.tally.parts, batch.parts, strict=True):
            whole = len(rows) == mine.n_classes
            mine.accumulate(theirs, 1.0, slice(None) if whole else rows)
        self.changed()

    def subtract(self, batch: TableTally, rows: NDArray[np.intp], action: str) -> None:
        """Takes the tally of a batch away, in place; raises NegativeTally, doing nothing, where it
        holds more than was counted."""
        columns = self.columns.join(batch.schema.groups[0])
        batch_schema = Schema(batch.schema.classes, (columns,))
        before = TableTally(
            Schema(batch.schema.classes, (self.columns,)),
            self.tally.classes.take(rows),
            tuple(group.take(rows) for group in self.tally.groups),
        ).aligned(batch_schema)
        rest = before + batch.aligned(batch_schema) * -1.0
        self.settle(rest, before)
        rest.need_non_negative(action)
        # levels that the model does not know would have been negative: the frames are equal
        with self._changing:
            for mine, left in zip(self.tally.parts, rest.parts, strict=True):
                mine.put(rows, left)
            self.changed()
