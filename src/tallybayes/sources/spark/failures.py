"""Spark's errors as one message that says what to do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.errors import PySparkException

from tallybayes.errors import SourceError

try:
    from py4j.protocol import Py4JError
except ImportError:  # of the client for Spark Connect alone, which has no Java beside it

    class Py4JError(Exception):  # type: ignore[no-redef]
        """A stand-in that is never raised, if py4j is not installed."""


__all__ = ["Py4JError", "explained"]

LACKING = re.compile(r"No module named '(tallybayes|[\w.]+)'|\b(PyArrow|pyarrow)\b.* must be")
SHIP = (
    "The Python on the executors needs tallybayes and what it depends on. --py-files cannot carry "
    "compiled code: pack this environment (venv-pack or conda-pack), ship it with spark.archives, "
    "and let spark.pyspark.python name its Python; docs/scale.md says how"
)
GONE = ("stopped SparkContext", "SparkContext was shut down", "Answer from Java side is empty")
LOST = ("ExecutorLostFailure", "executor lost", "ExecutorDeadException", "Executor heartbeat")
CAUSE = re.compile(
    r"\nCaused by: [\w.$]+: (.*?)(?=\n\s*at |\n\s*\.\.\. \d+ more|\nCaused by: |\Z)", re.DOTALL
)
TRACE = re.compile(r"\n\s*(at |\.\.\. \d+ more|JVM stacktrace|Driver stacktrace)")


@contextmanager
def explained(name: str) -> Iterator[None]:
    """Errors of Spark, and of the connection to it, become SourceError.

    Parameters
    ----------
    name : str
        What messages call the source.

    Raises
    ------
    KeyboardInterrupt
        Where Ctrl-C has ended what failed: Spark then cancels its jobs, and says so by an error
        that comes in place of this one.
    """
    try:
        yield
    except (PySparkException, Py4JError, ConnectionError, EOFError) as error:
        if _is_interrupt(error):
            raise KeyboardInterrupt from error
        raise SourceError(f"{name} cannot be read: {_explanation(error)}") from error


def _is_interrupt(error: BaseException | None) -> bool:
    """Whether an error came while Ctrl-C was answered."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error is not None


def _explanation(error: Exception) -> str:
    text = str(error) or type(error).__name__
    lacking = LACKING.search(text)
    if lacking:
        return f"{lacking[0].strip()} on the executors. {SHIP}"
    if isinstance(error, ConnectionError | EOFError) or any(words in text for words in GONE):
        return (
            f"the connection to Spark is lost ({_shortened(text)}). The driver program of Spark "
            "has ended: begin a new session"
        )
    if any(words in text for words in LOST):
        return (
            f"executors were lost more often than spark.task.maxFailures allows "
            f"({_shortened(text)}). Where they ran out of memory, give them more by "
            "spark.executor.memoryOverhead, or use more partitions"
        )
    return _shortened(text)


def _shortened(text: str) -> str:
    """The message without stack traces: of a Python error in a task its last line, of one in Java
    what has caused it."""
    if "Traceback (most recent call last)" in text:
        python = text.split("Traceback (most recent call last)")[1]
        last = [line for line in TRACE.split(python)[0].splitlines() if line[:1].strip()]
        if len(last) > 1:
            return last[-1].strip()
    causes = dict.fromkeys(CAUSE.findall(text)) or [TRACE.split(text)[0]]
    return ": ".join(" ".join(cause.split()) for cause in causes)
