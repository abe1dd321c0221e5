"""A store: events that many processes learn and forget, and the model of those that are left."""

from __future__ import annotations

import contextlib
import io
import math
import os
import secrets
import threading
import time as clock
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Self

from tallybayes.errors import (
    LabelConflict,
    NegativeTally,
    StoreError,
    StoreWarning,
    UnfinishedForget,
    listed,
    warn_user,
)
from tallybayes.estimators.loading import load
from tallybayes.estimators.naive_bayes import NaiveBayes
from tallybayes.estimators.text import TextNB
from tallybayes.estimators.weighted import WeightedNaiveBayes
from tallybayes.store.events import (
    Event,
    decoded_label,
    encoded_label,
    encoded_rows,
    hashed,
    kind_of_label,
    mixed_column,
    rows_given,
    seconds_of,
    weights_of,
)
from tallybayes.store.fold import DAY, Declaration, Fold, with_counts
from tallybayes.store.ledger import Duplicate, Ledger, LostConnection, Overtaken, Snapshot

__all__ = ["Backup", "Forgotten", "Learned", "Relabelled", "Store", "Verified", "open"]

STEP = 50_000  # numbers that are read in one transaction
SNAPSHOT_AFTER = 20_000  # rows that were folded since the last snapshot
SAMPLE = 1 << 15  # rows that weights are learned on
TRIES = 6  # of a transaction that others overtake
PATIENCE = 30.0  # seconds for which a change waits for older transactions

FACTS = "fact:"
"""Begins the names of settings that the first rows decide."""
COLUMN, LABEL, ANALYZER = f"{FACTS}column:", f"{FACTS}label", f"{FACTS}analyzer"

Time = Any
"""A datetime, or seconds since 1970."""


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


@dataclass
class _Work:
    """A change that waits for its turn, or shares a commit with others."""

    do: Callable[[Ledger], Any]
    events: list[Event] | None = None  # that may be appended without a look at what is there
    repeatable: bool = True  # whether a repetition counts nothing twice
    result: Any = None
    version: int = 0
    error: BaseException | None = None
    done: bool = False


