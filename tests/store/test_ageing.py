"""Events that age, stores that keep no rows, and calls of several threads."""

from __future__ import annotations

import random
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tallybayes import NaiveBayes, store
from tallybayes.errors import NegativeTally, StoreError

NOW = datetime(2026, 11, 28, tzinfo=UTC)
ROWS = [{"sky": "grey", "n": i % 3} if i % 2 else {"sky": "blue", "n": i % 5} for i in range(40)]
LABELS = ["rain" if i % 3 else "dry" for i in range(40)]
TIMES = [NOW - timedelta(days=i) for i in range(40)]


@pytest.fixture
def now(monkeypatch: Any) -> list[float]:
    """What the clock says, in seconds."""
    found = [NOW.timestamp()]
    monkeypatch.setattr("tallybayes.store.reading.clock.time", lambda: found[0])
    return found


def test_a_model_of_a_time_counts_what_was_learned_by_then(tmp_path: Path) -> None:
    with store.open(tmp_path / "x.db", create=NaiveBayes()) as days:
        days.learn(ROWS, LABELS, ids=range(40), times=TIMES)
        days.forget(ids=[30])
        kept = [i for i in range(10, 40) if i != 30]
        expected = NaiveBayes().fit([ROWS[i] for i in kept], [LABELS[i] for i in kept])
        assert days.as_of(TIMES[10]) == expected
        with pytest.raises(StoreError, match="holds no rows"):
            days.as_of(0)


def test_an_event_counts_half_after_a_half_life(tmp_path: Path, now: list[float]) -> None:
    with store.open(tmp_path / "x.db", create=NaiveBayes(), half_life=2.0) as days:
        days.learn(ROWS, LABELS, ids=range(40), times=TIMES)
        weights = [0.5 ** (i / 2) for i in range(40)]
        of_class = {
            c: sum(w for w, y in zip(weights, LABELS, strict=True) if y == c) for c in LABELS
        }
        found = dict(zip(days.model().classes_.tolist(), days.model().class_count_, strict=True))
        assert found == pytest.approx(of_class, rel=1e-12)
        now[0] += 2 * 86400
        assert days.model().class_count_.sum() == pytest.approx(sum(weights) / 2, rel=1e-12)
        days.verify()


def test_ageing_commutes_with_forgetting_and_merging(tmp_path: Path, now: list[float]) -> None:
    key, order = b"k" * 16, random.Random(1).sample(range(40), 40)
    options: Any = {"create": NaiveBayes(), "half_life": 0.125, "key": key}
    with (
        store.open(tmp_path / "a.db", **options) as a,
        store.open(tmp_path / "b.db", **options) as b,
        store.open(tmp_path / "c.db", **options) as c,
    ):
        for n, i in enumerate(order):
            part = a if n % 2 else b
            part.learn([ROWS[i]], [LABELS[i]], ids=[i], times=[TIMES[i]])
            if n % 7 == 0:
                part.refresh()
                part.snapshot()
        a.merge(b)
        a.forget(ids=[3, 5, 39])
        left = [i for i in range(40) if i not in (3, 5, 39)]
        for i in left:
            c.learn([ROWS[i]], [LABELS[i]], ids=[i], times=[TIMES[i]])
        assert a.verify().rows == len(left)
        found, expected = a.model(), c.model()
        assert found.classes_.tolist() == expected.classes_.tolist()
        assert np.allclose(found.class_count_, expected.class_count_, rtol=1e-9)
        assert np.allclose(found.predict_proba(ROWS), expected.predict_proba(ROWS), rtol=1e-9)


def test_an_event_that_has_aged_to_nothing_is_forgotten(tmp_path: Path, now: list[float]) -> None:
    with store.open(tmp_path / "x.db", create=NaiveBayes(), half_life=0.01) as days:
        days.learn(ROWS[:2], ["dry", "old"], ids=[0, 1], times=[TIMES[39], TIMES[39]])
        days.refresh()
        days.snapshot()
        days.learn(ROWS[2:4], ["dry", "rain"], ids=[2, 3], times=[TIMES[0], TIMES[20]])
        days.model()
        days.snapshot()
        days.relabel([3], ["dry"])
        assert days.forget(ids=[0, 1]).rows == 2
        assert days.model().classes_.tolist() == ["dry"]
        assert days.verify().rows == 2


