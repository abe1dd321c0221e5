"""Stores: opened, kept small and safe, joined with others, and made models of."""

from __future__ import annotations

import contextlib
import math
import os
import secrets
import time as clock
from pathlib import Path
from typing import Any, Literal, NamedTuple

from tallybayes.errors import StoreError
from tallybayes.estimators.loading import load
from tallybayes.estimators.naive_bayes import NaiveBayes
from tallybayes.estimators.text import TextNB
from tallybayes.estimators.weighted import WeightedNaiveBayes
from tallybayes.store.events import Event, hashed
from tallybayes.store.fold import DAY, Declaration, Fold
from tallybayes.store.keys import Keys
from tallybayes.store.ledger import Ledger
from tallybayes.store.reading import ANALYZER, FACTS, apply
from tallybayes.store.writing import Learned, Writing

__all__ = ["Backup", "Store", "open"]


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


def open(
    url: str | os.PathLike[str],
    *,
    create: NaiveBayes | WeightedNaiveBayes | TextNB | None = None,
    ledger: Literal["rows", "ids"] | None = None,
    half_life: float | None = None,
    keep_days: float | None = None,
    keep_ids: float | None = None,
    key: bytes | None = None,
    subject_keys: bool | str | os.PathLike[str] = False,
    synchronous: Literal["full", "normal"] = "full",
) -> Store:
    """Open a store, or make one.

    Parameters
    ----------
    url : str or path
        A file of SQLite, or ``postgresql://…`` (extra ``store``).
    create : NaiveBayes, WeightedNaiveBayes or TextNB, optional
        A model that is not fitted, with its parameters: the store is made if there is none. A store
        that is there has to have been made with the same.
    ledger : {"rows", "ids"}, default="rows"
        Whether rows are kept. With "ids" a call appends its counts, and forgetting takes the row as
        an argument.
    half_life : float, optional
        Days after which an event counts half.
    keep_days : float, optional
        Days after which :meth:`Store.compact` forgets a row.
    keep_ids : float, optional
        Days for which the id of a forgotten row is kept, so that a late repetition does not bring
        the row back; forever by default.
    key : bytes, optional
        The secret of the hashes of ids and subjects, 16 to 64 bytes. By default the store makes one
        and keeps it; a key that is given is not kept, and has to be given every time.
    subject_keys : bool or path or str, default=False
        Whether rows are encrypted with a key for each subject, or for each id of a row without a
        subject, and counts with a key that every forget changes. Forgetting destroys the keys, so
        that backups, archives and replicas hold nothing that can be read. True keeps the keys in
        ``<url>.keys``; otherwise it is the file or the database that does, and of which no copies
        are made. Give it again only where the keys have moved. Needs the extra ``store``.
    synchronous : {"full", "normal"}, default="full"
        Of SQLite: whether an acknowledged call survives a power cut. A crash of the process or of
        the system loses nothing in either case.

    Returns
    -------
    Store
        Which threads may share. A process that was forked opens its own.

    Raises
    ------
    StoreError
        If there is no store, it is another kind of file, of a newer format, made with other
        options, or cannot be reached.

    Examples
    --------
    >>> import tempfile, tallybayes
    >>> from tallybayes import store
    >>> mail = store.open(tempfile.mktemp(suffix=".db"), create=tallybayes.NaiveBayes())
    >>> mail.learn([{"sky": "grey"}, {"sky": "blue"}], ["rain", "dry"], ids=["mon", "tue"]).new
    ['mon', 'tue']
    >>> mail.learn([{"sky": "grey"}], ["rain"], ids=["mon"]).repeated
    ['mon']
    >>> mail.model().predict([{"sky": "grey"}]).tolist()
    ['rain']
    >>> mail.forget(ids=["mon"]).rows
    1
    >>> mail.close()
    """
    place = os.fspath(url)
    if key is not None and not 16 <= len(key) <= 64:
        raise StoreError(f"key= is a secret of 16 to 64 bytes, got {len(key)}")
    if synchronous not in ("full", "normal"):
        raise StoreError(f"synchronous is 'full' or 'normal', got {synchronous!r}")
    if ledger not in (None, "rows", "ids"):
        raise StoreError(f"ledger is 'rows' or 'ids', got {ledger!r}")
    ages = {"half_life": half_life, "keep_days": keep_days, "keep_ids": keep_ids}
    for name, days in ages.items():
        if days is not None and not 0.0 < days < math.inf:
            raise StoreError(f"{name} is a number of days above 0, got {days!r}")
    declared = None if create is None else Declaration(create, half_life)

    given = {"ledger": ledger, **ages}
    with contextlib.ExitStack() as opened:

        def connected(at: str, create: bool, synchronous: str) -> Ledger:
            ledger = _connected(at, create, synchronous)
            opened.callback(ledger.close)
            return ledger

        writer = connected(place, declared is not None, synchronous)
        with writer.reading():
            made = "model" in writer.settings()
        with contextlib.nullcontext() if made else writer.writing():  # writers wait for each other
            found = writer.settings()
            if "model" not in found:
                if declared is None:
                    raise StoreError(f"{writer.place()} is an empty store: give create=")
                writer.settle("model", declared.saved())
                for name, value in {**given, "ledger": ledger or "rows"}.items():
                    if value is not None:
                        writer.settle(name, str(value).encode())
                secret = key or secrets.token_bytes(32)
                check = writer.settle("check", hashed("tallybayes", secret, "check"))
                home = writer  # of the secret
                if subject_keys:
                    if ledger == "ids":
                        raise StoreError("subject_keys= encrypts rows, which ledger='ids' lacks")
                    at = _place_of_keys(place, subject_keys)
                    writer.settle("subject_keys", at.encode())
                    if os.path.isdir(os.path.dirname(at)):  # no address of a database
                        Path(at).touch(0o600)
                    home = connected(at, True, "full")
                    writer.keys = Keys(home)
                if home.settle("check", check) != check:
                    raise StoreError(
                        f"{home.place()} holds the keys of another store: name another place"
                    )
                if key is None:
                    home.settle("key", secret)
            found = writer.settings()
        _need_same(writer.place(), found, given, declared)
        reader = connected(place, False, synchronous)
        if "subject_keys" in found:
            at = _found_keys(place, found, subject_keys)
            for of in (writer, reader):
                of.keys = of.keys or Keys(connected(at, False, "full"))
        elif subject_keys:
            raise StoreError(
                f"{writer.place()} was made without subject_keys: leave it out, or make another "
                "store and merge this one into it"
            )
        store = Store(writer, reader, found, key)
        opened.pop_all()
        return store


