"""Processes that are killed, and power cuts: what was acknowledged is there, once."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

from benchmarks.store.crashes import GROUP, check_crashes, label_of, row_of

from tallybayes import NaiveBayes, store


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
        for n, size in enumerate([*cuts, *acknowledged]):
            copied = tmp_path / str(n) / "mail.db"
            copied.parent.mkdir()
            shutil.copy(path, copied)
            log = (tmp_path / "mail.db-wal").read_bytes()[:size]
            Path(f"{copied}-wal").write_bytes(log)
            with store.open(copied) as left:
                rows = left.verify().rows
            assert rows % GROUP == 0
            assert rows // GROUP >= sum(size >= whole for whole in acknowledged)
            shutil.rmtree(copied.parent)
