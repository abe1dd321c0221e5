"""NaiveBayes on columns of one kind is the classifier of that kind, to 1e-12.

They share families and kernels; what differs is the path from the data to them: a table is read by
name, levels are strings, and each column is a group of its own.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

from tallybayes import BernoulliNB, CategoricalNB, GaussianNB, NaiveBayes
from tallybayes.families import Bernoulli, Categorical, Gaussian

SETS = {"iris": load_iris, "wine": load_wine, "cancer": load_breast_cancer}
NUMBERS = pytest.mark.parametrize("load", SETS.values(), ids=SETS)
CLASS_ALPHA = pytest.mark.parametrize("class_alpha", [0.0, 1.0, 2.5])
RNG = np.random.default_rng(8)


def same(table, alone, rows, x):
    """Equal probabilities and scores, all rows at once and one by one."""
    assert table.classes_.tolist() == alone.classes_.tolist()
    for method in ("predict_proba", "predict_joint_log_proba"):
        expected = getattr(alone, method)(x)
        np.testing.assert_allclose(
            getattr(table, method)(rows), expected, rtol=1e-12, atol=1e-12, err_msg=method
        )
    expected = alone.predict_proba(x)
    records = rows.to_dict("records") if isinstance(rows, pd.DataFrame) else []
    for row, shares in zip(records[:30], expected[:30], strict=False):
        got = list(table.predict_proba_one(row).values())
        np.testing.assert_allclose(got, shares, rtol=1e-12, atol=1e-12)


def named(x, dtype=None):
    """The columns of an array as a frame with names."""
    frame = pd.DataFrame(x, columns=[f"c{j}" for j in range(x.shape[1])])
    return frame if dtype is None else frame.astype(dtype)


def every_column(frame, family):
    return dict.fromkeys(frame.columns, family)


# ---- Gaussian ----
@NUMBERS
@CLASS_ALPHA
@pytest.mark.parametrize("smoothing", [0.0, 1e-9, 0.1])
def test_gaussian(load, class_alpha, smoothing):
    """A share of each column's own variance is added: a table's columns know no other's."""
    x, y = load(return_X_y=True)
    frame = named(x)
    family = Gaussian(var_smoothing=smoothing, relative_to="feature")
    table = NaiveBayes(every_column(frame, family), class_alpha=class_alpha).fit(frame, y)
    alone = GaussianNB(
        var_smoothing=smoothing, var_smoothing_of="feature", class_alpha=class_alpha
    ).fit(x, y)
    same(table, alone, frame, x)


def test_gaussian_with_weights_batches_and_a_given_prior():
    x, y = load_wine(return_X_y=True)
    w = RNG.uniform(0.25, 3.0, len(y)).round(2)
    frame, prior = named(x), [0.5, 0.2, 0.3]
    columns = every_column(frame, Gaussian(var_smoothing=0.0))
    table = NaiveBayes(columns, classes=[0, 1, 2], class_alpha=0.0, class_prior=prior)
    for part in (slice(0, 1), slice(1, 60), slice(60, 178)):  # classes come one after another
        table.partial_fit(frame[part], y[part], sample_weight=w[part])
    alone = GaussianNB(priors=prior, var_smoothing=0.0).fit(x, y, w)
    same(table, alone, frame, x)


def test_gaussian_of_float32():
    x, y = load_wine(return_X_y=True)
    x = x.astype(np.float32)
    frame = pl.from_pandas(named(x))
    table = NaiveBayes(every_column(named(x), Gaussian(var_smoothing=0.0)), class_alpha=0.0)
    alone = GaussianNB(var_smoothing=0.0).fit(x.astype(np.float64), y)
    same(table.fit(frame, y), alone, frame, x.astype(np.float64))


# ---- categorical ----
LEVELS = np.array(["red", "green", "blue", "black", "white"])


def coded(n, seed=0):
    """Four columns of two to five levels that all occur, and a label that depends on them."""
    rng = np.random.default_rng(seed)
    codes = np.column_stack([rng.integers(0, k, n) for k in (2, 3, 5, 4)])
    codes[:5] = np.minimum(np.arange(5)[:, None], [1, 2, 4, 3])
    return codes, (codes[:, 0] + codes[:, 2] + rng.integers(0, 3, n)) % 3


@CLASS_ALPHA
@pytest.mark.parametrize("alpha", [1e-3, 1.0, 4.0])
@pytest.mark.parametrize("dtype", ["int64", "str", "category", "float32"])
def test_categorical(class_alpha, alpha, dtype):
    codes, y = coded(400)
    test, _ = coded(100, seed=1)
    strings = dtype in ("str", "category")
    train, rows = (named(LEVELS[c] if strings else c, dtype) for c in (codes, test))
    w = RNG.integers(1, 5, len(y)).astype(float)
    columns = every_column(train, Categorical(alpha=alpha))
    table = NaiveBayes(columns, class_alpha=class_alpha).fit(train, y, w)
    alone = CategoricalNB(alpha=alpha, class_alpha=class_alpha).fit(codes, y, sample_weight=w)
    same(table, alone, rows, test)


def test_categorical_by_the_models_own_smoothing():
    codes, y = coded(400)
    frame = named(LEVELS[codes], "str")
    table = NaiveBayes(alpha=0.5, class_alpha=0.0).fit(frame, y)
    same(table, CategoricalNB(alpha=0.5).fit(codes, y), frame, codes)


# ---- Bernoulli ----
@CLASS_ALPHA
@pytest.mark.parametrize("alpha", [1e-3, 1.0, 4.0])
@pytest.mark.parametrize("dtype", ["bool", "int8", "float64", "boolean"])
def test_bernoulli(class_alpha, alpha, dtype):
    x = (RNG.random((300, 6)) < [0.1, 0.3, 0.5, 0.5, 0.7, 0.9]).astype(int)
    y = np.where(x[:, 2] + (RNG.random(300) < 0.3) > 1, "yes", "no")
    frame = named(x, dtype)
    columns = every_column(frame, Bernoulli(alpha=alpha))
    table = NaiveBayes(columns, class_alpha=class_alpha).fit(frame, y)
    same(table, BernoulliNB(alpha=alpha, class_alpha=class_alpha).fit(x, y), frame, x)


def test_bernoulli_of_pixels():
    x, y = load_digits(return_X_y=True)
    x = (x[:, (x > 8).any(axis=0) & (x <= 8).any(axis=0)] > 8).astype(np.int8)
    frame = named(x)
    table = NaiveBayes(every_column(frame, Bernoulli()), class_alpha=0.0).fit(frame, y)
    same(table, BernoulliNB().fit(x, y), frame, x)


@pytest.mark.parametrize("dtype", ["bool", "int8", "float64"])
def test_bernoulli_has_two_levels_where_only_one_was_seen(dtype):
    """P(1 | c) = α / (n_c + 2α) of a column that held only 0, in classes of unequal size."""
    x = np.array([[0, 0, 1], [1, 0, 1], [0, 0, 1], [1, 0, 1], [1, 0, 1]])
    y = ["no", "yes", "yes", "yes", "yes"]
    frame, test = named(x, dtype), named(1 - x, dtype)
    table = NaiveBayes(every_column(frame, Bernoulli()), class_alpha=0.0).fit(frame, y)
    same(table, BernoulliNB().fit(x, y), test, 1 - x)
