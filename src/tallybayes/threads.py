"""How many threads the kernels may use. Results do not depend on it."""

from __future__ import annotations

import math
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import SupportsInt, TypeVar

__all__ = ["get_num_threads", "in_order", "in_threads", "on_one_thread", "set_num_threads"]


T = TypeVar("T")
R = TypeVar("R")

QUOTAS = (
    ("/sys/fs/cgroup/cpu.max",),
    ("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "/sys/fs/cgroup/cpu/cpu.cfs_period_us"),
)
"""Where Linux says how many microseconds of processor time a period has, by version of cgroups."""

_chosen: int | None = None


class _Here(threading.local):
    """What is known of this thread."""

    shares = False  # whether it is one of several that share the work


_here = _Here()


def _valid(value: object, source: str) -> int:
    threads = 0
    if isinstance(value, str | SupportsInt):
        try:
            threads = int(value)
        except ValueError:
            threads = 0
    if threads < 1 or isinstance(value, float):
        raise ValueError(f"{source} must be a whole number of threads from 1 on, got {value!r}")
    return threads


def get_num_threads() -> int:
    """The number of threads that a call may use.

    The number given to :func:`set_num_threads`; else the environment variable
    ``TALLYBAYES_NUM_THREADS``; else the cores that this process may use (its affinity and, in a
    container, its CPU quota).

    Returns
    -------
    int
        How many threads.
    """
    if _here.shares:
        return 1
    return _found() if _chosen is None else _chosen


def _found() -> int:
    """The threads of the environment variable, else of the machine; found out once."""
    global _chosen
    given = os.environ.get("TALLYBAYES_NUM_THREADS")
    _chosen = _usable() if given is None else _valid(given, "TALLYBAYES_NUM_THREADS")
    return _chosen


def _usable() -> int:
    """The processors that this process may use: by its affinity, and by the quota of its control
    group. As ``joblib.cpu_count``, whose import takes as long as a small fit."""
    found = os.cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):
        found = len(os.sched_getaffinity(0))
    for paths in QUOTAS:
        with suppress(OSError, ValueError):
            quota, period = " ".join(Path(path).read_text() for path in paths).split()
            if quota != "max" and int(quota) > 0:
                found = min(found, math.ceil(int(quota) / int(period)))
            break
    return max(1, found)


def set_num_threads(threads: int | None) -> None:
    """Set the threads that a call may use.

    Parameters
    ----------
    threads : int or None
        From 1 on; None returns to the default of :func:`get_num_threads`.

    Raises
    ------
    ValueError
        If `threads` is not a whole number from 1 on.
    """
    global _chosen
    _chosen = None if threads is None else _valid(threads, "threads")


def in_threads(do: Callable[[T], R], each: Iterable[T]) -> list[R]:
    """What `do` returns for each, several at a time, each on one thread; in their order."""
    items: Sequence[T] = list(each)
    threads = min(get_num_threads(), len(items))
    if threads < 2:
        return [do(item) for item in items]

    def alone(item: T) -> R:
        _here.shares = True
        return do(item)

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(alone, items))


def in_order(do: Callable[[T], R], each: Iterable[T]) -> Iterator[R]:
    """What `do` returns for each, in their order, several at a time and each on one thread. No more
    are taken from `each`, nor held, than there are threads, and one."""
    threads = get_num_threads()
    if threads < 2:
        yield from map(do, each)
        return

    def alone(item: T) -> R:
        _here.shares = True
        return do(item)

    waiting: deque[Future[R]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        try:
            for item in each:
                waiting.append(pool.submit(alone, item))
                if len(waiting) > threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


@contextmanager
def on_one_thread() -> Iterator[None]:
    """All that is called within is done by this thread, where more of them would only wait for each
    other."""
    before = _here.shares
    _here.shares = True
    try:
        yield
    finally:
        _here.shares = before
