"""forget: the inverse of partial_fit, and what it refuses to remove."""

from __future__ import annotations

import numpy as np
import pytest

from estimators.cases import LAYOUTS, counts, every, refused, rows, state
from tallybayes import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB
from tallybayes.errors import NegativeTally

CLASSES = [0, 1, 2]


def with_all_levels(NB):
    """A first model that knows every level, so that later rows bring none."""
    return NB(min_categories=5) if NB is CategoricalNB else NB()


def test_a_class_can_be_forgotten_and_is_then_one_never_seen():
    x, y = rows()
    model = GaussianNB().partial_fit(x, y, classes=CLASSES).forget(x[y == 1], y[y == 1])
    assert model.class_count_.tolist() == [20, 0, 20]
    assert (model.predict_proba(x)[:, 1] == 0.0).all()
    rest = GaussianNB().partial_fit(x[y != 1], y[y != 1], classes=CLASSES)
    np.testing.assert_allclose(model.predict_proba(x), rest.predict_proba(x), rtol=1e-9)


def test_a_forgotten_outlier_leaves_no_trace():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(200, 2)), np.arange(200) % 2
    model = GaussianNB().fit(x, y)
    outlier = np.array([[1e8, -1e8]])
    model.partial_fit(outlier, [0]).forget(outlier, [0])
    clean = GaussianNB().fit(x, y)
    np.testing.assert_allclose(model.theta_, clean.theta_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.var_, clean.var_, rtol=1e-9)


# ---- more than was counted ----------------------------------------------------------------------
@every()
@pytest.mark.parametrize("layout", LAYOUTS)
def test_forgetting_more_rows_of_a_class_than_were_learned_is_refused(NB, layout):
    x, y = rows()
    model = with_all_levels(NB).fit(x, y)
    twice = np.concatenate([x[y == 1], x[y == 1]])
    message = r"forget would remove more than was counted: class 1 would be left with -20\."
    with refused(NegativeTally, message + " Nothing was changed", model):
        model.forget(LAYOUTS[layout](twice), np.ones(len(twice), dtype=int))


@every(MultinomialNB, CategoricalNB)
def test_forgetting_other_values_than_were_learned_names_class_and_feature(NB):
    import pandas as pd

    x = pd.DataFrame({"a": [1, 0, 0], "b": [1, 2, 0]})
    model = NB().fit(x, ["yes", "yes", "no"])
    other = pd.DataFrame({"a": [0], "b": [2]})
    message = r"class 'no', feature 1 \('b'\) would be left with -[12]\. Nothing was changed"
    with refused(NegativeTally, message, model):
        model.forget(other, ["no"])


def test_a_level_that_was_never_seen_cannot_be_forgotten():
    model = CategoricalNB().fit([[0], [1]], [0, 1])
    with refused(NegativeTally, "class 0, feature 0 would be left with -1", model):
        model.forget([[4]], [0])
    assert model.n_categories_.tolist() == [2]


def test_gaussian_rows_that_would_leave_a_negative_sum_of_squares_are_refused():
    model = GaussianNB().fit([[1.0, 0.0], [1.1, 0.1], [5.0, 2.0]], [0, 0, 1])
    with refused(NegativeTally, "class 0, feature 0 would be left with.*sum of squares", model):
        model.forget([[50.0, 0.0]], [0])


def test_the_last_row_of_a_class_must_be_the_one_that_is_left():
    """n would be 0, but the sums would not."""
    model = GaussianNB().fit([[1.0], [2.0], [3.0]], [0, 1, 1])
    with refused(NegativeTally, "class 0, feature 0 would be left with n = 0 but", model):
        model.forget([[7.0]], [0])
    model.forget([[1.0]], [0])
    assert model.class_count_.tolist() == [2]


@every()
def test_a_heavier_weight_than_was_learned_is_refused(NB):
    x, y = rows()
    model = with_all_levels(NB).fit(x, y, sample_weight=np.full(60, 0.5))
    with refused(NegativeTally, "class 0 would be left with -0.5", model):
        model.forget(x[y == 0], y[y == 0], sample_weight=np.r_[np.full(19, 0.5), 1.0])


