"""After forget returns, the files of a store hold nothing of the row."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tallybayes import NaiveBayes, TextNB, store
from tallybayes.errors import UnfinishedForget

SECRETS = ["Xanthippe-Quetzalcoatl", "x7f3-mail-id@example.org", "ann.doe@example.org"]


def found_in_files(folder: Path, words: list[str]) -> list[tuple[str, str]]:
    """Each word that a file holds, in UTF-8 or UTF-16."""
    return [
        (path.name, word)
        for path in folder.iterdir()
        for word in words
        if word.encode() in path.read_bytes() or word.encode("utf-16-le") in path.read_bytes()
    ]


@pytest.mark.parametrize("size", [1, 3000])
@pytest.mark.parametrize(
    "moment", ["at once", "after a snapshot", "after relabelling", "compacted"]
)
def test_nothing_of_a_forgotten_row_is_left(tmp_path: Path, size: int, moment: str) -> None:
    name, row_id, subject = SECRETS
    with store.open(tmp_path / "mail.db", create=NaiveBayes()) as mail:
        rows = [{"word": f"w{i % 9}", "n": i % 5} for i in range(500)]
        labels = ["spam" if i % 3 else "ham" for i in range(500)]
        mail.learn(rows, labels, ids=range(500), subjects=["someone"] * 500)
        mail.learn([{"word": name * size, "n": 2}], ["ham"], ids=[row_id], subjects=[subject])
        if moment != "at once":
            mail.model()
            mail.snapshot()
        if moment == "after relabelling":
            mail.relabel([row_id], ["spam"])
        if moment == "compacted":
            mail.compact()
        assert {word for _, word in found_in_files(tmp_path, SECRETS)} == {name}
        mail.forget(ids=[row_id])
        assert found_in_files(tmp_path, SECRETS) == []
        assert mail.model() == NaiveBayes().fit(rows, labels)


def test_nothing_is_left_in_what_was_learned_on_rows(tmp_path: Path) -> None:
    name = SECRETS[0]
    texts = [f"{'cheap pills' if i % 2 else 'see you'} {i % 7}" for i in range(100)]
    with store.open(tmp_path / "mail.db", create=TextNB()) as mail:
        mail.learn(texts, [i % 2 for i in range(100)], ids=range(100))
        mail.learn([f"pills {name}"] * 3, [1, 1, 1], ids=["x", "y", "z"])
        mail.model()
        mail.forget(ids=["x", "y", "z"])
        assert found_in_files(tmp_path, [name, name.lower(), "xanthippe"]) == []


def test_a_reader_that_keeps_the_log_is_told_of(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("tallybayes.store.sqlite.ERASING", 0.1)
    path = tmp_path / "mail.db"
    with store.open(path, create=NaiveBayes()) as mail:
        mail.learn([{"word": SECRETS[0]}, {"word": "b"}], ["ham", "spam"], ids=[1, 2])
        reader = sqlite3.connect(path, isolation_level=None)
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM tally_ledger").fetchone()
        with pytest.raises(UnfinishedForget, match="all the time"):
            mail.forget(ids=[1])
        assert mail.model().classes_.tolist() == ["spam"]
        reader.close()
        assert mail.forget(ids=[1]).rows == 0
        assert found_in_files(tmp_path, SECRETS) == []


def test_a_backup_names_older_ones_that_hold_what_was_forgotten(tmp_path: Path) -> None:
    with store.open(tmp_path / "mail.db", create=NaiveBayes()) as mail:
        mail.learn([{"word": "a"}, {"word": "b"}], ["ham", "spam"], ids=[1, 2])
        first = mail.backup(tmp_path / "first.db")
        assert first.stale == []
        assert mail.backup(tmp_path / "second.db").stale == []
        mail.forget(ids=[1])
        assert mail.backup(tmp_path / "third.db").stale == [
            str(tmp_path / "first.db"),
            str(tmp_path / "second.db"),
        ]
    with store.open(tmp_path / "first.db") as held:
        assert held.verify().rows == 2
    with store.open(tmp_path / "third.db") as held:
        assert held.verify().rows == 1
