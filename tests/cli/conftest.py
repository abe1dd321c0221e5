"""A small table in every format, and ways to run the command line."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from tallybayes.cli.app import app

STRINGS = ["nurse", "cook", "driver, long haul", "工程师", 'said "no"', "two\nlines"]


@dataclass
class Outcome:
    """What a run of the command line left."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        return json.loads(self.out)

    @property
    def line(self) -> str:
        """The one line of an error."""
        lines = self.err.splitlines()
        assert len(lines) == 1, self.err
        assert lines[0].startswith("tallybayes: error: ")
        return lines[0]


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Runs the command line in this process, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")

    def run(*words: Any, stdin: bytes | None = None, code: int = 0) -> Outcome:
        result = CliRunner().invoke(app, [str(word) for word in words], input=stdin)
        assert result.exit_code == code, result.output
        return Outcome(result.exit_code, result.stdout, result.stderr)

    return run


def command(*words: Any) -> list[str]:
    """The command line as a process of its own."""
    return [sys.executable, "-c", "from tallybayes.cli import command; command()", *map(str, words)]


@pytest.fixture
def process(tmp_path):
    """Runs the command line as a process of its own."""

    def run(*words: Any, stdin: bytes = b"", code: int = 0, **environment: str) -> Outcome:
        result = subprocess.run(
            command(*words),
            input=stdin,
            capture_output=True,
            cwd=tmp_path,
            env={**os.environ, "COLUMNS": "80", **environment},
            timeout=60,
            check=False,
        )
        out, err = result.stdout.decode(), result.stderr.decode()
        assert result.returncode == code, err
        return Outcome(result.returncode, out, err)

    run.command = command
    run.start = lambda *words, **options: subprocess.Popen(
        command(*words), cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options
    )
    return run


ONE_AFTER_ANOTHER = """
import contextlib, gc, io, json, sys
from tallybayes.cli import main, quick_imports
found = []
for words in json.loads(sys.argv[1]):
    if {alone}:
        quick_imports.allow()
    sys.argv = ["tallybayes", *words]
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main()
        except SystemExit as done:
            code = done.code or 0
    found.append((code, out.getvalue(), err.getvalue(), list(sys.modules), gc.isenabled()))
print(json.dumps(found))
"""


@dataclass
class Imported(Outcome):
    """What a command left in its process, too."""

    modules: frozenset[str]
    searches_for_garbage: bool


@pytest.fixture
def one_after_another(tmp_path):
    """Runs commands in one process of their own, so that what none of them needs is not imported.
    With `alone`, the process knows that it is the command line."""

    def run(*commands: Sequence[str], alone: bool = False) -> list[Imported]:
        script = ONE_AFTER_ANOTHER.format(alone=alone)
        done = subprocess.run(
            [sys.executable, "-c", script, json.dumps(commands)],
            capture_output=True,
            cwd=tmp_path,
            env={**os.environ, "COLUMNS": "80"},
            text=True,
            check=True,
        )
        return [
            Imported(*texts, frozenset(modules), enabled)
            for *texts, modules, enabled in json.loads(done.stdout)
        ]

    return run


def _rows(n: int) -> list[dict[str, Any]]:
    rng = np.random.default_rng(7)
    rows = []
    for _ in range(n):
        yes = rng.random() < 0.4
        rows.append(
            {
                "age": None if rng.random() < 0.1 else int(rng.normal(55 if yes else 35, 8)),
                "pay": round(float(rng.lognormal(3.0 + yes, 0.5)), 2),
                "job": None if rng.random() < 0.1 else STRINGS[int(rng.integers(0, 6))],
                "home": ["Bern", "Basel", "Wien"][int(rng.integers(0, 2)) + yes],
                "active": bool(rng.random() < 0.5),
                "since": f"20{rng.integers(10, 25)}-0{rng.integers(1, 9)}-1{rng.integers(0, 9)}",
                "buys": "ja" if yes else "nein",
            }
        )
    return rows


def _csv(path: Path, rows: list[dict[str, Any]], delimiter: str, gap: str) -> None:
    def cell(value: Any) -> str:
        if value is None:
            return gap
        text = str(value).lower() if isinstance(value, bool) else str(value)
        if any(c in text for c in f'{delimiter}"\n'):
            return '"' + text.replace('"', '""') + '"'
        return text

    lines = [delimiter.join(rows[0])]
    lines += [delimiter.join(map(cell, row.values())) for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.fixture(scope="session")
def rows():
    return _rows(240)


@pytest.fixture(scope="session")
def table_files(tmp_path_factory, rows):
    """A folder with one table in every format; half.csv and rest.csv are its halves."""
    tmp_path = tmp_path_factory.mktemp("table")
    _csv(tmp_path / "comma.csv", rows, ",", "")
    _csv(tmp_path / "semicolon.csv", rows, ";", "NA")
    _csv(tmp_path / "pipe.txt", rows, "|", "?")
    _csv(tmp_path / "tab.tsv", rows, "\t", "null")
    _csv(tmp_path / "half.csv", rows[:120], ",", "")
    _csv(tmp_path / "rest.csv", rows[120:], ",", "")
    table = pa.Table.from_pylist(rows)
    since = table["since"].cast(pa.date32())
    table = table.set_column(table.column_names.index("since"), "since", since)
    pq.write_table(table, tmp_path / "table.parquet")
    with pa.ipc.new_file(str(tmp_path / "table.arrow"), table.schema) as out:
        out.write_table(table)
    with pa.ipc.new_stream(str(tmp_path / "stream.arrow"), table.schema) as out:
        out.write_table(table)
    with open(tmp_path / "table.jsonl", "w", encoding="utf-8") as out:
        for row in rows:
            some = {k: v for k, v in row.items() if v is not None or row is rows[0]}
            out.write(json.dumps(some, ensure_ascii=False) + "\n")
    return tmp_path


@pytest.fixture(scope="session")
def fitted_model(table_files, tmp_path_factory):
    """A weighted model of the table, by the command line."""
    folder = tmp_path_factory.mktemp("model")
    shutil.copy(table_files / "comma.csv", folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        words = ["fit", "comma.csv", "--target", "buys", "-o", "m.tally", "--no-estimate"]
        assert CliRunner().invoke(app, words).exit_code == 0
    return folder / "m.tally"


@pytest.fixture
def files(tmp_path, table_files):
    """The files of the table, in the folder of the test."""
    for path in table_files.iterdir():
        shutil.copy(path, tmp_path)
    names = [p.name for p in tmp_path.iterdir()]
    return SimpleNamespace(all=[n for n in sorted(names) if n not in ("half.csv", "rest.csv")])


@pytest.fixture
def model(tmp_path, files, fitted_model):
    """A weighted model of comma.csv, in the folder of the test."""
    shutil.copy(fitted_model, tmp_path)
    return "m.tally"
