"""Processes that are killed while they learn, forget and compact; and what must hold afterwards.

A process writes a line to a pipe before it begins a call and after the store has acknowledged it.
The reader of the pipes therefore knows of each row that it is counted, that it is not, or, of the
call that was cut off, that both may be.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from functools import partial
from multiprocessing.connection import Connection
from typing import Any
from unittest import mock

from tallybayes import NaiveBayes, store
from tallybayes.errors import StoreError, UnfinishedForget
from tallybayes.store.events import hashed

__all__ = ["check_crashes", "work"]

GROUP = 7  # rows of a call
KILLS_A_ROUND = 20


def row_of(number: int) -> dict[str, Any]:
    """The row of an id."""
    return {"word": f"w{number % 13}", "n": number % 5}


def label_of(number: int) -> str:
    return "spam" if number % 3 else "ham"


def work(url: str, seed: int, first: int, pipe: Connection) -> None:
    """Learns, forgets, takes snapshots and compacts until it is killed."""
    mine = random.Random(seed)
    live: list[int] = []

    def say(line: str) -> None:
        os.write(pipe.fileno(), f"{line}\n".encode())

    with _patiently(lambda: store.open(url)) as mail:
        for begin in range(first, first + 10**6, GROUP):
            ids = list(range(begin, begin + GROUP))
            say(f"learn {begin}")
            rows, labels = [row_of(i) for i in ids], [label_of(i) for i in ids]
            _patiently(partial(mail.learn, rows, labels, ids=ids))
            say(f"done {begin}")
            live += ids
            if mine.random() < 0.3:
                gone = mine.sample(live, 3)
                say("forget " + " ".join(map(str, gone)))
                _patiently(partial(mail.forget, ids=gone))
                say("done")
                live = [i for i in live if i not in gone]
            if mine.random() < 0.1:
                _patiently(mail.refresh)
                _patiently(mail.snapshot)
            if mine.random() < 0.05:
                _patiently(mail.compact)


def _patiently(call: Callable[[], Any]) -> Any:
    """Calls until others let the process write, and empty the write-ahead log."""
    while True:
        try:
            return call()
        except UnfinishedForget:
            pass
        except StoreError as error:
            if "try again" not in str(error):
                raise


def _log(text: bytes) -> tuple[set[int], set[int], set[int]]:
    """Of the lines of a process: ids that are counted, that are not, and of which it is unknown."""
    counted, gone, unknown = set(), set(), set()
    pending: list[str] | None = None
    lines = text.decode().split("\n")[:-1]
    for line in lines:
        words = line.split()
        if words[0] != "done":
            pending = words
            continue
        assert pending is not None
        if pending[0] == "learn":
            counted |= set(range(int(pending[1]), int(pending[1]) + GROUP))
        else:
            gone |= set(map(int, pending[1:]))
        pending = None
    if pending is not None:
        first = int(pending[1])
        unknown = (
            set(range(first, first + GROUP))
            if pending[0] == "learn"
            else {int(word) for word in pending[1:]}
        )
    return counted - gone, gone, unknown


def check_crashes(url: str, n_kills: int, *, n_processes: int = 4, seed: int = 0) -> int:
    """Kills processes at random moments, while others go on; checks every acknowledged event after
    each round of 20.

    Parameters
    ----------
    url : str
        A store that is there.
    n_kills : int
        How many processes are killed in all.
    n_processes : int, default=4
        How many work at a time.
    seed : int, default=0
        Of the moments.

    Returns
    -------
    int
        How many rows were acknowledged and survived.
    """
    mine = random.Random(seed)
    counted: set[int] = set()
    gone: set[int] = set()
    unknown: set[int] = set()
    forking = multiprocessing.get_context("forkserver")  # which imports once for all
    forking.set_forkserver_preload([__name__])

    def started(number: int) -> tuple[Any, Any, bytes]:
        """A process that has begun, the lines that it writes, and the first of them."""
        lines, pipe = forking.Pipe(duplex=False)
        given = (url, number, number * 10**6, pipe)
        process = forking.Process(target=work, args=given, daemon=True)  # ends with its parent
        with mock.patch.dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path)):
            process.start()
        pipe.close()
        log = os.fdopen(os.dup(lines.fileno()), "rb")
        lines.close()
        return process, log, log.readline()

    for first in range(0, n_kills, KILLS_A_ROUND):
        waiting = list(range(first, min(first + KILLS_A_ROUND, n_kills)))
        running = []
        while waiting or running:
            while waiting and len(running) < n_processes:
                running.append(started(waiting.pop()))
            time.sleep(mine.uniform(0.0, 0.3))
            process, log, line = running.pop(mine.randrange(len(running)))
            process.kill()
            with log:
                found = _log(line + log.read())
            process.join()
            assert process.exitcode == -signal.SIGKILL, process.exitcode
            counted |= found[0]
            gone |= found[1]
            unknown |= found[2]
        with store.open(url) as mail:
            mail.verify()
            hashes = {hashed(i, mail.key, "id"): i for i in counted | gone | unknown}
            with mail._reader.reading():
                live = {event.id for event in mail._reader.events() if event.label is not None}
            assert live <= hashes.keys(), "an event that no process has asked for"
            held = {i for value, i in hashes.items() if value in live}
            assert counted - unknown <= held, f"lost: {sorted(counted - unknown - held)[:9]}"
            assert not held & (gone - unknown), f"came back: {sorted(held & (gone - unknown))[:9]}"
            rows = sorted(held)
            expected = NaiveBayes().fit(list(map(row_of, rows)), list(map(label_of, rows)))
            assert mail.model().tally_ == expected.tally_
        gone |= unknown - held
        counted = (counted | unknown) & held
        unknown = set()
    return len(counted)
