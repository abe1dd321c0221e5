"""Help, the version and usage errors come without what is slow to import."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import scipy

SLOW = {"sklearn", "scipy.stats", "scipy.optimize", "pyarrow", "pandas", "polars"}
if scipy.__version__ >= "1.17":  # before it `scipy.special` imports the package itself
    SLOW.add("scipy.sparse")


def test_nothing_slow_is_imported(one_after_another):
    commands = [
        (["--help"], 0),
        (["--version"], 0),
        (["fit", "--help"], 0),
        (["fit"], 2),
        (["fit", "x.csv", "-t", "y", "--colum", "x"], 2),
        (["fit", "x.csv", "-t", "y", "--column", "age=gausian"], 2),
        (["fit", "x.csv", "-t", "y", "--decimal", "x"], 2),
        (["merge", "a.tally", "-o", "b.tally"], 2),
    ]
    done = one_after_another(*(words for words, _ in commands))
    for (words, code), found in zip(commands, done, strict=True):
        assert found.code == code, (words, found.err)
        assert not SLOW & found.modules, words


def test_the_package_is_a_command():
    done = subprocess.run(
        [sys.executable, "-m", "tallybayes", "--version"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == importlib.metadata.version("tallybayes")


FILE_ERRORS = [
    ["fit", "nope.csv", "-t", "y"],
    ["fit", "t.pdf", "-t", "y"],
    ["predict", "m.tally", "nope.csv"],
    ["predict", "m.tally", "t.pdf"],
    ["predict", "nope.tally", "t.csv"],
    ["predict", "t.csv", "m.tally"],
    ["predict", "m.tally", "t.csv", "-o", "no/folder/out.csv"],
    ["evaluate", "m.tally", "t.pdf"],
    ["merge", "m.tally", "nope.tally", "-o", "o.tally"],
    ["show", "t.csv"],
]
ERRORS_AFTER_THE_FIRST_LINE = [  # with Arrow, which reads the names of the columns
    ["fit", "t.csv", "-t", "z"],
    ["fit", "t.parquet", "-t", "z"],
    ["fit", "t.csv", "-t", "y", "-o", "no/m.tally"],
    ["fit", "t.csv", "-t", "y", "--test", "nope.csv"],
]


def test_errors_of_files_and_columns_come_before_slow_imports(one_after_another, run, tmp_path):
    (tmp_path / "t.csv").write_text("x,y\n" + "1.5,a\n2.5,b\n" * 9)
    (tmp_path / "t.pdf").write_bytes(b"%PDF-1.7\n")
    pq.write_table(pa.table({"x": [1], "y": ["a"]}), tmp_path / "t.parquet")
    run("fit", "t.csv", "-t", "y", "--plain", "--no-estimate", "-o", "m.tally")
    commands = [*FILE_ERRORS, *ERRORS_AFTER_THE_FIRST_LINE]
    slow = {"sklearn", "scipy", "pandas", "polars", "matplotlib", "duckdb"}
    for words, found in zip(commands, one_after_another(*commands), strict=True):
        assert found.code in (1, 2), words
        assert found.err.startswith("tallybayes: error: "), words
        assert not slow & found.modules, words
        assert words not in FILE_ERRORS or "pyarrow" not in found.modules, words


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
