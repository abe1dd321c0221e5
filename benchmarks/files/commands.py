"""Commands that change one model, killed at random moments or several at once.

Each batch of rows has a label of its own number of rows, and a command that exits with 0 has
acknowledged its batch. A model is right if each label has the rows of the batches that were
acknowledged; of the batch of a killed command it may have all rows or none.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import tallybayes
from tallybayes.cli import main

__all__ = ["Verdict", "kills", "writers"]

MODEL = "m.tally"
START = 200  # rows of each label, so that every batch can be forgotten
LABELS = tuple(f"c{k}" for k in range(8))
BEFORE, AFTER = "killed before the change", "killed after the change"
ENDED = "ended before the kill"
PATIENCE = 120.0  # seconds for a command


class Verdict(NamedTuple):
    """What commands left.

    Parameters
    ----------
    runs : int
        Kills, or rounds.
    wrong : list of str
        What is not as acknowledged.
    counts : dict of str to int
        How often what happened.
    """

    runs: int
    wrong: list[str]
    counts: dict[str, int]


SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(
    [
        "tallybayes.cli.app",
        "tallybayes.cli.files",
        "tallybayes.cli.show",
        "tallybayes.model_files.figures",
        "tallybayes.model_files.tables",
    ]
)
"""Each command is a process of its own, forked from one that has imported what it needs, so that
it is killed at work and not while it imports."""


def _main(folder: str, words: tuple[str, ...]) -> None:
    """What such a process does."""
    os.chdir(folder)
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nothing, number)
    sys.argv = ["tallybayes", *words]
    main()


def _start(*words: str) -> Any:
    process = SERVER.Process(target=_main, args=(os.getcwd(), words))
    process.start()
    return process


def _end(process: Any) -> int:
    """The exit code of a command; an error if it does not end."""
    process.join(PATIENCE)
    if process.exitcode is None:
        process.kill()
        raise TimeoutError("a command does not end: another may hold its lock for good")
    return int(process.exitcode)


def _rows(label: str, n: int) -> str:
    return "a,b,y\n" + "".join(f"{i % 7}.5,t{i % 3},{label}\n" for i in range(n))


def _run(*words: str) -> None:
    if _end(_start(*words)):
        raise RuntimeError(f"{' '.join(words)} failed")


@contextmanager
def _folder() -> Iterator[Path]:
    """A folder to work in, with a model that has START rows of each label."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            text = "".join(_rows(label, START).partition("\n")[2] for label in LABELS)
            Path("start.csv").write_text("a,b,y\n" + text)
            _run("fit", "start.csv", "-t", "y", "-o", MODEL, "--plain", "--no-estimate")
            yield Path(folder)
        finally:
            os.chdir(before)


def _held() -> dict[str, int]:
    """The rows of each label in the model, which has to load."""
    model = tallybayes.load(MODEL)
    counts = model.class_count_.tolist()
    return {str(c): int(n) for c, n in zip(model.classes_.tolist(), counts, strict=True)}


def _changes(label: str, n: int, number: int) -> list[tuple[list[str], int]]:
    """The commands that add or take away n rows of a label, and by how many they change it."""
    data, part = f"batch{number}.csv", f"part{number}.tally"
    Path(data).write_text(_rows(label, n))
    return [
        (["update", MODEL, data], n),
        (["forget", MODEL, data], -n),
        (["merge", MODEL, part, "-o", MODEL], n),
    ]


def _made(change: tuple[list[str], int], data: str) -> tuple[list[str], int]:
    """The change, after the model that it merges has been made."""
    words, by = change
    if words[0] == "merge":
        _run("fit", data, "-t", "y", "-o", words[2], "--plain", "--no-estimate")
    return words, by


def _wait(job: Any, takes: float, rng: Random) -> None:
    """Waits for a random moment of a command, or for one near the replacement of the model."""
    if rng.random() < 0.5:
        time.sleep(takes * rng.uniform(0.1, 1.2))
        return
    while job.is_alive() and not any(_size(draft) for draft in _drafts()):
        time.sleep(0.0005)
    time.sleep(rng.uniform(0.0, 0.01))


def _drafts() -> list[Path]:
    return list(Path().glob(f".{MODEL}.*"))


def _size(path: Path) -> int:
    """0 for a file that has gone meanwhile."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def kills(times: int, seed: int, say: Callable[[str], None] = print) -> Verdict:
    """Kills commands by SIGKILL, at moments spread over how long one takes and near its end."""
    rng, wrong = Random(seed), []
    counts = dict.fromkeys((BEFORE, AFTER, ENDED), 0)
    with _folder():
        Path("batch.csv").write_text(_rows(LABELS[0], 20))
        start = time.monotonic()
        _run("update", MODEL, "batch.csv")
        takes = time.monotonic() - start
        expected = _held()
        for number in range(times):
            label = rng.choice(LABELS)
            change = rng.choice(_changes(label, rng.randrange(1, 30), number % 4))
            words, by = _made(change, f"batch{number % 4}.csv")
            job = _start(*words)
            _wait(job, takes, rng)
            job.kill()
            code = _end(job)
            with_it = {**expected, label: expected[label] + by}
            found = _held()
            if code == 0:
                counts[ENDED] += 1
                allowed = [with_it]
            else:
                allowed = [expected, with_it]
                counts[AFTER if found == with_it else BEFORE] += 1
            if found not in allowed:
                wrong.append(f"kill {number}, {words[0]}: {found} is none of {allowed}")
            expected = found
            if found[label] < 60:  # so that there is always something to forget
                Path("more.csv").write_text(_rows(label, START))
                _run("update", MODEL, "more.csv")
                expected = _held()
            for draft in _drafts():  # what a killed command leaves
                draft.unlink()
            if number % 20 == 19:
                say(f"{number + 1} kills: {counts}, {len(wrong)} wrong")
        _run("update", MODEL, "batch.csv")  # no lock stayed behind
    return Verdict(times, wrong, counts)


def writers(times: int, seed: int, say: Callable[[str], None] = print) -> Verdict:
    """Rounds of eight commands at once on one model."""
    rng, wrong = Random(seed), []
    counts = {"acknowledged": 0, "refused": 0}
    with _folder():
        expected = _held()
        for number in range(times):
            planned = []
            for k, label in enumerate(LABELS):
                options = _changes(label, rng.randrange(1, 30), k)
                planned.append((label, *_made(options[(k + number) % 3], f"batch{k}.csv")))
            jobs = [_start(*words) for _, words, _ in planned]
            for (label, _, by), job in zip(planned, jobs, strict=True):
                done = _end(job) == 0
                counts["acknowledged" if done else "refused"] += 1
                expected[label] += by if done else 0
            found = _held()
            if found != expected:
                wrong.append(f"round {number}: {found}, not {expected}")
                expected = found
            say(f"round {number + 1}: {counts}, {len(wrong)} wrong")
    return Verdict(times, wrong, counts)
