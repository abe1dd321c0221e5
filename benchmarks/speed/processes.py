"""A case that needs processes of its own: each fit in a fresh one, which makes the same data.

``python -m benchmarks.speed.processes`` is the program of such a process; it is given what to do as
JSON on its standard input, and leaves what it learned in a file of arrays.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.memory import PeakMeter
from benchmarks.speed.case import MemoryBar, Outcome
from benchmarks.speed.checks import WrongAnswer, close
from benchmarks.timing import Effort, Times

__all__ = ["NotMeasured", "ProcessCase", "measure_apart"]

ROOT = Path(__file__).resolve().parents[2]


class NotMeasured(Exception):
    """A process failed."""


@dataclass(frozen=True)
class ProcessCase:
    """A fit whose time and memory are measured in processes of their own.

    Parameters
    ----------
    name, what : str
    data : (module, function, arguments)
        What makes the data, from a fixed seed.
    peer, ours : (module, class)
    learned : tuple of str
        The attributes of the models that are compared.
    bar : float
        The least ratio of the times.
    memory : MemoryBar
    """

    name: str
    what: str
    data: tuple[str, str, tuple[int, ...]]
    peer: tuple[str, str]
    ours: tuple[str, str]
    learned: tuple[str, ...]
    bar: float
    memory: MemoryBar
    peer_name: str = "scikit-learn"


def _named(module: str, name: str) -> Any:
    return getattr(import_module(module), name)


def work(task: dict[str, Any]) -> dict[str, Any]:
    """What the process does: makes the data, fits, and keeps what was learned.

    The first fit is timed and its memory measured, with nothing run before it; further fits are
    timed only.
    """
    module, function, arguments = task["data"]
    data = _named(module, function)(*arguments)
    kind = _named(*task["estimator"])

    def timed() -> tuple[float, Any]:
        start = time.perf_counter()
        model = kind().fit(data.X, data.y)
        return time.perf_counter() - start, model

    meter = PeakMeter()
    meter.start()
    seconds, model = timed()
    peak = meter.stop()
    arrays: dict[str, Any] = {}
    for name in task["learned"]:
        value = getattr(model, name)
        parts = value if isinstance(value, list) else [value]
        arrays |= {f"{name}[{j}]": part for j, part in enumerate(parts)}
    np.savez(task["file"], **arrays)
    del model
    rest = [timed()[0] for _ in range(task["runs"] - 1)]
    peaks = [] if peak is None else [peak]
    return {"seconds": [seconds, *rest], "peaks": peaks, "note": data.note}


def _apart(case: ProcessCase, estimator: tuple[str, str], file: Path, runs: int) -> dict[str, Any]:
    task = {
        "data": case.data,
        "estimator": estimator,
        "learned": case.learned,
        "file": str(file),
        "runs": runs,
    }
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.speed.processes"],
        input=json.dumps(task),
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    if done.returncode:
        raise NotMeasured(
            f"the process that fits {estimator[0]}.{estimator[1]} ended with the code "
            f"{done.returncode}; {-signal.SIGKILL} is what a lack of memory looks like"
        )
    reply: dict[str, Any] = json.loads(done.stdout)
    return reply


def measure_apart(case: ProcessCase, effort: Effort) -> Outcome:
    """Runs the peer in one process and ours in another; the peer fits once, as it is very slow.

    Raises
    ------
    NotMeasured
        If a process failed.
    WrongAnswer
        If the two have not learned the same.
    """
    runs = max(effort.least_ours, effort.rounds or 0)
    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder, "peer.npz"), Path(folder, "ours.npz")
        peer = _apart(case, case.peer, files[0], 1)
        ours = _apart(case, case.ours, files[1], runs)
        with np.load(files[0]) as theirs, np.load(files[1]) as mine:
            if set(theirs) != set(mine):
                raise WrongAnswer(f"learned {sorted(mine)} instead of {sorted(theirs)}")
            for name in theirs:
                close(name, theirs[name], mine[name], 1e-9)
    return Outcome(
        name=case.name,
        what=case.what,
        peer_name=case.peer_name,
        bar=case.bar,
        note=f"{ours['note']}; each side in a process of its own",
        peer=Times(peer["seconds"], peaks=peer["peaks"]),
        ours=Times(ours["seconds"], peaks=ours["peaks"]),
        memory=case.memory,
    )


if __name__ == "__main__":
    print(json.dumps(work(json.load(sys.stdin))))
