"""Help, the version and usage errors come without what is slow to import."""

from __future__ import annotations

import subprocess
import sys

import pytest

SLOW = {"sklearn", "scipy.sparse", "scipy.stats", "scipy.optimize", "pyarrow", "pandas", "polars"}


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--help"], 0),
        (["--version"], 0),
        (["fit", "--help"], 0),
        (["fit"], 2),
        (["fit", "x.csv", "-t", "y", "--colum", "x"], 2),
        (["fit", "x.csv", "-t", "y", "--column", "age=gausian"], 2),
        (["fit", "x.csv", "-t", "y", "--decimal", "x"], 2),
        (["merge", "a.tally", "-o", "b.tally"], 2),
    ],
)
def test_nothing_slow_is_imported(words, code):
    watch = (
        "import sys, atexit\n"
        f"atexit.register(lambda: print(*({SLOW!r} & set(sys.modules)), file=sys.stderr))\n"
        "from tallybayes.cli import main\n"
        "main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", watch, *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == code, done.stderr
    assert done.stderr.splitlines()[-1] == ""


def test_every_command_is_in_the_help(run):
    text = run("--help").out
    for name in ("fit", "predict", "evaluate", "explain", "update", "forget", "merge", "show"):
        assert f" {name} " in text
    for option in ("--decimal", "--delimiter", "--encoding", "--null"):
        assert option in run("update", "--help").out
