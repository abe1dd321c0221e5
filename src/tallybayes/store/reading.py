"""Reading a store: the model as one process holds it, refreshed by what came since.

A process holds the fold at a version, and folds the events that came after. Any process may write a
snapshot of its fold, from which others begin.
"""

from __future__ import annotations

import io
import json
import math
import threading
import time as clock
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from tallybayes.errors import NegativeTally, StoreError
from tallybayes.estimators.loading import load
from tallybayes.store.commits import TRIES, Commits
from tallybayes.store.events import decoded_label, hashed, seconds_of
from tallybayes.store.fold import Declaration, Fold, Row
from tallybayes.store.keys import KeyGone
from tallybayes.store.ledger import Kept, Ledger, Sample, Snapshot

__all__ = ["KeptRows", "Reading", "Verified"]

STEP = 50_000  # numbers that are read in one transaction
SNAPSHOT_AFTER = 20_000  # rows that were folded since the last snapshot
SAMPLE = 1 << 15  # rows that weights are learned on
PATIENCE = 30.0  # seconds for which a change waits for older transactions

FACTS = "fact:"
"""Begins the names of settings that the first rows decide."""
COLUMN, LABEL, ANALYZER = f"{FACTS}column:", f"{FACTS}label", f"{FACTS}analyzer"

REWEIGHTED = "reweighted"
"""The setting with the last key and the number of rows when weights were learned, as JSON."""

Answer = TypeVar("Answer")
Time = Any
"""A datetime, or seconds since 1970."""


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


class KeptRows(NamedTuple):
    """Rows of a store, as :meth:`Store.rows` gives them.

    Parameters
    ----------
    model : NaiveBayes, WeightedNaiveBayes or TextNB
        The model that counts these rows among others. Callers share it.
    rows : list of dict, or list of str
        Values by column, or documents; a column that a row lacks is missing.
    labels : list
        One for each row.
    weights : float64 array (n_rows,) or None
        What each row counts now; None where that is 1 for each.
    total : int
        How many rows the store counts, from which these were drawn.
    groups : int64 array (n_rows,) or None
        The number of each row's subject, whose rows are judged together; None where no row has one.
    """

    model: Any
    rows: list[Any]
    labels: list[Any]
    weights: NDArray[np.float64] | None
    total: int
    groups: NDArray[np.int64] | None


