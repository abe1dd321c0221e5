"""How many threads the kernels may use. Results do not depend on it."""

from __future__ import annotations

import math
import os
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, SupportsInt, TypeVar

__all__ = [
    "get_num_threads",
    "in_order",
    "in_threads",
    "new_lock",
    "on_one_thread",
    "set_num_threads",
]


# ---- how many threads the kernels may use. Results do not depend on it ---------------------------
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


# ---- locks in a forked child ---------------------------------------------------------------------
PATIENCE = 1.0
"""Seconds that a fork waits for all locks of changes in place, which take microseconds."""

Locks = dict[weakref.ref[Any], tuple[weakref.ref[Any], str]]
"""Locks, and the attribute of the object that holds each. A lock that is gone takes its entry away.
They are the keys as their hashes do not coincide, and a plain dict is several times as quick as a
WeakKeyDictionary."""

_long: Locks = {}
_short: Locks = {}
_forking = threading.local()


def new_lock(holder: Any, name: str, *, in_place: bool) -> threading.RLock:
    """A lock that becomes the attribute `name` of an object, unless it has one.

    Parameters
    ----------
    holder : object
        It takes weak references.
    name : str
    in_place : bool
        Whether what the lock guards is changed in place, so that a fork waits for it. Otherwise a
        change is made at its end, in one step.
    """
    # set in one step: two threads get the same
    lock: threading.RLock = holder.__dict__.setdefault(name, threading.RLock())
    locks = _short if in_place else _long
    locks[weakref.ref(lock, locks.pop)] = weakref.ref(holder), name
    return lock


def _wait() -> None:
    _forking.locks = held = []
    patience = PATIENCE
    for found in _short.copy():
        lock = found()
        if lock is None:
            continue
        if lock.acquire(timeout=patience):
            held.append(lock)
        else:
            patience = 0.0


def _go_on() -> None:
    for lock in _forking.locks:
        lock.release()


def _renew() -> None:
    for locks in (_short, _long):
        for found, name in locks.copy().values():
            holder = found()
            if holder is not None:
                del holder.__dict__[name]
                new_lock(holder, name, in_place=locks is _short)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_wait, after_in_parent=_go_on, after_in_child=_renew)
