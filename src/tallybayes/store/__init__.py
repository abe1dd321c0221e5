"""Stores: a tally that processes share, which counts each event once and forgets by id.

:func:`open` opens a file of SQLite or a database of PostgreSQL.
"""

from __future__ import annotations

from tallybayes.store.reading import KeptRows, Verified
from tallybayes.store.store import Backup, Store, open
from tallybayes.store.writing import Forgotten, Learned, Relabelled

__all__ = [
    "Backup",
    "Forgotten",
    "KeptRows",
    "Learned",
    "Relabelled",
    "Store",
    "Verified",
    "open",
]
