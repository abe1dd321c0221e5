"""What it takes to add a command or a display: one file, and one line of registration."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import tallybayes

pytest.importorskip("typer")
pytest.importorskip("matplotlib")

ROWS = "size,colour,kind\n" + "1.0,red,a\n2.0,blue,b\n1.1,red,a\n2.1,blue,b\n" * 3

COMMAND = '''"""``tallybayes classes``: the classes of a model."""

from __future__ import annotations

from typing import Annotated

import typer

from tallybayes.cli import options

__all__ = ["classes"]


def classes(
    model: options.Model,
    least: Annotated[
        int, typer.Option("--least", metavar="ROWS", min=0, help="Leave out smaller classes.")
    ] = 0,
    json: options.Json = False,
) -> None:
    """List the classes of a model.

    Examples:
        tallybayes classes sold.tally
    """
    from tallybayes.cli.console import document, line, number_of, say
    from tallybayes.cli.files import loaded

    file = loaded(model)
    rows = dict(zip(file.classes, file.class_rows.tolist(), strict=True))
    kept = {label: n for label, n in rows.items() if n >= least}
    if json:
        document("classes", {"classes": kept})
    else:
        say(*(line(f"{label}: {number_of(n, file.unit)}") for label, n in kept.items()))
'''
LINE_OF_COMMAND = '    "classes": "tallybayes.cli.classes",\n'

DISPLAY = '''"""How many rows each class has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from tallybayes.plots.data import need_classifier
from tallybayes.plots.shapes import bars_from_above
from tallybayes.plots.style import looks_of, name_axis, need_axes
from tallybayes.readable import plain

__all__ = ["ClassRowsDisplay"]


class ClassRowsDisplay:
    """A bar for each class, as long as the class has rows.

    Parameters
    ----------
    classes : sequence
        The labels.
    rows : sequence of float
        The weight of the rows of each class.

    Attributes
    ----------
    ax_, figure_
        What it was drawn in.
    """

    def __init__(self, *, classes: Sequence[Any], rows: Sequence[float]) -> None:
        self.classes, self.rows = list(classes), np.asarray(rows, dtype=np.float64)

    def plot(self, ax: Any = None) -> Self:
        """Draw the bars.

        Parameters
        ----------
        ax : axes, optional
            What to draw in; a new figure by default.

        Returns
        -------
        self
            The display.
        """
        self.ax_: Any = need_axes(ax)
        self.figure_: Any = self.ax_.figure
        names, numbers = [plain(label) for label in self.classes], [f"{n:g}" for n in self.rows]
        bars_from_above(self.ax_, names, self.rows, numbers, looks_of(1)[0].colour)
        name_axis(self.ax_, "x", "rows")
        return self

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """The rows of each class of a fitted classifier.

        Parameters
        ----------
        estimator : fitted classifier
            A model of this package.
        ax : axes, optional
            What to draw in; a new figure by default.

        Returns
        -------
        ClassRowsDisplay
            Drawn.
        """
        found = need_classifier(estimator)
        return cls(classes=found.classes_.tolist(), rows=found.class_count_.tolist()).plot(ax)
'''
LINE_OF_DISPLAY = "from tallybayes.plots.class_rows import ClassRowsDisplay as ClassRowsDisplay\n"
DRAWN = """
import matplotlib
matplotlib.use("agg")
from tallybayes import GaussianNB, plots
model = GaussianNB().fit([[1.0], [2.0], [3.0]], ["a", "b", "b"])
print("ClassRowsDisplay" in plots.__all__)
plots.ClassRowsDisplay.from_estimator(model).figure_.savefig("rows.png")
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """A copy of the package, which a test adds a file to."""
    root = tmp_path_factory.mktemp("copy")
    installed = Path(tallybayes.__file__).parent  # with kernels, and bytecode, whose dates stay
    shutil.copytree(installed, root / "tallybayes")
    return root / "tallybayes"


@pytest.fixture
def run(package, tmp_path):
    """Runs Python with the copy of the package."""

    def _run(*words, code=0):
        done = subprocess.run(
            [sys.executable, "-P", *words],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(package.parent), "COLUMNS": "100"},
            capture_output=True,
            text=True,
        )
        assert done.returncode == code, done.stderr
        return done.stdout if code == 0 else done.stderr

    return _run


def added(package, file, text, register, line, above):
    """Writes a file and a line of registration; returns what takes both out again."""
    path, registry = package / file, package / register
    before = registry.read_text(encoding="utf-8")
    assert before.count(above) == 1
    path.write_text(text, encoding="utf-8")
    registry.write_text(before.replace(above, line + above), encoding="utf-8")

    def take_out():
        path.unlink()
        registry.write_text(before, encoding="utf-8")

    return take_out


def test_a_command_is_one_file_and_one_line(package, run, tmp_path):
    assert len(COMMAND.splitlines()) <= 60
    (tmp_path / "rows.csv").write_text(ROWS)
    take_out = added(
        package, "cli/classes.py", COMMAND, "cli/app.py", LINE_OF_COMMAND, '    "fit": "'
    )
    call = ("-m", "tallybayes", "classes")
    assert "classes   List the classes of a model.\n" in run(*call[:2], "--help")
    page = run(*call, "--help")
    assert "--least ROWS" in page
    assert "--quiet, -q" in page or "-q, --quiet" in page
    assert page.endswith("Examples:\n  tallybayes classes sold.tally\n")
    run(*call[:2], "fit", "rows.csv", "-t", "kind", "-q", "-o", "m.tally")
    assert run(*call, "m.tally") == "a: 6 rows\nb: 6 rows\n"
    assert run(*call, "m.tally", "--least", "7") in ("", "\n")
    assert '"classes":' in run(*call, "m.tally", "--json")
    assert "tallybayes: error: " in run(*call, "m.tally", "--most", "7", code=2)
    assert "n.tally" in run(*call, "n.tally", code=1)
    take_out()
    assert "No such command" in run(*call, "m.tally", code=2)
    assert "classes " not in run(*call[:2], "--help").partition("Commands:")[2]


def test_a_display_is_one_file_and_one_line(package, run, tmp_path):
    assert len(DISPLAY.splitlines()) <= 150
    above = "from tallybayes.plots.decision_region import"
    take_out = added(
        package, "plots/class_rows.py", DISPLAY, "plots/__init__.py", LINE_OF_DISPLAY, above
    )
    assert run("-c", DRAWN) == "True\n"
    assert (tmp_path / "rows.png").read_bytes().startswith(b"\x89PNG")
    take_out()
    assert "no attribute 'ClassRowsDisplay'" in run("-c", DRAWN, code=1)
