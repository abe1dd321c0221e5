"""Changes of one process that share a commit, and are made again where that is safe."""

from __future__ import annotations

import os
import threading
import time as clock
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tallybayes.errors import StoreError, StoreWarning, warn_user
from tallybayes.store.events import Event
from tallybayes.store.ledger import Duplicate, Ledger, LostConnection, Overtaken

__all__ = ["TRIES", "Commits"]

TRIES = 6  # of a transaction that others overtake


@dataclass
class _Work:
    """A change that waits for its turn, or shares a commit with others."""

    change: Callable[[Ledger], Any]
    alone: list[Event] | None
    repeatable: bool
    result: Any = None
    error: BaseException | None = None
    done: bool = False


class Commits:
    """The changes that threads make through one connection.

    Calls that wait for each other are made in one transaction, so that they share the time of its
    commit. One that fails is undone alone.

    Parameters
    ----------
    ledger : Ledger
        The connection.

    Attributes
    ----------
    lock : threading.Lock
        Held while the connection is used.
    """

    def __init__(self, ledger: Ledger) -> None:
        self.ledger: Ledger = ledger
        self.lock: threading.Lock = threading.Lock()
        self._queue: deque[_Work] = deque()
        self._pid = os.getpid()

    def make(
        self,
        change: Callable[[Ledger], Any],
        *,
        alone: list[Event] | None = None,
        repeatable: bool = True,
    ) -> Any:
        """Makes a change, alone or with those that came while another one was committed.

        Parameters
        ----------
        change : callable
            Takes the ledger, within a transaction.
        alone : list of Event, optional
            Events that are the whole change if none of their ids is there: they are appended
            without a look at what is there.
        repeatable : bool, default=True
            Whether a repetition counts nothing twice.

        Returns
        -------
        object
            What `change` returned; the version of the events if they were appended alone.
        """
        if os.getpid() != self._pid:
            raise StoreError("the store was opened before this process was forked: open it again")
        work = _Work(change, alone, repeatable)
        self._queue.append(work)
        with self.lock:
            if not work.done:
                batch = []
                while self._queue:
                    batch.append(self._queue.popleft())
                try:
                    self._make(batch)
                except BaseException as error:
                    for one in batch:
                        one.error = one.error or error
                finally:
                    for one in batch:
                        one.done = True
        if work.error is not None:
            raise work.error
        return work.result

    def _make(self, batch: list[_Work]) -> None:
        """Makes changes in one transaction; again where another one was first, or where the
        connection was lost and a repetition counts nothing twice."""
        for tries_left in reversed(range(TRIES)):
            try:
                self._try(batch)
                return
            except Overtaken as error:
                if not tries_left:
                    raise StoreError(
                        "other transactions were first again and again: nothing was changed. Try "
                        "again"
                    ) from error
                clock.sleep(0.01 * (TRIES - tries_left))
            except LostConnection as error:
                clock.sleep(0.1 * 2 ** (TRIES - tries_left))
                try:
                    self.ledger.reconnect()
                    if self.ledger.keys is not None:
                        self.ledger.keys.ledger.reconnect()
                except StoreError:  # the server is not back yet
                    if not tries_left:
                        raise
                if not (tries_left and all(work.repeatable for work in batch)):
                    raise StoreError(
                        f"{error}. Whether the call was kept is not known, and repeating it may "
                        "count rows twice: give rows ids, which makes a repetition safe"
                    ) from error
                warn_user(
                    f"{error}: connected again, and repeated the call, which counts nothing twice",
                    StoreWarning,
                )

    def _try(self, batch: list[_Work]) -> None:
        ledger = self.ledger
        for work in batch:
            work.error = None  # of an earlier try, which was undone
        if all(work.alone is not None for work in batch):
            try:
                version = ledger.insert_alone([e for work in batch for e in work.alone or ()])
            except Duplicate:
                pass
            else:
                for work in batch:
                    work.result = version
                return
        with ledger.writing():
            if len(batch) == 1:
                batch[0].result = batch[0].change(ledger)
                return
            for work in batch:
                try:
                    with ledger.savepoint():
                        work.result = work.change(ledger)
                except (StoreError, ValueError) as error:
                    work.error = error
