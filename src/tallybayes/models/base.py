"""The model of a fitted estimator: a tally, and how it is read.

No rows are kept. Parameters are read from the tally on first use, and again after it has changed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from dataclasses import fields, is_dataclass
from typing import Any, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from tallybayes.families.priors import ClassPrior, PriorWithout
from tallybayes.schema import Schema, joined_labels
from tallybayes.score import Formula
from tallybayes.scoring import posterior_without
from tallybayes.tally import TableTally
from tallybayes.threads import new_lock

__all__ = ["Model", "joined_declared", "kept", "same"]


Array = NDArray[np.float64]

T = TypeVar("T")

UNREAD = object()
MAX_NUMBERS_COUNTED_HERE = 1 << 16  # numbers, which are counted in some 50 microseconds


def joined_declared(a: NDArray[Any] | None, b: NDArray[Any] | None) -> NDArray[Any] | None:
    """The classes that either of two models declares."""
    if a is None or b is None:
        return b if a is None else a
    return joined_labels(a, b)


class kept(Generic[T]):
    """A property of a model that is read from its tally once, and kept until that changes.

    Parameters
    ----------
    read : callable (model)
    """

    def __init__(self, read: Callable[[Any], T]) -> None:
        self.read = read
        self.name: str = read.__name__
        self.__doc__ = read.__doc__

    def __get__(self, model: Any, owner: Any = None) -> T:
        if model is None:
            return self  # type: ignore[return-value]
        try:
            return model._read[self.name]  # type: ignore[no-any-return]
        except KeyError:
            return model.once(self.name, self.read, model)  # type: ignore[no-any-return]


class Model(ABC):
    """A tally with the class prior it is read by.

    Parameters
    ----------
    tally : TableTally
    prior : ClassPrior
    whose : str
        The estimator's name, for messages.

    Attributes
    ----------
    shared : bool
        Whether somebody else holds the tally, which is then copied before it is changed.
    taken : tuple
        The estimator's parameters as they were when the model was last read by them.
    decayed : float
        The largest weight of a class since weights were multiplied by a factor, after which whoever
        forgets a row knows its weight to the last place of a float64 only; 0 if they never were.
    declared_classes : array or None
        Classes that the model has whether or not rows hold them. Others go with their last row.
    warned : set
        What was warned of since the model was fitted; later versions of it share the set.
    class_weight : dict
        By label, what rows were multiplied by when they were counted, where that is not 1.
    noised : str
        What was promised of counts that were released with noise, from which rows cannot be taken;
        empty for counts of rows.
    """

    noised: str = ""

    def __init__(self, tally: TableTally, prior: ClassPrior, whose: str) -> None:
        self.tally = tally
        tally.schema.classes.flags.writeable = False  # an attribute hands them out
        self.prior = prior
        self.whose = whose
        self.shared: bool = False
        self.taken: tuple[Any, ...] | None = None
        self.decayed = 0.0
        self.declared_classes: NDArray[Any] | None = None
        self.warned: set[Hashable] = set()
        self.class_weight: dict[Any, float] = {}
        self._read: dict[str, Any] = {}
        self._changing = new_lock(self, "_changing", in_place=True)

    def __getstate__(self) -> dict[str, Any]:
        state = {**self.__dict__, "_read": {}, "shared": False}
        del state["_changing"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._changing = new_lock(self, "_changing", in_place=True)

    @property
    def schema(self) -> Schema:
        return self.tally.schema

    def with_tally(self, tally: TableTally) -> Self:
        """Another model that reads this tally in the same way: it has all that this one has, but
        for what is read from a tally."""
        twin = type(self).__new__(type(self))  # copy.copy does the same, and is slower
        twin.__setstate__({**self.__getstate__(), "tally": tally})
        tally.schema.classes.flags.writeable = False
        return twin

    def sharing(self) -> Self:
        """Another model of this tally; whichever of the two changes first takes a copy."""
        with self._changing:
            self.shared = True
            twin = self.with_tally(self.tally)
        twin.shared, twin.warned = True, set(self.warned)
        return twin

    def equals(self, other: Model) -> bool:
        """Whether another model of the same class and parameters holds the same."""
        return self.class_weight == other.class_weight and self.tally == other.tally

    def own(self, *, for_numbers: int = 0) -> Self:
        """A model that is safe to change: a copy where somebody else holds the tally.

        It is a copy, too, where a batch of `for_numbers` numbers takes longer to count than the
        tally to copy. Other threads then go on reading the model as it was; else those that read
        it for the first time since it last changed wait for the batch.
        """
        mine = not self.shared and self.tally.classes.count.flags.writeable
        if mine and (for_numbers < MAX_NUMBERS_COUNTED_HERE or for_numbers <= self.tally.size):
            return self
        return self.with_tally(self.tally.copy())

    def changed(self) -> None:
        """Forgets what was read from the tally before it changed."""
        self._read.clear()

    def is_read(self, name: str) -> bool:
        """Whether :meth:`once` keeps what `name` reads."""
        return name in self._read

    def once(self, name: str, read: Callable[..., T], *of: Any) -> T:
        """``read(*of)``, kept until the tally changes."""
        try:
            found: Any = self._read[name]
        except KeyError:
            with self._changing:
                found = self._read.get(name, UNREAD)
                if found is UNREAD:
                    found = self._read[name] = read(*of)
        return found  # type: ignore[no-any-return]

    @kept
    def labels(self) -> list[Any]:
        """The class labels as Python's own objects."""
        return list(self.schema.classes.tolist())

    @kept
    def log_prior(self) -> Array:
        """log P(c), (n_classes,)."""
        self.need_classes()
        return self.prior.log(self.tally.classes)

    def need_rows_to_forget(self) -> None:
        """Raises ValueError where the counts are no sum of rows."""
        if self.noised:
            raise ValueError(
                f"this {self.whose} was made of released counts ({self.noised}), and rows cannot "
                "be taken out of them: what was published stays. Count without those rows, and "
                "release that from what is left of the budget"
            )

    def need_classes(self) -> None:
        """Raises ValueError where nothing is left to choose from."""
        if not len(self.schema.classes):
            raise ValueError(
                f"this {self.whose} holds no rows: all that it learned was removed. Learn some "
                "rows first"
            )

    @property
    @abstractmethod
    def score(self) -> Any:
        """The scorer of rows, compiled."""

    @abstractmethod
    def formula(self) -> Formula:
        """What the model predicts, as a formula; raises Inexpressible."""

    @property
    def prior_enters(self) -> bool:
        """Whether the class prior is part of the score."""
        return True

    def log_prior_without(self, own: NDArray[np.int64], weight: Array) -> PriorWithout:
        """log P(c) after each row is taken out, as it enters the score."""
        prior = self.prior.log_without(self.tally.classes, own, weight)
        if self.prior_enters:
            return prior
        return PriorWithout(*(np.zeros_like(part) for part in prior))

    @abstractmethod
    def likelihood_without(self, x: Any, own: NDArray[np.int64], weight: Array) -> Array:
        """log p(x | c) after each row is taken out, (n_rows, n_classes), in nats.

        Parameters
        ----------
        x : rows that were counted (n_rows, n_features)
        own : int64 array (n_rows,)
            The class of each row.
        weight : float64 array (n_rows,)
        """

    def posterior_without(self, x: Any, own: NDArray[np.int64], weight: Array) -> Array:
        """log P(c | x) of likelihood and prior after each row is taken out, (n_rows, n_classes)."""
        likelihood = self.likelihood_without(x, own, weight)
        prior, fallback = self.log_prior_without(own, weight), None
        if not self.prior_enters:
            fallback = self.prior.log_without(self.tally.classes, own, weight)
        return posterior_without(likelihood, own, prior, fallback)

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

    def weights_decayed(self) -> None:
        """Weights were multiplied by a factor, and rounded."""
        self.decayed = max(self.decayed, float(self.tally.classes.count.max(initial=0.0)))

    def settle(self, rest: TableTally, before: TableTally) -> None:
        """Makes zero what rounding has left in `rest`, after a subtraction from `before`, in
        place."""
        for part, was in zip(rest.parts, before.parts, strict=True):
            part.settle(was, decayed=self.decayed)


