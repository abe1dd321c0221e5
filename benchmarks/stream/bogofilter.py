"""Debian's bogofilter as a model that learns and answers one message at a time."""

from __future__ import annotations

import resource
import shutil
import subprocess
import tempfile
from functools import cache
from typing import NamedTuple, Self

__all__ = ["Bogofilter", "InstalledBogofilter", "installed_bogofilter", "processor_seconds"]

STARTS = 50  # processes that the time of a start is the mean of


class InstalledBogofilter(NamedTuple):
    """The program on this machine: its version, and the milliseconds of the processor that a
    process takes which reads no message."""

    version: str
    start: float


@cache
def installed_bogofilter() -> InstalledBogofilter | None:
    """The program; None where it is not installed."""
    if shutil.which("bogofilter") is None:
        return None
    begin = processor_seconds()
    for _ in range(STARTS):
        said = subprocess.run(["bogofilter", "-V"], check=True, capture_output=True, text=True)
    took = processor_seconds() - begin
    return InstalledBogofilter(said.stdout.partition("\n")[0], took / STARTS * 1e3)


def processor_seconds() -> float:
    """Of the processes that this one has started and that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Bogofilter:
    """The program with its own settings and an empty word list, which goes with it.

    A process that classifies many messages locks the word list until it ends. So each prediction,
    and each message that is registered, is a process of its own.
    """

    def __enter__(self) -> Self:
        self._folder = tempfile.TemporaryDirectory()
        return self

    def __exit__(self, *reason: object) -> None:
        self._folder.cleanup()

    def _run(self, message: str, *options: str) -> bytes:
        subject, _, body = message.partition("\n")
        whole = f"{subject}\n\n{body}" if subject.startswith("Subject:") else f"\n{message}"
        done = subprocess.run(
            ["bogofilter", "-C", "-d", self._folder.name, *options],
            input=whole.encode(),
            capture_output=True,
            check=False,
        )
        if done.returncode > 2:  # up to 2 it is the verdict
            raise RuntimeError(f"bogofilter failed: {done.stderr.decode()}")
        return done.stdout

    def predict_proba_one(self, message: str) -> dict[str, float]:
        """The spamicity of a message as the probability of spam."""
        spam = float(self._run(message, "-TT"))
        return {"ham": 1.0 - spam, "spam": spam}

    def learn_one(self, message: str, label: str) -> None:
        """Registers a message."""
        self._run(message, "-s" if label == "spam" else "-n")