@every()
def test_fractional_weights_leave_nothing_behind(NB):
    """0.1 + 0.2 − 0.3 is not 0 in binary; the rest is below the stated bound and becomes 0."""
    x, y = rows(n=3, classes=(0, 1))
    w = np.array([0.1, 0.2, 0.3])
    model = with_all_levels(NB).fit(x, y, sample_weight=w)
    model.partial_fit(x, y, sample_weight=w / 3)
    model.forget(x, y, sample_weight=w).forget(x, y, sample_weight=w / 3)
    assert not len(model.class_count_)
    held = {name: a for name, a in counts(model).items() if "start" not in name}
    held = {name: a for name, a in held.items() if "origin" not in name}
    for name, array in held.items():
        assert not array.any(), name


@every()
@pytest.mark.parametrize("size", [1, 7, 100])
def test_every_row_can_be_forgotten_whatever_its_weight_and_however_many_there_were(NB, size):
    """The rounding of many additions is larger than a bound relative to the little that is left."""
    x, y = rows(n=1_000, d=2)
    w = np.random.default_rng(0).uniform(size=1_000)
    model = with_all_levels(NB).partial_fit(x, y, classes=CLASSES, sample_weight=w)
    for i in range(0, 1_000, size):
        model.forget(x[i : i + size], y[i : i + size], w[i : i + size])
    assert model.class_count_.tolist() == [0, 0, 0]


@every()
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("weighted", [False, True], ids=["whole", "fractional"])
def test_forgetting_what_was_learned_is_never_refused(NB, layout, weighted):
    """What is left of a sum of squares is next to nothing here, and may round below it."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 8))
        x, y = rng.integers(0, 5, size=(n, 2)).astype(float), rng.integers(0, 2, n)
        if NB is GaussianNB and not weighted:
            x = rng.normal(size=(n, 2))
        w = rng.integers(1, 4, n) / 3 + 0.01 if weighted else np.ones(n)
        again = rng.permutation(n)[: int(rng.integers(1, 3))]
        model = with_all_levels(NB).partial_fit(x, y, classes=[0, 1], sample_weight=w)
        model.partial_fit(LAYOUTS[layout](x[again]), y[again], sample_weight=w[again])
        model.forget(LAYOUTS[layout](x), y, w)
        left = np.bincount(y[again], w[again], minlength=2)
        np.testing.assert_allclose(model.class_count_, left, rtol=1e-9, atol=1e-12)


def test_a_feature_of_every_row_is_certain_whatever_the_weights_were():
    """Present and all rows are summed apart; their difference is rounding, not an absence, and
    without smoothing its logarithm would be NaN or, wrongly, finite."""
    for seed in range(100):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 8))
        with_it, without = np.ones((n, 1)), np.zeros((n, 1))
        w, other = rng.uniform(size=n), rng.uniform(size=n)
        model = BernoulliNB(alpha=0.0).fit(np.r_[without, with_it], [0] * 2 * n, np.r_[other, w])
        model.forget(without, [0] * n, other)
        absent, present = model.predict_joint_log_proba([[0], [1]]).ravel()
        assert absent == -np.inf
        assert present == pytest.approx(0.0, abs=1e-12)


@every()
def test_a_small_weight_beside_large_ones_is_no_rounding(NB):
    """The bound is 2⁻⁴⁰ of what the cell held: a real rest of that size would be lost."""
    x, y = np.ones((2, 2)), [0, 1]
    model = with_all_levels(NB).fit(x, y, sample_weight=[1.0, 1.0])
    model.partial_fit(x, y, sample_weight=[1e-9, 1e-9]).forget(x, y)
    assert model.class_count_ == pytest.approx([1e-9, 1e-9], rel=1e-6)


# ---- state --------------------------------------------------------------------------------------
@every()
def test_forget_keeps_hyperparameters_classes_and_names(NB):
    import pandas as pd

    x, y = rows()
    frame = pd.DataFrame(x, columns=list("abcd"))
    model = NB().fit(frame, y)
    held = state(model)
    assert model.forget(frame[:10], y[:10]) is model
    now = state(model)
    assert {k: v for k, v in now.items() if k != "counts"} == {
        k: v for k, v in held.items() if k != "counts"
    }
