"""What a store refuses: the message says what is wrong and what to do, and nothing has changed."""

from __future__ import annotations

import datetime
import os
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from tallybayes import CategoricalNB, NaiveBayes, TextNB, WeightedNaiveBayes, store
from tallybayes.errors import StoreError, StoreWarning
from tallybayes.families import Poisson

ONE = [{"sky": "grey", "n": 3}]
ROWS = [{"sky": "grey", "n": 3}, {"sky": "blue", "n": 1}]
DAY = datetime.date(2026, 11, 28)


@pytest.fixture
def days(tmp_path: Path) -> Iterator[store.Store]:
    with store.open(tmp_path / "days.db", create=NaiveBayes(classes=["dry", "rain"])) as found:
        found.learn([*ROWS, {"day": DAY}], ["rain", "dry", "dry"], ids=["a", "b", "c"])
        yield found


Call = Callable[[store.Store], Any]
REFUSED: dict[str, tuple[str, Call]] = {
    "an infinite number": (
        "'n' holds inf: a store keeps",
        lambda s: s.learn([{"n": 1e999}], ["dry"]),
    ),
    "a number of 400 digits": ("1,329 bits", lambda s: s.learn([{"n": 10**400}], ["dry"])),
    "a large number": ("from −1e100", lambda s: s.learn([{"n": 1e101}], ["dry"])),
    "a list in a row": (r"holds \[1, 2\], a list", lambda s: s.learn([{"n": [1, 2]}], ["dry"])),
    "bytes in a row": ("holds b'x', a bytes", lambda s: s.learn([{"n": b"x"}], ["dry"])),
    "half a character": ("no valid Unicode", lambda s: s.learn([{"n": "\ud800"}], ["dry"])),
    "a column of a number": ("the column 1: names", lambda s: s.learn([{1: 2}], ["dry"])),
    "a date in a column of numbers": (
        "'n' holds dates, and other values in rows before",
        lambda s: s.learn([{"n": DAY}], ["dry"]),
    ),
    "a number in a column of dates": (
        "'day' holds other values, and dates",
        lambda s: s.learn([{"day": 5}], ["dry"]),
    ),
    "a label that is not declared": (
        "'snow' is not declared; the classes of this store are dry, rain",
        lambda s: s.learn(ONE, ["snow"]),
    ),
    "a label of another type": ("a label is a number", lambda s: s.learn(ONE, [1])),
    "a missing label": ("got None", lambda s: s.learn(ONE, [None])),
    "NaN as a label": ("got None|got nan", lambda s: s.learn(ONE, [np.nan])),
    "labels of two types": ("a label is a", lambda s: s.learn(ROWS, ["dry", True])),
    "an id of 1 MB": (
        "1,000,000 bytes; at most",
        lambda s: s.learn(ONE, ["dry"], ids=["x" * 10**6]),
    ),
    "an id that is a float": ("an id is a string", lambda s: s.learn(ONE, ["dry"], ids=[1.5])),
    "ids of another length": (
        "ids are 1, and rows are 2",
        lambda s: s.learn(ROWS, ["dry"] * 2, ids=[1]),
    ),
    "labels of another length": ("labels are 1", lambda s: s.learn(ROWS, ["dry"])),
    "a request that is a number": (
        "request= is the name of a call",
        lambda s: s.learn(ONE, ["dry"], request=5),
    ),
    "one string as ids": ("give a list of values", lambda s: s.learn(ROWS, ["dry"] * 2, ids="ab")),
    "a weight below 0": (
        "row 1 has the weight -1.0",
        lambda s: s.learn(ROWS, ["dry"] * 2, weights=[1, -1]),
    ),
    "a weight that is NaN": (
        "the weight nan",
        lambda s: s.learn(ONE, ["dry"], weights=[np.nan]),
    ),
    "a time that is text": (
        "seconds since 1970",
        lambda s: s.learn(ONE, ["dry"], times=["noon"]),
    ),
    "one row": ("give a table, or a list", lambda s: s.learn({"sky": "grey"}, ["dry"])),
    "a document": ("give a table, or a list", lambda s: s.learn(["grey"], ["dry"])),
    "an array": ("names of columns", lambda s: s.learn(np.ones((1, 2)), ["dry"])),
    "rows where rows are kept": ("leave rows= out", lambda s: s.forget(ids=["a"], rows=ROWS[:1])),
    "forget of nothing": ("ids= or subjects=", lambda s: s.forget()),
    "another label of a stranger": (
        "'x' was not learned",
        lambda s: s.relabel(["a", "x"], ["dry", "dry"]),
    ),
    "two labels of one row": ("given twice", lambda s: s.relabel(["a", "a"], ["dry", "rain"])),
    "a label that is not declared, again": ("not declared", lambda s: s.relabel(["a"], ["snow"])),
    "a model of documents": ("got a TextNB", lambda s: s.import_(TextNB().fit(["a", "b"], [0, 1]))),
    "weights of a plain model": ("learns nothing on rows", lambda s: s.reweight()),
    "a backup over a file": ("name another file", lambda s: s.backup(s.url)),
}


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.filterwarnings("ignore::tallybayes.errors.TallyWarning")
def test_a_refused_call_leaves_the_store_as_it_was(days: store.Store, case: str) -> None:
    said, call = REFUSED[case]
    before, version = days.model(), days.version
    with pytest.raises(StoreError, match=said):
        call(days)
    assert days.model() == before
    assert days.version == version
    days.verify()


