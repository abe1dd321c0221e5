"""The shape of the code, beside the bars of "fewer rooms" (docs/decisions/0029-fewer-rooms.md).

    python tools/shape.py [CHECKOUT] [--run] [--packages] [--circles] [--private] [--ways] [--hold]

CHECKOUT is this one by default. Read from source:

- A line of code holds something other than blanks, a comment or a docstring.
- A line of imports belongs to an import statement.
- A function's body is from its first statement after the docstring to its last, comments between
  included; functions inside functions and methods count.
- A circle is a set of modules that reach each other. An import counts wherever it stands: for types
  only, inside a function, or as a string that names a module, in a file that calls import_module.
- Classes above an estimator are those of the package that it inherits from, at any distance.
- The command line may import names in ``__all__`` of the package and of its public modules; every
  other name that it takes from the package counts, in each file, and so does each attribute with
  an underscore of an object that is not its own.

``--run`` also imports and fits, in a process of its own with the package of CHECKOUT, whose
compiled module has to lie in ``src/tallybayes``: modules of the package that are loaded, and the
functions and methods, of any length, that a call runs. It is the second call of its kind, on one
thread; comprehensions, lambdas and compiled code have no name and are left out.

``tools/shape.toml`` has the present values as ceilings, which tests/package/test_shape.py holds.
They only fall: ``--hold`` writes those that are better now.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import os
import statistics
import subprocess
import sys
import tokenize
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

__all__ = ["BARS", "CEILINGS", "Tree", "circles", "shape", "worse"]

ROOT = Path(__file__).resolve().parents[1]
CEILINGS = Path(__file__).with_suffix(".toml")
PACKAGE = "tallybayes"
SMALL = 40  # lines of code
DEEP = 2  # folders below the package
ESTIMATORS = (
    "BernoulliNB",
    "CategoricalNB",
    "ComplementNB",
    "GaussianNB",
    "LazyNaiveBayes",
    "MultinomialNB",
    "NaiveBayes",
    "TextNB",
    "WeightedNaiveBayes",
)
PUBLIC = (
    *("bayes", "distributions", "errors", "families", "model_files", "plots", "sources", "tally"),
    *("privacy", "serve", "store", "testing", "text"),
)
"""The modules below the package whose ``__all__`` is public."""

BARS: dict[str, tuple[str, float]] = {
    "lines of code": ("≤", 33_000),
    "files": ("≤", 190),
    "lines of imports, per cent": ("≤", 8.0),
    "files below 40 lines of code": ("≤", 20),
    "files deeper than two folders": ("≤", 0),
    "circles of imports": ("≤", 0),
    "modules in circles": ("≤", 0),
    "median body of a function, lines": ("≥", 7),
    "own classes above an estimator": ("≤", 5),
    "names that cli imports and are not public": ("≤", 0),
    "underscore attributes that cli uses": ("≤", 0),
    "lines of C++": ("≤", 11_000),
    "lines of tests": ("≤", 38_000),
    "largest wheel, MB": ("≤", 1.5),
    "modules that GaussianNB loads": ("≤", 45),
    "modules after a fit of four estimators": ("≤", 110),
    "NaiveBayes.fit: functions": ("≤", 50),
    "NaiveBayes.fit: files": ("≤", 14),
    "first predict_proba: functions": ("≤", 100),
    "first predict_proba: files": ("≤", 20),
    "TextNB.fit: functions": ("≤", 90),
    "TextNB.fit: files": ("≤", 14),
    "WeightedNaiveBayes.fit: functions": ("≤", 300),
    "WeightedNaiveBayes.fit: files": ("≤", 30),
}

FREE = ("lines of tests", "largest wheel, MB")
"""Measures without a ceiling: tests may be added, and a wheel is not always there."""

Function = ast.FunctionDef | ast.AsyncFunctionDef
Graph = dict[str, set[str]]


# ---- a module ------------------------------------------------------------------------------------
@dataclass
class Module:
    """One Python file, and what is counted in it.

    Parameters
    ----------
    path : Path
    name : str
        The dotted name by which it is imported.
    """

    path: Path
    name: str
    source: str = field(init=False, repr=False)
    tree: ast.Module = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.source = self.path.read_text(encoding="utf-8")
        self.tree = ast.parse(self.source)

    @cached_property
    def nodes(self) -> list[ast.AST]:
        return list(ast.walk(self.tree))

    @cached_property
    def n_lines(self) -> int:
        """Lines that hold something other than blanks, a comment or a docstring."""
        silent = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT}
        silent |= {tokenize.DEDENT, tokenize.ENDMARKER}
        lines: set[int] = set()
        for token in tokenize.generate_tokens(io.StringIO(self.source).readline):
            if token.type not in silent:
                lines.update(range(token.start[0], token.end[0] + 1))
        for node in self.nodes:
            if isinstance(node, ast.Module | ast.ClassDef | Function) and has_docstring(node):
                lines.difference_update(lines_of(node.body[0]))
        return len(lines)

    @property
    def n_imports(self) -> int:
        """Lines of import statements."""
        imports = (n for n in self.nodes if isinstance(n, ast.Import | ast.ImportFrom))
        return sum(len(lines_of(node)) for node in imports)

    @property
    def bodies(self) -> Iterator[int]:
        """The lines of each function's body."""
        for node in self.nodes:
            if isinstance(node, Function):
                body = node.body[has_docstring(node) :]
                yield (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0

    @property
    def named(self) -> Iterator[tuple[str, str]]:
        """The modules and names that it imports from the package, by statement; "" for a module."""
        for node in self.nodes:
            if isinstance(node, ast.Import):
                yield from ((alias.name, "") for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                yield from ((node.module, alias.name) for alias in node.names)

    @property
    def strings(self) -> Iterator[str]:
        """Strings by which it may import, "module:name" too: all of a file that calls
        import_module.

        Of an f-string such as ``f"tallybayes.estimators.{home}"`` the beginning is joined with each
        other string of the file.
        """
        names = {getattr(n, "id", None) or getattr(n, "attr", None) for n in self.nodes}
        if "import_module" not in names:
            return
        texts = {str(n.value).partition(":")[0] for n in self.nodes if isinstance(n, ast.Constant)}
        starts = {""}
        for node in self.nodes:
            if isinstance(node, ast.JoinedStr) and isinstance(node.values[0], ast.Constant):
                starts.add(str(node.values[0].value))
        yield from (start + text for start in starts for text in texts)

    @property
    def public(self) -> set[str]:
        """The names of its ``__all__``; where that is computed, of ``_HOME`` or the imports."""
        for node in self.tree.body:
            if not isinstance(node, ast.Assign):
                continue
            listed = getattr(node.targets[0], "id", "") in {"__all__", "_HOME"}
            if listed and isinstance(node.value, ast.List | ast.Tuple | ast.Dict):
                return set(ast.literal_eval(node.value))
        froms = (node for node in self.tree.body if isinstance(node, ast.ImportFrom))
        return {alias.name for node in froms for alias in node.names if alias.name == alias.asname}


def has_docstring(node: Any) -> bool:
    return ast.get_docstring(node) is not None


def lines_of(node: Any) -> range:
    return range(node.lineno, node.end_lineno + 1)


# ---- a checkout ----------------------------------------------------------------------------------
@dataclass
class Tree:
    """A checkout, read from its source.

    Parameters
    ----------
    root : Path
    """

    root: Path

    @property
    def package(self) -> Path:
        return self.root / "src" / PACKAGE

    @cached_property
    def modules(self) -> dict[str, Module]:
        """Every module of the package, by name."""
        found = {}
        for path in sorted(self.package.rglob("*.py")):
            parts = path.relative_to(self.package.parent).with_suffix("").parts
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            found[name] = Module(path, name)
        return found

    @cached_property
    def imports(self) -> Graph:
        """Which module imports which. The package itself is imported for its compiled part only."""
        return {name: self._imported(module) for name, module in self.modules.items()}

    def _imported(self, module: Module) -> set[str]:
        found = set(module.strings) & self.modules.keys()
        for source, name in module.named:
            inner = f"{source}.{name}"
            found.add(inner if inner in self.modules else source)
        return {name for name in found & self.modules.keys() if name not in (PACKAGE, module.name)}

    def depth(self, module: Module) -> int:
        """How many folders below the package a file lies."""
        return len(module.path.relative_to(self.package).parts) - 1

    def private_names(self) -> list[str]:
        """What the command line imports from the package and is not public, by file."""
        public = {f"{PACKAGE}.{name}" for name in PUBLIC} | {PACKAGE}
        offered = {f"{m}.{n}" for m in public & self.modules.keys() for n in self.modules[m].public}
        offered |= public
        found = []
        for module in self._cli():
            asked = {f"{source}.{name}".rstrip(".") for source, name in module.named}
            asked |= set(module.strings) & self.modules.keys()
            ours = {name for name in asked if name.split(".")[0] == PACKAGE}
            ours = {name for name in ours if not name.startswith(f"{PACKAGE}.cli")}
            found += [f"{module.name}: {name}" for name in sorted(ours - offered)]
        return found

    def underscores(self) -> list[str]:
        """Attributes with an underscore that the command line asks of others, by file."""
        return [
            f"{module.name}: {node.attr}"
            for module in self._cli()
            for node in module.nodes
            if isinstance(node, ast.Attribute)
            and node.attr.startswith("_")
            and not node.attr.startswith("__")
            and getattr(node.value, "id", "") not in ("self", "cls")
        ]

    def _cli(self) -> list[Module]:
        return [m for name, m in self.modules.items() if name.startswith(f"{PACKAGE}.cli")]

    def classes_above(self, name: str) -> set[tuple[str, str]]:
        """The package's own classes that a class inherits from, with their modules."""
        homes = [m for m, module in self.modules.items() if name in classes_of(module)]
        above: set[tuple[str, str]] = set()
        waiting = [(home, name) for home in homes]
        while waiting:
            home, cls = waiting.pop()
            for base in classes_of(self.modules[home]).get(cls, []):
                found = self._class(home, base)
                if found is not None and found not in above:
                    above.add(found)
                    waiting.append(found)
        return above

    def _class(self, home: str, name: str) -> tuple[str, str] | None:
        """Where a class is defined that a module knows by a name; None for one of elsewhere."""
        module = self.modules.get(home)
        if module is None:
            return None
        if name in classes_of(module):
            return home, name
        for source, imported in module.named:
            if imported == name:
                return self._class(source, name)
        return None

    def files(self, folder: str, *suffixes: str) -> Iterator[Path]:
        for path in (self.root / folder).rglob("*"):
            if path.suffix in suffixes:
                yield path


def classes_of(module: Module) -> dict[str, list[str]]:
    """The names of the bases of each class of a module."""
    found = {}
    for node in module.tree.body:
        if isinstance(node, ast.ClassDef):
            bases = [b.value if isinstance(b, ast.Subscript) else b for b in node.bases]
            found[node.name] = [b.id for b in bases if isinstance(b, ast.Name)]
    return found


def circles(imports: Mapping[str, set[str]]) -> list[list[str]]:
    """Sets of modules that reach each other, by Tarjan's algorithm; largest first."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(name: str) -> None:
        index[name] = low[name] = len(index)
        stack.append(name)
        for other in sorted(imports.get(name, ())):
            if other not in index:
                visit(other)
                low[name] = min(low[name], low[other])
            elif other in stack:
                low[name] = min(low[name], index[other])
        if low[name] == index[name]:
            start = stack.index(name)
            if len(stack) - start > 1:
                found.append(sorted(stack[start:]))
            del stack[start:]

    sys.setrecursionlimit(10_000)
    for name in imports:
        if name not in index:
            visit(name)
    return sorted(found, key=len, reverse=True)


# ---- the measures --------------------------------------------------------------------------------
def shape(tree: Tree) -> dict[str, float]:
    """Everything that source tells, by the names of :data:`BARS`."""
    modules = list(tree.modules.values())
    lines = sum(module.n_lines for module in modules)
    in_circles = circles(tree.imports)
    inner = [m for m in modules if m.path.name != "__init__.py"]
    above = [len(tree.classes_above(name)) for name in ESTIMATORS]
    wheels = [path.stat().st_size for path in tree.files("dist", ".whl")]
    kernels = tree.files("src/kernels", ".hpp", ".cpp")
    found: dict[str, float] = {
        "lines of code": lines,
        "files": len(modules),
        "lines of imports, per cent": round(100 * sum(m.n_imports for m in modules) / lines, 1),
        "files below 40 lines of code": sum(m.n_lines < SMALL for m in inner),
        "files deeper than two folders": sum(tree.depth(m) > DEEP for m in inner),
        "circles of imports": len(in_circles),
        "modules in circles": sum(map(len, in_circles)),
        "median body of a function, lines": statistics.median(b for m in modules for b in m.bodies),
        "own classes above an estimator": max(above),
        "names that cli imports and are not public": len(tree.private_names()),
        "underscore attributes that cli uses": len(tree.underscores()),
        "lines of C++": sum(map(n_lines, kernels)),
        "lines of tests": sum(map(n_lines, tree.files("tests", ".py"))),
    }
    if wheels:
        found["largest wheel, MB"] = round(max(wheels) / 1e6, 2)
    return found


def n_lines(path: Path) -> int:
    return path.read_text(encoding="utf-8").count("\n")


def by_folder(tree: Tree) -> dict[str, tuple[int, int]]:
    """Files and lines of code of each folder, and of each folder in it."""
    found: dict[str, tuple[int, int]] = {}
    for module in tree.modules.values():
        folders = module.path.relative_to(tree.package).parts[:-1]
        for folder in {"/".join(folders[:1]), "/".join(folders[:2])}:
            files, lines = found.get(folder, (0, 0))
            found[folder] = files + 1, lines + module.n_lines
    return dict(sorted(found.items()))


# ---- what runs -----------------------------------------------------------------------------------
def run(tree: Tree) -> dict[str, Any]:
    """What is loaded and called, by the names of :data:`BARS`, and under "ways" the functions."""
    if not list(tree.package.glob("_kernels*.so")):
        raise SystemExit(f"--run needs the compiled module in {tree.package}: build it there")
    done = subprocess.run(
        [sys.executable, "-P", __file__, "--inside"],
        env={**os.environ, "PYTHONPATH": str(tree.package.parent)},
        stdout=subprocess.PIPE,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def inside() -> dict[str, Any]:
    """What :func:`run` measures, in the process that has the package."""
    import warnings

    from tallybayes import GaussianNB

    found: dict[str, Any] = {"modules that GaussianNB loads": n_loaded()}
    from tallybayes import NaiveBayes, TextNB, WeightedNaiveBayes, set_num_threads

    warnings.simplefilter("ignore")
    set_num_threads(1)  # the profiler sees this one
    x, y = passengers()
    documents = ["lunch at noon, see you", "cheap pills now", "noon for lunch?"] * 40
    labels = ["ham", "spam", "ham"] * 40
    GaussianNB().fit([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]], [0, 1, 1])
    NaiveBayes().fit(x, y)
    WeightedNaiveBayes().fit(x, y)
    TextNB().fit(documents, labels)
    found["modules after a fit of four estimators"] = n_loaded()
    NaiveBayes().fit(x, y).predict_proba(x)
    model = NaiveBayes().fit(x, y)
    calls: dict[str, Callable[[], Any]] = {
        "NaiveBayes.fit": lambda: NaiveBayes().fit(x, y),
        "first predict_proba": lambda: model.predict_proba(x),
        "TextNB.fit": lambda: TextNB().fit(documents, labels),
        "WeightedNaiveBayes.fit": lambda: WeightedNaiveBayes().fit(x, y),
    }
    found["ways"] = {name: called_by(call) for name, call in calls.items()}
    for name, functions in found["ways"].items():
        found[f"{name}: functions"] = len(functions)
        found[f"{name}: files"] = len({file for file, _ in functions})
    return found


def n_loaded() -> int:
    return sum(name.split(".")[0] == PACKAGE for name in sys.modules)


def passengers(n: int = 891) -> tuple[Any, Any]:
    """A frame as that of the Titanic: levels, numbers, whole numbers and missing values."""
    import numpy as np
    import pandas as pd

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


def called_by(call: Callable[[], Any]) -> list[tuple[str, str]]:
    """The functions of the package that a call runs, as file and qualified name."""
    package = str(Path(sys.modules[PACKAGE].__file__ or "").parent) + "/"
    found = set()

    def note(frame: Any, event: str, _: Any) -> None:
        code = frame.f_code
        named = event == "call" and not code.co_name.endswith(">")
        if named and code.co_filename.startswith(package):
            found.add((code.co_filename.removeprefix(package), code.co_qualname))

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return sorted(found)


# ---- ceilings and the table ----------------------------------------------------------------------
def worse(found: Mapping[str, float], ceilings: Mapping[str, float]) -> list[str]:
    """What is worse than its ceiling."""
    return [
        f"{name}: {found[name]:g}, was {ceiling:g}"
        for name, ceiling in ceilings.items()
        if name in found and better(name, ceiling, found[name])
    ]


def better(name: str, value: float, than: float) -> bool:
    return value < than if BARS[name][0] == "≤" else value > than


def held() -> dict[str, float]:
    """The ceilings."""
    ceilings: dict[str, float] = tomllib.loads(CEILINGS.read_text(encoding="utf-8"))["ceilings"]
    return ceilings


def hold(found: Mapping[str, float]) -> None:
    """Writes the values that are better than their ceilings, or have none."""
    ceilings = held() if CEILINGS.exists() else {}
    for name, value in found.items():
        if name not in FREE and (name not in ceilings or better(name, value, ceilings[name])):
            ceilings[name] = value
    lines = [f'"{name}" = {ceilings[name]:g}' for name in BARS if name in ceilings]
    head = "# The values that may only get better; python tools/shape.py --run --hold writes them."
    CEILINGS.write_text("\n".join([head, "[ceilings]", *lines, ""]), encoding="utf-8")


def table(found: Mapping[str, float]) -> Iterator[str]:
    yield "| measure | here | bar |"
    yield "|---|---|---|"
    for name, (sign, bar) in BARS.items():
        if name in found:
            yield f"| {name} | {found[name]:,g} | {sign} {bar:,g} |"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("checkout", nargs="?", type=Path, default=ROOT)
    parser.add_argument("--run", action="store_true", help="import and fit, too")
    parser.add_argument("--packages", action="store_true", help="files and lines of each folder")
    parser.add_argument("--circles", action="store_true", help="name the modules of each circle")
    parser.add_argument("--private", action="store_true", help="what cli takes from inside")
    parser.add_argument("--ways", action="store_true", help="with --run: name the functions")
    parser.add_argument("--hold", action="store_true", help="lower the ceilings to what is here")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.inside:
        print(json.dumps(inside()))
        return
    tree = Tree(asked.checkout.resolve())
    found: dict[str, Any] = shape(tree)
    ways: dict[str, list[list[str]]] = {}
    if asked.run:
        found |= run(tree)
        ways = found.pop("ways")
    print("\n".join(table(found)))
    if asked.packages:
        print("\n| folder | files | lines of code |\n|---|---|---|")
        for folder, (files, lines) in by_folder(tree).items():
            print(f"| {folder or '(root)'} | {files} | {lines:,} |")
    if asked.circles:
        for names in circles(tree.imports):
            print(f"\na circle of {len(names)}: {', '.join(names)}")
    if asked.private:
        print("\n".join(["", *tree.private_names(), *tree.underscores()]))
    if asked.ways:
        for name, functions in ways.items():
            print("\n".join([f"\n{name}", *(f"  {file}: {f}" for file, f in functions)]))
    if asked.hold:
        hold(found)


if __name__ == "__main__":
    main()
