"""Whether the command and the call that the doctor gives for a file learn the same tally.

    python tools/doctor_on_files.py FOLDER [FOLDER or FILE …]

For each file: the doctor looks at it, its command and its lines of Python run, and the two tallies
are compared, classes by their text: the command keeps labels as strings, Python reads whole numbers
as such. Exits with 1 where they differ, or one fails that the doctor has found sound.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import tallybayes
from tallybayes.tally import TableTally


def files_of(paths: list[str]) -> Iterator[Path]:
    """The files of folders, and files."""
    for path in map(Path, paths):
        yield from sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]


def by_text(tally: TableTally) -> TableTally:
    """The same counts with classes that are strings, in their order, and one more without rows:
    counts stay where they are for as many classes."""
    classes = np.array([str(label) for label in tally.schema.classes.tolist()], dtype=object)
    named = TableTally(replace(tally.schema, classes=classes), tally.classes, tally.groups)
    more = np.sort(np.append(classes, "\U0010ffff"))
    return named.aligned(replace(named.schema, classes=more))


def learned_by_command(command: str) -> Any:
    """The model that the command writes.

    Raises
    ------
    RuntimeError
        With what it prints, if it fails.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "m.tally")
        words = [*shlex.split(command)[1:], "-o", path, "--no-estimate", "-q"]
        run = [sys.executable, "-P", "-m", "tallybayes", *words]
        done = subprocess.run(run, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(done.stderr.strip())
        return tallybayes.load(path)


def verdict(path: Path) -> str:
    """What comes of one file: "same", or what is not."""
    try:
        found = tallybayes.doctor(str(path))
    except ValueError as error:
        return f"refused: {error}"
    if not found.sound:
        return found.tried
    try:
        one = learned_by_command(found.command)
    except RuntimeError as error:
        return f"COMMAND FAILS: {error}"
    if "leave these" in found.call:
        return "rows without a label: the call says that they are to be left out first"
    space: dict[str, Any] = {}
    try:
        exec(found.call, space)  # the lines that the doctor has written
    except ValueError as error:
        return f"CALL FAILS: {error}"
    same = by_text(one.tally_) == by_text(space["model"].tally_)
    return "same" if same else f"DIFFER: {found.command}"


def main(paths: list[str]) -> int:
    """Prints a line for each file."""
    warnings.simplefilter("ignore")
    failed = 0
    for path in files_of(paths):
        found = verdict(path)
        failed += found.startswith(("COMMAND FAILS", "CALL FAILS", "DIFFER"))
        print(f"{path}: {' '.join(found.split())[:160]}", flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
