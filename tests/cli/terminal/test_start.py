"""Help, the version, usage errors and a small fit come without what is slow to import."""

import importlib
import importlib.metadata
import shutil
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy

from tallybayes import NaiveBayes, WeightedNaiveBayes
from tallybayes.cli import messages
from tallybayes.cli.light_estimators import BaseEstimator, Interval, StrOptions
from tallybayes.cli.quick_imports import stood_in

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


NOT_NEEDED = {
    "joblib",
    "matplotlib",
    "numpy.f2py",
    "numpy.testing",
    "pandas",
    "polars",
    "scipy.integrate",
    "scipy.interpolate",
    "scipy.linalg",
    "scipy.ndimage",
    "scipy.optimize",
    "scipy.sparse",
    "scipy.special",
    "scipy.stats",
    "sklearn",
}


def output_of(script, folder):
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


FIT = ["fit", "t.csv", "-t", "y", "-o", "m.tally"]


def test_what_a_small_command_does_not_need_is_not_imported(one_after_another, tmp_path):
    (tmp_path / "t.csv").write_text("age,job,y\n" + "30,nurse,yes\n70,cook,no\n" * 5)
    commands = [
        FIT,
        ["predict", "m.tally", "t.csv", "-o", "p.csv"],
        ["evaluate", "m.tally", "t.csv"],
        ["explain", "m.tally", "t.csv", "--row", "1"],
        ["update", "m.tally", "t.csv"],
        ["show", "m.tally"],
        [*FIT, "--plain", "--force"],
    ]
    for words, found in zip(commands, one_after_another(*commands, alone=True), strict=True):
        assert found.code == 0, (words, found.err)
        assert sorted(NOT_NEEDED & found.modules) == [], words
        assert found.searches_for_garbage, words


def test_arrow_finds_pandas_when_it_is_needed(tmp_path):
    script = (
        "import sys\n"
        "from tallybayes.cli import quick_imports\n"
        "quick_imports.allow()\n"
        "quick_imports.import_arrow()\n"
        "import pyarrow as pa\n"
        "print(pa.array(['a', None]).null_count, 'pandas' in sys.modules)\n"
        "frame = pa.table({'x': [1, 2]}).to_pandas()\n"
        "print(frame['x'].sum(), pa.array(frame['x']).type)"
    )
    assert output_of(script, tmp_path) == ["1 False", "3 int64"]


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package with a module that says when it is executed."""
    name = "package_of_this_test"
    folder = tmp_path / name
    folder.mkdir()
    (folder / "__init__.py").write_text("executed = []\n")
    (folder / "slow.py").write_text(f"import {name}\n{name}.executed.append(1)\nvalue = 7\n")
    (folder / "user.py").write_text(
        f"import {name}.slow\nimport {name}.slow as slow\nfrom {name} import slow as again\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    yield name
    for module in [m for m in sys.modules if m.partition(".")[0] == name]:
        del sys.modules[module]


def test_a_module_is_imported_when_somebody_asks_it_for_something(package):
    slow = f"{package}.slow"
    with stood_in(slow):
        user = importlib.import_module(f"{package}.user")
    top = sys.modules[package]
    assert top.executed == []
    assert slow not in sys.modules
    assert not hasattr(top, "slow")
    assert user.slow is user.again
    assert user.slow.value == 7
    assert top.executed == [1]
    assert sys.modules[slow] is top.slow is not user.slow
    assert importlib.import_module(slow).value == user.again.value


def test_one_who_asks_at_once_gets_the_module_at_once(package):
    with stood_in(f"{package}.slow"):
        from_it = importlib.import_module(f"{package}.slow").value
        assert sys.modules[package].executed == [1]
        assert importlib.import_module(f"{package}.slow") is sys.modules[package].slow
    assert from_it == sys.modules[f"{package}.slow"].value == 7


def test_what_is_imported_or_lacking_is_left_alone(package):
    there = importlib.import_module(f"{package}.slow")
    with stood_in(f"{package}.slow", "no_such_module"):
        assert importlib.import_module(f"{package}.slow") is there
        with pytest.raises(ModuleNotFoundError):
            importlib.import_module("no_such_module")
    assert sys.modules[f"{package}.slow"] is there is sys.modules[package].slow


def test_modules_are_themselves_again_after_an_error(package):
    def fail():
        with stood_in(f"{package}.slow"):
            raise ImportError("in between")

    with pytest.raises(ImportError, match="in between"):
        fail()
    assert importlib.import_module(f"{package}.slow").value == 7


ALONE = """
import os, sys
from tallybayes.cli import main, quick_imports
quick_imports.allow()
import tallybayes.cli.app
quick_imports.import_arrow()
quick_imports.import_estimators()
for number, words in enumerate({commands!r}):
    if not os.fork():
        os.dup2(os.open(f"{{number}}.out", os.O_WRONLY | os.O_CREAT), 1)
        sys.argv = ["tallybayes", *words]
        main()
    assert os.wait()[1] == 0, words
