"""What is imported when: nothing heavy at first, and scikit-learn's own classes never."""

import ast
import json
import os
import statistics
import subprocess
import sys

import pytest

from package.tree import modules, name_of

HEAVY = [
    "numpy",
    "sklearn",
    "pandas",
    "polars",
    "pyarrow",
    "duckdb",
    "pyspark",
    "matplotlib",
    "seaborn",
]
ALLOWED_SECONDS = 0.15
REPEATS = 5


def python(program, *flags, **environment):
    """The output of a fresh interpreter."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST", "COV_"))}
    done = subprocess.run(
        [sys.executable, *flags, "-c", program],
        env={**inherited, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def imported_by(module):
    """The modules that a file imports, anywhere in it."""
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Constant) and str(node.value).startswith("sklearn."):
            yield str(node.value)  # by name, at run time


@pytest.mark.parametrize("module", modules(), ids=name_of)
def test_no_module_imports_scikit_learns_naive_bayes(module):
    assert not [name for name in imported_by(module) if "sklearn.naive_bayes" in name]


def test_using_all_five_imports_neither_scikit_learns_naive_bayes_nor_the_report():
    program = """
import sys, tempfile, os
import tallybayes
for name in ("GaussianNB", "MultinomialNB", "ComplementNB", "BernoulliNB", "CategoricalNB"):
    model = getattr(tallybayes, name)().fit([[0, 1], [1, 0]], [0, 1])
    model.predict_proba([[0, 1]])
    path = os.path.join(tempfile.mkdtemp(), "model")
    model.save(path)
    tallybayes.load(path).partial_fit([[0, 1]], [0])
names = ("sklearn.naive_bayes", "jinja2", "tallybayes.reporting")
print(tallybayes.NaiveBayes and [m for m in sys.modules if m.startswith(names)])
"""
    assert python(program).strip() == "[]"


def test_importing_the_package_loads_no_heavy_library():
    program = "import sys, json, tallybayes; print(json.dumps(sorted(sys.modules)))"
    loaded = {name.split(".")[0] for name in json.loads(python(program))}
    assert "tallybayes" in loaded
    assert loaded.isdisjoint(HEAVY)


def test_the_compiled_module_is_there_at_once():
    """There is no slow fallback, so that a broken install says so when it is imported."""
    loaded = python("import sys, tallybayes; print('tallybayes._kernels' in sys.modules)")
    assert loaded.strip() == "True"


def test_without_the_compiled_module_the_import_says_what_to_do():
    program = """
import sys
sys.modules["tallybayes._kernels"] = None
try:
    import tallybayes
except ImportError as error:
    print(error)
"""
    said = python(program)
    assert "compiled module" in said
    assert "pip install" in said


def test_importing_the_package_is_quick():
    """DESIGN promises 0.15 s; measured is what the import adds to a bare interpreter, the median of
    five. The one timed assertion: the promise is about this time, and four times what it takes."""
    measure = "import time; t = time.perf_counter(); {}; print(time.perf_counter() - t)"
    added = []
    for _ in range(REPEATS):
        bare = float(python(measure.format("import json")))
        added.append(float(python(measure.format("import tallybayes"))) - bare)
    assert statistics.median(added) <= ALLOWED_SECONDS


@pytest.mark.parametrize("module", modules(), ids=name_of)
def test_every_module_says_what_it_is_for_and_what_is_public(module):
    tree = ast.parse(module.read_text(encoding="utf-8"))
    assert ast.get_docstring(tree), "no docstring"
    assigned = {
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    defines = [n for n in tree.body if isinstance(n, ast.FunctionDef | ast.ClassDef)]
    assert "__all__" in assigned or not [n for n in defines if not n.name.startswith("_")]
