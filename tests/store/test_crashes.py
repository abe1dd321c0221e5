"""Processes that are killed, and power cuts: what was acknowledged is there, once."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest
from benchmarks.store.crashes import GROUP, check_crashes, label_of, row_of

from tallybayes import NaiveBayes, store
from tallybayes.store.sqlite import SQLiteLedger

PAGE = 4096  # bytes of a page of SQLite


def test_what_a_killed_process_has_acknowledged_is_counted_once(tmp_path: Path) -> None:
    url = str(tmp_path / "mail.db")
    store.open(url, create=NaiveBayes()).close()
    assert check_crashes(url, 4) > 0


def test_the_same_in_a_database(postgres_url: str) -> None:
    store.open(postgres_url, create=NaiveBayes()).close()
    assert check_crashes(postgres_url, 4) > 0


def test_a_power_cut_leaves_whole_calls_and_every_acknowledged_one(tmp_path: Path) -> None:
    """The write-ahead log is cut at every kind of byte, as a power cut may leave what was not
    synchronised. What is left is a number of whole calls, at least those that were acknowledged
    when the log was that long."""
    path, acknowledged = tmp_path / "mail.db", []
    with store.open(path, create=NaiveBayes()) as mail:
        for begin in range(0, 20 * GROUP, GROUP):
            ids = range(begin, begin + GROUP)
            mail.learn([row_of(i) for i in ids], [label_of(i) for i in ids], ids=ids)
            acknowledged.append((tmp_path / "mail.db-wal").stat().st_size)
        cuts = random.Random(0).sample(range(acknowledged[0], acknowledged[-1]), 25)
        whole = path.read_bytes(), (tmp_path / "mail.db-wal").read_bytes()
        for size in [*cuts, *acknowledged]:
            rows = rows_left(tmp_path / "copy", whole[0], whole[1][:size])
            assert rows % GROUP == 0
            assert rows // GROUP >= sum(size >= whole for whole in acknowledged)


def rows_left(folder: Path, database: bytes, log: bytes) -> int:
    """How many rows a store counts after a power cut that has left these bytes."""
    folder.mkdir()
    (folder / "mail.db").write_bytes(database)
    (folder / "mail.db-wal").write_bytes(log)
    with store.open(folder / "mail.db") as left:
        rows = left.verify().rows
    shutil.rmtree(folder)
    return rows


def test_a_power_cut_leaves_a_forgotten_row_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The write-ahead log is cut at every kind of byte while a row is forgotten and while the
    store is compacted. After each commit the pages of the log are written to the database in any
    order, as long as the log is whole."""
    path, log, states = tmp_path / "mail.db", tmp_path / "mail.db-wal", []
    erase = SQLiteLedger.erase

    def recorded(ledger: SQLiteLedger) -> str | None:
        before = path.read_bytes(), log.read_bytes()
        prevented = erase(ledger)
        states.append((*before, path.read_bytes()))
        return prevented

    monkeypatch.setattr(SQLiteLedger, "erase", recorded)
    ids, begins = range(300), []
    with store.open(path, create=NaiveBayes()) as mail:
        mail.learn([row_of(i) for i in ids], [label_of(i) for i in ids], ids=ids)
        for change in (lambda: mail.forget(ids=ids[:5]), mail.compact):
            begins.append(log.stat().st_size)
            change()
    drawn, copy = random.Random(0), tmp_path / "copy"
    for n_before, begin, (old, whole, new) in zip((300, 295), begins, states, strict=True):
        assert len(whole) > begin + PAGE
        assert rows_left(copy, old, whole[:begin]) == n_before
        for size in drawn.sample(range(begin, len(whole)), 10):
            assert rows_left(copy, old, whole[:size]) in (n_before, 295)
        parts = [slice(at, at + PAGE) for at in range(0, len(new), PAGE)]
        pages = [(old[part] or new[part], new[part]) for part in parts]
        for _ in range(5):
            mixed = list(map(drawn.choice, pages))
            more = drawn.choice((b"", old[len(new) :]))  # given back to the file system at the end
            assert rows_left(copy, b"".join(mixed) + more, whole) == 295
        assert rows_left(copy, new, b"") == 295
