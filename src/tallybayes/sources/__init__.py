"""Sources of rows and documents: files in every format, batches and lazy frames, databases.

They are read part by part. Names are loaded on first use: the command line asks for some before it
opens a file, and that is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

_HOME = {
    "FORMATS": "tallybayes.sources.opening",
    "replacing": "tallybayes.replacing",
    "DocumentSource": "tallybayes.sources.document_source",
    "Layout": "tallybayes.sources.options",
    "Rows": "tallybayes.sources.reading",
    "Spelling": "tallybayes.sources.options",
    "holds_data": "tallybayes.sources.files",
    "is_database": "tallybayes.sources.files",
    "is_model": "tallybayes.sources.places",
    "is_remote": "tallybayes.sources.opening",
    "is_url": "tallybayes.sources.databases",
    "kind_of_input": "tallybayes.sources.documents",
    "need_apart": "tallybayes.sources.options",
    "need_data": "tallybayes.sources.places",
    "need_folder": "tallybayes.sources.places",
    "need_model": "tallybayes.sources.places",
    "open_rows": "tallybayes.sources.reading",
    "read_once": "tallybayes.sources.opening",
    "shown_path": "tallybayes.sources.databases",
}

__all__ = sorted(_HOME)

if TYPE_CHECKING:
    from tallybayes.replacing import replacing as replacing
    from tallybayes.sources.databases import is_url as is_url
    from tallybayes.sources.databases import shown_path as shown_path
    from tallybayes.sources.document_source import DocumentSource as DocumentSource
    from tallybayes.sources.documents import kind_of_input as kind_of_input
    from tallybayes.sources.files import holds_data as holds_data
    from tallybayes.sources.files import is_database as is_database
    from tallybayes.sources.opening import FORMATS as FORMATS
    from tallybayes.sources.opening import is_remote as is_remote
    from tallybayes.sources.opening import read_once as read_once
    from tallybayes.sources.options import Layout as Layout
    from tallybayes.sources.options import Spelling as Spelling
    from tallybayes.sources.options import need_apart as need_apart
    from tallybayes.sources.places import is_model as is_model
    from tallybayes.sources.places import need_data as need_data
    from tallybayes.sources.places import need_folder as need_folder
    from tallybayes.sources.places import need_model as need_model
    from tallybayes.sources.reading import Rows as Rows
    from tallybayes.sources.reading import open_rows as open_rows


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'tallybayes.sources' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