"""


def test_classifiers_do_the_same_without_scikit_learn(run, files, tmp_path, monkeypatch):
    """Each command in a process that stands in for scikit-learn, and as a call that does not."""
    fit = ("comma.csv", "--target", "buys", "-o")
    alike = [
        ("fit", *fit, "m.tally"),
        ("fit", *fit, "p.tally", "--plain", "--calibrate", "isotonic", "--alpha", "auto"),
        ("fit", *fit, "c.tally", "--class-weight", "balanced", "--report", "page.html"),
        ("predict", "m.tally", "comma.csv", "--proba"),
        ("explain", "p.tally", "comma.csv", "--row", "3"),
        ("evaluate", "p.tally", "comma.csv"),
        ("reweight", "m.tally", "comma.csv"),
        ("show", "m.tally", "--tables"),
        ("merge", "p.tally", "p.tally", "-o", "q.tally"),
        ("forget", "q.tally", "comma.csv"),
        ("sql", "m.tally", "--table", "t"),
    ]
    alone = shutil.copytree(tmp_path, tmp_path / "alone")
    output_of(ALONE.format(commands=alike), alone)
    for number, words in enumerate(alike):
        assert run(*words).out == (alone / f"{number}.out").read_text(), words
    models = [path.name for path in tmp_path.glob("*.tally")]
    assert len(models) == 4
    for name in models:
        assert (tmp_path / name).read_bytes() == (alone / name).read_bytes(), name


class Light(BaseEstimator):
    """An estimator with the parameters and constraints of another, by the light base class."""

    def __init__(self, **given):
        self.given = given

    def get_params(self, deep=True):
        return self.given


def lightened(constraint):
    kind = type(constraint).__name__
    if kind == "Interval":
        bounds = constraint.left, constraint.right
        return Interval(constraint.type, *bounds, closed=constraint.closed)
    return StrOptions(constraint.options) if kind == "StrOptions" else constraint


@pytest.mark.parametrize("estimator", [NaiveBayes, WeightedNaiveBayes])
def test_light_constraints_admit_what_those_of_scikit_learn_admit(estimator):
    values = [None, True, False, -1, 0, 1, 2, -0.5, 0.0, 0.5, float("nan"), float("inf"), "auto"]
    values += [
        "",
        "mean",
        "isotonic",
        "level",
        "balanced",
        {},
        [],
        {"a": 1.0},
        (),
        1j,
        np.zeros(2),
        np.array(1.0),
    ]
    constraints = estimator._parameter_constraints
    for name, known in constraints.items():
        for value in values:
            params = estimator().get_params() | {name: value}
            found = []
            for model in (estimator(**params), Light(**params)):
                model._parameter_constraints = {n: constraints[n] for n in constraints}
                if isinstance(model, Light):
                    model._parameter_constraints = {
                        n: [lightened(c) for c in cs] for n, cs in constraints.items()
                    }
                try:
                    model._validate_params()
                    found.append("")
                except ValueError as error:
                    found.append(str(error).replace("Light", estimator.__name__))
            assert found[0] == found[1], (name, value, known)


def test_a_closed_standard_input_is_an_empty_one(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    messages.open_closed()
    with sys.stdin as stdin:
        assert stdin.buffer.read() == b""
        assert not stdin.isatty()
