"""Calling a function in a process of its own, with a limit of time and of memory.

``python -m benchmarks.weighted.apart`` is the program of such a process: it reads what to call as
JSON and prints what was returned as JSON.
"""

from __future__ import annotations

import contextlib
import json
import resource
import signal
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

__all__ = ["NotMeasured", "call_apart"]

ROOT = Path(__file__).resolve().parents[2]
MEMORY = 12 << 30  # bytes of address space that a process may have


class NotMeasured(Exception):
    """The process failed, or took too long."""


def call_apart(module: str, function: str, seconds: float, **arguments: Any) -> Any:
    """What ``module.function(**arguments)`` returns, called in a fresh process.

    Raises
    ------
    NotMeasured
    """
    task = {"module": module, "function": function, "arguments": arguments}
    try:
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.weighted.apart"],
            input=json.dumps(task),
            capture_output=True,
            text=True,
            cwd=ROOT,
            timeout=seconds,
        )
    except subprocess.TimeoutExpired as why:
        raise NotMeasured(f"not done after {seconds:g} s") from why
    if done.returncode == -signal.SIGKILL:
        raise NotMeasured("the process was killed: a lack of memory looks like that")
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [f"code {done.returncode}"])[-1]
        raise NotMeasured(last)
    return json.loads(done.stdout)


def main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    task = json.load(sys.stdin)
    with contextlib.redirect_stdout(sys.stderr):
        found = getattr(import_module(task["module"]), task["function"])(**task["arguments"])
    print(json.dumps(found))


if __name__ == "__main__":
    main()
