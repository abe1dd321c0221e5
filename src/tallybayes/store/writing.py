"""Writing to a store: rows are learned once, forgotten, and given other labels."""

from __future__ import annotations

import io
import os
import time as clock
from typing import Any, NamedTuple

from tallybayes.errors import (
    LabelConflict,
    NegativeTally,
    RequestConflict,
    StoreError,
    UnfinishedForget,
    listed,
)
from tallybayes.estimators.loading import load
from tallybayes.store.events import (
    Event,
    decoded_label,
    digest_of,
    encoded_label,
    encoded_rows,
    hashed,
    hashes_of,
    kind_of_label,
    mixed_column,
    rows_given,
    seconds_of,
    weights_of,
)
from tallybayes.store.fold import Fold, with_counts
from tallybayes.store.ledger import Kept, Ledger, Overtaken, Snapshot
from tallybayes.store.reading import ANALYZER, COLUMN, FACTS, LABEL, Reading, saved

__all__ = ["Forgotten", "Learned", "Relabelled", "Writing"]


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


class Writing(Reading):
    """A store as a process changes it; :class:`Store` is one."""

    # ---- what the first rows decide --------------------------------------------------------------

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
        request: str | None = None,
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
        request : str, optional
            A name of the call that only the caller knows, such as a random ``Idempotency-Key``. It
            makes a repetition safe: the ids of rows that have none are ``request/0``,
            ``request/1``, …, and other content under the same name is an error.

        Returns
        -------
        Learned
            Which rows are new. The call is on the disk then.

        Raises
        ------
        LabelConflict
            A StoreError: an id was learned with another label. Nothing of the call is counted.
        RequestConflict
            A StoreError: the request was learned with other content. Nothing is counted.
        StoreError
            For rows, labels or ids that cannot be kept; nothing is counted.
        """
        rows = rows_given(rows, self._declaration.documents)
        n_rows = len(rows)
        labels, ids, subjects = _listed(labels), _listed(ids), _listed(subjects)
        times, weights = _listed(times), _listed(weights)
        if not isinstance(request, str | None):
            raise StoreError(f"request= is the name of a call, a string, got {request!r}"[:200])
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
        encoded_labels = [encoded_label(label) for label in labels]
        self._need_kind(encoded_labels, facts)
        self._need_declared(labels, rows)
        if ANALYZER not in self._facts:
            facts |= {f"{FACTS}{n}": v for n, v in self._declaration.facts(rows).items()}
        if ids is None and request is not None:
            ids = [f"{request}/{i}" for i in range(n_rows)]
        hashes: list[Any] = [None] * n_rows if ids is None else hashes_of(ids, key, "id")
        subject: list[bytes | None] = [None] * n_rows
        if subjects is not None:
            made = iter(hashes_of([s for s in subjects if s is not None], key, "subject"))
            subject = [None if s is None else next(made) for s in subjects]
        when = [now] * n_rows if times is None else [seconds_of(t) for t in times]
        weights = weights_of(weights, n_rows)
        kept = encoded if self._keeps_rows else [None] * n_rows
        events = list(map(Event, hashes, subject, when, encoded_labels, weights, kept))
        named: list[Event] = []
        if request is not None:
            content = (
                encoded,
                encoded_labels,
                hashes,
                subject,
                weights,
                None if times is None else when,
            )
            digest = digest_of(request, content)
            named = [Event(hashed(request, key, "request"), digest, now, None, 0.0, None)]
        again: list[Any] = []
        if ids is not None and len(set(hashes)) < n_rows:
            events, encoded, ids, again = _once(events, encoded, ids)

        def counted(ledger: Ledger) -> Learned:
            self._settle(ledger, facts)
            for known in ledger.found_by("id", sorted(ledger.insert_new(named))):
                if known.subject != named[0].subject:
                    raise RequestConflict(
                        f"the request {request!r} was learned with other content: nothing of this "
                        "call was counted. Give each request a name of its own"
                    )
            return self._learn(ledger, events, encoded, ids, again)

        plain = self._keeps_rows and self._writer.keys is None and not facts
        alone = [*events, *named] if plain else None
        found = self._commits.make(counted, alone=alone, repeatable=ids is not None)
        self._know(facts)
        if isinstance(found, Learned):
            return found
        return Learned(len(events), [] if ids is None else ids, again, [], found)

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
        events = ledger.sealed_rows(events)
        there = ledger.insert_new(events)
        names = [None] * len(events) if ids is None else ids
        learned = {row.id: row.label for row in ledger.found_by("id", sorted(there))}
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
            ledger.add_counts(fold.saved(), kept=False)
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
        hashes = dict(zip(hashes_of(names, self._key, column), names, strict=True))
        encoded = self._rows_of_ids(rows, names, column)

        def forgotten(ledger: Ledger) -> Forgotten:
            found = ledger.found_by(column, sorted(hashes))
            if column == "id":
                there = {row.id for row in found}
                unknown = [name for value, name in hashes.items() if value not in there]
                now = clock.time()
                for value in hashes.keys() - there:
                    ledger.insert_new([Event(value, None, now, None, 0.0, None)])
            else:
                unknown = []
            live = [row for row in found if row.label is not None]
            due = self._forget(ledger, live, {v: encoded.get(n) for v, n in hashes.items()})
            return Forgotten(len(live), unknown, due, ledger.current())

        found: Forgotten = self._commits.make(forgotten)
        self._erase()
        return found

    def _forget(self, ledger: Ledger, live: list[Kept], encoded: dict[bytes, bytes | None]) -> bool:
        """Takes rows out of the snapshot and the ledger; whether weights are older now."""
        if not live:
            return False
        before = ledger.snapshot(lock=True)
        if self._keeps_rows:
            fold, version = self._fold_of(ledger, before), before.version
            taken = [
                (row.row or b"", label, row.weight, row.time)
                for row in live
                if (label := ledger.counted_at(row, version)) is not None
            ]
        else:
            fold, version = self._fold_now(ledger, before, live)
            taken = [(_given(encoded, row), row.label or "", row.weight, row.time) for row in live]
        ledger.retire_keys(live)
        ledger.empty([row.key for row in live], clock.time())
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
        learned = ledger.learned()
        if not learned:
            return False
        if fold.counts is None:
            fold, _ = self._fold_now(ledger, Snapshot(0, 0, 0, 0, b""), [])
        model = b""
        if fold.counts is not None:
            model = saved(
                with_counts(load(io.BytesIO(learned)), fold.counts, self.learns_documents)
            )
        ledger.keep_learned(model)
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
        hashes = {value: i for i, value in enumerate(hashes_of(names, self._key, "id"))}
        if len(hashes) < len(names):
            raise StoreError("an id is given twice: give each row one label")
        encoded = self._rows_of_ids(rows, names, "id")

        def relabelled(ledger: Ledger) -> Relabelled:
            found = {row.id: row for row in ledger.found_by("id", sorted(hashes))}
            for value, i in hashes.items():
                if value not in found or found[value].label is None:
                    why = "was forgotten" if value in found else "was not learned"
                    raise StoreError(
                        f"the row {names[i]!r} {why}: no label was changed. Leave it out"
                        + ("" if value in found else ", or learn it")
                    )
            changed = [
                value for value, i in hashes.items() if found[value].label != encoded_labels[i]
            ]
            if not self._keeps_rows and changed:
                live = [found[value] for value in changed]
                before = ledger.snapshot(lock=True)
                fold, version = self._fold_now(ledger, before, live)
                given = {v: encoded.get(names[i]) for v, i in hashes.items()}
                old = [(_given(given, row), row.label or "", row.weight, row.time) for row in live]
                fold.remove(old)
                new = [encoded_labels[hashes[value]] for value in changed]
                fold.add([(row[0], label, *row[2:]) for row, label in zip(old, new, strict=True)])
                ledger.take_snapshot(before, version, before.epoch + 1, fold.saved())
            for value in changed:
                ledger.move(found[value], encoded_labels[hashes[value]])
            return Relabelled(
                [names[hashes[value]] for value in changed],
                [
                    names[i]
                    for value, i in hashes.items()
                    if found[value].label == encoded_labels[i]
                ],
                ledger.current(),
            )

        result: Relabelled = self._commits.make(relabelled)
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
        given = rows_given(rows, self.learns_documents)
        if len(given) != len(names):
            raise StoreError(f"rows are {len(given)}, and ids {len(names)}: give one for each")
        return dict(zip(names, encoded_rows(given, self._columns)[0], strict=True))

    def _erase(self) -> None:
        """Destroys the keys of what was forgotten, and what files still hold of it."""
        keys = self._writer.keys
        if keys is not None:

            def destroyed(ledger: Ledger) -> None:
                ledger.hold_keys(alone=True)
                keys.destroy(ledger.uses_key)

            self._commits.make(destroyed)
        with self._commits.lock:
            prevented = self._writer.erase()
            if keys is not None:
                prevented = keys.ledger.erase() or prevented
        if prevented:
            raise UnfinishedForget(
                f"the rows are forgotten, and no model counts them; but {prevented}. End that, and "
                "call forget with the same ids again"
            )


def _given(encoded: dict[bytes, bytes | None], row: Kept) -> bytes:
    found = encoded.get(row.id or b"")
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
