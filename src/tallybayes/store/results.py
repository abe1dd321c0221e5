"""What the calls of a store have done."""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["Backup", "Forgotten", "Learned", "Relabelled", "Verified"]


class Learned(NamedTuple):
    """What :meth:`Store.learn` has done.

    Parameters
    ----------
    rows : int
        How many rows were counted.
    new, repeated, forgotten : list
        The ids that were counted; those that had been counted before, which count once; and those
        that were forgotten before, which stay so.
    version : int
        A model of this version or a later one counts the rows.
    """

    rows: int
    new: list[Any]
    repeated: list[Any]
    forgotten: list[Any]
    version: int


class Forgotten(NamedTuple):
    """What :meth:`Store.forget` has done.

    Parameters
    ----------
    rows : int
        How many rows were removed.
    unknown : list
        Ids that had not been learned; they will not be learned later.
    reweight_due : bool
        Whether weights that were learned on rows are older than the counts.
    version : int
        A model of this version or a later one is without the rows.
    """

    rows: int
    unknown: list[Any]
    reweight_due: bool
    version: int


class Relabelled(NamedTuple):
    """What :meth:`Store.relabel` has done.

    Parameters
    ----------
    changed, unchanged : list
        Ids whose label is another one now, and those that had the label already.
    version : int
        A model of this version or a later one has the new labels.
    """

    changed: list[Any]
    unchanged: list[Any]
    version: int


class Verified(NamedTuple):
    """What :meth:`Store.verify` has found: the counts are those of the ledger.

    Parameters
    ----------
    rows : int
        Rows of the ledger that are counted.
    version : int
        The version that was compared.
    """

    rows: int
    version: int


class Backup(NamedTuple):
    """What :meth:`Store.backup` has written.

    Parameters
    ----------
    path : str
        The file.
    version : int
        What it holds.
    stale : list of str
        Older backups, made before rows were forgotten, which may still hold these.
    """

    path: str
    version: int
    stale: list[str]
