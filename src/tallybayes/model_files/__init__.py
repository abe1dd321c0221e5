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
    "ReadBy": "tallybayes.estimators.sources",
    "TableFile": "tallybayes.model_files.tables",
    "estimate": "tallybayes.model_files.figures",
    "evaluate": "tallybayes.model_files.figures",
    "need_columns": "tallybayes.model_files.base",
    "open_model": "tallybayes.model_files.opening",
}

__all__ = sorted(_HOME)

if TYPE_CHECKING:
    from tallybayes.estimators.sources import ReadBy as ReadBy
    from tallybayes.model_files.base import ChosenRows as ChosenRows
    from tallybayes.model_files.base import need_columns as need_columns
    from tallybayes.model_files.documents import DocumentFile as DocumentFile
    from tallybayes.model_files.figures import Figures as Figures
    from tallybayes.model_files.figures import estimate as estimate
    from tallybayes.model_files.figures import evaluate as evaluate
    from tallybayes.model_files.labels import LabelFile as LabelFile
    from tallybayes.model_files.opening import open_model as open_model
    from tallybayes.model_files.tables import TableFile as TableFile


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'tallybayes.model_files' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
