"""The laws of a store, as a state machine: whatever happens to it in whatever order, its model is
that of the rows that survive."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Literal
from unittest import mock

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from tallybayes import NaiveBayes, TextNB, store
from tallybayes.errors import LabelConflict, StoreError
from tallybayes.store.events import hashed

KEY = b"a key that all stores share"
IDS = st.integers(0, 11)
LABELS = st.sampled_from(["a", "b", "c"])
WEIGHTS = st.sampled_from([1.0, 1.0, 2.0, 7.0])
VALUES = st.one_of(
    st.none(),
    st.sampled_from(["x", "y", "ä", ""]),
    st.integers(-3, 3),
    st.sampled_from([0.5, -0.25, 1e6]),
    st.booleans(),
)
ROWS = st.dictionaries(st.sampled_from(["p", "q", "r"]), VALUES, min_size=1, max_size=3)
DOCUMENTS = st.lists(st.sampled_from(["red", "blue", "green sea"]), max_size=4).map(" ".join)

Opened = Callable[[], store.Store]


class Killed(BaseException):
    """The end of a process."""


@contextmanager
def ending(ledger: Any, statements: Iterator[int], last: int) -> Iterator[None]:
    """A connection whose process ends before a statement."""
    run = ledger.run

    def ran(*given: Any) -> Any:
        if next(statements) >= last:
            raise Killed
        return run(*given)

    with mock.patch.object(ledger, "run", ran):
        yield


def keys_of(handle: store.Store) -> Any:
    """The connection to the keys of a store."""
    return None if handle._writer.keys is None else handle._writer.keys.ledger


class StoreLaws(RuleBasedStateMachine):
    """Two handles of one store, another store beside it, and what they should hold."""

    documents = False
    ledger: Literal["rows", "ids"] = "rows"
    encrypted = False

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.alive: dict[int, tuple[Any, str, float, str | None]] = {}
        self.dead: set[int] = set()
        self.n_stores = 0

    # ---- what a subclass gives -------------------------------------------------------------------
    def new_url(self) -> str:
        self.n_stores += 1
        return str(Path(self.folder.name, f"{self.n_stores}.db"))

    def opened(self, url: str, create: bool = False) -> store.Store:
        model: Any = (
            TextNB(model="multinomial", analyzer="word") if self.documents else NaiveBayes()
        )
        options: Any = {"create": model, "ledger": self.ledger} if create else {}
        if create and self.encrypted:
            options["subject_keys"] = f"{self.folder.name}/{self.n_stores}.keys"
        return store.open(url, key=KEY, synchronous="normal", **options)

    # ---- what happens ----------------------------------------------------------------------------
    @initialize()
    def begin(self) -> None:
        self.url = self.new_url()
        self.handles = [self.opened(self.url, create=True), self.opened(self.url)]

    def row(self, data: st.DataObject) -> Any:
        return data.draw(DOCUMENTS if self.documents else ROWS)

    def rows_of(self, ids: list[int]) -> list[Any] | None:
        """What a store that keeps no rows has to be given; of an id that is not there, any row."""
        if self.ledger == "rows":
            return None
        other: Any = "" if self.documents else {"p": "x"}
        return [self.alive[i][0] if i in self.alive else other for i in ids]

    @rule(data=st.data(), which=st.integers(0, 1), ids=st.lists(IDS, min_size=1, max_size=4))
    def learn(self, data: st.DataObject, which: int, ids: list[int]) -> None:
        ids = list(dict.fromkeys(ids))
        rows = [self.row(data) for _ in ids]
        labels = [data.draw(LABELS) for _ in ids]
        weights = [data.draw(WEIGHTS) for _ in ids]
        subjects = [data.draw(st.sampled_from(["ann", "bob", None])) for _ in ids]
        new = [i for i in ids if i not in self.alive and i not in self.dead]
        given = {"ids": ids, "weights": weights, "subjects": subjects}
        conflict = any(
            i in self.alive and self.alive[i][1] != label
            for i, label in zip(ids, labels, strict=True)
        )
        if conflict:
            with pytest.raises(LabelConflict):
                self.handles[which].learn(rows, labels, **given)
            return
        found = self.handles[which].learn(rows, labels, **given)
        assert sorted(found.new) == sorted(new)
        assert sorted(found.repeated) == sorted(set(ids) & self.alive.keys())
        assert sorted(found.forgotten) == sorted(set(ids) & self.dead)
        for i, *row in zip(ids, rows, labels, weights, subjects, strict=True):
            if i in new:
                self.alive[i] = tuple(row)  # type: ignore[assignment]

    @rule(which=st.integers(0, 1), ids=st.lists(IDS, min_size=1, max_size=3, unique=True))
    def forget(self, which: int, ids: list[int]) -> None:
        found = self.handles[which].forget(ids=ids, rows=self.rows_of(ids))
        assert found.rows == len(self.alive.keys() & set(ids))
        for i in ids:
            self.alive.pop(i, None)
            self.dead.add(i)

    @precondition(lambda self: self.ledger == "rows")
    @rule(which=st.integers(0, 1), subject=st.sampled_from(["ann", "bob", "eve"]))
    def forget_subject(self, which: int, subject: str) -> None:
        gone = [i for i, row in self.alive.items() if row[3] == subject]
        assert self.handles[which].forget(subjects=[subject]).rows == len(gone)
        for i in gone:
            del self.alive[i]
            self.dead.add(i)

    @precondition(lambda self: self.alive)
    @rule(data=st.data(), which=st.integers(0, 1), label=LABELS)
    def relabel(self, data: st.DataObject, which: int, label: str) -> None:
        i = data.draw(st.sampled_from(sorted(self.alive)))
        row, old, weight, subject = self.alive[i]
        found = self.handles[which].relabel([i], [label], rows=self.rows_of([i]))
        assert (found.changed, found.unchanged) == (([], [i]) if label == old else ([i], []))
        self.alive[i] = (row, label, weight, subject)

    @rule(which=st.integers(0, 1))
    def refresh(self, which: int) -> None:
        self.handles[which].refresh()

    @rule(which=st.integers(0, 1))
    def snapshot(self, which: int) -> None:
        self.handles[which].snapshot()

    @rule(which=st.integers(0, 1))
    def reopen(self, which: int) -> None:
        self.handles[which].close()
        self.handles[which] = self.opened(self.url)

    @rule(
        which=st.integers(0, 1),
        ids=st.lists(IDS, min_size=1, max_size=3, unique=True),
        last=st.integers(0, 12),
    )
    def crash(self, which: int, ids: list[int], last: int) -> None:
        """A process ends while it forgets, at any statement: all of it was done, or nothing."""
        handle = self.handles[which]
        statements = itertools.count()
        with ExitStack() as patched:
            for ledger in (handle._writer, *filter(None, [keys_of(handle)])):
                patched.enter_context(ending(ledger, statements, last))
            with suppress(Killed):
                handle.forget(ids=ids, rows=self.rows_of(ids))
        self.reopen(which)
        dead = {hashed(i, KEY, "id") for i in self.dead | set(ids)}
        with self.handles[which]._reader.reading():
            gone = {event.id for event in self.handles[which]._reader.events() if not event.label}
        if dead <= gone:
            for i in ids:
                self.alive.pop(i, None)
            self.dead |= set(ids)
        else:
            assert not {hashed(i, KEY, "id") for i in set(ids) - self.dead} & gone

    @rule(which=st.integers(0, 1))
    def compact(self, which: int) -> None:
        self.handles[which].compact()

    @precondition(lambda self: self.ledger == "rows")
    @rule(data=st.data(), ids=st.lists(IDS, min_size=1, max_size=4, unique=True))
    def merge(self, data: st.DataObject, ids: list[int]) -> None:
        url = self.new_url()
        with self.opened(url, create=True) as other:
            rows = [self.row(data) for _ in ids]
            labels = [self.alive[i][1] if i in self.alive else data.draw(LABELS) for i in ids]
            other.learn(rows, labels, ids=ids)
            gone = data.draw(st.sampled_from(ids))
            other.forget(ids=[gone])
            self.handles[0].merge(other)
        for i, row, label in zip(ids, rows, labels, strict=True):
            if i == gone:
                self.alive.pop(i, None)
                self.dead.add(i)
            elif i not in self.alive and i not in self.dead:
                self.alive[i] = (row, label, 1.0, None)

    # ---- what holds ------------------------------------------------------------------------------
    @rule(which=st.integers(0, 1))
    def holds_the_rows_that_survive(self, which: int) -> None:
        handle = self.handles[which]
        if not self.alive:
            with pytest.raises(StoreError, match="holds no rows"):
                handle.model()
            return
        rows, labels, weights, _ = map(list, zip(*self.alive.values(), strict=True))
        expected = handle._declaration.counter().partial_fit(rows, labels, sample_weight=weights)
        found = handle.model()
        assert found.tally_ == expected.tally_
        assert found.classes_.tolist() == expected.classes_.tolist()

    @rule(which=st.integers(0, 1))
    def verify(self, which: int) -> None:
        assert self.handles[which].verify().rows == len(self.alive)

    def teardown(self) -> None:
        for which, handle in enumerate(getattr(self, "handles", [])):
            self.holds_the_rows_that_survive(which)
            handle.verify()
            handle.close()
        self.folder.cleanup()
