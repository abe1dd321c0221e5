"""Timing two calls in turn: A B A B, so that a noisy machine is noisy for both."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from benchmarks.memory import PeakMeter

__all__ = ["Effort", "Times", "best_of", "interleaved", "once_each"]

Call = Callable[[], Any]

SHORT = 1e-3  # a call below this many seconds is timed in batches
BATCH = 10e-3  # seconds of a batch


@dataclass(frozen=True)
class Effort:
    """How much time a case may take.

    Parameters
    ----------
    budget : float
        Seconds for the rounds of one case, as far as the least number of rounds allows.
    least, most : int
        Rounds of long calls.
    batches : int
        Rounds of calls that are timed in batches.
    rounds : int, optional
        Says how many rounds, whatever the other rules.
    least_ours : int
        Runs of ours, which go on alone where the peer has fewer.
    """

    budget: float = 20.0
    least: int = 3
    most: int = 15
    batches: int = 41
    rounds: int | None = None
    least_ours: int = 5

    def rounds_for(self, seconds: float, in_batches: bool) -> int:
        """Rounds of a case of which one round takes `seconds`."""
        if self.rounds is not None:
            return self.rounds
        if in_batches:
            return self.batches
        return max(self.least, min(self.most, int(self.budget / max(seconds, 1e-9))))


@dataclass
class Times:
    """The times of one call.

    Parameters
    ----------
    seconds : list of float
        Seconds a call, one value a run.
    calls : int
        Calls timed together in each run.
    peaks : list of int
        Peak memory of each run in bytes, where a run is one call and the system tells.
    """

    seconds: list[float] = field(default_factory=list)
    calls: int = 1
    peaks: list[int] = field(default_factory=list)

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    @property
    def least(self) -> float:
        return min(self.seconds)

    @property
    def runs(self) -> int:
        return len(self.seconds)

    @property
    def peak(self) -> int | None:
        """The highest peak memory of all runs, in bytes."""
        return max(self.peaks, default=None)


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Collects garbage now, and not again before the end."""
    gc.collect()
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def best_of(call: Call, runs: int = 3) -> float:
    """The least time of some runs, in seconds, for choosing between ways to do the same."""
    seconds = []
    for _ in range(runs):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def _batch_size(call: Call) -> int:
    """How many calls to time together; the call is made once or a few times to find out."""
    if best_of(call, 1) >= BATCH or best_of(call) >= SHORT:
        return 1
    return max(2, round(BATCH / best_of(call, 20)))


def _run(call: Call, times: Times, meter: PeakMeter) -> float:
    """Makes one timed run and returns its seconds; the result is freed outside of the time."""
    if times.calls > 1:
        repeat = range(times.calls)
        start = time.perf_counter()
        for _ in repeat:
            call()
        seconds = time.perf_counter() - start
    else:
        meter.start()
        start = time.perf_counter()
        result = call()
        seconds = time.perf_counter() - start
        peak = meter.stop()
        if peak is not None:
            times.peaks.append(peak)
        del result
    times.seconds.append(seconds / times.calls)
    return seconds


def interleaved(peer: Call, ours: Call, effort: Effort) -> tuple[Times, Times]:
    """Times both calls in turn.

    Parameters
    ----------
    peer, ours : callable without arguments
        Both have been called before, so that nothing is loaded or compiled for the first time.
    effort : Effort

    Returns
    -------
    Times of the peer, Times of ours
    """
    meter = PeakMeter()
    with no_garbage_collection():
        # the peer is not called an extra time to learn its length: the first round tells it
        slow, quick = Times(), Times(calls=_batch_size(ours))
        if quick.calls > 1:
            slow.calls = _batch_size(peer)
        seconds = _run(peer, slow, meter) + _run(ours, quick, meter)
        rounds = effort.rounds_for(seconds, quick.calls > 1)
        for _ in range(rounds - 1):
            _run(peer, slow, meter)
            _run(ours, quick, meter)
        for _ in range(effort.least_ours - rounds):
            _run(ours, quick, meter)
    return slow, quick


def once_each(prepare: Callable[[], Call], effort: Effort) -> Times:
    """Times calls that can be made once only: each is prepared from scratch, outside of the
    time."""
    times, meter = Times(), PeakMeter()
    budget = effort.budget / 5.0
    began = time.perf_counter()
    with no_garbage_collection():
        while times.runs < effort.least or (
            times.runs < effort.batches and time.perf_counter() - began < budget
        ):
            _run(prepare(), times, meter)
    return times
