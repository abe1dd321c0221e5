"""Help, the version and usage errors come without what is slow to import."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy

SLOW = {"sklearn", "scipy.stats", "scipy.optimize", "pyarrow", "pandas", "polars"}
if scipy.__version__ >= "1.17":  # before it `scipy.special` imports the package itself
    SLOW.add("scipy.sparse")


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


def test_the_package_is_a_command():
    done = subprocess.run(
        [sys.executable, "-m", "tallybayes", "--version"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == importlib.metadata.version("tallybayes")


def imported(words, folder):
    """The top-level packages that a run which ends with an error imports, and its exit code."""
    watch = (
        "import sys, atexit\n"
        "names = lambda: sorted({name.partition('.')[0] for name in sys.modules})\n"
        "atexit.register(lambda: print(*names(), file=sys.stderr))\n"
        "from tallybayes.cli import main\n"
        "main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", watch, *words],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
    )
    return set(done.stderr.splitlines()[-1].split()), done


FILE_ERRORS = {
    "data file": ["fit", "nope.csv", "-t", "y"],
    "data of a model": ["predict", "m.tally", "nope.csv"],
    "model file": ["predict", "nope.tally", "t.csv"],
    "models to merge": ["merge", "m.tally", "nope.tally", "-o", "o.tally"],
    "model to show": ["show", "t.csv"],
    "folder": ["fit", "t.csv", "-t", "y", "-o", "no/m.tally"],
    "target": ["fit", "t.csv", "-t", "z"],
    "target in Parquet": ["fit", "t.parquet", "-t", "z"],
    "test file": ["fit", "t.csv", "-t", "y", "--test", "nope.csv"],
    "kind of file": ["fit", "t.pdf", "-t", "y"],
}


@pytest.mark.parametrize("words", FILE_ERRORS.values(), ids=FILE_ERRORS)
def test_errors_of_files_and_columns_come_before_slow_imports(words, tmp_path):
    (tmp_path / "t.csv").write_text("x,y\n1,a\n2,b\n")
    (tmp_path / "t.pdf").write_bytes(b"%PDF-1.7\n")
    pq.write_table(pa.table({"x": [1], "y": ["a"]}), tmp_path / "t.parquet")
    (tmp_path / "m.tally").write_bytes(b'\x20\0\0\0\0\0\0\0{"tallybayes"')
    packages, done = imported(words, tmp_path)
    assert done.returncode == 1, done.stderr
    assert done.stderr.startswith("tallybayes: error: ")
    assert not packages & {"sklearn", "scipy", "pandas", "polars", "matplotlib", "duckdb"}


def test_every_command_is_in_the_help(run):
    text = run("--help").out
    for name in ("fit", "predict", "evaluate", "explain", "update", "forget", "merge", "show"):
        assert f" {name} " in text
    for option in ("--decimal", "--delimiter", "--encoding", "--null"):
        assert option in run("update", "--help").out


def test_bash_completes_commands_options_and_columns(process, tmp_path):
    def completed(words, at):
        asked = {"_TALLYBAYES_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": at}
        return process(**asked).out.split()

    assert completed("tallybayes f", "1") == ["fit", "forget"]
    assert completed("tallybayes fit --deli", "2") == ["--delimiter"]
    (tmp_path / "t.csv").write_text("age,area,job,y\n1,2,c,p\n")
    assert completed("tallybayes fit t.csv --target a", "4") == ["age", "area"]
    assert completed("tallybayes fit t.csv -t y --column j", "6") == ["job="]
    assert "job=none" in completed("tallybayes fit t.csv -t y --column job=", "6")
    assert completed("tallybayes fit none.csv --target a", "4") == []
    for shell in ("bash", "zsh", "fish"):  # whichever runs the tests
        assert f"complete_{shell}" in process("--show-completion", shell).out
