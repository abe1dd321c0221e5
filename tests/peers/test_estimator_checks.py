"""scikit-learn's checks of any estimator, for all five. Those that feed numbers which a class does
not take are named, with the exception that they meet; nothing else may fail.

They run in a process of their own, in which SciPy's array API switch is on: it is read when SciPy
is imported, and without it one check would be skipped.
"""

import json
import os
import subprocess
import sys

import pytest
import sklearn
from sklearn.utils.fixes import parse_version

pytestmark = pytest.mark.skipif(
    parse_version(sklearn.__version__) < parse_version("1.9"),
    reason="check_positive_only_tag_during_fit of scikit-learn 1.6 fails on level codes by itself",
)
PROGRAM = """
import json, warnings
from sklearn.utils.estimator_checks import check_estimator
import tallybayes
from tallybayes import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB

warnings.simplefilter("error")
warnings.filterwarnings("ignore", category=FutureWarning, module="sklearn")
report = {}
for text in ESTIMATORS:
    results = check_estimator(eval(text), on_skip=None, on_fail=None)
    report[text] = [
        [r["check_name"], r["status"], r["expected_to_fail"], repr(r["exception"])] for r in results
    ]
print(json.dumps(report))
"""
ESTIMATORS = [
    "GaussianNB()",
    "MultinomialNB()",
    "ComplementNB()",
    "BernoulliNB()",
    "CategoricalNB(non_integer='truncate')",  # some checks feed it fractional codes, see below
    "GaussianNB(var_smoothing_of='feature', class_alpha=1.0)",
    "MultinomialNB(alpha=0.5, class_alpha=1.0, fit_prior=True)",
    "ComplementNB(norm=True)",
    "BernoulliNB(binarize=1.0, fit_prior=False)",
    "CategoricalNB(non_integer='truncate', unseen='ignore', class_alpha=1.0)",
]
REFUSING = "CategoricalNB()"
FRACTIONAL = {
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
    "check_classifiers_one_label_sample_weights",
}
"""Checks that hand uniform random numbers to a classifier of level codes. By default ours refuses
codes that are not whole numbers; scikit-learn's truncates them without a word."""

SIGNED = {"check_class_weight_classifiers"}
"""Draws negative numbers without asking the tag positive_only, which refuses them. With the numbers
shifted it passes: tests/estimators/test_class_weights.py."""
OF_COUNTS = ("MultinomialNB", "ComplementNB", "CategoricalNB")
"""Classes with that tag. docs/decisions/0004-differences-from-scikit-learn.md"""


@pytest.fixture(scope="module")
def report():
    """Estimator → [check, status, whether it was expected to fail, exception] of every check."""
    program = PROGRAM.replace("ESTIMATORS", repr([*ESTIMATORS, REFUSING]))
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "SCIPY_ARRAY_API": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_every_check_passes_that_gives_an_estimator_numbers_it_takes(estimator, report):
    results = report[estimator]
    assert len(results) > 50
    wrong = {name: told for name, status, _, told in results if status != "passed"}
    assert wrong.keys() == (SIGNED if estimator.startswith(OF_COUNTS) else set())
    assert all("Negative values in data passed to" in told for told in wrong.values())
    assert not any(expected for _, _, expected, _ in results)


def test_refusing_fractional_codes_fails_the_checks_that_feed_them_and_no_other(report):
    results = report[REFUSING]
    assert {name for name, status, *_ in results if status != "passed"} == FRACTIONAL | SIGNED
    for name, _, expected, exception in results:
        if name in FRACTIONAL:
            assert not expected
            told = "level codes, whole numbers" in exception
            assert told or name == "check_classifiers_one_label_sample_weights"
