"""How many threads the kernels may use. Results do not depend on it."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import SupportsInt, TypeVar

__all__ = ["get_num_threads", "in_order", "in_threads", "on_one_thread", "set_num_threads"]

T = TypeVar("T")
R = TypeVar("R")

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
    if given is not None:
        _chosen = _valid(given, "TALLYBAYES_NUM_THREADS")
    else:
        import joblib  # a dependency of scikit-learn; it knows affinity and cgroups

        _chosen = max(1, int(joblib.cpu_count()))
    return _chosen


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