def test_no_rows_are_no_change(days: store.Store) -> None:
    assert days.learn([], []).rows == 0
    assert days.forget(ids=[]).rows == 0
    assert days.relabel([], []).changed == []


def test_nan_and_numpy_s_values_are_kept_as_they_are(tmp_path: Path) -> None:
    rows = [
        {"a": np.float64("nan"), "b": np.int64(3), "c": True, "d": np.datetime64("2026-01-02")},
        {"a": 1.5, "b": 2**60 + 1, "c": False, "d": datetime.datetime(2026, 1, 2, 3)},
        {"a": None, "b": None, "c": pd.NA, "d": pd.NaT, "new": "x\0y"},
    ]
    with store.open(tmp_path / "x.db", create=NaiveBayes()) as found:
        found.learn(rows, np.array(["u", "v", "u"]))
        assert found.model().tally_ == NaiveBayes().fit(rows, ["u", "v", "u"]).tally_


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_a_table_counts_as_its_rows(tmp_path: Path, library: Any) -> None:
    columns = {
        "sky": ["grey", None, "blue"],
        "n": [1, 2, 3],
        "x": [0.5, None, 1.5],
        "wet": [True, False, True],
        "day": [DAY, DAY, None],
        "at": [datetime.datetime(2026, 1, 2, 3, 4, 5)] * 3,
    }
    table = library(columns)
    with store.open(tmp_path / "x.db", create=NaiveBayes()) as found:
        found.learn(table, ["u", "v", "u"])
        assert found.model().tally_ == NaiveBayes().fit(table, ["u", "v", "u"]).tally_


def test_what_a_declared_family_refuses_is_not_kept(tmp_path: Path) -> None:
    model = NaiveBayes({"n": Poisson()})
    with store.open(tmp_path / "x.db", create=model) as found:
        found.learn([{"n": 1}, {"n": 4}], ["u", "v"])
        with pytest.raises(ValueError, match="n"):
            found.learn([{"n": -1}], ["u"])
        assert found.model().class_count_.tolist() == [1.0, 1.0]
    with store.open(tmp_path / "x.db") as found:
        found.learn([{"n": 2}], ["u"], ids=["x"])
        assert found.relabel(["x"], ["v"]).changed == ["x"]
        assert found.model() == NaiveBayes({"n": Poisson()}).fit(
            [{"n": 1}, {"n": 4}, {"n": 2}], ["u", "v", "v"]
        )


# ---- files that are no stores, and options that do not fit ---------------------------------------
@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"create": CategoricalNB()}, "got CategoricalNB"),
        ({"create": NaiveBayes(half_life=3)}, "give half_life= in days"),
        ({"create": NaiveBayes(class_weight="balanced")}, "with_class_weight"),
        ({"create": TextNB(idf=True, model="multinomial")}, "leave idf="),
        ({"create": WeightedNaiveBayes(), "ledger": "ids"}, "does not keep"),
        ({"create": NaiveBayes(class_prior=[0.5, 0.5])}, "with classes="),
        ({"create": NaiveBayes(), "half_life": -1}, "half_life is a number of days"),
        ({"create": NaiveBayes(), "keep_ids": 0}, "keep_ids is a number of days"),
        ({"create": NaiveBayes(), "key": b"short"}, "16 to 64 bytes"),
        ({"create": NaiveBayes(), "ledger": "row"}, "'rows' or 'ids'"),
        ({"create": NaiveBayes(), "synchronous": "off"}, "'full' or 'normal'"),
    ],
)
def test_options_that_cannot_be(tmp_path: Path, options: Any, said: str) -> None:
    with pytest.raises(StoreError, match=said):
        store.open(tmp_path / "x.db", **options)


def test_a_store_is_opened_with_what_it_was_made_with(tmp_path: Path) -> None:
    path, key = tmp_path / "x.db", b"k" * 16
    store.open(path, create=NaiveBayes(alpha=0.5), half_life=3, key=key).close()
    store.open(path, create=NaiveBayes(alpha=0.5), key=key).close()
    for options, said in [
        ({}, "made with a key="),
        ({"key": b"l" * 16}, "made with a key="),
        ({"key": key, "half_life": 4}, "half_life=3, got half_life=4"),
        ({"key": key, "ledger": "ids"}, "ledger=rows, got ledger=ids"),
        ({"key": key, "create": NaiveBayes()}, "was made with create=NaiveBayes"),
    ]:
        with pytest.raises(StoreError, match=said):
            store.open(path, **options)
    assert key not in path.read_bytes()


