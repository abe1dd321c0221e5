"""How many functions of the package a fit runs through, and in how many files.

    python tools/count_path.py [--list] [--all]

Counted are distinct Python functions and methods of the package that run in a second ``fit`` of the
same kind, on one thread, and whose body has at least five lines, the docstring not counted.
Properties, special methods such as ``__init__``, functions inside functions, comprehensions,
lambdas and compiled code are left out; ``--all`` counts those that have a name, of any length. A
crossing is a call from one of two files into the other.

The bars are those of issue 9, which does not say how its figures were counted: 41 functions in 17
files and 100 in 46. This rule gives 40 in 17 and 107 in 43 on that code (131eceb), the nearest of
the rules that were tried.
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np
import pandas as pd

import tallybayes
from tallybayes import NaiveBayes, WeightedNaiveBayes

PACKAGE = str(Path(tallybayes.__file__).parent)
BARS = {NaiveBayes: (25, 12), WeightedNaiveBayes: (60, 25)}
"""The most functions, and the most files."""

MIN_LINES = 5
"""The lines of the shortest body that is counted."""

Place = tuple[str, str]


def passengers(n: int = 891) -> tuple[pd.DataFrame, pd.Series]:
    """A frame as that of the Titanic: levels, numbers, whole numbers and missing values."""
    rng = np.random.default_rng(1)
    age = np.round(rng.normal(30.0, 14.0, n).clip(0.5, 80.0))
    frame = pd.DataFrame(
        {
            "class": rng.choice(["first", "second", "third"], n, p=[0.24, 0.21, 0.55]),
            "sex": rng.choice(["male", "female"], n, p=[0.65, 0.35]),
            "age": np.where(rng.random(n) < 0.2, np.nan, age),
            "siblings": rng.poisson(0.5, n),
            "parents": rng.poisson(0.4, n),
            "fare": np.round(rng.lognormal(3.0, 1.0, n), 2),
            "embarked": rng.choice(["S", "C", "Q", None], n, p=[0.72, 0.18, 0.09, 0.01]),
        }
    )
    odds = 2.0 * (frame["sex"] == "female") + 1.0 * (frame["class"] == "first") - 1.5
    survived = rng.random(n) < 1.0 / (1.0 + np.exp(-odds))
    return frame, pd.Series(np.where(survived, "yes", "no"))


@cache
def long_functions(path: str) -> frozenset[int]:
    """The first lines of a file's functions and methods that are counted."""
    found = set()

    def look(node: ast.AST) -> None:
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, ast.FunctionDef):
                look(child)  # not into functions
            elif not _is_accessor(child) and _body_lines(child) >= MIN_LINES:
                found.add(min([child.lineno, *(d.lineno for d in child.decorator_list)]))

    look(ast.parse(Path(path).read_text()))
    return frozenset(found)


def _is_accessor(function: ast.FunctionDef) -> bool:
    """Whether it is a property or a special method."""
    decorators = [ast.unparse(decorator) for decorator in function.decorator_list]
    return function.name.startswith("__") or any("property" in d for d in decorators)


def _body_lines(function: ast.FunctionDef) -> int:
    body = function.body[ast.get_docstring(function) is not None :]
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def run_through(call: Any, *, everything: bool) -> tuple[Counter[Place], Counter[tuple[str, str]]]:
    """The functions that a call runs, and how often one file called another."""
    functions: Counter[Place] = Counter()
    crossings: Counter[tuple[str, str]] = Counter()

    def counts(code: CodeType) -> bool:
        if everything:
            return not code.co_name.endswith(">")
        return code.co_firstlineno in long_functions(code.co_filename)

    def place(frame: FrameType | None) -> Place | None:
        if frame is None or not frame.f_code.co_filename.startswith(PACKAGE):
            return None
        if not counts(frame.f_code):
            return None
        name = frame.f_code.co_filename.removeprefix(PACKAGE + "/")
        return name, frame.f_code.co_qualname

    def note(frame: FrameType, event: str, arg: Any) -> None:
        here = place(frame) if event == "call" else None
        if here is None:
            return
        functions[here] += 1
        there = frame.f_back
        while there is not None and place(there) is None:
            there = there.f_back
        caller = place(there)
        if caller is not None and caller[0] != here[0]:
            first, second = sorted((caller[0], here[0]))
            crossings[first, second] += 1

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return functions, crossings


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--list", action="store_true", help="name every function")
    parser.add_argument("--all", action="store_true", help="count functions of any length")
    chosen = parser.parse_args()
    tallybayes.set_num_threads(1)  # the profiler sees this one
    X, y = passengers()
    for kind, (most_functions, most_files) in BARS.items():
        kind().fit(X, y)
        functions, crossings = run_through(
            lambda kind=kind: kind().fit(X, y), everything=chosen.all
        )
        files = {file for file, _ in functions}
        print(
            f"{kind.__name__}.fit: {len(functions)} functions (bar: {most_functions}) in "
            f"{len(files)} files (bar: {most_files})"
        )
        both = Counter(
            {
                (a, b): crossings[a, b] + crossings[b, a]
                for a, b in crossings
                if a < b or not crossings[b, a]
            }
        )
        for (a, b), n in both.most_common(3):
            print(f"  {n} crossings between {a} and {b}")
        if chosen.list:
            for file, name in sorted(functions):
                print(f"  {file}: {name}")


if __name__ == "__main__":
    main()
