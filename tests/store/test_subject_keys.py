"""Stores that encrypt rows: of what is forgotten, older copies hold nothing that can be read."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from servers.postgres import Server
from tallybayes import NaiveBayes, TextNB, store
from tallybayes.errors import StoreError

ROWS = [{"word": f"Xanthippe-{i}", "n": i} for i in range(6)]
LABELS = ["ham", "spam", "ham"] * 2
SUBJECTS = ["ann", "ann", "bob", "bob", None, None]
NAIVE = NaiveBayes()


def learned(url: Any, **options: Any) -> store.Store:
    """A store of six rows: two of Ann, two of Bob, two of nobody."""
    found = store.open(url, create=NAIVE, **options)
    found.learn(ROWS, LABELS, ids=range(6), subjects=SUBJECTS)
    return found


def fitted(*numbers: int) -> NaiveBayes:
    return NaiveBayes().fit([ROWS[i] for i in numbers], [LABELS[i] for i in numbers])


def in_files(folder: Path, word: str) -> list[str]:
    """The names of files that hold a word, other than keys."""
    files = [path for path in folder.rglob("*") if path.is_file() and ".keys" not in path.name]
    return [path.name for path in files if word.encode() in path.read_bytes()]


@pytest.mark.parametrize("moment", ["at once", "after a snapshot"])
@pytest.mark.parametrize(
    ("asked", "left", "copied_left"),
    [
        ({"subjects": ["ann"]}, [2, 3, 4, 5], [2, 3, 4, 5]),
        ({"ids": [0, 4]}, [1, 2, 3, 5], [2, 3, 5]),  # the other row of Ann got another key
    ],
)
def test_an_older_copy_forgets_what_the_store_forgot(
    tmp_path: Path, moment: str, asked: Any, left: list[int], copied_left: list[int]
) -> None:
    path, copy = tmp_path / "mail.db", tmp_path / "copy.db"
    with learned(path, subject_keys=True) as mail:
        assert mail.model() == fitted(*range(6))
        if moment == "after a snapshot":
            mail.snapshot()
        assert in_files(tmp_path, "Xanthippe") == []
        mail.backup(copy)
        with store.open(copy) as copied:
            assert copied.model() == fitted(*range(6))
        assert mail.forget(**asked).rows == 2
        assert mail.model() == fitted(*left)
        assert mail.verify().rows == 4
    with store.open(copy) as copied:
        with pytest.raises(StoreError, match=r"an older copy. compact\(\) removes these rows"):
            copied.model()
        assert copied.compact() == 0
        assert copied.model() == fitted(*copied_left)
        assert copied.verify().rows == len(copied_left)


def test_what_was_learned_on_rows_is_encrypted(tmp_path: Path) -> None:
    texts = [f"{'cheap pills' if i % 2 else 'see you'} {i % 7}" for i in range(60)]
    with store.open(tmp_path / "mail.db", create=TextNB(), subject_keys=True) as mail:
        mail.learn([*texts, "Xanthippe"], [i % 2 for i in range(61)], ids=range(61))
        mail.model()
        mail.snapshot()
        assert in_files(tmp_path, "xanthippe") == in_files(tmp_path, "pills") == []
        mail.forget(ids=[60])
        mail.reweight()
        assert mail.model().score(texts, [i % 2 for i in range(60)]) == 1.0
    with store.open(tmp_path / "mail.db") as mail:
        assert mail.model().score(texts, [i % 2 for i in range(60)]) == 1.0


def test_a_server_never_holds_what_can_be_read(
    tmp_path: Path, postgres_server: Server, postgres_url: str
) -> None:
    """Neither its tables nor its write-ahead log, from which archives and replicas are made."""
    with learned(postgres_url, subject_keys=tmp_path / "mail.keys") as mail:
        mail.model()
        mail.snapshot()
        mail.forget(subjects=["ann"])
        mail.relabel([2], ["spam"])
        mail.backup(tmp_path / "copy.db")
        postgres_server.execute("CHECKPOINT")
        assert in_files(Path(postgres_server.folder), "Xanthippe") == []
        assert in_files(Path(postgres_server.folder), '"spam"') != []
    with store.open(tmp_path / "copy.db") as copied:
        assert copied.verify().rows == 4
        assert copied.model() == NaiveBayes().fit(ROWS[2:], ["spam", *LABELS[3:]])


def test_keys_in_a_database(tmp_path: Path, postgres_url: str) -> None:
    with learned(tmp_path / "mail.db", subject_keys=postgres_url) as mail:
        mail.forget(subjects=["ann"])
        mail.compact()
    with store.open(tmp_path / "mail.db") as mail:
        assert mail.model() == fitted(2, 3, 4, 5)


def test_a_forget_that_fails_leaves_rows_that_can_be_read(tmp_path: Path, monkeypatch: Any) -> None:
    with learned(tmp_path / "mail.db", subject_keys=True) as mail:
        mail.model()
        mail.snapshot()
        with monkeypatch.context() as broken:
            broken.setattr(mail._writer, "take_snapshot", lambda *_: False)
            with pytest.raises(StoreError, match="nothing was forgotten"):
                mail.forget(subjects=["ann"])
        assert mail.model() == fitted(*range(6))
        mail.learn([{"word": "more"}], ["ham"], ids=[6], subjects=["ann"])
        assert mail.forget(subjects=["ann"]).rows == 3
        assert mail.model() == fitted(2, 3, 4, 5)
        keys = mail._writer.keys
        assert keys is not None
        left = keys.ledger.run("SELECT retired, count(*) FROM tally_keys GROUP BY retired")
        assert left.fetchall() == [(0, 4)]  # of Bob, of the two rows of nobody, and of the counts


def test_stores_are_merged_by_what_their_rows_are(tmp_path: Path) -> None:
    key = b"k" * 16
    with (
        learned(tmp_path / "a.db", subject_keys=True, key=key) as a,
        store.open(tmp_path / "b.db", create=NAIVE, key=key) as plain,
        store.open(tmp_path / "c.db", create=NAIVE, subject_keys=True, key=key) as c,
    ):
        c.import_(fitted(0, 1, 2))
        c.merge(a)
        assert c.model().tally_ == NaiveBayes().fit(ROWS + ROWS[:3], LABELS + LABELS[:3]).tally_
        with pytest.raises(StoreError, match="merge into a store with subject_keys="):
            plain.merge(a)
        plain.learn(ROWS[:1], ["ham"])
        with pytest.raises(StoreError, match="row 0 has neither an id nor a subject"):
            a.merge(plain)
        a.verify()


def test_where_keys_are(tmp_path: Path) -> None:
    path, moved = tmp_path / "mail.db", tmp_path / "other" / "mail.db"
    learned(path, subject_keys=True).close()
    moved.parent.mkdir()
    shutil.move(path, moved)
    keys = tmp_path / "mail.db.keys"
    assert keys.stat().st_mode & 0o777 == 0o600
    with store.open(moved) as mail:
        assert mail.summary()["subject_keys"] == str(keys)
    shutil.move(keys, f"{moved}.keys")
    store.open(moved).close()
    shutil.move(f"{moved}.keys", tmp_path / "mine")
    with pytest.raises(
        StoreError, match=r"their keys are not in .*mail.db.keys: give subject_keys="
    ):
        store.open(moved)
    store.open(moved, subject_keys=tmp_path / "mine").close()
    learned(path, subject_keys=True).close()
    with pytest.raises(StoreError, match="made with a key= that is not kept"):
        store.open(moved, subject_keys=keys)
    with pytest.raises(StoreError, match="holds the keys of another store"):
        store.open(tmp_path / "x.db", create=NAIVE, subject_keys=keys)


@pytest.mark.parametrize(
    ("url", "options", "said"),
    [
        ("x.db", {"ledger": "ids", "subject_keys": True}, "encrypts rows, which"),
        ("x.db", {"subject_keys": "postgresql://me:secret@host/x"}, "has a password"),
        ("x.db", {"subject_keys": "x.db"}, "another file or database than the store"),
    ],
)
def test_keys_that_cannot_be(
    tmp_path: Path, monkeypatch: Any, url: str, options: Any, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StoreError, match=said) as error:
        store.open(url, create=NAIVE, **options)
    assert "secret" not in str(error.value)
    store.open("plain.db", create=NAIVE).close()
    with pytest.raises(StoreError, match="was made without subject_keys"):
        store.open("plain.db", subject_keys=True)


def test_a_store_in_a_database_says_where_its_keys_are(postgres_url: str) -> None:
    with pytest.raises(StoreError, match="name a file or another server"):
        store.open(postgres_url, create=NAIVE, subject_keys=True)


def test_a_row_that_was_changed_is_noticed(tmp_path: Path) -> None:
    with learned(tmp_path / "mail.db", subject_keys=True) as mail:
        [sealed] = mail._writer.run("SELECT row FROM tally_ledger WHERE v = 1").fetchone()
        changed = sealed[:-1] + bytes([sealed[-1] ^ 1])
        mail._writer.run("UPDATE tally_ledger SET row = ? WHERE v = 1", (changed,))
        with pytest.raises(StoreError, match="changed after it was encrypted"):
            mail.model()


def test_a_store_of_the_first_format_is_brought_up(tmp_path: Path) -> None:
    with learned(tmp_path / "mail.db") as mail:
        mail._writer.run("DROP TABLE tally_keys")
        mail._writer.run("PRAGMA user_version = 1")
    with store.open(tmp_path / "mail.db") as mail:
        assert mail.model() == fitted(*range(6))
        assert mail._writer.run("PRAGMA user_version").fetchone() == (2,)