def test_other_files_are_no_stores(tmp_path: Path) -> None:
    text, empty, other = tmp_path / "text", tmp_path / "empty", tmp_path / "other.db"
    text.write_text("not a database " * 99)
    empty.write_bytes(b"")
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE t (x)")
    connection.close()
    for path in (text, other):
        before = path.read_bytes()
        for options in ({}, {"create": NaiveBayes()}):
            with pytest.raises(StoreError, match=r"name a file that is a store|name another file"):
                store.open(path, **options)
        assert path.read_bytes() == before
    with pytest.raises(StoreError, match="no store of tallybayes"):
        store.open(empty)
    with pytest.raises(StoreError, match="there is no folder"):
        store.open(tmp_path / "none" / "x.db", create=NaiveBayes())


def test_a_stranger_s_store_runs_nothing(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    store.open(path, create=NaiveBayes()).close()
    with sqlite3.connect(path) as connection:
        connection.execute(
            "CREATE TRIGGER evil AFTER INSERT ON tally_ledger BEGIN DELETE FROM tally_ledger; END"
        )
    connection.close()
    with pytest.raises(StoreError, match="the trigger 'evil', which no store has"):
        store.open(path)


def test_a_newer_format_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    store.open(path, create=NaiveBayes()).close()
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(StoreError, match="format 99, and this version of tallybayes reads"):
        store.open(path)


def test_a_damaged_file_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    with store.open(path, create=NaiveBayes()) as found:
        found.learn([{"word": f"w{i % 9}"} for i in range(900)], ["a", "b"] * 450, ids=range(900))
        found.model()
        found.snapshot()
    content = bytearray(path.read_bytes())
    content[len(content) // 2 : len(content) // 2 + 6000] = bytes(6000)
    path.write_bytes(content)
    with pytest.raises(StoreError, match=r"damaged|malformed"), store.open(path) as found:
        found.verify()


def test_counts_that_are_not_those_of_the_ledger_are_noticed(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    with store.open(path, create=NaiveBayes()) as found:
        found.learn([{"n": i} for i in range(9)], ["a", "b", "a"] * 3, ids=range(9))
        found.model()
        found.snapshot()
        with sqlite3.connect(path) as connection:  # a hand that writes past the store
            connection.execute("UPDATE tally_ledger SET label = '\"b\"' WHERE v = 1")
        connection.close()
        with pytest.raises(StoreError, match="are not those of its ledger"):
            found.verify()
        found.compact()
        found.verify()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything; decision 33")
def test_a_file_that_may_not_be_written(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    store.open(path, create=NaiveBayes()).close()
    path.chmod(0o400)
    with pytest.raises(StoreError, match="give the process the right"):
        store.open(path)


def test_a_file_that_became_read_only_counts_nothing(tmp_path: Path) -> None:
    with store.open(tmp_path / "x.db", create=NaiveBayes()) as found:
        found.learn([{"word": "a"}, {"word": "b"}], ["a", "b"], ids=[1, 2])
        found._writer.run("PRAGMA query_only = ON")
        for call in (lambda: found.learn([{"word": "c"}], ["a"]), lambda: found.forget(ids=[1])):
            with pytest.raises(StoreError, match="Nothing was changed; give the process the right"):
                call()
        assert found.verify().rows == 2


def test_a_network_file_system_is_warned_of(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("tallybayes.store.sqlite._file_system", lambda _: "nfs4")
    with pytest.warns(StoreWarning, match=r"network file system \(nfs4\).*keep a store on a local"):
        store.open(tmp_path / "x.db", create=NaiveBayes()).close()


def test_a_full_disk_counts_nothing(tmp_path: Path) -> None:
    with store.open(tmp_path / "x.db", create=NaiveBayes()) as found:
        found.learn([{"word": "a"}, {"word": "b"}], ["a", "b"], ids=[1, 2])
        pages = found._writer.run("PRAGMA page_count").fetchone()[0]
        found._writer.run(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(StoreError, match="free space on the disk"):
            found.learn([{"word": "w" * 10**6}], ["a"], ids=[3])
        found._writer.run("PRAGMA max_page_count = 1000000")
        assert found.verify().rows == 2
        assert found.learn([{"word": "c"}], ["a"], ids=[3]).new == [3]


def test_a_forked_process_opens_its_own(tmp_path: Path, monkeypatch: Any) -> None:
    with store.open(tmp_path / "x.db", create=NaiveBayes()) as found:
        monkeypatch.setattr("os.getpid", lambda: 1)
        with pytest.raises(StoreError, match="open it again"):
            found.learn([{"word": "a"}], ["a"])


def test_stores_that_do_not_go_together(tmp_path: Path) -> None:
    key = b"k" * 16
    with (
        store.open(tmp_path / "a.db", create=NaiveBayes(), key=key) as a,
        store.open(tmp_path / "b.db", create=NaiveBayes()) as b,
        store.open(tmp_path / "c.db", create=NaiveBayes(alpha=2.0), key=key) as c,
        store.open(tmp_path / "d.db", create=NaiveBayes(), ledger="ids", key=key) as d,
    ):
        for other, said in ((b, "different keys"), (c, "one model"), (d, "do not merge")):
            with pytest.raises(StoreError, match=said):
                a.merge(other)
