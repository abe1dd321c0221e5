"""A pytest plugin: puts this library's classes in the place of scikit-learn's naive Bayes.

For a process of its own that runs scikit-learn's test module. Importing this replaces the classes,
so it must be loaded before that module is (``-p peers.sklearn_suite_plugin``). What was run is
written as JSON to the file that ``TALLYBAYES_PEER_REPORT`` names.
"""

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import sklearn.naive_bayes

import tallybayes

LEFT_OUT = {
    "test_gnb_check_update_with_no_data": (
        "calls GaussianNB._update_mean_variance, a private helper; batches without rows are among "
        "the laws of our moments, in tests/tally"
    ),
    "test_check_alpha": (
        "calls _check_alpha, a private helper; what it is for is in "
        "tests/estimators/arrays/test_sums.py"
    ),
    "test_alpha_vector": (
        "calls _check_alpha, a private helper; the same properties by public means are in "
        "tests/estimators/arrays/test_sums.py"
    ),
}
"""Every test that is not run, and why. Nothing else may be left out: the report is compared."""


class CategoricalNB(tallybayes.CategoricalNB):
    """Ours, with scikit-learn's treatment of codes that are not whole numbers as the default.

    Its suite trains on Iris, whose measurements are fractions. By default ours refuses them.
    """

    def __init__(
        self,
        *,
        alpha: Any = 1.0,
        force_alpha: Any = True,
        fit_prior: Any = True,
        class_prior: Any = None,
        min_categories: Any = None,
        levels: Any = None,
        unseen: Any = "smooth",
        non_integer: Any = "truncate",
        class_alpha: Any = 0.0,
    ) -> None:
        super().__init__(
            alpha=alpha,
            force_alpha=force_alpha,
            fit_prior=fit_prior,
            class_prior=class_prior,
            min_categories=min_categories,
            levels=levels,
            unseen=unseen,
            non_integer=non_integer,
            class_alpha=class_alpha,
        )


REPLACED = {
    "BernoulliNB": tallybayes.BernoulliNB,
    "CategoricalNB": CategoricalNB,
    "ComplementNB": tallybayes.ComplementNB,
    "GaussianNB": tallybayes.GaussianNB,
    "MultinomialNB": tallybayes.MultinomialNB,
}
for name, ours in REPLACED.items():
    setattr(sklearn.naive_bayes, name, ours)


class Report:
    """What became of every test."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.outcomes: Counter[str] = Counter()
        self.deselected: Counter[str] = Counter()
        self.ran: set[str] = set()
        self.skipped: dict[str, str] = {}
        self.classes: dict[str, str] = {}

    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        left_out = [item for item in items if item.originalname in LEFT_OUT]  # type: ignore[attr-defined]
        items[:] = [item for item in items if item not in left_out]
        config.hook.pytest_deselected(items=left_out)
        for item in items:
            module = item.module  # type: ignore[attr-defined]
            self.classes = {name: getattr(module, name).__module__ for name in REPLACED}

    def pytest_deselected(self, items: list[pytest.Item]) -> None:
        self.deselected.update(item.originalname for item in items)  # type: ignore[attr-defined]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or report.outcome != "passed":
            self.outcomes[report.outcome] += 1
            name, _, parameters = report.nodeid.split("::")[-1].partition("[")
            self.ran.add(name)
            if report.outcome == "skipped":
                self.skipped[name] = self.skipped.get(name, "") + parameters

    def pytest_sessionfinish(self) -> None:
        written = {
            "outcomes": self.outcomes,
            "deselected": self.deselected,
            "ran": sorted(self.ran),
            "skipped": self.skipped,
            "classes": self.classes,
        }
        self.path.write_text(json.dumps(written))


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Report(Path(os.environ["TALLYBAYES_PEER_REPORT"])))
