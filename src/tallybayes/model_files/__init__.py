"""Models as files, with how their data is read: what the command line does, in Python.

Names are loaded on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

_HOME = {
    "ChosenRows": "tallybayes.model_files.base",
    "DocumentFile": "tallybayes.model_files.documents",
    "Figures": "tallybayes.model_files.figures",
    "LabelFile": "tallybayes.model_files.labels",
    "ReadBy": "tallybayes.estimators.read_by",
    "TableFile": "tallybayes.model_files.tables",
    "estimate": "tallybayes.model_files.figures",
    "evaluate": "tallybayes.model_files.figures",
    "need_columns": "tallybayes.model_files.base",
    "open_model": "tallybayes.model_files.opening",
}

__all__ = [
    "ChosenRows",
    "DocumentFile",
    "Figures",
    "LabelFile",
    "ReadBy",
    "TableFile",
    "estimate",
    "evaluate",
    "need_columns",
    "open_model",
]

if TYPE_CHECKING:
    from tallybayes.estimators.read_by import ReadBy
    from tallybayes.model_files.base import ChosenRows, need_columns
    from tallybayes.model_files.documents import DocumentFile
    from tallybayes.model_files.figures import Figures, estimate, evaluate
    from tallybayes.model_files.labels import LabelFile
    from tallybayes.model_files.opening import open_model
    from tallybayes.model_files.tables import TableFile


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'tallybayes.model_files' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
