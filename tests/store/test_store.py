"""What a store keeps, on a file of SQLite: each event once, until it is forgotten."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from tallybayes import NaiveBayes, TextNB, WeightedNaiveBayes, leave_one_out, load, store
from tallybayes.errors import LabelConflict, RequestConflict, StoreError
from tallybayes.store.fold import Fold

ROWS = [{"sky": "grey", "wind": 3.0}, {"sky": "blue", "wind": 1.5}, {"sky": "grey", "wind": None}]
LABELS = ["rain", "dry", "rain"]


def opened(tmp_path: Path, name: str = "days.db", **options: object) -> store.Store:
    return store.open(tmp_path / name, **{"create": NaiveBayes(), **options})


def test_a_model_is_that_of_the_rows_that_were_learned(tmp_path: Path) -> None:
    with opened(tmp_path) as days:
        found = days.learn(ROWS, LABELS, ids=["a", "b", "c"])
        assert (found.rows, found.new, found.repeated) == (3, ["a", "b", "c"], [])
        assert days.model() == NaiveBayes().fit(ROWS, LABELS)


def test_an_id_counts_once_and_under_one_label(tmp_path: Path) -> None:
    with opened(tmp_path) as days:
        days.learn(ROWS, LABELS, ids=["a", "b", "c"])
        before = days.model()
        assert days.learn(ROWS[:1], ["rain"], ids=["a"]).repeated == ["a"]
        with pytest.raises(LabelConflict, match="'a' was learned as 'rain', and comes as 'dry'"):
            days.learn([ROWS[0], ROWS[0]], ["dry", "dry"], ids=["new", "a"])
        assert days.model() == before
        assert days.learn(ROWS[:2], ["dry", "dry"], ids=["new", "new"]).repeated == ["new"]


@pytest.mark.parametrize("where", ["a file", "a database"])
def test_a_request_counts_once_and_has_one_content(
    tmp_path: Path, where: str, request: pytest.FixtureRequest
) -> None:
    url = tmp_path / "x.db" if where == "a file" else request.getfixturevalue("postgres_url")
    ids = ["order-7/0", "order-7/1", "order-7/2"]
    with store.open(url, create=NaiveBayes()) as days:
        assert days.learn(ROWS, LABELS, request="order-7").new == ids
        assert days.learn(ROWS, LABELS, request="order-7").repeated == ids
        for rows, labels in [
            (ROWS[:2], LABELS[:2]),
            (ROWS + ROWS[:1], LABELS + LABELS[:1]),
            (ROWS[::-1], LABELS),
            (ROWS, ["dry", "dry", "rain"]),
        ]:
            with pytest.raises(RequestConflict, match="'order-7' was learned with other content"):
                days.learn(rows, labels, request="order-7")
        assert days.model() == NaiveBayes().fit(ROWS, LABELS)
        days.forget(ids=ids[:1])
        assert days.learn(ROWS, LABELS, request="order-7").forgotten == ids[:1]
        assert days.learn(ROWS[:1], LABELS[:1], request="order-8").new == ["order-8/0"]
        assert days.summary()["forgotten_ids"] == 1
        assert days.verify().rows == 3


def test_another_process_sees_what_is_learned_relabelled_and_forgotten(tmp_path: Path) -> None:
    with opened(tmp_path) as mine, opened(tmp_path) as other:
        mine.learn(ROWS, LABELS, ids=[1, 2, 3])
        assert other.model() == NaiveBayes().fit(ROWS, LABELS)
        assert mine.relabel([1, 2], ["dry", "dry"]).changed == [1]
        assert other.model() == NaiveBayes().fit(ROWS, ["dry", "dry", "rain"])
        assert mine.forget(ids=[1, 9]) == (1, [9], False, mine.version or 5)
        assert other.model() == NaiveBayes().fit(ROWS[1:], ["dry", "rain"])
        assert other.learn(ROWS[:1], ["rain"], ids=[1]).forgotten == [1]
        assert other.learn(ROWS[:1], ["rain"], ids=[9]).forgotten == [9]


def test_a_model_file_comes_and_goes(tmp_path: Path) -> None:
    with opened(tmp_path) as days, opened(tmp_path, "more.db") as more:
        days.learn(ROWS, LABELS)
        days.export(tmp_path / "days.tally")
        assert load(tmp_path / "days.tally") == NaiveBayes().fit(ROWS, LABELS)
        more.learn(ROWS, LABELS)
        more.import_(tmp_path / "days.tally")
        assert more.model().tally_ == NaiveBayes().fit(ROWS * 2, LABELS * 2).tally_
        more.verify()


@pytest.mark.parametrize("model", [WeightedNaiveBayes(), TextNB()])
def test_weights_are_learned_on_a_sample_of_the_rows(tmp_path: Path, model: object) -> None:
    words = ["cheap pills" if i % 2 else "see you" for i in range(200)]
    labels = ["spam" if i % 2 ^ (i % 10 == 0) else "ham" for i in range(200)]
    rows = [f"{word} {i % 7}" for i, word in enumerate(words)]
    given = rows if isinstance(model, TextNB) else [{"word": word} for word in words]
    with opened(tmp_path, create=model) as mail:
        mail.learn(given, labels, ids=range(200))
        assert mail.model().score(given, labels) == 0.9
        assert mail.forget(ids=[1]).reweight_due
        mail.reweight()
        assert mail.model().score(given, labels) == 0.9
        assert 0.2 < float(mail.model().log_loss_) < 0.5
        assert mail.verify().rows == 199


@pytest.mark.parametrize("model", [WeightedNaiveBayes(parts=1), TextNB()])
@pytest.mark.filterwarnings("ignore::tallybayes.errors.TallyWarning")  # of rows that tell labels
def test_rows_of_a_subject_are_left_out_together(tmp_path: Path, model: Any) -> None:
    """Each of ten people has 16 rows alike, from which their own labels could be told."""
    people = np.repeat(np.arange(10), 16)
    labels = np.where(np.random.default_rng(0).permutation(10) % 2, "spam", "ham")[people].tolist()
    texts = [f"word{person} see you" for person in people]
    rows = texts if isinstance(model, TextNB) else [{"word": text} for text in texts]
    with opened(tmp_path, create=model) as mail, opened(tmp_path, "y.db", create=model) as other:
        mail.learn(rows, labels, subjects=people, ids=range(160))
        other.learn(rows, labels)
        assert other.rows().groups is None
        assert other.model().log_loss_ == clone(model).fit(rows, labels).log_loss_
        kept = mail.rows()
        assert len(set(zip(kept.groups, map(str, kept.rows), strict=True))) == 10
        grouped = clone(model).fit(rows, labels, groups=people)
        assert kept.model.log_loss_ == pytest.approx(grouped.log_loss_, rel=1e-9)
        assert kept.model.log_loss_ > other.model().log_loss_ + 0.1
        mail.forget(ids=[1, 2])
        mail.learn(rows[1:3], labels[1:3])  # nobody's rows, each a group
        sizes = np.unique(mail.rows().groups, return_counts=True)[1]
        assert sorted(sizes.tolist()) == [1, 1, 14, *[16] * 9]


def test_a_store_says_what_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no store"):
        store.open(tmp_path / "none.db")
    with opened(tmp_path) as days, pytest.raises(StoreError, match="holds no rows"):
        days.model()


@pytest.mark.parametrize("options", [{}, {"subject_keys": True}, {"half_life": 30.0}])
def test_rows_are_those_that_the_model_counts(tmp_path: Path, options: dict[str, object]) -> None:
    """Each can be left out of the model's counts, whatever else the store does with rows."""
    rows = [{"sky": "grey" if i % 3 else "blue", "wind": float(i % 7)} for i in range(60)]
    labels = ["rain" if i % 3 else "dry" for i in range(60)]
    with opened(tmp_path, **options) as days:
        days.learn(rows, labels, ids=range(60), weights=[2.0, 1.0] * 30)
        days.forget(ids=range(10))
        days.relabel([11], ["dry"])
        labels[11] = "dry"
        kept = days.rows()
        known = sorted(zip(rows[10:], labels[10:], strict=True), key=str)
        assert sorted(zip(kept.rows, kept.labels, strict=True), key=str) == known
        assert kept.total == len(kept.rows) == 50
        assert kept.weights is not None
        assert kept.weights.sum() == pytest.approx(kept.model.class_count_.sum(), rel=1e-9)
        left = leave_one_out(kept.model, kept.rows, kept.labels, sample_weight=kept.weights)
        assert np.isfinite(left).all()
        few = days.rows(20)
        assert (len(few.rows), few.total) == (20, 50)
        assert days.rows(20).rows == few.rows