def _connected(place: str, create: bool, synchronous: str) -> Ledger:
    """A connection to a file or a database."""
    if place.startswith(("postgresql://", "postgres://")):
        from tallybayes.store.postgres import PostgresLedger  # which imports psycopg

        return PostgresLedger(place, create=create)
    from tallybayes.store.sqlite import SQLiteLedger

    return SQLiteLedger(place, create=create, synchronous=synchronous)


def _place_of_keys(place: str, given: Literal[True] | str | os.PathLike[str]) -> str:
    """Where the keys of a new store are to be."""
    of_database = place.startswith(("postgresql://", "postgres://"))
    if given is True:
        if of_database:
            raise StoreError(
                "subject_keys=True keeps keys beside a file: for a database, name a file or "
                "another server, of which no backups, archives or replicas are made"
            )
        given = f"{place}.keys"
    at = os.fspath(given)
    if at == place:
        raise StoreError("subject_keys= is another file or database than the store: name one")
    if at.startswith(("postgresql://", "postgres://")):
        if ":" in at.partition("://")[2].rpartition("@")[0]:
            raise StoreError(
                "the address of the keys has a password, which a store does not keep: put it into "
                "~/.pgpass"
            )
        return at
    return os.path.abspath(at)


def _found_keys(place: str, found: dict[str, bytes], given: bool | str | os.PathLike[str]) -> str:
    """Where the keys of a store are: as is said, where they were, or beside it."""
    if given and given is not True:
        return _place_of_keys(place, given)
    at, beside = found["subject_keys"].decode(), f"{place}.keys"
    if "://" in at or os.path.exists(at):
        return at
    if os.path.exists(beside):
        return beside
    raise StoreError(
        f"the rows of {place} are encrypted, and their keys are not in {at}: give subject_keys=, "
        "where they are"
    )


def _need_same(
    place: str, found: dict[str, bytes], given: dict[str, Any], declared: Declaration | None
) -> None:
    """Raises where a store was made with other options than those that are given."""
    half_life = float(found["half_life"]) if "half_life" in found else None
    for name, value in given.items():
        held = found[name].decode() if name in found else None
        if value is not None and str(value) != held:
            raise StoreError(
                f"{place} was made with {name}={held}, got {name}={value}: leave it out, or make "
                "another store"
            )
    if declared is not None:
        made = Declaration.restored(found["model"], half_life)
        if not Declaration(declared.model, half_life).equals(made):
            raise StoreError(
                f"{place} was made with create={made.model!r}, got {declared.model!r}: leave "
                "create= out, or make another store"
            )


