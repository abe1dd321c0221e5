"""Loading mutated files: what each leads to, in processes that may die of it."""

from __future__ import annotations

import multiprocessing
import resource
import signal
import tempfile
import warnings
from collections import Counter
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np

from benchmarks.files.kinds import KINDS, TALLIES, Kind
from benchmarks.files.mutations import mutated
from benchmarks.memory import PeakMeter
from tallybayes.errors import ModelFileError
from tallybayes.estimators.loading import load_or_count

__all__ = ["MEMORY", "Outcome", "Seed", "Tried", "fuzz", "seeds", "try_file"]

MEMORY = (4, 50 * 10**6)
"""Bytes that a load may take: so many times the file's size, and so many more."""
FORESEEN = (
    "NoneType",
    "Unfit",
    "ModelFileError",
    "SafetensorError",
    "RecursionError",
    "JSONDecodeError",
    "UnicodeDecodeError",
    "ValueError",
)
"""What a refusal comes from where a rule has been checked, and no exception was stumbled into."""
PATIENCE = 20.0  # seconds for one file
ROOM = 6 * 2**30  # of addresses, for a process and all its threads


class Seed(NamedTuple):
    """A whole file, and what to ask the model in it."""

    name: str
    file: bytes
    x: Any


class Outcome(NamedTuple):
    """What a file led to.

    Parameters
    ----------
    what : str
        "refused", "predicted", "not predicted" (with an error that says why), or "failed".
    how : str
        The message, or the type of what went wrong.
    memory : int
        Bytes above those before the load, beyond what a load may take; 0 if it took no more.
    """

    what: str
    how: str = ""
    memory: int = 0


@dataclass
class Tried:
    """Sums over files; `by_chance` counts refusals by an exception that no rule had foreseen."""

    outcomes: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    failures: list[tuple[int, str]] = field(default_factory=list)
    by_chance: int = 0

    @property
    def files(self) -> int:
        return self.outcomes.total()

    def include(self, other: Tried) -> None:
        self.outcomes += other.outcomes
        self.reasons += other.reasons
        self.failures += other.failures
        self.by_chance += other.by_chance

    def add(self, number: int, found: Outcome) -> None:
        self.outcomes[found.what] += 1
        if found.what == "not predicted":
            self.reasons[found.how[:60]] += 1
        self.by_chance += found.how.startswith("by chance: ")
        if found.what == "failed":
            self.failures.append((number, found.how))
        if found.memory:
            self.failures.append((number, f"took {found.memory:,} bytes too many"))


def seeds(kinds: dict[str, Any] | None = None) -> list[Seed]:
    """A file of each kind of model and tally."""
    found = []
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, make in (kinds or KINDS | TALLIES).items():
            kind: Kind = make()
            path = Path(folder) / name
            kind.model.save(path)
            found.append(Seed(name, path.read_bytes(), kind.x[:20]))
    return found


def file_of(number: int, base: int, of: list[Seed]) -> tuple[Seed, bytes]:
    """The mutated file with this number."""
    seed = of[number % len(of)]
    return seed, mutated(seed.file, Random(f"{base}:{number}"))


def try_file(path: Path, x: Any, meter: PeakMeter | None = None) -> Outcome:
    """Loads a file and asks the model, or that of the tally, if there is one."""
    if meter is not None:
        meter.start()
    try:
        model, *_ = load_or_count(path)
    except ModelFileError as error:
        cause = type(error.__cause__).__name__
        found = Outcome("refused", str(error) if cause in FORESEEN else f"by chance: {error}")
    except Exception as error:
        found = Outcome("failed", f"load: {type(error).__name__}: {error}")
    else:
        found = Outcome("predicted")
    taken = (meter.stop() or 0) if meter is not None else 0
    factor, more = MEMORY
    over = max(0, taken - factor * path.stat().st_size - more)
    if found.what != "predicted":
        return found._replace(memory=over)
    return _asked(model, x)._replace(memory=over)


def _asked(model: Any, x: Any) -> Outcome:
    try:
        p = model.predict_proba(x)
        model.predict(x)
        if not hasattr(model, "model"):  # which holds another one
            model.predict_joint_log_proba(x)
        if getattr(model, "_scores", None) is not None:
            model.p_values(x, within="class")
    except (UnicodeError, np.linalg.LinAlgError) as error:  # these are ValueErrors that say nothing
        return Outcome("failed", f"predict: {type(error).__name__}: {error}")
    except ValueError as error:
        return Outcome("not predicted", str(error))
    except Exception as error:
        return Outcome("failed", f"predict: {type(error).__name__}: {error}")
    sums = p.sum(axis=1)
    if hasattr(model, "tune"):  # labels do not exclude each other
        sums = np.where((p >= 0.0) & (p <= 1.0), 1.0, p)
    if not np.allclose(sums, 1.0, rtol=1e-6):
        return Outcome("failed", "predict: probabilities do not sum to 1")
    return Outcome("predicted")


def _work(pipe: Connection, begin: int, end: int, base: int, of: list[Seed]) -> None:
    """A process that tries files and tells what each led to, as long as it lives."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)  # ends the process, whatever it is doing
    resource.setrlimit(resource.RLIMIT_AS, (ROOM, ROOM))
    meter = PeakMeter()
    with (
        tempfile.TemporaryDirectory() as folder,
        warnings.catch_warnings(),
        np.errstate(all="ignore"),
    ):
        warnings.simplefilter("ignore")
        path = Path(folder) / "m.tally"
        for seed in of:  # what is imported on first use is not what a file takes
            path.write_bytes(seed.file)
            try_file(path, seed.x)
        for number in range(begin, end):
            seed, data = file_of(number, base, of)
            path.write_bytes(data)
            signal.setitimer(signal.ITIMER_REAL, PATIENCE)
            found = try_file(path, seed.x, meter if meter.works else None)
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            pipe.send(found)
    pipe.close()


def fuzz(files: int, base: int, of: list[Seed], begin: int = 0) -> Tried:
    """Tries this many files. A process that dies of one is replaced after it."""
    tried, number, end = Tried(), begin, begin + files
    context = multiprocessing.get_context("spawn")
    while number < end:
        ours, theirs = context.Pipe(duplex=False)
        process = context.Process(target=_work, args=(theirs, number, end, base, of))
        process.start()
        theirs.close()
        try:
            while number < end:
                tried.add(number, ours.recv())
                number += 1
        except EOFError:
            process.join()
            code = process.exitcode or 0
            how = "took too long" if code == -signal.SIGALRM else f"ended the process with {code}"
            tried.add(number, Outcome("failed", how))
            number += 1
        process.join()
    return tried
