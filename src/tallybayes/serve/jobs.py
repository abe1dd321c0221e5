"""Work that takes long: the report of a store, and its weights, in a process beside the service.

A thread would hold Python's global lock for milliseconds at a time, which predictions would wait
for. A process also gives its memory back, can be ended, and runs when predictions leave time.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from contextlib import closing
from multiprocessing import get_context, parent_process
from typing import Any

from tallybayes.errors import StoreError
from tallybayes.serve.bodies import Refused
from tallybayes.serve.records import note
from tallybayes.serve.served import ModelSource
from tallybayes.threads import set_num_threads

__all__ = ["Jobs", "reported", "reweighted"]

MAX_SECONDS = 600.0  # of a job
NICENESS = 10  # of its process: predictions come first


def reported(source: Callable[[], ModelSource], lang: str) -> str:
    """Make the report of a store, judged on its rows, each without what was learned from it.

    Parameters
    ----------
    source : callable
        Opens the store.
    lang : str
        The language of the page.

    Returns
    -------
    str
        A page of HTML.
    """
    with closing(source()) as held:
        kept = held.store.rows()
        version = f"{held.name} {held.store.version}"
        about = {"model": version, "data": f"{len(kept.rows):,} / {kept.total:,}"}
        how = {"sample_weight": kept.weights, "groups": kept.groups, "learned": True}
        page = kept.model.report(kept.rows, kept.labels, **how, about=about, lang=lang)
        return str(page.html)


def reweighted(source: Callable[[], ModelSource]) -> int:
    """Learn the weights of a store again.

    Parameters
    ----------
    source : callable
        Opens the store.

    Returns
    -------
    int
        The version of the counts under which they were learned.
    """
    with closing(source()) as held:
        held.store.reweight()
        return int(held.store.version)


def _end_with_parent() -> None:
    """Ends this process where the service is killed and cannot end it."""
    parent = parent_process()
    if parent is not None:  # by a pipe, whose other end closes with it
        parent.join()
        os._exit(1)


def _work(pipe: Any, job: Callable[..., Any], given: tuple[Any, ...]) -> None:
    """The process of a job: sends its answer, or why there is none."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal: the service ends this process
    os.nice(NICENESS)
    set_num_threads(1)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    answer: tuple[Any, str | None]
    try:
        answer = job(*given), None
    except StoreError as error:
        answer = None, str(error)
    except Exception as error:
        note(f"{job.__name__} failed", error)
        answer = None, ""
    pipe.send(answer)


class Jobs:
    """One job at a time, each in a process of its own."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: Any = None
        self._closed = False

    def run(self, job: Callable[..., Any], *given: Any) -> Any:
        """Do a job, and wait for it.

        Parameters
        ----------
        job : callable
            A function of a module.
        *given
            What it takes. Both are sent to the process.

        Returns
        -------
        object
            What it returns.

        Raises
        ------
        Refused
            503 if another job runs, or this one is ended or takes too long.
        StoreError
            If the store could not be read or written.
        RuntimeError
            If the job failed otherwise, which its process has logged.
        """
        if not self._lock.acquire(blocking=False):
            raise Refused(
                503,
                "the service makes a report or learns weights, one at a time: try again",
                Retry_After="10",
            )
        try:
            answer, problem = self._asked(job, given)
        finally:
            self._lock.release()
        if problem == "":
            raise RuntimeError(f"{job.__name__} failed")
        if problem is not None:
            raise StoreError(problem) from RuntimeError(job.__name__)
        return answer

    def _asked(self, job: Callable[..., Any], given: tuple[Any, ...]) -> tuple[Any, str | None]:
        """What the process of a job sends."""
        context = get_context("spawn")
        receiver, sender = context.Pipe(duplex=False)
        process = context.Process(target=_work, args=(sender, job, given), daemon=True)
        with receiver:
            with sender:
                process.start()
            self._process = process
            if self._closed:
                process.kill()
            try:
                if not receiver.poll(MAX_SECONDS):
                    raise Refused(
                        503, f"this took more than {MAX_SECONDS:g} seconds", Retry_After="60"
                    )
                found: tuple[Any, str | None] = receiver.recv()
                return found
            except EOFError:
                raise Refused(503, "this was ended: try again", Retry_After="10") from None
            finally:
                self._process = None
                process.kill()
                process.join()

    def close(self) -> None:
        """End the job that runs, and those that come."""
        self._closed = True
        process = self._process
        if process is not None:
            process.kill()
