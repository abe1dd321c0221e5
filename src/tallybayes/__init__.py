"""tallybayes: naive Bayes as a tally.

Count once; the same counts classify, update, forget and merge. Public names are loaded on first
use: ``import tallybayes`` is quick and imports neither scikit-learn nor a frame library.
Type checkers read ``__init__.pyi``.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

try:
    from tallybayes import _kernels as _kernels
except ImportError as error:  # there is no slow fallback: a silent one would hide a broken install
    raise ImportError(
        "tallybayes needs its compiled module, tallybayes._kernels, which this installation lacks "
        "or cannot load. Reinstall with `pip install --force-reinstall tallybayes`, or, in a "
        "checkout, run `pip install .` (a C++17 compiler is needed)."
    ) from error

__version__ = "0.1.0"

_HOME = {
    "BernoulliNB": "tallybayes.estimators.arrays",
    "CategoricalNB": "tallybayes.estimators.arrays",
    "ComplementNB": "tallybayes.estimators.arrays",
    "CostClassifier": "tallybayes.estimators.costs",
    "GaussianNB": "tallybayes.estimators.arrays",
    "Hierarchy": "tallybayes.labels.hierarchy",
    "LazyNaiveBayes": "tallybayes.estimators.lazy",
    "MultiLabel": "tallybayes.labels.multi_label",
    "MultinomialNB": "tallybayes.estimators.arrays",
    "NaiveBayes": "tallybayes.estimators.naive_bayes",
    "Schema": "tallybayes.schema",
    "TextNB": "tallybayes.estimators.text",
    "WeightedNaiveBayes": "tallybayes.estimators.weighted",
    "Window": "tallybayes.window",
    "bayes_rule": "tallybayes.bayes",
    "collect": "tallybayes.estimators.naive_bayes",
    "compare": "tallybayes.drift",
    "comparison_report": "tallybayes.reporting.comparison",
    "cross_validate": "tallybayes.cross_validation",
    "csv": "tallybayes.sources.files",
    "doctor": "tallybayes.diagnosis.doctor",
    "documents": "tallybayes.sources.documents",
    "files": "tallybayes.sources.files",
    "get_num_threads": "tallybayes.threads",
    "labelled": "tallybayes.sources.rows",
    "leave_one_out": "tallybayes.cross_validation",
    "load": "tallybayes.estimators.loading",
    "on_progress": "tallybayes.progress",
    "open_model": "tallybayes.model_files.opening",
    "register_family": "tallybayes.families.registry",
    "register_sklearn_onnx": "tallybayes.estimators.sklearn_onnx",
    "rows": "tallybayes.sources.files",
    "set_num_threads": "tallybayes.threads",
    "set_progress": "tallybayes.progress",
    "sql": "tallybayes.sources.database_rows",
    "sql_dialects": "tallybayes.export.dialects",
    "table": "tallybayes.sources.database_rows",
    "update": "tallybayes.bayes",
}

__all__ = sorted(["__version__", *_HOME])


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'tallybayes' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
