"""scikit-learn's own naive Bayes tests, run with this library's classes in the place of its own.

The installed ``sklearn.tests.test_naive_bayes``, unchanged, in a process of its own; the classes
are replaced at run time by :mod:`peers.sklearn_suite_plugin`, which also lists what is left out,
each with its reason. The tests run for float32 as well, on several seeds, and with the warnings
that scikit-learn's own continuous integration turns into errors.
"""

import ast
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import sklearn
from sklearn.utils.fixes import parse_version

pytestmark = pytest.mark.skipif(
    parse_version(sklearn.__version__) < parse_version("1.9"),
    reason="older suites compare logarithms near 0 to their last digit, by relative error only",
)
TESTS = Path(__file__).parents[1]
SUITE = "sklearn.tests.test_naive_bayes"
SEEDS = "40-44"


def left_out():
    """The table of the plugin, read without importing it: importing it replaces the classes."""
    tree = ast.parse((TESTS / "peers" / "sklearn_suite_plugin.py").read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", None) == "LEFT_OUT":
            return ast.literal_eval(node.value)
    raise AssertionError("the plugin has no table LEFT_OUT")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The finished process, and its report."""
    folder = tmp_path_factory.mktemp("suite")
    report = folder / "report.json"
    environment = {
        **{k: v for k, v in os.environ.items() if not k.startswith("PYTEST")},
        "PYTHONPATH": os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")]),
        "TALLYBAYES_PEER_REPORT": str(report),
        "SKLEARN_RUN_FLOAT32_TESTS": "1",
        "SKLEARN_TESTS_GLOBAL_RANDOM_SEED": SEEDS,
        "SKLEARN_WARNINGS_AS_ERRORS": "1",
        "SCIPY_ARRAY_API": "1",
    }
    nothing = folder / "pytest.ini"  # none of this project's options and filters
    nothing.write_text("[pytest]\n")
    command = [sys.executable, "-m", "pytest", "-c", str(nothing), "--rootdir", str(folder)]
    command += ["-p", "peers.sklearn_suite_plugin", "-p", "no:cacheprovider"]
    command += ["-q", "-ra", "--disable-warnings", "--pyargs", SUITE]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert report.exists(), done.stdout + done.stderr
    return done, json.loads(report.read_text())


def test_every_test_that_was_run_passed(run):
    done, report = run
    assert report["outcomes"].keys() <= {"passed", "skipped"}, done.stdout
    assert report["outcomes"]["passed"] > 50
    # arrays of libraries that are not installed here
    assert set(report["skipped"]) <= {"test_gnb_array_api_compliance"}, done.stdout
    assert "array_api_strict" not in " ".join(report["skipped"].values())
    assert done.returncode == 0, done.stdout


def test_our_classes_were_tested(run):
    _, report = run
    assert len(report["classes"]) == 5
    for name, module in report["classes"].items():
        assert module.split(".")[0] in {"tallybayes", "peers"}, name
    assert report["classes"]["CategoricalNB"] == "peers.sklearn_suite_plugin"


def functions():
    """The tests of the installed module, read from its source."""
    tree = ast.parse(Path(importlib.util.find_spec(SUITE).origin).read_text(encoding="utf-8"))
    definitions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    return {node.name for node in definitions if node.name.startswith("test_")}


def test_what_was_left_out_is_exactly_the_table(run):
    _, report = run
    assert set(report["deselected"]) == set(left_out())
    assert all(len(reason) > 30 for reason in left_out().values())


def test_every_other_test_of_the_module_was_run(run):
    """No test was lost on the way."""
    _, report = run
    assert set(report["ran"]) == functions() - set(left_out())
