"""Learning by one thread at a time, on a copy that replaces the model at the end.

So no batch is lost if several threads learn, other threads read the model as it was before or as it
is afterwards, and a refused call changes nothing.
"""

from __future__ import annotations

import functools
import threading
from collections import deque
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, TypeVar, cast

from tallybayes.forking import new_lock
from tallybayes.progress import learning_shown

__all__ = ["LIVE", "LOCK", "learning", "lock_of", "take_place", "twin_of"]

LOCK = "_lock"
"""The attribute that holds an estimator's lock. It is not copied, and not part of a pickle."""
LIVE = "_live"
"""The attribute that holds a score that follows rows one by one; other learning drops it."""

LONG = frozenset({"fit", "partial_fit", "recalibrate", "reweight", "count_from"})
"""Methods that may take so long that a progress bar is due."""

Method = TypeVar("Method", bound=Callable[..., Any])


def lock_of(estimator: Any) -> threading.RLock:
    """The lock that learning takes; made when it is first asked for."""
    held: dict[str, threading.RLock] = estimator.__dict__
    return held.get(LOCK) or new_lock(estimator, LOCK, in_place=False)


def twin_of(estimator: Any) -> Any:
    """Another estimator with the same attributes, its lock and its model the same ones."""
    twin = object.__new__(type(estimator))
    twin.__dict__.update(estimator.__dict__)
    twin.__dict__.pop(LIVE, None)
    return twin


def take_place(twin: Any, estimator: Any) -> None:
    """Gives the estimator its twin's attributes, without those that are gone.

    It is one step for signals and other threads: Python looks for both after a call, not after an
    operator, and the first call after the attributes have changed is one that drops all others.
    """
    held = estimator.__dict__
    gone = map(held.__delitem__, held.keys() - twin.__dict__.keys())
    held |= twin.__dict__
    deque(gone, maxlen=0)


def learning(method: Method) -> Method:
    """A method that learns, on a twin that takes the estimator's place when it is done.

    Methods that only read take no lock.
    """

    name = method.__name__

    @functools.wraps(method)
    def learn(self: Any, *args: Any, **kwargs: Any) -> Any:
        shown = learning_shown(f"{type(self).__name__}.{name}") if name in LONG else nullcontext()
        with lock_of(self), shown:
            twin = twin_of(self)
            method(twin, *args, **kwargs)
            take_place(twin, self)
        return self

    return cast("Method", learn)