class Reading:
    """A store as a process reads it; :class:`Store` is one.

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
        kept = settings if writer.keys is None else writer.keys.ledger.settings()
        secret = key or kept.get("key")
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
        self._commits, self._read_lock = Commits(writer), threading.RLock()
        self._fold: Fold | None = None
        self._folded = 0  # rows since the last snapshot
        self._learned: tuple[int, Any] = (0, None)  # how often weights were learned, and the model
        self._model: Any = None

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

    @property
    def learns_on_rows(self) -> bool:
        """Whether the model learns weights, pairs or calibration on rows, which get stale."""
        return self._declaration.learns_on_rows

    @property
    def keeps_rows(self) -> bool:
        """Whether the store keeps its rows (``ledger="rows"``)."""
        return self._keeps_rows

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
        keys = self._writer.keys
        return {
            "store": self.url,
            "model": repr(self._declaration.model),
            "ledger": "rows" if self._keeps_rows else "ids",
            "subject_keys": None if keys is None else keys.ledger.place(),
            "half_life": self._declaration.half_life,
            "keep_days": self._days.get("keep_days"),
            "keep_ids": self._days.get("keep_ids"),
            "rows": rows,
            "weights": {str(decoded_label(label)): w for label, w in sorted(weights.items())},
            "forgotten_ids": ids,
            "staleness": self.staleness(),
            "version": horizon,
            "snapshot": state.version,
        }

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections. A model that was read stays usable."""
        with self._read_lock, self._commits.lock:
            for ledger in (self._writer, self._reader):
                ledger.close()
                if ledger.keys is not None:
                    ledger.keys.ledger.close()

    # ---- folding ---------------------------------------------------------------------------------
    def _empty_fold(self, ledger: Ledger) -> Fold:
        analyzer = None
        if self.learns_documents and self._declaration.model.analyzer == "auto":
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

    def _fold_now(self, ledger: Ledger, snapshot: Snapshot, rows: list[Kept]) -> tuple[Fold, int]:
        """The fold of everything that is visible, which has to hold some rows."""
        until = clock.monotonic() + PATIENCE
        while (horizon := ledger.horizon()) < max((row.v for row in rows), default=0):
            if clock.monotonic() > until:
                raise StoreError(
                    "an older transaction is still open, so that these rows cannot be removed "
                    "yet: end it, and try again"
                )
            clock.sleep(0.01)
        fold = self._fold_of(ledger, snapshot)
        apply(fold, ledger, horizon)
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
            return self._again(self._refresh)

    def _again(self, read: Callable[[], Answer]) -> Answer:
        """Reads; again where another process destroyed a key between the commit that retired it,
        which a transaction of this process does not see, and now."""
        for tries_left in reversed(range(TRIES)):
            try:
                return read()
            except KeyGone:
                if not tries_left:
                    raise
        raise AssertionError

    def _refresh(self, *, learn: bool = True) -> bool:
        """Refreshes, under the lock of readers; `learn`: learns weights where there are none."""
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
                    data = ledger.learned()
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
            if learn and not self._reweight(SAMPLE) and self._model is None:
                return self._refresh()  # a row was forgotten before the sample was drawn
        else:
            self._model = self._made(fold, learned[1], clock.time())
        if self._folded >= SNAPSHOT_AFTER:
            self.snapshot()
        return True

    def _made(self, fold: Fold, learned: Any, now: float) -> Any:
        """The model of a fold, read, so that the first prediction does not wait for it."""
        model = fold.model(learned, now)
        if not self.learns_documents:
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

        def read() -> list[Row]:
            with self._reader.reading():
                return self._reader.rows(seconds)

        with self._read_lock:
            rows = self._again(read)
            fold = self._empty_fold(self._reader)
            fold.add(rows)
            return fold.model(self._learned[1], seconds)

    def by_time(self, hours: float = 1.0) -> dict[float, Any]:
        """The counts of the events of each step of time, for :meth:`tallybayes.Window.add`.

        Parameters
        ----------
        hours : float, default=1.0
            The length of a step.

        Returns
        -------
        dict of float to TableTally
            By the beginning of a step, in seconds since 1970 and in order, the counts of its events
            that are not forgotten since, with the labels that they have now. Where events age, they
            weigh as they do at the end of the step.

        Raises
        ------
        StoreError
            If the store counts documents, or keeps no rows.
        ValueError
            If a step is not longer than 0.
        """
        if not self._keeps_rows or self.learns_documents:
            what = "keeps ids alone" if not self._keeps_rows else "counts documents"
            raise StoreError(f"by_time counts rows of tables by their time, and this store {what}")
        if not 0.0 < hours < math.inf:
            raise ValueError(f"hours is a length of time above 0, got {hours!r}")
        self.refresh()
        length, rows = 3600.0 * hours, dict[int, list[Any]]()
        with self._read_lock, self._reader.reading():
            for row in self._reader.rows():
                rows.setdefault(math.floor(row[3] / length), []).append(row)
            folds = {step: self._empty_fold(self._reader) for step in sorted(rows)}
        for step, fold in folds.items():
            fold.add(rows[step])
        return {
            step * length: fold.model(None, (step + 1) * length).tally_
            for step, fold in folds.items()
            if fold.counts is not None
        }

    # ---- the ledger again ------------------------------------------------------------------------
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

            done = bool(self._commits.make(written))
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
            return self._again(self._verify)

    def _verify(self) -> Verified:
        """Verifies, under the lock of readers."""
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
            expected = again.weights()
            for label, weight in weights.items():
                name = decoded_label(label)
                expected[name] = expected.get(name, 0.0) + weight
            found = fold.weights()
            aged = self._declaration.half_life is not None
            alike = aged or all(
                math.isclose(found.get(c, 0.0), w, rel_tol=1e-9, abs_tol=1e-9)
                for c, w in (dict.fromkeys(found, 0.0) | expected).items()
            )
        if not alike:
            raise StoreError(
                f"the counts of {ledger.place()} are not those of its ledger: compact() counts "
                "the ledger again"
            )
        return Verified(n_rows, horizon)

    # ---- rows, and what is learned on them -------------------------------------------------------
    def rows(self, max_rows: int = SAMPLE) -> KeptRows:
        """The rows that are counted, with their labels: all, or a sample of them.

        They are what ``report``, ``leave_one_out`` and ``recalibrate`` of the model take. Rows that
        are encrypted come as they were learned. What a caller keeps of them, :meth:`Store.forget`
        does not reach.

        Parameters
        ----------
        max_rows : int, default=32768
            How many rows are given, at most; of more, a random sample, the same one of the same
            rows.

        Returns
        -------
        KeptRows
            With the model that counts them.

        Raises
        ------
        StoreError
            If the store keeps no rows (``ledger="ids"``), or holds none.

        Examples
        --------
        >>> import tempfile, tallybayes
        >>> from tallybayes import store
        >>> mail = store.open(tempfile.mktemp(suffix=".db"), create=tallybayes.NaiveBayes())
        >>> mail.learn([{"sky": "grey"}, {"sky": "blue"}] * 9, ["rain", "dry"] * 9).rows
        18
        >>> kept = mail.rows()
        >>> about = {"sample_weight": kept.weights, "groups": kept.groups}
        >>> page = kept.model.report(kept.rows, kept.labels, **about)
        >>> mail.close()
        """
        if not self._keeps_rows:
            raise StoreError(
                "a store with ledger='ids' keeps counts and no rows: judge store.model() on rows "
                "that you have"
            )
        if max_rows < 1:
            raise StoreError(f"max_rows is a number of rows from 1 on, got {max_rows!r}")
        with self._read_lock:
            for _ in range(TRIES):
                self.refresh()
                model, fold, now = self.current(), self._fold, clock.time()
                assert fold is not None
                found = self._sample(fold, max_rows)
                if found is None:
                    continue
                if fold.start is not None:
                    model = self._made(fold, self._learned[1], now)
                return KeptRows(model, *fold.decoded(found.rows, now), found.total, found.groups)
            raise StoreError("rows were forgotten again and again: try again")

    def staleness(self) -> float:
        """How much has come since weights, pairs or calibration were learned on rows.

        Returns
        -------
        float
            Rows that were learned since, for each row that was counted then: 1.0 where the store
            has doubled. 0 where the model learns nothing on rows.
        """
        if not self._declaration.learns_on_rows:
            return 0.0
        with self._read_lock, self._reader.reading():
            key, n_rows = json.loads(self._reader.settings().get(REWEIGHTED, b"[0, 0]"))
            return float(max(0, self._reader.last_key() - key) / max(1, n_rows))

    def reweight(self, max_rows: int = SAMPLE) -> None:
        """Learn weights, pairs or calibration again, on a sample of the rows.

        The sample is drawn from the ledger, which forgotten rows have left. Rows of one subject are
        left out together, as ``groups=`` of ``fit`` does. The first :meth:`model` of a store whose
        model learns on rows does it by itself.

        Parameters
        ----------
        max_rows : int, default=32768
            How many rows are learned on, at most.

        Raises
        ------
        StoreError
            If the model learns nothing on rows, the store holds none, or rows are forgotten all the
            time; the weights are as before.
        """
        if not self._declaration.learns_on_rows:
            raise StoreError(
                f"{self._declaration.model!r} learns nothing on rows but counts, which are exact"
            )
        with self._read_lock:
            for _ in range(TRIES):
                self._again(partial(self._refresh, learn=False))
                if self._reweight(max_rows):
                    return
            raise StoreError(
                "rows were forgotten again and again while weights were learned on them: the "
                "weights are as before. Try again"
            )

    def _sample(self, fold: Fold, max_rows: int) -> Sample | None:
        """Rows that a fold counts; None if a row was forgotten since."""

        def read() -> Sample | None:
            with self._reader.reading():
                if self._reader.snapshot(counts=False).epoch != fold.epoch:
                    return None
                return self._reader.sample(max_rows, fold.version)

        return self._again(read)

    def _reweight(self, max_rows: int) -> bool:
        """Learns weights under the counts of the fold, and keeps them in the store; False if a row
        was forgotten meanwhile, which the sample may hold."""
        fold = self._fold
        assert fold is not None
        sample = self._sample(fold, max_rows)
        if sample is None:
            return False
        model = fold.learned(sample.rows, sample.groups, clock.time())
        data = saved(model)

        def written(ledger: Ledger) -> int:
            if ledger.snapshot(counts=False, lock=True).epoch != fold.epoch:
                return 0
            ledger.set(REWEIGHTED, json.dumps([sample.last_key, sample.total]).encode())
            return ledger.keep_learned(data)

        self._model = model
        n = self._commits.make(written)
        if n:
            self._learned = n, model
        return bool(n)


def apply(fold: Fold, ledger: Ledger, horizon: int) -> None:
    """Folds what happened up to a version."""
    _fold_changes(fold, ledger.changes(fold.version, horizon))
    fold.version = horizon


def _fold_changes(fold: Fold, changes: Any) -> None:
    fold.add(changes.added)
    for part in changes.parts:
        fold.merge(part)
    fold.remove(changes.removed)


def saved(model: Any) -> bytes:
    file = io.BytesIO()
    model.save(file)
    return file.getvalue()