def test_rows_and_ids_are_kept_for_so_many_days(tmp_path: Path, now: list[float]) -> None:
    with store.open(tmp_path / "x.db", create=NaiveBayes(), keep_days=10, keep_ids=5) as days:
        days.learn(ROWS, LABELS, ids=range(40), times=TIMES)
        assert days.compact() == 29
        assert days.model() == NaiveBayes().fit(ROWS[:11], LABELS[:11])
        assert days.learn(ROWS[30:31], ["dry"], ids=[30]).forgotten == [30]
        now[0] += 6 * 86400
        assert days.compact() == 6
        assert days.learn(ROWS[30:31], ["dry"], ids=[30]).new == [30]
        days.verify()


def test_a_column_of_many_numbers_is_verified_after_forgetting(tmp_path: Path) -> None:
    """Its grid got coarser, and stays so until the ledger is counted again."""
    rows = [{"x": i / 7.0} for i in range(6000)]
    with store.open(tmp_path / "x.db", create=NaiveBayes()) as days:
        days.learn(rows, ["a", "b"] * 3000, ids=range(6000))
        days.model()
        days.snapshot()
        days.forget(ids=range(1000, 6000))
        assert days.verify().rows == 1000
        days.compact()
        assert days.model() == NaiveBayes().fit(rows[:1000], ["a", "b"] * 500)


# ---- a store that keeps no rows ------------------------------------------------------------------
def test_a_store_of_ids_counts_the_same(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    with (
        store.open(path, create=NaiveBayes(), ledger="ids") as days,
        store.open(path) as other,
    ):
        for i in range(0, 40, 10):
            days.learn(ROWS[i : i + 10], LABELS[i : i + 10], ids=range(i, i + 10))
        assert days.learn(ROWS[:2], LABELS[:2], ids=[0, 1]).repeated == [0, 1]
        assert other.model() == NaiveBayes().fit(ROWS, LABELS)
        assert b"grey" not in b"".join(
            row for (row,) in days._reader.run("SELECT coalesce(row, x'') FROM tally_ledger")
        )
        days.relabel([1, 2], ["dry", "dry"], rows=ROWS[1:3])
        assert other.forget(ids=[3], rows=ROWS[3:4]).rows == 1
        rows, labels = ROWS[:3] + ROWS[4:], [LABELS[0], "dry", "dry", *LABELS[4:]]
        assert days.model() == NaiveBayes().fit(rows, labels)
        days.snapshot()
        days.compact()
        assert other.model() == NaiveBayes().fit(rows, labels)
        assert other.verify().rows == 39
        for call in (
            lambda: days.forget(ids=[4]),
            lambda: days.relabel([4], ["dry"]),
            lambda: days.forget(subjects=["ann"]),
        ):
            with pytest.raises(StoreError, match="keeps no rows"):
                call()
        with pytest.raises(NegativeTally):
            days.forget(ids=[4], rows=[{"sky": "never seen"}])
        assert days.model() == NaiveBayes().fit(rows, labels)
        days.import_(NaiveBayes().fit(ROWS[:6], LABELS[:6]))
        assert days.model().tally_ == NaiveBayes().fit(rows + ROWS[:6], labels + LABELS[:6]).tally_
        assert days.verify().rows == 39


# ---- threads -------------------------------------------------------------------------------------
def test_threads_share_commits_and_a_bad_call_fails_alone(tmp_path: Path) -> None:
    with store.open(tmp_path / "x.db", create=NaiveBayes()) as days:
        days.learn(ROWS[:1], ["dry"], ids=["first"])
        commits = 0
        held = days._writer.writing

        def counted() -> Any:
            nonlocal commits
            commits += 1
            return held()

        days._writer.writing = counted  # type: ignore[method-assign]
        start, failed = threading.Barrier(8), []

        def learn(thread: int) -> None:
            start.wait()
            for i in range(20):
                if thread == 0 and i % 5 == 0:
                    try:
                        days.learn(ROWS[:2], ["rain", "rain"], ids=[f"bad{i}", "first"])
                    except StoreError:
                        failed.append(i)
                days.learn(ROWS[i : i + 1], [LABELS[i]], ids=[f"{thread}-{i}"])
                if i % 7 == 0:
                    days.refresh()

        threads = [threading.Thread(target=learn, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failed == [0, 5, 10, 15]
        assert days.verify().rows == 161
        rows, labels = ROWS[:20] * 8 + ROWS[:1], LABELS[:20] * 8 + ["dry"]
        assert days.model().tally_ == NaiveBayes().fit(rows, labels).tally_
        assert commits < 164
