from tallybayes import _kernels as _kernels
from tallybayes.bayes import bayes_rule, update
from tallybayes.cross_validation import cross_validate, leave_one_out
from tallybayes.diagnosis.doctor import doctor
from tallybayes.drift import compare
from tallybayes.estimators.arrays import (
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    GaussianNB,
    MultinomialNB,
)
from tallybayes.estimators.costs import CostClassifier
from tallybayes.estimators.lazy import LazyNaiveBayes
from tallybayes.estimators.loading import load
from tallybayes.estimators.naive_bayes import NaiveBayes, collect
from tallybayes.estimators.sklearn_onnx import register_sklearn_onnx
from tallybayes.estimators.text import TextNB
from tallybayes.estimators.weighted import WeightedNaiveBayes
from tallybayes.export.dialects import sql_dialects
from tallybayes.families.registry import register_family
from tallybayes.labels.hierarchy import Hierarchy
from tallybayes.labels.multi_label import MultiLabel
from tallybayes.model_files.opening import open_model
from tallybayes.progress import on_progress, set_progress
from tallybayes.reporting.comparison import comparison_report
from tallybayes.schema import Schema
from tallybayes.sources.database_rows import sql, table
from tallybayes.sources.documents import documents
from tallybayes.sources.files import csv, files, rows
from tallybayes.sources.rows import labelled
from tallybayes.threads import get_num_threads, set_num_threads
from tallybayes.window import Window

__all__ = [
    "BernoulliNB",
    "CategoricalNB",
    "ComplementNB",
    "CostClassifier",
    "GaussianNB",
    "Hierarchy",
    "LazyNaiveBayes",
    "MultiLabel",
    "MultinomialNB",
    "NaiveBayes",
    "Schema",
    "TextNB",
    "WeightedNaiveBayes",
    "Window",
    "__version__",
    "bayes_rule",
    "collect",
    "compare",
    "comparison_report",
    "cross_validate",
    "csv",
    "doctor",
    "documents",
    "files",
    "get_num_threads",
    "labelled",
    "leave_one_out",
    "load",
    "on_progress",
    "open_model",
    "register_family",
    "register_sklearn_onnx",
    "rows",
    "set_num_threads",
    "set_progress",
    "sql",
    "sql_dialects",
    "table",
    "update",
]

__version__: str