# ---- equality by content, through containers and arrays ------------------------------------------
def same(a: Any, b: Any) -> bool:
    """Whether two values hold the same, arrays and dataclasses by their content.

    Arrays of one shape are equal where their elements are, NaN equal to NaN; an array never equals
    a list. Frames and other values are equal where ``==`` is true throughout.
    """
    if a is b:
        return True
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return _same_arrays(a, b)
    if type(a) is not type(b):
        numbers = isinstance(a, int | float | np.number) and isinstance(b, int | float | np.number)
        return bool(numbers and a == b)
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if is_dataclass(a) and not isinstance(a, type):
        return all(same(getattr(a, f.name), getattr(b, f.name)) for f in fields(a))
    equal = a == b
    try:
        return bool(equal) or bool(a != a and b != b)
    except (TypeError, ValueError):  # a frame or series: a truth value for each cell
        return bool(np.array_equal(np.asarray(a, dtype=object), np.asarray(b, dtype=object)))


def _same_arrays(a: Any, b: Any) -> bool:
    if not (isinstance(a, np.ndarray) and isinstance(b, np.ndarray)):
        return False
    if a.dtype.kind == b.dtype.kind == "O":
        return a.shape == b.shape and all(map(same, a.ravel().tolist(), b.ravel().tolist()))
    return bool(np.array_equal(a, b, equal_nan="f" in (a.dtype.kind, b.dtype.kind)))