def test_rows_that_are_not_kept_are_not_given(tmp_path: Path) -> None:
    with opened(tmp_path, ledger="ids") as days, opened(tmp_path, "empty.db") as empty:
        days.learn(ROWS, LABELS, ids=[1, 2, 3])
        for held, said in ((days, "keeps counts and no rows"), (empty, "holds no rows")):
            with pytest.raises(StoreError, match=said):
                held.rows()
        with pytest.raises(StoreError, match="from 1 on, got 0"):
            empty.rows(0)


@pytest.mark.parametrize("where", ["a file", "a database"])
def test_a_store_says_how_stale_its_weights_are(
    tmp_path: Path, where: str, request: pytest.FixtureRequest
) -> None:
    url = tmp_path / "x.db" if where == "a file" else request.getfixturevalue("postgres_url")
    texts = [f"{'cheap pills' if i % 2 else 'see you'} {i % 7}" for i in range(80)]
    labels = ["spam" if i % 2 else "ham" for i in range(80)]
    with store.open(url, create=TextNB()) as mail, store.open(url) as other:
        mail.learn(texts[:40], labels[:40], ids=range(40))
        mail.reweight()
        assert mail.staleness() == 0.0
        mail.learn(texts[40:60], labels[40:60], ids=range(40, 60))
        assert mail.staleness() == other.staleness() == other.summary()["staleness"] == 0.5
        before = other.model()
        mail.forget(ids=[1])
        mail.reweight(50)
        assert other.staleness() == 0.0
        assert other.refresh()
        assert other.model().log_loss_ != before.log_loss_


def test_weights_are_not_learned_on_a_row_that_is_forgotten_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [f"{'cheap pills' if i % 2 else 'see you'} {i % 7}" for i in range(40)]
    with opened(tmp_path, create=TextNB()) as mail, opened(tmp_path, create=TextNB()) as other:
        mail.learn(texts, ["spam" if i % 2 else "ham" for i in range(40)], ids=range(40))
        mail.model()
        gone, whole = iter(range(40)), Fold.learned

        def forgetting(n_times: int) -> None:
            """Another process forgets a row, the next times that weights are learned."""
            times = itertools.count()

            def learned(fold: Fold, *given: object) -> object:
                model = whole(fold, *given)
                if next(times) < n_times:
                    other.forget(ids=[next(gone)])
                return model

            monkeypatch.setattr(Fold, "learned", learned)

        forgetting(1)
        mail.reweight()
        before = mail.model().log_loss_
        forgetting(99)
        with pytest.raises(StoreError, match="the weights are as before"):
            mail.reweight()
        assert other.model().log_loss_ == mail.model().log_loss_ == before
