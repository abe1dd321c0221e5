"""What a case of the speed benchmark is: declared here, run by ``measure``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmarks.timing import Times

__all__ = ["Call", "Case", "Dataset", "MemoryBar", "Options", "Outcome", "Part", "Recipe"]

Call = Callable[[], Any]

SMALLEST = 1 << 20  # a peak below 1 MiB counts as 1 MiB: less is not distinguished from noise


@dataclass(frozen=True)
class Options:
    """What the command line says about the cases themselves.

    Parameters
    ----------
    quick : bool
        Smaller data.
    terms : {"zipf", "uniform"}
        How often the terms of documents occur.
    """

    quick: bool = False
    terms: str = "zipf"


class Dataset:
    """Rows and labels, and the models fitted to them last.

    Parameters
    ----------
    X : array or sparse matrix (n_rows, n_features)
    y : array (n_rows,)
    note : str
        What the data are, for the report.
    """

    def __init__(self, X: Any, y: Any, note: str) -> None:
        self.X = X
        self.y = y
        self.note = note
        self._models: dict[type, Any] = {}

    def fitted(self, kind: type) -> Any:
        """An estimator of this class, default parameters, fitted to all rows.

        Those of the last two classes are kept: a peer and ours, which fit and predict share.
        """
        if kind not in self._models:
            while len(self._models) > 1:
                del self._models[next(iter(self._models))]
            self._models[kind] = kind().fit(self.X, self.y)
        return self._models[kind]


@dataclass(frozen=True)
class Recipe:
    """How a data set is made. Cases whose recipes have one name share the data.

    Parameters
    ----------
    name : str
    make : callable
        Makes the data from a fixed seed.
    """

    name: str
    make: Callable[[], Dataset]


@dataclass(frozen=True)
class MemoryBar:
    """What the peak memory of our call has to stay below.

    Parameters
    ----------
    bar : float
        The reference is to be at least so many times our peak.
    size : int, optional
        Bytes of the reference; the peer's peak by default.
    what : str
        The reference in words.
    """

    bar: float
    size: int | None = None
    what: str = "the peer's peak"


@dataclass(frozen=True)
class Part:
    """A part of our call, timed by itself.

    Parameters
    ----------
    what : str
    call : callable
        From the data, the call that is timed.
    """

    what: str
    call: Callable[[Any], Call]


@dataclass(frozen=True)
class Case:
    """A peer and ours at the same task.

    Parameters
    ----------
    name : str
        Unique; ``--only`` selects by it.
    what : str
        The timed call and the size of the data.
    recipe : Recipe
    peer, ours : callable
        From the data, the call that is timed. Preparing it is not timed.
    check : callable
        Compares the answers on the data; raises WrongAnswer. It runs before anything is timed.
    bar : float or None
        The least ratio of the times, peer / ours, that was promised, if one was.
    peer_name : str
    first : callable, optional
        From the data, a call on a freshly fitted model of ours: the first predict after fit.
    memory : MemoryBar, optional
    rows : int, optional
        Rows that a call takes, where rows a second are of interest.
    rows_bar : float, optional
        The least number of rows a second that was promised of ours.
    part : Part, optional
        A part of our call, whose share is reported.
    """

    name: str
    what: str
    recipe: Recipe
    peer: Callable[[Any], Call]
    ours: Callable[[Any], Call]
    check: Callable[[Any], None]
    bar: float | None
    peer_name: str = "scikit-learn"
    first: Callable[[Any], Call] | None = None
    memory: MemoryBar | None = None
    rows: int | None = None
    rows_bar: float | None = None
    part: Part | None = None


@dataclass(frozen=True)
class Outcome:
    """What measuring a case gave.

    Parameters
    ----------
    name, what, peer_name : str
    bar : float or None
    note : str
        What the data are.
    peer, ours : Times, optional
        None where the answer was wrong or the case failed.
    first : Times, optional
        The first predict after fit.
    memory : MemoryBar, optional
    rows, rows_bar : int, float, optional
        As in the case.
    part : str, optional
        What the part of our call is.
    whole_times, part_times : Times, optional
        Our call and its part, timed in turn.
    others : float, optional
        Cores that other work on the machine kept busy meanwhile.
    wrong : str, optional
        What was wrong with the answer.
    failed : str, optional
        Why the case could not be measured.
    """

    name: str
    what: str
    peer_name: str
    bar: float | None
    note: str
    peer: Times | None = None
    ours: Times | None = None
    first: Times | None = None
    memory: MemoryBar | None = None
    rows: int | None = None
    rows_bar: float | None = None
    part: str | None = None
    whole_times: Times | None = None
    part_times: Times | None = None
    others: float | None = None
    wrong: str | None = None
    failed: str | None = None

    @property
    def ratio(self) -> float | None:
        """How many times as fast as the peer, by the medians."""
        if self.peer is None or self.ours is None:
            return None
        return self.peer.median / self.ours.median

    @property
    def least_ratio(self) -> float | None:
        """The ratio of the least times, which other work on the machine disturbs less."""
        if self.peer is None or self.ours is None:
            return None
        return self.peer.least / self.ours.least

    @property
    def met(self) -> bool:
        """Whether the ratio of times and the rows a second that were promised are reached."""
        if self.ratio is None or (self.bar is not None and self.ratio < self.bar):
            return False
        rate = self.rows_per_second
        return self.rows_bar is None or (rate is not None and rate >= self.rows_bar)

    @property
    def promised(self) -> bool:
        """Whether there is a bar at all."""
        return self.bar is not None or self.rows_bar is not None

    @property
    def rows_per_second(self) -> float | None:
        """Rows that ours takes in a second, by the median."""
        if self.rows is None or self.ours is None:
            return None
        return self.rows / self.ours.median

    @property
    def part_share(self) -> float | None:
        """The share of our time that the part takes, by the medians."""
        if self.whole_times is None or self.part_times is None:
            return None
        return self.part_times.median / self.whole_times.median

    @property
    def memory_ratio(self) -> float | None:
        """How many times our peak memory the reference is."""
        if self.memory is None or self.peer is None or self.ours is None:
            return None
        size = self.peer.peak if self.memory.size is None else self.memory.size
        if size is None or self.ours.peak is None:
            return None
        return size / max(self.ours.peak, SMALLEST)

    @property
    def memory_met(self) -> bool | None:
        """Whether the promised ratio of memory is reached; None where it was not measured."""
        if self.memory is None or self.memory_ratio is None:
            return None
        return self.memory_ratio >= self.memory.bar
