"""Locks of objects that a process may be forked with.

A forked child has only the thread that forked it. A lock that another thread held would never be
released there, so the child gets new ones. What such a thread was changing in place would stay half
changed; a fork therefore waits for it, but no longer than a moment: it must not end in a deadlock.
"""

from __future__ import annotations

import os
import threading
import weakref
from typing import Any

__all__ = ["new_lock"]

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