def open(
    url: str | os.PathLike[str],
    *,
    create: NaiveBayes | WeightedNaiveBayes | TextNB | None = None,
    ledger: Literal["rows", "ids"] | None = None,
    half_life: float | None = None,
    keep_days: float | None = None,
    keep_ids: float | None = None,
    key: bytes | None = None,
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

    def connected(create: bool) -> Ledger:
        if place.startswith(("postgresql://", "postgres://")):
            from tallybayes.store.postgres import PostgresLedger  # which imports psycopg

            return PostgresLedger(place, create=create)
        from tallybayes.store.sqlite import SQLiteLedger

        return SQLiteLedger(place, create=create, synchronous=synchronous)

    given = {"ledger": ledger, **ages}
    writer = connected(declared is not None)
    try:
        with writer.writing():
            found = writer.settings()
            if "model" not in found:
                if declared is None:
                    raise StoreError(f"{writer.place()} is an empty store: give create=")
                writer.settle("model", declared.saved())
                for name, value in {**given, "ledger": ledger or "rows"}.items():
                    if value is not None:
                        writer.settle(name, str(value).encode())
                secret = key or secrets.token_bytes(32)
                writer.settle("check", hashed("tallybayes", secret, "check"))
                if key is None:
                    writer.settle("key", secret)
            found = writer.settings()
        _need_same(writer.place(), found, given, declared)
        return Store(writer, connected(False), found, key)
    except BaseException:
        writer.close()
        raise


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


class Store:
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

    def __init__(
        self, writer: Ledger, reader: Ledger, settings: dict[str, bytes], key: bytes | None
    ) -> None:
        self._writer, self._reader = writer, reader
        half_life = float(settings["half_life"]) if "half_life" in settings else None
        self._declaration = Declaration.restored(settings["model"], half_life)
        self._keeps_rows = settings["ledger"] == b"rows"
        self._days = {
            name: float(settings[name]) for name in ("keep_days", "keep_ids") if name in settings
        }
        secret = key or settings.get("key")
        if secret is None or hashed("tallybayes", secret, "check") != settings["check"]:
            raise StoreError(
                f"{writer.place()} was made with a key= that is not kept in it: give the same one"
            )
        if self._declaration.learns_on_rows and not self._keeps_rows:
            raise StoreError(
                f"{self._declaration.model!r} learns on rows, which ledger='ids' does not keep: "
                "use ledger='rows', or a plain model"
            )
        self._key = secret
        self._facts = {n: v.decode() for n, v in settings.items() if n.startswith(FACTS)}
        self._columns = {
            n.removeprefix(COLUMN): v for n, v in self._facts.items() if n.startswith(COLUMN)
        }
        self._queue: deque[_Work] = deque()
        self._write_lock, self._read_lock = threading.Lock(), threading.RLock()
        self._fold: Fold | None = None
        self._folded = 0  # rows since the last snapshot
        self._learned: tuple[int, Any] = (0, None)  # how often weights were learned, and the model
        self._model: Any = None
        self._pid = os.getpid()

    # ---- what it is ------------------------------------------------------------------------------
    @property
    def url(self) -> str:
        """Where the store is, without a password."""
        return self._writer.place()

    @property
    def key(self) -> bytes:
        """The secret of the hashes; stores that are merged share it."""
        return self._key

    @property
    def version(self) -> int:
        """The version of the model that was read last; 0 before there is one."""
        fold = self._fold
        return 0 if fold is None else fold.version

    @property
    def learns_documents(self) -> bool:
        """Whether rows are documents, each a string."""
        return self._declaration.documents

    def summary(self) -> dict[str, Any]:
        """Say what the store holds.

        Returns
        -------
        dict
            The store and its model, how many rows it counts, by label what they weigh, ids of
            forgotten rows, the newest version and that of the snapshot.
        """
        with self._read_lock, self._reader.reading():
            ledger = self._reader
            horizon = ledger.horizon()
            weights = ledger.count_rows(horizon)
            rows, ids = ledger.number_of_rows(horizon), ledger.number_of_tombstones()
            state = ledger.snapshot(counts=False)
        return {
            "store": self.url,
            "model": repr(self._declaration.model),
            "ledger": "rows" if self._keeps_rows else "ids",
            "half_life": self._declaration.half_life,
            "keep_days": self._days.get("keep_days"),
            "keep_ids": self._days.get("keep_ids"),
            "rows": rows,
            "weights": {str(decoded_label(label)): w for label, w in sorted(weights.items())},
            "forgotten_ids": ids,
            "version": horizon,
            "snapshot": state.version,
        }

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections. A model that was read stays usable."""
        with self._read_lock, self._write_lock:
            self._writer.close()
            self._reader.close()

    # ---- writing: concurrent calls share a commit ------------------------------------------------
    def _write(self, work: _Work) -> Any:
        """Does a change, alone or with those that came while another one was committed."""
        if os.getpid() != self._pid:
            raise StoreError("the store was opened before this process was forked: open it again")
        self._queue.append(work)
        with self._write_lock:
            if not work.done:
                batch = []
                while self._queue:
                    batch.append(self._queue.popleft())
                try:
                    self._do(batch)
                except BaseException as error:
                    for one in batch:
                        one.error = one.error or error
                finally:
                    for one in batch:
                        one.done = True
        if work.error is not None:
            raise work.error
        return work.result

    def _do(self, batch: list[_Work]) -> None:
        """Does changes in one transaction; again where another one was first, or where the
        connection was lost and a repetition counts nothing twice."""
        for tries_left in reversed(range(TRIES)):
            try:
                self._try(batch)
                return
            except Overtaken as error:
                if not tries_left:
                    raise StoreError(
                        "other transactions were first again and again: nothing was changed. Try "
                        "again"
                    ) from error
                clock.sleep(0.01 * (TRIES - tries_left))
            except LostConnection as error:
                clock.sleep(0.1 * 2 ** (TRIES - tries_left))
                self._writer.reconnect()
                if not (tries_left and all(work.repeatable for work in batch)):
                    raise StoreError(
                        f"{error}. Whether the call was kept is not known, and repeating it may "
                        "count rows twice: give rows ids, which makes a repetition safe"
                    ) from error
                warn_user(
                    f"{error}: connected again, and repeated the call, which counts nothing twice",
                    StoreWarning,
                )

    def _try(self, batch: list[_Work]) -> None:
        ledger = self._writer
        if all(work.events is not None for work in batch):
            try:
                version = ledger.insert_alone([e for work in batch for e in work.events or ()])
            except Duplicate:
                pass
            else:
                for work in batch:
                    work.version = version
                return
        with ledger.writing():
            if len(batch) == 1:
                batch[0].result = batch[0].do(ledger)
                return
            for work in batch:
                try:
                    with ledger.savepoint():
                        work.result = work.do(ledger)
                except (StoreError, ValueError) as error:
                    work.error = error

    def _settle(self, ledger: Ledger, facts: dict[str, str]) -> None:
        """Decides what the first rows decide; raises where other rows have decided otherwise."""
        for name, value in facts.items():
            held = ledger.settle(name, value.encode()).decode()
            if held != value and name == LABEL:
                raise _other_label(value, held)
            if held != value and name.startswith(COLUMN):
                raise mixed_column(name.removeprefix(COLUMN), value, held)
            facts[name] = held

    def _know(self, facts: dict[str, str]) -> None:
        """Keeps what was decided."""
        for name, value in facts.items():
            self._facts.setdefault(name, value)
            if name.startswith(COLUMN):
                self._columns[name.removeprefix(COLUMN)] = value

    # ---- learning --------------------------------------------------------------------------------
    def learn(
        self,
        rows: Any,
        labels: Any,
        *,
        ids: Any = None,
        subjects: Any = None,
        weights: Any = None,
        times: Any = None,
    ) -> Learned:
        """Count rows, each once: a row whose id was counted before is left out.

        Parameters
        ----------
        rows : list of dict, table, or list of str
            Rows by column name, or documents.
        labels : array-like (n_rows,)
            Strings, whole numbers or booleans, all of one type.
        ids : array-like (n_rows,), optional
            What identifies each row: a string, bytes or a whole number. Without ids a call that is
            repeated counts its rows again.
        subjects : array-like (n_rows,), optional
            Whom each row is about, for :meth:`forget`.
        weights : array-like (n_rows,), optional
            How much each row counts; 1 by default.
        times : array-like (n_rows,), optional
            When each event happened, as datetimes or seconds since 1970; now by default.

        Returns
        -------
        Learned
            Which rows are new. The call is on the disk then.

        Raises
        ------
        LabelConflict
            A StoreError: an id was learned with another label. Nothing of the call is counted.
        StoreError
            For rows, labels or ids that cannot be kept; nothing is counted.
        """
        rows = rows_given(rows, self._declaration.documents)
        n_rows = len(rows)
        given = {"labels": labels, "ids": ids, "subjects": subjects, "times": times}
        given["weights"] = weights
        for name, values in given.items():
            if values is not None and len(values) != n_rows:
                raise StoreError(
                    f"{name} are {len(values)}, and rows are {n_rows}: give one for each row"
                )
        if not n_rows:
            return Learned(0, [], [], [], self.version)
        now, key = clock.time(), self._key
        encoded, columns = encoded_rows(rows, self._columns)
        facts = {f"{COLUMN}{name}": kind for name, kind in columns.items()}
        labels = _listed(labels)
        encoded_labels = [encoded_label(label) for label in labels]
        self._need_kind(encoded_labels, facts)
        self._need_declared(labels, rows)
        if ANALYZER not in self._facts:
            facts |= {f"{FACTS}{n}": v for n, v in self._declaration.facts(rows).items()}
        ids = _listed(ids)
        hashes = [None] * n_rows if ids is None else [hashed(i, key, "id") for i in ids]
        subject = (
            [None] * n_rows
            if subjects is None
            else [None if s is None else hashed(s, key, "subject") for s in _listed(subjects)]
        )
        when = [now] * n_rows if times is None else [seconds_of(t) for t in _listed(times)]
        kept = encoded if self._keeps_rows else [None] * n_rows
        events = list(
            map(Event, hashes, subject, when, encoded_labels, weights_of(weights, n_rows), kept)
        )
        again: list[Any] = []
        if ids is not None and len(set(hashes)) < n_rows:
            events, encoded, ids, again = _once(events, encoded, ids)

        def counted(ledger: Ledger) -> Learned:
            self._settle(ledger, facts)
            return self._learn(ledger, events, encoded, ids, again)

        plain = self._keeps_rows and not facts
        work = _Work(counted, events if plain else None, repeatable=ids is not None)
        found = self._write(work)
        self._know(facts)
        if found is not None:
            return found  # type: ignore[no-any-return]
        return Learned(len(events), [] if ids is None else ids, again, [], work.version)

    def learn_from(
        self,
        source: Any,
        target: str | None = None,
        *,
        id: str | None = None,
        subject: str | None = None,
        weight: str | None = None,
        time: str | None = None,
    ) -> Learned:
        """Count the rows of files, all of them or none; see :meth:`learn`.

        Parameters
        ----------
        source : path, list of paths, Rows or DocumentSource
            CSV, JSON lines, Parquet, Arrow, Excel; of :func:`tallybayes.documents`, documents,
            whose ids are their names where they have names.
        target : str, optional
            The column of the labels.
        id, subject, weight, time : str, optional
            Columns that are not learned from: ids, subjects, weights, and times in seconds since
            1970 or ISO 8601.

        Returns
        -------
        Learned
            Which rows are new.
        """
        given = self._read(source, target, ids=id, subjects=subject, weights=weight, times=time)
        return self.learn(given.pop("rows"), given.pop("labels"), **given)

    def forget_from(
        self, source: Any, *, id: str | None = None, subject: str | None = None
    ) -> Forgotten:
        """Forget the rows whose ids, or subjects, stand in a column of files; see :meth:`forget`.

        Parameters
        ----------
        source : path, list of paths or Rows
            CSV, JSON lines, Parquet, Arrow or Excel.
        id, subject : str, optional
            The column, one of the two.

        Returns
        -------
        Forgotten
            How many rows were removed.
        """
        if (id is None) == (subject is None):
            raise StoreError("forget_from takes id= or subject=, one of the two")
        given = self._read(source, None, ids=id, subjects=subject)
        rows = None if self._keeps_rows else given["rows"]
        return self.forget(ids=given.get("ids"), subjects=given.get("subjects"), rows=rows)

    def relabel_from(self, source: Any, target: str, *, id: str) -> Relabelled:
        """Give rows the labels that files hold for their ids; see :meth:`relabel`.

        Parameters
        ----------
        source : path, list of paths or Rows
            CSV, JSON lines, Parquet, Arrow or Excel.
        target : str
            The column of the labels.
        id : str
            The column of the ids.

        Returns
        -------
        Relabelled
            Which labels have changed.
        """
        given = self._read(source, target, ids=id)
        rows = None if self._keeps_rows else given["rows"]
        return self.relabel(given["ids"], given["labels"], rows=rows)

    def _read(self, source: Any, target: str | None, **beside: str | None) -> dict[str, Any]:
        """The rows of a source, with columns beside them."""
        from tallybayes.sources import open_rows  # which imports Arrow
        from tallybayes.store.files import read

        if isinstance(source, str | os.PathLike | list):
            source = open_rows(source)
        return read(source, target, beside, self._columns, self._facts.get(LABEL))

    def _learn(
        self,
        ledger: Ledger,
        events: list[Event],
        encoded: list[bytes],
        ids: list[Any] | None,
        again: list[Any],
    ) -> Learned:
        """Appends events whose ids are new, and says what the others are."""
        there = ledger.insert_new(events)
        names = [None] * len(events) if ids is None else ids
        learned = {bytes(row[1]): row[3] for row in ledger.ids_in("id", sorted(there))}
        if len(learned) < len(there):  # a tombstone was dropped meanwhile
            raise Overtaken
        repeated, forgotten = list(again), []
        for event, name in zip(events, names, strict=True):
            if event.id not in there:
                continue
            label = learned[event.id]
            if label is None:
                forgotten.append(name)
            elif label == event.label:
                repeated.append(name)
            else:
                raise LabelConflict(
                    f"the row {name!r} was learned as {decoded_label(label)!r}, and comes as "
                    f"{decoded_label(event.label)!r}: nothing of this call was counted. relabel "
                    "gives a row another label",
                    id=name,
                    label=decoded_label(event.label),
                    learned=decoded_label(label),
                )
        new = [i for i, event in enumerate(events) if event.id is None or event.id not in there]
        if not self._keeps_rows and new:
            fold = self._empty_fold(ledger)
            fold.add([(encoded[i], (e := events[i]).label or "", e.weight, e.time) for i in new])
            self._add_part(ledger, fold, kept=False)
        new_ids = [] if ids is None else [ids[i] for i in new]
        return Learned(len(new), new_ids, repeated, forgotten, ledger.current())

    def _need_declared(self, labels: list[Any], rows: list[Any]) -> None:
        """Raises for labels that were not declared, and rows that a declared family refuses."""
        declared = self._declaration
        if declared.documents:
            return
        classes = declared.model.classes
        if classes is not None:
            known = set(_listed(classes))
            for label in labels:
                if label not in known:
                    raise StoreError(
                        f"the label {label!r} is not declared; the classes of this store are "
                        f"{listed(sorted(map(str, known)))}: correct the label"
                    )
        if declared.declares_families and rows:
            declared.counter().partial_fit(rows, labels)

    def _need_kind(self, encoded_labels: list[str], facts: dict[str, str]) -> None:
        """Raises for labels of several kinds; the first kind of all is a new fact."""
        held = self._facts.get(LABEL)
        for kind in set(map(kind_of_label, set(encoded_labels))):
            if held is None:
                held = facts[LABEL] = kind
            if kind != held:
                raise _other_label(kind, held)

    # ---- forgetting and relabelling --------------------------------------------------------------
    def forget(self, *, ids: Any = None, subjects: Any = None, rows: Any = None) -> Forgotten:
        """Take rows away, so that nothing of them is left in the files of the store.

        An id stays as a keyed hash, so that a late repetition does not bring the row back, for
        ``keep_ids`` days.

        Parameters
        ----------
        ids : array-like, optional
            Ids of rows. An id that was not learned will not be learned later.
        subjects : array-like, optional
            Whose rows are forgotten.
        rows : list of dict, table, or list of str, optional
            With ``ledger="ids"``: the rows of `ids`, as they were learned.

        Returns
        -------
        Forgotten
            How many rows were removed. Nothing of them is left in the files then.

        Raises
        ------
        UnfinishedForget
            A StoreError: the rows are forgotten, but another process keeps their bytes in the
            write-ahead log of SQLite. The same call again finishes it.
        StoreError
            For bad ids, or rows that are lacking; nothing has changed.
        """
        if (ids is None) == (subjects is None):
            raise StoreError("forget takes ids= or subjects=, one of the two")
        names = _listed(subjects if ids is None else ids)
        column = "subject" if ids is None else "id"
        hashes = {hashed(name, self._key, column): name for name in names}
        encoded = self._rows_of_ids(rows, names, column)

        def forgotten(ledger: Ledger) -> Forgotten:
            found = list(ledger.ids_in(column, sorted(hashes)))
            if column == "id":
                there = {bytes(row[1]) for row in found}
                unknown = [name for value, name in hashes.items() if value not in there]
                now = clock.time()
                for value in hashes.keys() - there:
                    ledger.insert_new([Event(value, None, now, None, 0.0, None)])
            else:
                unknown = []
            live = [row for row in found if row[3] is not None]
            due = self._forget(ledger, live, {v: encoded.get(n) for v, n in hashes.items()})
            return Forgotten(len(live), unknown, due, ledger.current())

        found: Forgotten = self._write(_Work(forgotten))
        self._erase()
        return found

    def _forget(
        self, ledger: Ledger, live: list[tuple[Any, ...]], encoded: dict[bytes, bytes | None]
    ) -> bool:
        """Takes rows out of the snapshot and the ledger; whether weights are older now."""
        if not live:
            return False
        before = ledger.snapshot(lock=True)
        if self._keeps_rows:
            fold, version = self._fold_of(ledger, before), before.version
            taken = [
                (bytes(row[6]), label, row[4], row[5])
                for row in live
                if (label := ledger.counted_at(row, version)) is not None
            ]
        else:
            fold, version = self._fold_now(ledger, before, live)
            taken = [(_given(encoded, row), row[3], row[4], row[5]) for row in live]
        ledger.empty([row[0] for row in live], clock.time())
        try:
            fold.remove(taken)
        except NegativeTally:  # of weights that have aged to nothing
            if not self._keeps_rows:
                raise
            fold = self._refolded(ledger, version)
        due = self._drop_counts_of_learned(ledger, fold)
        if not ledger.take_snapshot(before, version, before.epoch + 1, fold.saved()):
            raise StoreError("the snapshot changed meanwhile: nothing was forgotten; try again")
        return due

    def _drop_counts_of_learned(self, ledger: Ledger, fold: Fold) -> bool:
        """Gives the model that was learned on rows, which holds counts, those of rows that are
        left; whether there is one."""
        learned = ledger.settings().get("learned")
        if not learned:
            return False
        if fold.counts is None:
            fold, _ = self._fold_now(ledger, Snapshot(0, 0, 0, 0, b""), [])
        model = b""
        if fold.counts is not None:
            model = _saved(with_counts(load(io.BytesIO(learned)), fold.counts, self._documents))
        ledger.set("learned", model)
        ledger.count_learned()
        return True

    def relabel(self, ids: Any, labels: Any, *, rows: Any = None) -> Relabelled:
        """Give rows other labels: they count as if they had been learned with these.

        Parameters
        ----------
        ids : array-like (n_rows,)
            Ids that were learned.
        labels : array-like (n_rows,)
            The labels that they get.
        rows : list of dict, table, or list of str, optional
            With ``ledger="ids"``: the rows, as they were learned.

        Returns
        -------
        Relabelled
            Which labels have changed.

        Raises
        ------
        StoreError
            If an id was not learned, or was forgotten; no label has changed.
        """
        names, labels = _listed(ids), _listed(labels)
        if len(names) != len(labels):
            raise StoreError(f"ids are {len(names)}, and labels {len(labels)}: give one for each")
        encoded_labels = [encoded_label(label) for label in labels]
        self._need_declared(labels, [])
        self._need_kind(encoded_labels, {})
        hashes = {hashed(name, self._key, "id"): i for i, name in enumerate(names)}
        if len(hashes) < len(names):
            raise StoreError("an id is given twice: give each row one label")
        encoded = self._rows_of_ids(rows, names, "id")

        def relabelled(ledger: Ledger) -> Relabelled:
            found = {bytes(row[1]): row for row in ledger.ids_in("id", sorted(hashes))}
            for value, i in hashes.items():
                if value not in found or found[value][3] is None:
                    why = "was forgotten" if value in found else "was not learned"
                    raise StoreError(
                        f"the row {names[i]!r} {why}: no label was changed. Leave it out"
                        + ("" if value in found else ", or learn it")
                    )
            changed = [value for value, i in hashes.items() if found[value][3] != encoded_labels[i]]
            if not self._keeps_rows and changed:
                live = [found[value] for value in changed]
                before = ledger.snapshot(lock=True)
                fold, version = self._fold_now(ledger, before, live)
                given = {v: encoded.get(names[i]) for v, i in hashes.items()}
                old = [(_given(given, row), row[3], row[4], row[5]) for row in live]
                fold.remove(old)
                new = [encoded_labels[hashes[value]] for value in changed]
                fold.add([(row[0], label, *row[2:]) for row, label in zip(old, new, strict=True)])
                ledger.take_snapshot(before, version, before.epoch + 1, fold.saved())
            for value in changed:
                ledger.move(found[value], encoded_labels[hashes[value]])
            return Relabelled(
                [names[hashes[value]] for value in changed],
                [names[i] for value, i in hashes.items() if found[value][3] == encoded_labels[i]],
                ledger.current(),
            )

        result: Relabelled = self._write(_Work(relabelled))
        return result

    def _rows_of_ids(self, rows: Any, names: list[Any], column: str) -> dict[Any, bytes]:
        """Encoded rows by id, of a store that keeps none."""
        if self._keeps_rows:
            if rows is not None:
                raise StoreError("this store keeps its rows: leave rows= out")
            return {}
        if rows is None or column == "subject":
            raise StoreError(
                "this store keeps no rows (ledger='ids'): give ids= and rows=, the rows as they "
                "were learned"
            )
        given = rows_given(rows, self._documents)
        if len(given) != len(names):
            raise StoreError(f"rows are {len(given)}, and ids {len(names)}: give one for each")
        return dict(zip(names, encoded_rows(given, self._columns)[0], strict=True))

    def _erase(self) -> None:
        with self._write_lock:
            prevented = self._writer.erase()
        if prevented:
            raise UnfinishedForget(
                f"the rows are forgotten, and no model counts them; but {prevented}. End that, and "
                "call forget with the same ids again"
            )

    # ---- folding ---------------------------------------------------------------------------------
    @property
    def _documents(self) -> bool:
        return self._declaration.documents

    def _empty_fold(self, ledger: Ledger) -> Fold:
        analyzer = None
        if self._documents and self._declaration.model.analyzer == "auto":
            analyzer = self._facts.get(ANALYZER)
            if analyzer is None and (found := ledger.settings().get(ANALYZER)):
                analyzer = self._facts[ANALYZER] = found.decode()
        return Fold(self._declaration, analyzer)

    def _fold_of(self, ledger: Ledger, snapshot: Snapshot) -> Fold:
        """The fold that a snapshot holds."""
        analyzer = self._empty_fold(ledger).analyzer
        fold = Fold.restored(self._declaration, snapshot.counts or b"", analyzer)
        fold.version, fold.epoch = snapshot.version, snapshot.epoch
        return fold

    def _fold_now(
        self, ledger: Ledger, snapshot: Snapshot, rows: list[tuple[Any, ...]]
    ) -> tuple[Fold, int]:
        """The fold of everything that is visible, which has to hold some rows."""
        until = clock.monotonic() + PATIENCE
        while (horizon := ledger.horizon()) < max((row[2] for row in rows), default=0):
            if clock.monotonic() > until:
                raise StoreError(
                    "an older transaction is still open, so that these rows cannot be removed "
                    "yet: end it, and try again"
                )
            clock.sleep(0.01)
        fold = self._fold_of(ledger, snapshot)
        _apply(fold, ledger, horizon)
        return fold, horizon

    def _refolded(self, ledger: Ledger, version: int) -> Fold:
        """The fold of the ledger, up to a version."""
        fold = self._empty_fold(ledger)
        fold.add(ledger.changes(0, version).added)
        for part in ledger.kept_parts(version):
            fold.merge(part)
        fold.version = version
        return fold

    def refresh(self) -> bool:
        """Read what other processes have learned and forgotten. :meth:`current` answers meanwhile.

        Returns
        -------
        bool
            Whether there is another model now.

        Raises
        ------
        StoreError
            If the store cannot be read.
        """
        with self._read_lock:
            ledger, old = self._reader, self._fold
            fold = None if old is None else old.twin()
            learned = self._learned
            n_rows = 0
            while True:
                with ledger.reading():
                    state = ledger.snapshot(counts=False)
                    behind = fold is None or fold.epoch != state.epoch
                    if behind or (fold is not None and fold.version < state.trimmed):
                        fold = self._fold_of(ledger, ledger.snapshot())
                        n_rows = 0
                    assert fold is not None
                    horizon = ledger.horizon()
                    until = min(horizon, fold.version + STEP)
                    ahead = until > fold.version
                    changes = ledger.changes(fold.version, until) if ahead else None
                    if state.learned != learned[0]:
                        data = ledger.settings().get("learned")
                        learned = state.learned, load(io.BytesIO(data)) if data else None
                if changes is not None:
                    try:
                        _fold_changes(fold, changes)
                    except NegativeTally:  # of weights that have aged to nothing
                        if not self._keeps_rows:
                            raise
                        with ledger.reading():
                            epoch = ledger.snapshot(counts=False).epoch
                            fold, fold.epoch = self._refolded(ledger, until), epoch
                    n_rows += len(changes.added) + len(changes.removed) + len(changes.parts)
                    fold.version = until
                if until >= horizon:
                    break
            aged = self._declaration.half_life is not None
            same = old is not None and (fold.version, fold.epoch) == (old.version, old.epoch)
            if same and learned[0] == self._learned[0] and self._model is not None and not aged:
                return False
            self._fold, self._learned = fold, learned
            self._folded += n_rows
            if fold.counts is None:
                self._model = None
                return not same
            if self._declaration.learns_on_rows and learned[1] is None:
                self._reweight(SAMPLE)
            else:
                self._model = self._made(fold, learned[1])
            if self._folded >= SNAPSHOT_AFTER:
                self.snapshot()
            return True

    def _made(self, fold: Fold, learned: Any) -> Any:
        """The model of a fold, read, so that the first prediction does not wait for it."""
        model = fold.model(learned, clock.time())
        if not self._documents:
            model._fitted().score  # noqa: B018
        return model

    def model(self) -> Any:
        """The model of everything that is learned and not forgotten, as of now.

        Returns
        -------
        NaiveBayes, WeightedNaiveBayes or TextNB
            Fitted. Callers of one process share it: what it learns is not in the store.

        Raises
        ------
        StoreError
            If the store holds no rows.
        """
        with self._read_lock:
            self.refresh()
            return self.current()

    def current(self) -> Any:
        """The model that was read last, without a look at the store.

        Returns
        -------
        NaiveBayes, WeightedNaiveBayes or TextNB
            The same object until :meth:`refresh` or :meth:`model` reads another one.

        Raises
        ------
        StoreError
            If there is none.
        """
        model = self._model
        if model is None:
            raise StoreError("the store holds no rows, and a model needs some: learn rows first")
        return model

    def as_of(self, time: Time) -> Any:
        """The model of the events until a time that are not forgotten since.

        Parameters
        ----------
        time : datetime or float
            Events of this time are counted, with the labels that they have now.

        Returns
        -------
        NaiveBayes, WeightedNaiveBayes or TextNB
            Fitted; what is learned on rows is that of now.
        """
        if not self._keeps_rows:
            raise StoreError("as_of counts rows, which a store with ledger='ids' does not keep")
        seconds = seconds_of(time)
        self.refresh()
        with self._read_lock:
            with self._reader.reading():
                fold = self._empty_fold(self._reader)
                rows = self._reader.rows(seconds)
            fold.add(rows)
            return fold.model(self._learned[1], seconds)

    # ---- care ------------------------------------------------------------------------------------
    def snapshot(self) -> bool:
        """Write the counts that were read last, from which other processes then begin.

        Returns
        -------
        bool
            Whether they were newer than what was there.
        """
        with self._read_lock:
            fold = self._fold
            if fold is None:
                return False

            def written(ledger: Ledger) -> bool:
                before = ledger.snapshot(counts=False, lock=True)
                if before.epoch != fold.epoch or before.version >= fold.version:
                    return False
                return ledger.take_snapshot(before, fold.version, fold.epoch, fold.saved())

            done = bool(self._write(_Work(written)))
            if done:
                self._folded = 0
            return done

    def verify(self) -> Verified:
        """Fold the ledger again, and compare: counts of whole weights bit for bit.

        Sums of numbers, and counts of other weights, depend on the order of rows in their last
        digits; they are compared to a share of 1e-9. A store without rows is compared by what its
        classes weigh.

        Returns
        -------
        Verified
            What was compared.

        Raises
        ------
        StoreError
            If the counts differ, or a file is damaged.
        """
        with self._read_lock:
            ledger = self._reader
            with ledger.reading():
                damage = ledger.damage()
                if damage:
                    raise StoreError(f"{ledger.place()} is damaged: {damage}. Restore a backup")
                fold, horizon = self._fold_now(ledger, ledger.snapshot(), [])
                weights = ledger.count_rows(horizon)
                n_rows = ledger.number_of_rows(horizon)
                again = self._empty_fold(ledger)
                for part in ledger.kept_parts(horizon):
                    again.merge(part)
                rows = ledger.changes(0, horizon).added
            again.add(rows)
            if self._keeps_rows:
                whole = all(row[2].is_integer() for row in rows) and fold.start is None
                alike = fold.equals(again, whole=whole)
            else:
                expected = sum(weights.values()) + again.n_rows
                aged = self._declaration.half_life is not None
                alike = aged or math.isclose(fold.n_rows, expected, rel_tol=1e-9, abs_tol=1e-9)
            if not alike:
                raise StoreError(
                    f"the counts of {ledger.place()} are not those of its ledger: compact() counts "
                    "the ledger again"
                )
            return Verified(n_rows, horizon)

    def reweight(self, max_rows: int = SAMPLE) -> None:
        """Learn weights, pairs or calibration again, on a sample of the rows.

        The sample is drawn from the ledger, which forgotten rows have left. The first
        :meth:`model` of a store whose model learns on rows does it by itself.

        Parameters
        ----------
        max_rows : int, default=32768
            How many rows are learned on, at most.

        Raises
        ------
        StoreError
            If the model learns nothing on rows.
        """
        if not self._declaration.learns_on_rows:
            raise StoreError(
                f"{self._declaration.model!r} learns nothing on rows but counts, which are exact"
            )
        with self._read_lock:
            self._learned = self._learned[0], self._learned[1] or False
            self.refresh()
            self._reweight(max_rows)

    def _reweight(self, max_rows: int) -> None:
        """Learns weights under the counts of the fold, and keeps them in the store."""
        fold = self._fold
        assert fold is not None
        with self._reader.reading():
            if self._reader.snapshot(counts=False).epoch != fold.epoch:
                return
            sample = self._reader.sample(max_rows, fold.version)
        model = fold.learned(sample, clock.time())
        data = _saved(model)

        def written(ledger: Ledger) -> int:
            if ledger.snapshot(counts=False, lock=True).epoch != fold.epoch:
                return 0  # a row of the sample may have been forgotten
            ledger.set("learned", data)
            return ledger.count_learned()

        if n := self._write(_Work(written)):
            self._learned = n, model
        self._model = model

    def compact(self) -> int:
        """Forget rows older than ``keep_days``, drop ids older than ``keep_ids``, count the ledger
        again, and give free space back.

        Returns
        -------
        int
            How many rows were forgotten because of their age.
        """
        now = clock.time()

        def compacted(ledger: Ledger) -> int:
            old = []
            if "keep_days" in self._days and self._keeps_rows:
                old = ledger.older(now - self._days["keep_days"] * DAY)
                ledger.empty([row[0] for row in old], now)
            before = ledger.snapshot(lock=True)
            horizon = ledger.horizon()
            if self._keeps_rows:
                fold = self._refolded(ledger, horizon)
            else:
                fold = self._fold_of(ledger, before)
                _apply(fold, ledger, horizon)
            if old:
                self._drop_counts_of_learned(ledger, fold)
            ledger.drop_ids(now - self._days["keep_ids"] * DAY if "keep_ids" in self._days else 0.0)
            ledger.take_snapshot(before, horizon, before.epoch + 1, fold.saved())
            return len(old)

        n_rows = int(self._write(_Work(compacted)))
        with self._write_lock:
            self._writer.vacuum()
        self._erase()
        return n_rows

    def backup(self, path: str | os.PathLike[str]) -> Backup:
        """Write a copy of the store to a file of SQLite, which :func:`open` opens.

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

        stale, version = self._write(_Work(recorded))
        try:
            with self._read_lock:
                self._reader.copy_to(target, self._copy_to)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(target)
            self._write(
                _Work(
                    lambda ledger: (
                        ledger.run(
                            "DELETE FROM tally_backups WHERE path = ? AND time = ?", (target, now)
                        ).rowcount
                    )
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
        ) as copied:
            if "key" in self._reader.settings():
                copied._write(_Work(lambda ledger: ledger.settle("key", self._key)))
            copied.merge(self)

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

        def merged(ledger: Ledger) -> Learned:
            self._settle(ledger, facts)
            live = [event for event in theirs if event.label is not None]
            gone = [event for event in theirs if event.label is None and event.id is not None]
            encoded = [event.row or b"" for event in live]
            found = self._learn(ledger, live, encoded, [event.id for event in live], [])
            there = ledger.insert_new(gone)
            rows = [row for row in ledger.ids_in("id", sorted(there)) if row[3] is not None]
            self._forget(ledger, rows, {})
            for part in parts:
                fold = Fold.restored(self._declaration, part, self._empty_fold(ledger).analyzer)
                ledger.insert_new([Event(None, None, clock.time(), None, 0.0, None)])
                self._add_part(ledger, fold, kept=True)
            return found._replace(version=ledger.current())

        named = not parts and all(event.id is not None for event in theirs)
        result: Learned = self._write(_Work(merged, repeatable=named))
        self._know(facts)
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
            self._add_part(ledger, fold, kept=True)
            return ledger.current()

        return int(self._write(_Work(imported, repeatable=False)))

    def _add_part(self, ledger: Ledger, fold: Fold, *, kept: bool) -> None:
        """Appends counts that have no rows in the ledger."""
        ledger.run(
            "INSERT INTO tally_parts (v, kept, counts) VALUES (?, ?, ?)",
            (ledger.current(), int(kept), fold.saved()),
        )


def _apply(fold: Fold, ledger: Ledger, horizon: int) -> None:
    """Folds what happened up to a version."""
    _fold_changes(fold, ledger.changes(fold.version, horizon))
    fold.version = horizon


def _fold_changes(fold: Fold, changes: Any) -> None:
    fold.add(changes.added)
    for part in changes.parts:
        fold.merge(part)
    fold.remove(changes.removed)


def _given(encoded: dict[bytes, bytes | None], row: tuple[Any, ...]) -> bytes:
    found = encoded.get(bytes(row[1]))
    assert found is not None
    return found


def _listed(values: Any) -> Any:
    """Values as Python's, in a list; None stays None."""
    if values is None or isinstance(values, list):
        return values
    if isinstance(values, str | bytes):
        raise StoreError(f"give a list of values, got {values!r}")
    for name in ("to_pylist", "to_list", "tolist"):
        if hasattr(values, name):
            return getattr(values, name)()
    return list(values)


def _once(
    events: list[Event], encoded: list[bytes], ids: list[Any]
) -> tuple[list[Event], list[bytes], list[Any], list[Any]]:
    """Events of which each id comes once; the ids that came again."""
    first: dict[bytes, int] = {}
    again = []
    for i, event in enumerate(events):
        assert event.id is not None
        j = first.setdefault(event.id, i)
        if j != i:
            if events[j].label != event.label:
                raise LabelConflict(
                    f"the row {ids[i]!r} comes as {decoded_label(events[j].label)!r} and as "
                    f"{decoded_label(event.label)!r} in one call: nothing was counted. Give it one "
                    "label",
                    id=ids[i],
                    label=decoded_label(event.label),
                    learned=decoded_label(events[j].label),
                )
            again.append(ids[i])
    kept = sorted(first.values())
    return [events[i] for i in kept], [encoded[i] for i in kept], [ids[i] for i in kept], again


def _other_label(kind: str, held: str) -> StoreError:
    return StoreError(
        f"a label is a {kind}, and those of this store are {held}s: give labels of one type"
    )


def _saved(model: Any) -> bytes:
    file = io.BytesIO()
    model.save(file)
    return file.getvalue()
