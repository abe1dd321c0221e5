"""A column of text in a weighted model: a learned weight beside those of other columns."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import tallybayes
from tallybayes import NaiveBayes, WeightedNaiveBayes, leave_one_out
from tallybayes.errors import ModelFileError
from tallybayes.families import Text
from tallybayes.threads import set_num_threads
from tallybayes.weighted.average import learn_text_weights

pytestmark = pytest.mark.filterwarnings("ignore::tallybayes.errors.StaleWarning")


def made(n=240, seed=0, noise=False):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    rows = []
    for k in y.tolist():
        words = rng.geometric(0.15, rng.integers(0, 10)) + (0 if noise else 4 * k)
        text = None if rng.random() < 0.1 else " ".join(f"w{word}" for word in words)
        rows.append({"body": text, "size": float(rng.integers(0, 4) + k), "kind": "ab"[k % 2]})
    return rows, np.array(list("pqr"))[y]


def fitted(rows, y, weight=None, **columns):
    return WeightedNaiveBayes({"body": Text(), **columns}).fit(rows, y, weight)


@pytest.fixture(scope="module")
def learned():
    rows, y = made()
    return fitted(rows, y), rows, y


def loss(model, rows, y):
    log_proba = model.predict_log_proba(rows)
    return -log_proba[np.arange(len(y)), np.searchsorted(model.classes_, y)].mean()


def test_text_and_table_together_are_better_than_either(learned):
    model, rows, y = learned
    new, expected = made(400, seed=1)
    table = fitted(rows, y, body=None)
    text = fitted(rows, y, size=None, kind=None)
    both = loss(model, new, expected)
    assert both < loss(table, new, expected)
    assert both < loss(text, new, expected)
    assert abs(model.log_loss_ - both) < 4.0 * model.log_loss_se_


def test_words_that_say_nothing_do_not_drown_the_columns():
    rows, y = made(noise=True)
    new, expected = made(400, seed=1, noise=True)
    with_text = loss(fitted(rows, y), new, expected)
    assert with_text < loss(fitted(rows, y, body=None), new, expected) + 0.02


def test_leave_one_out_is_what_forgetting_the_row_leaves(learned):
    model, rows, y = learned
    left = leave_one_out(model, rows, y)
    for i in (0, 17, 101, 239):
        rest = copy.deepcopy(model).forget([rows[i]], [y[i]])
        assert rest.predict_log_proba([rows[i]])[0] == pytest.approx(left[i], abs=1e-12)


def test_the_explanation_adds_up_and_names_the_text(learned):
    model, rows, _ = learned
    explained = model.explain(rows)
    assert explained.columns[-1] == "body"
    scores = explained.base + explained.contributions.sum(axis=2)
    assert scores == pytest.approx(model.predict_joint_log_proba(rows))
    weights = dict(zip(*(list(model.weights_[name]) for name in ("term", "weight")), strict=True))
    assert weights["body"] > 0.0
    assert model.feature_importances_[0] > 0.0
    assert "body: " in model.summary()
    assert next(iter(model.schema_["holds"])) == "text"


def test_a_missing_text_says_nothing(learned):
    model, rows, _ = learned
    with_none = [{**row, "body": None} for row in rows[:5]]
    without = [{k: v for k, v in row.items() if k != "body"} for row in rows[:5]]
    assert np.array_equal(model.predict_proba(with_none), model.predict_proba(without))
    assert not model.explain(with_none).contributions[:, :, -1].any()
    one = model.predict_proba_one(without[0])
    assert list(one.values()) == model.predict_proba(without[:1])[0].tolist()


def test_the_order_of_rows_a_common_factor_and_threads_change_nothing(learned):
    model, rows, y = learned
    order = np.random.default_rng(1).permutation(len(y))
    other = fitted([rows[i] for i in order], y[order])
    assert np.array_equal(other.predict_proba(rows), model.predict_proba(rows))
    heavy = fitted(rows, y, np.full(len(y), 4.0))
    assert np.array_equal(heavy.predict_proba(rows), model.predict_proba(rows))
    set_num_threads(3)
    try:
        assert np.array_equal(fitted(rows, y).predict_proba(rows), model.predict_proba(rows))
    finally:
        set_num_threads(None)


def test_what_is_saved_or_pickled_says_the_same(learned, tmp_path):
    model, rows, y = learned
    model.save(tmp_path / "model")
    for other in (tallybayes.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        assert other == model
        assert np.array_equal(other.predict_proba(rows), model.predict_proba(rows))
        assert np.array_equal(leave_one_out(other, rows, y), leave_one_out(model, rows, y))
        assert list(other.weights_["weight"]) == list(model.weights_["weight"])


def test_a_file_with_other_weights_of_text_is_refused(learned, tmp_path, monkeypatch):
    model = copy.deepcopy(learned[0])
    held = model._model.chosen.weighting.text
    for name, value in (("names", ["size"]), ("weights", held.weights - 9.0), ("cells", 1e300)):
        before = getattr(held, name)
        object.__setattr__(held, name, value)
        model.save(tmp_path / "model")
        object.__setattr__(held, name, before)
        with pytest.raises(ModelFileError):
            tallybayes.load(tmp_path / "model")


def test_counts_that_change_keep_the_weights_until_they_are_learned_again(learned):
    model, rows, y = copy.deepcopy(learned[0]), *learned[1:]
    before = list(model.weights_["weight"])
    model.partial_fit([{"body": "w1 unheard", "size": 1.0}], ["new"])
    assert list(model.weights_["weight"]) == before
    assert np.isfinite(model.predict_log_proba(rows)).all()
    model.forget([{"body": "w1 unheard", "size": 1.0}], ["new"])
    model.reweight(rows, y)
    assert list(model.weights_["weight"]) == before
    counted = NaiveBayes({"body": Text()}).fit(rows, y)
    again = WeightedNaiveBayes({"body": Text()}).count_from(counted, rows, y)
    assert np.array_equal(again.predict_proba(rows), learned[0].predict_proba(rows))


def test_several_texts_have_a_weight_each():
    rows, y = made()
    model = fitted(rows, y, kind=Text())
    assert list(model.weights_["term"]) == ["size", "body", "kind"]


def test_a_text_alone_and_a_text_without_values():
    rows, y = made()
    alone = WeightedNaiveBayes({"body": Text()}).fit([{"body": row["body"]} for row in rows], y)
    assert alone.accuracy_ > 0.5
    none = fitted([{**row, "body": None} for row in rows], y)
    assert next(iter(none.schema_["why"])) == "no value was seen"
    assert np.isfinite(none.predict_log_proba(rows)).all()


def test_a_text_alone_in_many_rows():
    rows, y = made(1_200)
    model = WeightedNaiveBayes({"body": Text(ngram_range=(1, 1))})
    model.fit([{"body": row["body"]} for row in rows], y)
    assert model.accuracy_ > 0.5


def test_simplify_is_refused_by_name(learned):
    model, rows, y = learned
    with pytest.raises(ValueError, match="'body' is read as text"):
        model.simplify(rows, y, 1)


def test_text_that_agrees_with_the_table_is_given_less_weight():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 500).astype(np.int32)
    said = np.where(y[:, None] == [0, 1], 1.0, -1.0) * rng.normal(0.5, 1.0, (500, 1))
    nothing = np.full((500, 2), -np.log(2.0))
    alone, _, _ = learn_text_weights(["t"], said[:, :, None], nothing, y, np.ones(500))
    beside, _, _ = learn_text_weights(["t"], said[:, :, None], said, y, np.ones(500))
    assert 0.9 < alone.weights[0] / (beside.weights[0] + beside.cells) < 1.1
    assert beside.weights[0] < alone.weights[0]
