"""The ledger of a store: what a database keeps, and the statements that both kinds share.

A row of ``tally_ledger`` is the event "this row was learned", with its number v. It holds the keyed
hash of its id, so that the event and the mark that it was counted are one row of one transaction.

- ``relabel`` gives the row a new label and number, and leaves a row in ``tally_undone``: the old
  label was counted from `was` until v. A reader at version r < v takes it away if was ≤ r.
- ``forget`` empties the row; its id stays as a tombstone. It takes the row out of the snapshot in
  the same transaction and counts up the epoch: a reader of an older epoch begins again with the
  snapshot, so that nothing of the row has to be kept for readers.
- A snapshot holds the counts up to its version. Readers begin with it; older undone labels go.

Numbers ascend in the order of commits in SQLite. In PostgreSQL v is the number of the transaction,
and a reader stops before the oldest that is still open (`horizon`).
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallybayes.errors import StoreError
from tallybayes.store.events import Event
from tallybayes.store.fold import Row
from tallybayes.store.keys import COUNTS, IMPORTED, Keys, number_of

__all__ = [
    "FORMAT",
    "Changes",
    "Duplicate",
    "Kept",
    "Ledger",
    "LostConnection",
    "Overtaken",
    "Sample",
    "Snapshot",
]

FORMAT = 2
"""Version of the tables; a newer one is refused."""


class Overtaken(Exception):
    """Another transaction was first, and nothing was changed: the same one may succeed now."""


class LostConnection(StoreError):
    """The connection broke, and whether the last transaction was kept is not known."""


class Duplicate(Exception):
    """An id that is to be inserted is there already."""


class Snapshot(NamedTuple):
    """The counts up to a version.

    Parameters
    ----------
    version, epoch : int
        Of the counts.
    trimmed : int
        A reader with a lower version begins with the snapshot.
    learned : int
        How often weights were learned on rows.
    counts : bytes or None
        None where they were not asked for.
    """

    version: int
    epoch: int
    trimmed: int
    learned: int
    counts: bytes | None


class Changes(NamedTuple):
    """What a reader adds and removes to get from one version to another.

    Parameters
    ----------
    added, removed : list of Row
        Rows.
    parts : list of bytes
        Counts without rows, that are added.
    """

    added: list[Row]
    removed: list[Row]
    parts: list[bytes]


class Sample(NamedTuple):
    """Some of the rows that are counted at a version.

    Parameters
    ----------
    rows : list of Row
        Drawn at random.
    total : int
        How many are counted.
    last_key : int
        The key of the row that came last.
    groups : int64 array (n_rows,) or None
        The number of each row's subject, its own for a row without one; None where no row has a
        subject.
    """

    rows: list[Row]
    total: int
    last_key: int
    groups: NDArray[np.int64] | None


class Kept(NamedTuple):
    """A row of the ledger.

    Parameters
    ----------
    key : int
        By which the ledger finds it.
    id, subject : bytes or None
        Keyed hashes.
    v : int
        Its number.
    label : str or None
        JSON; None of a tombstone.
    weight, time : float
        Of the event.
    row : bytes or None
        The encoded row.
    """

    key: int
    id: bytes | None
    subject: bytes | None
    v: int
    label: str | None
    weight: float
    time: float
    row: bytes | None


class Ledger(ABC):
    """A database, within a transaction of one of its contexts.

    Statements have ``?`` for values in both.
    """

    key: ClassVar[str]
    """The column of the ledger by which ``tally_undone.of`` finds a row."""

    keys: Keys | None = None
    """What encrypts rows and counts, where the store does so."""

    # ---- what a database defines -----------------------------------------------------------------
    @abstractmethod
    def writing(self) -> AbstractContextManager[None]:
        """A transaction that writes: committed at its end, undone by an exception."""

    @abstractmethod
    def reading(self) -> AbstractContextManager[None]:
        """A transaction that reads one state of the database."""

    @abstractmethod
    def run(self, statement: str, values: Sequence[Any] = ()) -> Any:
        """Runs a statement; a cursor with its rows."""

    @abstractmethod
    def savepoint(self) -> AbstractContextManager[None]:
        """A part of a transaction that is undone by an exception alone."""

    @abstractmethod
    def insert_new(self, events: Sequence[Event]) -> set[bytes]:
        """Appends events whose ids are not there; gives the ids that were there."""

    @abstractmethod
    def insert_alone(self, events: Sequence[Event]) -> int:
        """Appends events in a transaction of their own; gives their version. Raises Duplicate where
        an id is there already."""

    @abstractmethod
    def horizon(self) -> int:
        """The highest number up to which every event is visible."""

    @abstractmethod
    def number(self) -> int:
        """A number for an event of this transaction that is not an insert."""

    @abstractmethod
    def current(self) -> int:
        """The number of the events that this transaction has appended last."""

    @abstractmethod
    def damage(self) -> str | None:
        """What is wrong with the files; None where nothing is."""

    @abstractmethod
    def found_by(self, column: str, hashes: Sequence[bytes]) -> list[Kept]:
        """Rows by "id" or by "subject", locked until the transaction ends."""

    @abstractmethod
    def erase(self) -> str | None:
        """After a commit: removes what files still hold of deleted rows; what prevents it."""

    @abstractmethod
    def vacuum(self) -> None:
        """Gives free space back."""

    @abstractmethod
    def copy_to(self, path: str, copy: Callable[[str], None]) -> None:
        """Writes a store of SQLite with the same content; `copy` does so through a store."""

    @abstractmethod
    def place(self) -> str:
        """The store in words, without a password."""

    @abstractmethod
    def hold_keys(self, *, alone: bool) -> None:
        """Until the transaction ends, nobody retires a key; `alone`: nor seals with one."""

    @abstractmethod
    def reconnect(self) -> None:
        """Connects again, after a LostConnection."""

    @abstractmethod
    def close(self) -> None:
        """Closes the connections."""

    # ---- settings and facts: what was decided once ----------------------------------------------
    def settings(self) -> dict[str, bytes]:
        """Everything that is kept by name."""
        return {
            name: bytes(value) for name, value in self.run("SELECT name, value FROM tally_settings")
        }

    def settle(self, name: str, value: bytes) -> bytes:
        """Decides something for the first time; gives what is decided."""
        self.run(
            "INSERT INTO tally_settings (name, value) VALUES (?, ?) ON CONFLICT DO NOTHING",
            (name, value),
        )
        found = self.run("SELECT value FROM tally_settings WHERE name = ?", (name,)).fetchone()
        return bytes(found[0])

    def set(self, name: str, value: bytes) -> None:
        """Decides something anew."""
        self.run(
            "INSERT INTO tally_settings (name, value) VALUES (?, ?) "
            "ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            (name, value),
        )

    # ---- reading ---------------------------------------------------------------------------------
    def snapshot(self, *, counts: bool = True, lock: bool = False) -> Snapshot:
        """The snapshot; `lock` keeps others from changing it until the transaction ends."""
        column = "counts" if counts else "NULL"
        found = self.run(
            f"SELECT version, epoch, trimmed, learned, {column} FROM tally_snapshot"
            + (self.for_update if lock else "")
        ).fetchone()
        version, epoch, trimmed, learned, held = found
        held = _bytes(held)
        return Snapshot(version, epoch, trimmed, learned, self.opened([held])[0] if held else held)

    for_update: ClassVar[str] = ""

    def changes(self, since: int, until: int) -> Changes:
        """What happened after `since`, up to `until`."""
        added = self.run(
            "SELECT row, label, weight, time FROM tally_ledger "
            "WHERE v > ? AND v <= ? AND row IS NOT NULL "
            # of a row that was relabelled after `until`, the label until then
            f"UNION ALL SELECT l.row, u.label, l.weight, l.time FROM tally_undone u "
            f"JOIN tally_ledger l ON l.{self.key} = u.of "
            "WHERE u.was > ? AND u.was <= ? AND u.v > ? AND l.row IS NOT NULL",
            (since, until, since, until, until),
        ).fetchall()
        removed = self.run(
            f"SELECT l.row, u.label, l.weight, l.time FROM tally_undone u "
            f"JOIN tally_ledger l ON l.{self.key} = u.of "
            "WHERE u.v > ? AND u.v <= ? AND u.was <= ? AND l.row IS NOT NULL",
            (since, until, since),
        ).fetchall()
        parts = self.run(
            "SELECT counts FROM tally_parts WHERE v > ? AND v <= ? ORDER BY v", (since, until)
        ).fetchall()
        counts = self.opened([bytes(part[0]) for part in parts])
        return Changes(self._rows(added), self._rows(removed), counts)

    def rows(self, until: float | None = None) -> list[Row]:
        """All rows that are counted, in the order of their numbers; those of a time and before."""
        return self._rows(
            self.run(
                "SELECT row, label, weight, time FROM tally_ledger WHERE row IS NOT NULL"
                + ("" if until is None else " AND time <= ?")
                + " ORDER BY v",
                () if until is None else (until,),
            ).fetchall()
        )

    def sample(self, max_rows: int, until: int) -> Sample:
        """Rows that are counted at a version, drawn at random; the same ones from the same rows."""
        keys = [
            key
            for (key,) in self.run(
                f"SELECT {self.key} FROM tally_ledger WHERE row IS NOT NULL AND v <= ? ORDER BY "
                f"{self.key}",
                (until,),
            )
        ]
        total = len(keys)
        if total > max_rows:
            chosen = np.random.default_rng(total).choice(total, max_rows, replace=False)
            keys = [keys[i] for i in np.sort(chosen).tolist()]
        found: list[tuple[Any, ...]] = []
        for i in range(0, len(keys), 500):
            some = keys[i : i + 500]
            found += self.run(
                f"SELECT row, label, weight, time, subject FROM tally_ledger WHERE {self.key} IN "
                f"({', '.join('?' * len(some))})",
                some,
            ).fetchall()
        subjects, groups = [_bytes(row[4]) for row in found], None
        if any(subjects):
            numbers = defaultdict[Any, int](itertools.count().__next__)
            groups = np.array([numbers[s or i] for i, s in enumerate(subjects)], dtype=np.int64)
        return Sample(self._rows([row[:4] for row in found]), total, self.last_key(), groups)

    def events(self, until: int | None = None) -> list[Event]:
        """Every event, tombstones as well; those up to a version."""
        found = self.run(
            "SELECT id, subject, time, label, weight, row FROM tally_ledger"
            + ("" if until is None else " WHERE v <= ?")
            + " ORDER BY v",
            () if until is None else (until,),
        ).fetchall()
        rows = self._contents([row[5] for row in found])
        return [
            Event(_bytes(id_), _bytes(subject), time, label, weight, row)
            for (id_, subject, time, label, weight, _), row in zip(found, rows, strict=True)
        ]

    def older(self, time: float) -> list[Kept]:
        """Rows that are counted and older, locked."""
        return self.kept("label IS NOT NULL AND time < ?", (time,))

    def kept(self, condition: str, values: Sequence[Any]) -> list[Kept]:
        """Rows of the ledger that meet a condition, locked, in the order of their keys."""
        found = self.run(
            f"SELECT {self.key}, id, subject, v, label, weight, time, row FROM tally_ledger "
            f"WHERE {condition} ORDER BY {self.key}{self.for_update}",
            values,
        ).fetchall()
        rows = self._contents([row[7] for row in found])
        return [
            Kept(key, _bytes(id_), _bytes(subject), v, label, weight, time, row)
            for (key, id_, subject, v, label, weight, time, _), row in zip(found, rows, strict=True)
        ]

    def drop_ids(self, time: float) -> None:
        """Removes tombstones without an id, and those that are older."""
        self.run(
            "DELETE FROM tally_ledger WHERE label IS NULL AND (id IS NULL OR time < ?) "
            "AND v < (SELECT max(v) FROM tally_ledger)",  # whose number is not to come again
            (time,),
        )

    def count_rows(self, until: int) -> dict[str, float]:
        """What the rows of each label weigh."""
        return dict(
            self.run(
                "SELECT label, sum(weight) FROM tally_ledger WHERE label IS NOT NULL AND v <= ? "
                "GROUP BY label",
                (until,),
            ).fetchall()
        )

    def learned(self) -> bytes:
        """The model that was learned on rows; nothing where there is none."""
        held = self.settings().get("learned")
        return self.opened([held])[0] if held else b""

    def last_key(self) -> int:
        """The key of the row that came last; keys ascend, and few are left out."""
        return int(self.run(f"SELECT coalesce(max({self.key}), 0) FROM tally_ledger").fetchone()[0])

    def keep_learned(self, model: bytes) -> int:
        """Keeps a model that was learned on rows; gives how often one was."""
        self.set("learned", self.sealed(COUNTS, model))
        self.run("UPDATE tally_snapshot SET learned = learned + 1")
        return self.snapshot(counts=False).learned

    def number_of_rows(self, until: int) -> int:
        """How many rows are counted at a version."""
        statement = "SELECT count(label) FROM tally_ledger WHERE v <= ?"
        return int(self.run(statement, (until,)).fetchone()[0])

    def number_of_tombstones(self) -> int:
        """How many ids of forgotten rows are kept."""
        statement = (
            "SELECT count(*) FROM tally_ledger "
            "WHERE id IS NOT NULL AND label IS NULL AND subject IS NULL"
        )
        return int(self.run(statement).fetchone()[0])

    def kept_parts(self, until: int) -> list[bytes]:
        """Imported counts up to a version, which have no rows."""
        found = self.run(
            "SELECT counts FROM tally_parts WHERE kept = 1 AND v <= ? ORDER BY v", (until,)
        ).fetchall()
        return self.opened([bytes(part[0]) for part in found])

    # ---- encrypted content -----------------------------------------------------------------------
    def sealed(self, name: bytes, content: bytes) -> bytes:
        """Content as the store keeps it; nothing stays nothing."""
        return content if self.keys is None or not content else self.keys.seal([name], [content])[0]

    def opened(self, contents: list[bytes]) -> list[bytes]:
        """The inverse of :meth:`sealed`, of contents that are not empty."""
        return contents if self.keys is None else self.keys.open(contents)

    def _contents(self, rows: Sequence[Any]) -> list[bytes | None]:
        """Rows as they were encoded; None of tombstones."""
        opened = iter(self.opened([bytes(row) for row in rows if row is not None]))
        return [None if row is None else next(opened) for row in rows]

    def _rows(self, found: Sequence[tuple[Any, ...]]) -> list[Row]:
        rows = self.opened([bytes(row[0]) for row in found])
        return [(row, *beside[1:]) for row, beside in zip(rows, found, strict=True)]

    def sealed_rows(self, events: list[Event]) -> list[Event]:
        """Events whose rows are as the store keeps them, for this transaction alone."""
        if self.keys is None or not events:
            return events
        self.hold_keys(alone=False)
        names = [event.subject or event.id for event in events]
        if None in names:
            raise StoreError(
                f"row {names.index(None)} has neither an id nor a subject, and this store encrypts "
                "rows by them (subject_keys): give ids= or subjects="
            )
        rows = self.keys.seal([name or b"" for name in names], [e.row or b"" for e in events])
        return [event._replace(row=row) for event, row in zip(events, rows, strict=True)]

    def retire_keys(self, rows: Sequence[Kept]) -> None:
        """Before rows are emptied: retires the keys of their content and of all counts. Other rows
        of the same subjects get new keys."""
        if self.keys is None or not rows:
            return
        self.hold_keys(alone=True)
        emptied = {row.key for row in rows}
        subjects = {row.subject for row in rows if row.subject is not None}
        others = [
            row
            for row in self.found_by("subject", sorted(subjects))
            if row.row is not None and row.key not in emptied
        ]
        self.keys.retire({row.subject or row.id or b"" for row in rows} | {COUNTS})
        sealed = self.keys.seal([r.subject or b"" for r in others], [r.row or b"" for r in others])
        for row, content in zip(others, sealed, strict=True):
            self.run(f"UPDATE tally_ledger SET row = ? WHERE {self.key} = ?", (content, row.key))

    def uses_key(self, name: bytes, number: bytes) -> bool:
        """Whether content of a name is sealed with a key."""
        if name == COUNTS:
            statement = (
                "SELECT counts FROM tally_snapshot UNION ALL "
                "SELECT value FROM tally_settings WHERE name = 'learned'"
            )
            found = self.run(statement)
        else:
            statement = (
                "SELECT row FROM tally_ledger WHERE row IS NOT NULL AND (subject = ? OR id = ?)"
            )
            found = self.run(statement, (name, name))
        return any(number_of(bytes(content)) == number for (content,) in found)

    def without_keys(self) -> list[Any]:
        """The keys, in the ledger, of rows that nobody can read because they were forgotten after
        this copy of the store was made."""
        if self.keys is None:
            return []
        numbers = {
            key: bytes(number)
            for key, number in self.run(
                f"SELECT {self.key}, substr(row, 1, 16) FROM tally_ledger WHERE row IS NOT NULL"
            )
        }
        gone = self.keys.gone(numbers.values())
        return [key for key, number in numbers.items() if number in gone]

    # ---- changes ---------------------------------------------------------------------------------
    def move(self, row: Kept, label: str) -> None:
        """Gives a row another label."""
        key, v = row.key, self.number()
        self.run(f"UPDATE tally_ledger SET v = ?, label = ? WHERE {self.key} = ?", (v, label, key))
        if self.key == "v":  # the key of the row has changed
            self.run("UPDATE tally_undone SET of = ? WHERE of = ?", (v, key))
            key = v
        self.run(
            "INSERT INTO tally_undone (v, was, of, label) VALUES (?, ?, ?, ?)",
            (v, row.v, key, row.label),
        )

    def counted_at(self, row: Kept, version: int) -> str | None:
        """The label with which the counts of a version hold a row; None if they do not."""
        if row.v <= version:
            return row.label
        found = self.run(
            "SELECT label FROM tally_undone WHERE of = ? AND was <= ? AND v > ?",
            (row.key, version, version),
        ).fetchone()
        return None if found is None else str(found[0])

    def empty(self, keys: Sequence[Any], time: float) -> None:
        """Makes tombstones of rows, which hold an id and the time alone."""
        for key in keys:
            self.run(
                "UPDATE tally_ledger SET row = NULL, label = NULL, subject = NULL, weight = 0, "
                f"time = ? WHERE {self.key} = ?",
                (time, key),
            )
            self.run("DELETE FROM tally_undone WHERE of = ?", (key,))

    def add_counts(self, counts: bytes, *, kept: bool) -> None:
        """Appends counts that have no rows; `kept`: they are not those of a call."""
        self.run(
            "INSERT INTO tally_parts (v, kept, counts) VALUES (?, ?, ?)",
            (self.current(), int(kept), self.sealed(IMPORTED, counts)),
        )

    def take_snapshot(self, before: Snapshot, version: int, epoch: int, counts: bytes) -> bool:
        """Replaces a snapshot, unless it is another one by now; older undone labels go."""
        done = self.run(
            "UPDATE tally_snapshot SET version = ?, epoch = ?, counts = ? "
            "WHERE version = ? AND epoch = ?",
            (version, epoch, self.sealed(COUNTS, counts), before.version, before.epoch),
        )
        if not done.rowcount:
            return False
        trimmed = self.run("DELETE FROM tally_undone WHERE v <= ?", (version,)).rowcount
        trimmed += self.run(
            "DELETE FROM tally_parts WHERE v <= ? AND kept = 0", (version,)
        ).rowcount
        if trimmed:
            self.run("UPDATE tally_snapshot SET trimmed = ?", (version,))
        return True


def _bytes(value: Any) -> bytes | None:
    return None if value is None else bytes(value)