class Store(Writing):
    """Events that many processes learn and forget, and the model of those that are left.

    :func:`open` gives one. Every call is one transaction: all of it is kept, or nothing. Threads
    may share a store, and their calls share commits.

    Parameters
    ----------
    writer, reader : Ledger
        Two connections.
    settings : dict of str to bytes
        What was decided when the store was made.
    key : bytes or None
        The secret of the hashes, where the store does not keep it.
    """

    def compact(self) -> int:
        """Forget rows older than ``keep_days``, drop ids older than ``keep_ids``, count the ledger
        again, and give free space back.

        In an older copy of a store that encrypts its rows, those that were forgotten since, whose
        keys are gone, are removed as well.

        Returns
        -------
        int
            How many rows were forgotten because of their age.
        """
        now = clock.time()

        def compacted(ledger: Ledger) -> int:
            old = []
            before = ledger.snapshot(counts=not self._keeps_rows, lock=True)
            if lost := ledger.without_keys():
                ledger.empty(lost, now)
                ledger.keep_learned(b"")
            if "keep_days" in self._days and self._keeps_rows:
                old = ledger.older(now - self._days["keep_days"] * DAY)
                ledger.retire_keys(old)
                ledger.empty([row.key for row in old], now)
            horizon = ledger.horizon()
            if self._keeps_rows:
                fold = self._refolded(ledger, horizon)
            else:
                fold = self._fold_of(ledger, before)
                apply(fold, ledger, horizon)
            if old:
                self._drop_counts_of_learned(ledger, fold)
            ledger.drop_ids(now - self._days["keep_ids"] * DAY if "keep_ids" in self._days else 0.0)
            ledger.take_snapshot(before, horizon, before.epoch + 1, fold.saved())
            return len(old)

        n_rows = int(self._commits.make(compacted))
        with self._commits.lock:
            self._writer.vacuum()
            if self._writer.keys is not None:
                self._writer.keys.ledger.vacuum()
        self._erase()
        return n_rows

    def backup(self, path: str | os.PathLike[str]) -> Backup:
        """Write a copy of the store to a file of SQLite, which :func:`open` opens.

        Keys of rows that are encrypted are not in it: it is read with those of this store.

        Parameters
        ----------
        path : str or path
            A file that is not there yet.

        Returns
        -------
        Backup
            With older backups that still hold rows which were forgotten since.

        Raises
        ------
        StoreError
            If there is such a file, or it cannot be written; then there is none.
        """
        target = os.path.abspath(os.fspath(path))
        if os.path.exists(target):
            raise StoreError(f"{path} exists: name another file for the backup, or remove it")
        now = clock.time()

        def recorded(ledger: Ledger) -> tuple[list[str], int]:
            epoch = ledger.snapshot(counts=False).epoch
            stale = [
                str(old)
                for old, made_at in ledger.run("SELECT path, epoch FROM tally_backups")
                if made_at < epoch
            ]
            ledger.run("INSERT INTO tally_backups VALUES (?, ?, ?)", (target, now, epoch))
            return stale, ledger.horizon()

        stale, version = self._commits.make(recorded)
        try:
            with self._read_lock:
                self._reader.copy_to(target, self._copy_to)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(target)
            self._commits.make(
                lambda ledger: ledger.run(
                    "DELETE FROM tally_backups WHERE path = ? AND time = ?", (target, now)
                )
            )
            raise
        return Backup(target, version, stale)

    def _copy_to(self, path: str) -> None:
        """Writes a store of SQLite with the rows of this one."""
        declared, days = self._declaration, self._days
        kept: Literal["rows", "ids"] = "rows" if self._keeps_rows else "ids"
        with open(
            path,
            create=declared.model,
            ledger=kept,
            half_life=declared.half_life,
            key=self._key,
            keep_days=days.get("keep_days"),
            keep_ids=days.get("keep_ids"),
            subject_keys=self._reader.settings().get("subject_keys", b"").decode(),
        ) as copied:
            if "key" in self._reader.settings():
                copied._commits.make(lambda ledger: ledger.settle("key", self._key))
            if self._keeps_rows:
                copied.merge(self)
                return
            with self._reader.reading():  # without rows, the counts are copied beside the ids
                fold, horizon = self._fold_now(self._reader, self._reader.snapshot(), [])
                events = self._reader.events(horizon)
                parts = self._reader.kept_parts(horizon)

            def filled(ledger: Ledger) -> None:
                ledger.insert_new(events)
                for part in parts:
                    ledger.add_counts(part, kept=True)
                before = ledger.snapshot(counts=False)
                ledger.take_snapshot(before, ledger.current(), 0, fold.saved())

            copied._commits.make(filled)

    # ---- other stores and models -----------------------------------------------------------------
    def merge(self, other: Store) -> Learned:
        """Add what another store has learned, each id once, and forget what it has forgotten.

        Parameters
        ----------
        other : Store
            Of the same model and the same :attr:`key`. It is not changed.

        Returns
        -------
        Learned
            `rows` were added; ids are known by their hashes only, which `new`, `repeated` and
            `forgotten` hold.

        Raises
        ------
        LabelConflict
            If a row has different labels in both; nothing has changed.
        StoreError
            If the stores do not go together.
        """
        if other._key != self._key:
            raise StoreError(
                "the two stores hash ids with different keys, so that rows in both are not "
                "recognised: make stores that are to be merged with one key="
            )
        if other._writer.keys is not None and self._writer.keys is None:
            raise StoreError(
                "the other store encrypts its rows, and this one would keep them as they are: "
                "merge into a store with subject_keys="
            )
        if not (self._keeps_rows and other._keeps_rows):
            raise StoreError(
                "stores without rows (ledger='ids') do not merge, because a row in both would "
                "count twice: export a model of one, and import it"
            )
        if not self._declaration.equals(other._declaration):
            raise StoreError(
                f"the stores learn {self._declaration.model!r} and {other._declaration.model!r}: "
                "only stores of one model merge"
            )
        with other._read_lock, other._reader.reading():
            theirs = other._reader.events()
            parts = other._reader.kept_parts(other._reader.horizon())
            facts = {
                name: value.decode()
                for name, value in other._reader.settings().items()
                if name.startswith(FACTS)
            }
        if self._facts.get(ANALYZER, facts.get(ANALYZER)) != facts.get(ANALYZER):
            raise StoreError("the stores read documents by different analyzers: declare one")

        n_forgotten = 0

        def merged(ledger: Ledger) -> Learned:
            nonlocal n_forgotten
            self._settle(ledger, facts)
            live = [event for event in theirs if event.label is not None]
            gone = [event for event in theirs if event.label is None and event.id is not None]
            encoded = [event.row or b"" for event in live]
            found = self._learn(ledger, live, encoded, [event.id for event in live], [])
            there = ledger.insert_new(gone)
            rows = [row for row in ledger.found_by("id", sorted(there)) if row.label]
            self._forget(ledger, rows, {})
            n_forgotten = len(rows)
            for part in parts:
                fold = Fold.restored(self._declaration, part, self._empty_fold(ledger).analyzer)
                ledger.insert_new([Event(None, None, clock.time(), None, 0.0, None)])
                ledger.add_counts(fold.saved(), kept=True)
            return found._replace(version=ledger.current())

        named = not parts and all(event.id is not None for event in theirs)
        result: Learned = self._commits.make(merged, repeatable=named)
        self._know(facts)
        if n_forgotten:
            self._erase()
        return result

    def export(self, path: str | os.PathLike[str]) -> None:
        """Write the model as of now to a file that :func:`tallybayes.load` reads.

        Parameters
        ----------
        path : str or path
            The file; one that is there is replaced whole or not at all.
        """
        self.model().save(path)

    def import_(self, model: Any) -> int:
        """Add the counts of a model, whose rows the store does not have.

        They cannot be forgotten by id.

        Parameters
        ----------
        model : estimator, str or path
            A fitted model of the class that the store learns, or its file.

        Returns
        -------
        int
            A model of this version or a later one holds the counts.

        Raises
        ------
        StoreError
            If the store learns another kind of model.
        """
        if isinstance(model, str | os.PathLike):
            model = load(model)

        def imported(ledger: Ledger) -> int:
            fold = self._empty_fold(ledger)
            fold.take(model, clock.time())
            ledger.insert_new([Event(None, None, clock.time(), None, 0.0, None)])
            ledger.add_counts(fold.saved(), kept=True)
            return ledger.current()

        return int(self._commits.make(imported, repeatable=False))
