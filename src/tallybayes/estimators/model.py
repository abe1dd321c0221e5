"""What a fitted estimator holds: a tally, and how it is read.

Nothing here keeps rows. Parameters are read from the tally when they are first asked for, and again
after it has changed.
"""

from __future__ import annotations

import threading
from collections.abc import Hashable
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray

from tallybayes.engines.contract import CompiledScore
from tallybayes.engines.memory.arrays import ArrayEngine
from tallybayes.engines.memory.leave_one_out import CompiledWithout, compile_without
from tallybayes.families import ClassPrior
from tallybayes.families.class_prior import PriorWithout
from tallybayes.labels import joined_labels
from tallybayes.parameters import Parameters
from tallybayes.schema import Columns, Schema
from tallybayes.tally import CrossMoments, Moments, TableTally

__all__ = ["Model", "joined_declared"]

Array = NDArray[np.float64]

UNREAD = object()
FEW = 1 << 16  # numbers, which are counted in some 50 microseconds


def joined_declared(a: NDArray[Any] | None, b: NDArray[Any] | None) -> NDArray[Any] | None:
    """The classes that either of two models declares."""
    if a is None or b is None:
        return b if a is None else a
    return joined_labels(a, b)


class Model:
    """A tally with the family and the class prior it is read by.

    Parameters
    ----------
    tally : TableTally
    family : Family
    prior : ClassPrior
    dtype : dtype
        What X was trained as, for attributes that follow it.
    whose : str
        The estimator's name, for messages.
    engine : ArrayEngine, optional
        Counts and scores arrays.

    Attributes
    ----------
    shared : bool
        Whether somebody else holds the tally, which is then copied before it is changed.
    taken : tuple
        The estimator's parameters as they were when `family` and `prior` were made of them.
    most_squares : dict
        By group of columns, the largest sum of squares about the origin (n_features,) that any
        class held when rows were taken away: rounding is judged by it.
    declared_classes : array or None
        Classes that the model has whether or not rows hold them. Others go with their last row.
    warned : set
        What was warned of since the model was fitted; later versions of it share the set.
    class_weight : dict
        By label, what rows were multiplied by when they were counted, where that is not 1.
    """

    def __init__(
        self,
        tally: TableTally,
        family: Any,
        prior: ClassPrior,
        dtype: np.dtype[Any],
        whose: str,
        engine: ArrayEngine | None = None,
    ) -> None:
        self.tally = tally
        tally.schema.classes.flags.writeable = False  # an attribute hands them out
        self.family = family
        self.prior = prior
        self.dtype = dtype
        self.whose = whose
        self.engine = ArrayEngine() if engine is None else engine
        self.shared = False
        self.taken: tuple[Any, ...] | None = None
        self.most_squares: dict[Any, Array] = {}
        self.declared_classes: NDArray[Any] | None = None
        self.warned: set[Hashable] = set()
        self.class_weight: dict[Any, float] = {}
        self._read: dict[str, Any] = {}
        self._changing = threading.RLock()

    def __getstate__(self) -> dict[str, Any]:
        state = {**self.__dict__, "_read": {}, "shared": False}
        del state["_changing"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._changing = threading.RLock()

    @property
    def schema(self) -> Schema:
        return self.tally.schema

    @property
    def columns(self) -> Columns:
        return self.tally.schema.groups[0]

    @property
    def group(self) -> Any:
        """The tally of the columns."""
        return self.tally.groups[0]

    def with_tally(self, tally: TableTally) -> Model:
        twin = Model(tally, self.family, self.prior, self.dtype, self.whose, self.engine)
        twin.taken, twin.most_squares = self.taken, self.most_squares
        twin.declared_classes, twin.class_weight = self.declared_classes, self.class_weight
        twin.warned = self.warned
        return twin

    def sharing(self) -> Self:
        """Another model of this tally; whichever of the two changes first takes a copy."""
        with self._changing:
            self.shared = True
            twin = self.with_tally(self.tally)
        twin.shared, twin.warned = True, set(self.warned)
        return cast("Self", twin)

    def equals(self, other: Model) -> bool:
        """Whether another model of the same class and parameters holds the same."""
        return self.class_weight == other.class_weight and self.tally == other.tally

    def own(self, *, for_numbers: int = 0) -> Model:
        """A model that is safe to change: a copy where somebody else holds the tally.

        It is a copy, too, where a batch of `for_numbers` numbers takes longer to count than the
        tally to copy. Other threads then go on reading the model as it was; else those that read
        it for the first time since it last changed wait for the batch.
        """
        mine = not self.shared and self.tally.classes.count.flags.writeable
        if mine and (for_numbers < FEW or for_numbers <= self.tally.size):
            return self
        return self.with_tally(self.tally.copy())

    def changed(self) -> None:
        """Forgets what was read from the tally before it changed."""
        self._read.clear()

    def is_read(self, name: str) -> bool:
        """Whether :meth:`once` keeps what `name` reads."""
        return name in self._read

    def once(self, name: str, read: Any) -> Any:
        """``read()``, kept until the tally changes."""
        kept = self._read.get(name, UNREAD)
        if kept is UNREAD:
            with self._changing:
                kept = self._read.get(name, UNREAD)
                if kept is UNREAD:
                    kept = self._read[name] = read()
        return kept

    @property
    def log_prior(self) -> NDArray[np.float64]:
        """log P(c), (n_classes,)."""
        self.need_classes()
        return self.once("log_prior", lambda: self.prior.log(self.tally.classes))  # type: ignore[no-any-return]

    @property
    def parameters(self) -> Parameters:
        return self.once("parameters", self._estimate)  # type: ignore[no-any-return]

    def _estimate(self) -> Parameters:
        self.need_classes()
        parameters = self.family.parameters(self.group, self.tally.classes)
        for value in vars(parameters).values():  # attributes hand them out
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
        return parameters  # type: ignore[no-any-return]

    def need_classes(self) -> None:
        """Raises ValueError where nothing is left to choose from."""
        if not len(self.schema.classes):
            raise ValueError(
                f"this {self.whose} holds no rows: all that it learned was taken away. Learn some "
                "rows first"
            )

    @property
    def score(self) -> CompiledScore:
        """The scorer of rows, compiled."""
        kept = self._read.get("score")
        if kept is None:
            kept = self.once(
                "score",
                lambda: self.engine.compile(
                    self.parameters,
                    self.prior_in_score(),
                    self.columns,
                    fallback=int(np.argmax(self.log_prior)),
                    whose=self.whose,
                ),
            )
        return kept  # type: ignore[no-any-return]

    def prior_in_score(self) -> NDArray[np.float64]:
        """The class prior as it enters the score: not at all for weights that are not
        likelihood."""
        if getattr(self.family, "uses_prior", True):
            return self.log_prior
        return np.zeros(len(self.schema.classes))

    def log_prior_without(self, own: NDArray[np.int64], weight: Array) -> PriorWithout:
        """log P(c) after each row is taken out, as it enters the score."""
        prior = self.prior.log_without(self.tally.classes, own, weight)
        if getattr(self.family, "uses_prior", True):
            return prior
        return PriorWithout(*(np.zeros_like(part) for part in prior))

    def predicted_without(self, log_proba: Array, own: NDArray[np.int64], weight: Array) -> Array:
        """log P(c | x) as the model predicts it, of rows taken out of the counts.

        Parameters
        ----------
        log_proba : float64 array (n_rows, n_classes)
            Of likelihood and prior; it may be overwritten.
        own : int64 array (n_rows,)
            The class of each row.
        weight : float64 array (n_rows,)
        """
        return log_proba

    def likelihood_without(self, x: Any, own: NDArray[np.int64], weight: Array) -> Array:
        """log p(x | c) after each row is taken out, (n_rows, n_classes), in nats.

        Parameters
        ----------
        x : array or sparse matrix (n_rows, n_features)
            Rows that were counted.
        own : int64 array (n_rows,)
            The class of each row.
        weight : float64 array (n_rows,)
        """
        without: CompiledWithout = self.once("without", self._without)
        return without.scores(
            x, own, weight, lambda: self.once("likelihood", self._likelihood).joint(x)
        )

    def _likelihood(self) -> CompiledScore:
        nothing = np.zeros(len(self.schema.classes))
        return self.engine.compile(self.parameters, nothing, self.columns, whose=self.whose)

    def _without(self) -> CompiledWithout:
        """The family's leave-one-out score, compiled."""
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
            seen = np.zeros(len(self.schema.classes), dtype=bool)
            seen[codes] = True
            present = np.flatnonzero(seen)
            local = codes
            if len(present) < len(seen):
                local = (np.cumsum(seen, dtype=np.int32) - 1)[codes].astype(np.int32)
        counted = self.engine.collect(
            self.columns, x, local, len(present), weights, whose=self.whose
        )
        schema = Schema(self.schema.classes[present], (counted.columns,))
        return TableTally(schema, counted.classes, (counted.tally,)), present

    def collect(
        self, x: Any, codes: NDArray[np.int32], weights: NDArray[np.float64] | None
    ) -> bool:
        """Counts rows straight into the tally, in place, where that is possible; whether it was."""
        classes, group = self.tally.classes, self.tally.groups[0]
        with self._changing:
            done = self.engine.collect_into(
                self.columns, x, codes, weights, classes, group, whose=self.whose
            )
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
        most_squares = self.settle(rest, before)
        rest.need_non_negative(action)
        self.most_squares = most_squares
        # levels that the model does not know would have been negative: the frames are equal
        with self._changing:
            for mine, left in zip(self.tally.parts, rest.parts, strict=True):
                mine.put(rows, left)
            self.changed()

    def settle(self, rest: TableTally, before: TableTally) -> dict[Any, Array]:
        """Makes zero what rounding has left in `rest`, after a subtraction from `before`, in place;
        returns the new `most_squares`."""
        most = dict(self.most_squares)
        columns = (None, *rest.schema.groups)
        for group, part, was in zip(columns, rest.parts, before.parts, strict=True):
            if not isinstance(part, Moments | CrossMoments) or group is None:
                part.settle(was)
                continue
            assert isinstance(was, type(part))
            columns_held = was if isinstance(was, Moments) else was.columns()
            held = np.abs(columns_held.s2_hi).max(axis=0, initial=0.0)
            most[group.key] = np.maximum(held, most.get(group.key, 0.0))
            part.settle(was, most[group.key])  # type: ignore[arg-type]  # one kind, as asserted
        return most
