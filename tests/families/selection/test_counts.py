"""A negative binomial as one of the families that a column of numbers is read as by itself."""

import copy
import io
import pickle

import numpy as np
import pandas as pd
import pytest

import tallybayes
from reference.choice_counts import likelihood_of_counts
from tallybayes import NaiveBayes, _kernels
from tallybayes.families.choice import MAX_CELLS, MIN_POOLED_ROWS, is_of_counts
from tallybayes.families.negative_binomial import PooledCounts
from tallybayes.tally import GridCounts

NAME = "negative binomial"


def counts(n, seed, n_columns=3):
    """Counts with more variance than Poisson's, and two classes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    size, mean = 1.5, np.where(y, 6.0, 3.0)
    columns = {f"c{j}": rng.negative_binomial(size, size / (size + mean)) for j in range(n_columns)}
    return pd.DataFrame(columns), y


def families(model):
    return model.schema_["family"].tolist()


def without_counts(monkeypatch):
    monkeypatch.setattr("tallybayes.families.choice.score_counts", lambda *a: {})


def log_loss(model, x, y):
    return -np.log(model.predict_proba(x)[np.arange(len(y)), y]).mean()


def grid_of(x, y, n_classes=2):
    values, at = np.unique(x, return_inverse=True)
    rows = np.zeros((n_classes, len(values)))
    np.add.at(rows, (y, at), 1.0)
    return GridCounts(0, GridCounts.zeros(n_classes).keys_of(values * 1.0), rows)


def test_overdispersed_counts_are_read_so_and_predict_better(monkeypatch):
    (x, y), (fresh, labels) = counts(1000, 0), counts(10_000, 1)
    model = NaiveBayes().fit(x, y)
    assert families(model).count(NAME) >= 2
    assert "leave-one-out" in model.schema_.loc[families(model).index(NAME), "why"]
    loss = log_loss(model, fresh, labels)
    without_counts(monkeypatch)
    before = NaiveBayes().fit(x, y)
    assert NAME not in families(before)
    assert loss < 0.995 * log_loss(before, fresh, labels)


@pytest.mark.parametrize(
    "x",
    [
        3 + np.arange(60) % 3,  # less variance than mean
        np.zeros(60),
        np.arange(60) % 2,
        np.random.default_rng(0).negative_binomial(1.0, 0.2, 60) + 0.5,
        np.random.default_rng(0).negative_binomial(1.0, 0.2, 60) - 1.0,
        10 * np.arange(60) ** 2,  # too large
        np.where(np.arange(60) < 2, 40 + np.arange(60), 0),  # nearly one value in a class
    ],
    ids=["underdispersed", "constant", "two", "fractions", "negative", "large", "nearly constant"],
)
def test_other_columns_are_not(x):
    y = np.arange(60) // 30
    assert not is_of_counts(grid_of(x, y), 1.0)
    assert families(NaiveBayes().fit(pd.DataFrame({"x": x}), y)) != [NAME]


def test_poisson_counts_say_the_same_within_the_noise(monkeypatch):
    rng = np.random.default_rng(5)
    y, labels = rng.integers(0, 2, 400), rng.integers(0, 2, 10_000)
    x, fresh = (pd.DataFrame({"x": rng.poisson(2.0 + 3.0 * k)}) for k in (y, labels))
    loss = log_loss(NaiveBayes().fit(x, y), fresh, labels)
    without_counts(monkeypatch)
    assert loss < 1.01 * log_loss(NaiveBayes().fit(x, y), fresh, labels)


def test_many_values_or_classes_are_not():
    n = MAX_CELLS // 2 + 1
    y = np.tile([0, 1], n)
    x = np.repeat(np.arange(n), 2)
    assert not is_of_counts(grid_of(x, y), 1.0)
    assert is_of_counts(grid_of(np.minimum(x, n - 2), y), 1.0)


def test_a_common_factor_of_the_weights_changes_no_choice():
    x, y = counts(300, 3)
    one = NaiveBayes().fit(x, y)
    assert NAME in families(one)
    many = NaiveBayes().fit(x, y, sample_weight=np.full(300, 10.0))
    assert families(many) == families(one)


def test_order_batches_and_merging_change_no_choice():
    x, y = counts(300, 3)
    one = NaiveBayes().fit(x, y)
    order = np.random.default_rng(0).permutation(300)
    shuffled = NaiveBayes().fit(x.iloc[order], y[order])
    batches = NaiveBayes()
    for part in (slice(0, 50), slice(50, 300)):
        batches.partial_fit(x[part], y[part], classes=[0, 1])
    merged = NaiveBayes().fit(x[:120], y[:120]).merge(NaiveBayes().fit(x[120:], y[120:]))
    more, labels = counts(40, 9)
    forgot = NaiveBayes().fit(pd.concat([x, more]), np.append(y, labels)).forget(more, labels)
    for model in (shuffled, batches, merged, forgot):
        assert families(model) == families(one)
        np.testing.assert_allclose(model.predict_proba(x), one.predict_proba(x), rtol=1e-9)


@pytest.mark.parametrize("way", ["copy", "pickle", "file"])
def test_copies_and_files_keep_it(way):
    x, y = counts(300, 3)
    model = NaiveBayes().fit(x, y)
    said = model.predict_proba(x)
    file = io.BytesIO()
    model.save(file)
    twin = {
        "copy": lambda: copy.deepcopy(model),
        "pickle": lambda: pickle.loads(pickle.dumps(model)),
        "file": lambda: tallybayes.load(io.BytesIO(file.getvalue())),
    }[way]()
    assert twin._fitted().made is not None
    np.testing.assert_array_equal(twin.predict_proba(x), said)


# ---- what it may say -----------------------------------------------------------------------------
@pytest.mark.parametrize("asked", [0, 1, 7, 50, 10_000, 10**9, -1, -(10**6), 2.5])
def test_one_column_says_no_more_than_its_counts_support(asked):
    x = np.array([0, 0, 1, 0, 2, 0, 0, 1, 3, 0, 5, 5, 5, 9, 30, 2, 14])
    y = np.array([0] * 10 + [1] * 5 + [2] * 1 + [3] * 1)
    grid = grid_of(x, y, 4)
    density = PooledCounts.read(grid, 1.0, 1.0)
    found = density.log_density(np.array([asked], dtype=np.float64))[0]
    n, rows = len(x), grid.counts.sum(axis=1)
    bound = np.log((n + 1.0) * (rows.max() + 1.0) / (rows.min() + 1.0))
    assert np.isfinite(found).all()
    assert np.ptp(found) <= bound
    if asked < 0:
        np.testing.assert_array_equal(found, 0.0)


def test_a_class_that_is_constant_is_bounded_in_a_model():
    rng = np.random.default_rng(2)
    fee = np.append(np.zeros(200), rng.negative_binomial(2.0, 0.2, 200))
    y = np.repeat([0, 1], 200)
    model = NaiveBayes().fit(pd.DataFrame({"fee": fee}), y)
    said = model.predict_joint_log_proba(pd.DataFrame({"fee": [0.01, 1, 50, 1e6]}))
    assert np.abs(np.diff(said, axis=1)).max() < np.log(401.0 * 201.0)


# ---- leave-one-out -------------------------------------------------------------------------------
@pytest.mark.parametrize("seed", range(6))
def test_the_kernel_is_the_formula_in_numpy(seed):
    rng = np.random.default_rng(seed)
    n_classes, n = 2 + seed % 3, [9, 60, 300][seed % 3]
    y = np.append(np.arange(n_classes), rng.integers(0, n_classes, n))  # a class may have one row
    x = rng.negative_binomial(0.7, 0.7 / (3.0 + 3.0 * y))
    x[-1] = 900  # an outlying count
    grid = grid_of(x, y, n_classes)
    classes, row, scores = grid.counts.sum(axis=1) + 1.0, np.ones(n_classes), np.empty(1)
    _kernels.score_counts(
        [grid.counts],
        [grid.values()],
        classes,
        row,
        1.0,
        MIN_POOLED_ROWS,
        np.array([-np.inf]),
        scores,
    )
    expected = likelihood_of_counts(grid, classes, 1.0, MIN_POOLED_ROWS)
    np.testing.assert_allclose(scores[0], expected, rtol=1e-9)


def test_leaving_out_is_forgetting_the_row():
    x, y = counts(120, 3, n_columns=1)
    grid = grid_of(x["c0"].to_numpy(), y)
    density = PooledCounts.read(grid, 1.0, 1.0)
    for i in (0, 17, int(x["c0"].argmax())):
        value = x["c0"].to_numpy()[i : i + 1] * 1.0
        found = density.without(value, y[i : i + 1], np.ones(1))[0]
        keep = np.arange(120) != i
        other = PooledCounts.read(grid_of(x["c0"].to_numpy()[keep], y[keep]), 1.0, 1.0)
        np.testing.assert_allclose(found, other.log_density(value)[0], rtol=1e-8)


def test_the_table_is_the_density():
    x, y = counts(200, 4, n_columns=1)
    density = PooledCounts.read(grid_of(x["c0"].to_numpy(), y), 1.0, 1.0)
    values = np.arange(60.0)
    np.testing.assert_allclose(density.log_density(values), density._of(values), rtol=1e-12)


def test_sizes_are_those_of_bisection_and_newton_in_numpy():
    x, y = counts(200, 4, n_columns=1)
    density = PooledCounts.read(grid_of(x["c0"].to_numpy(), y), 1.0, 1.0).density
    sizes, none = density._sizes, np.zeros(3)
    expected = sizes.solved(np.arange(3), none, none, sizes.sums.of(slice(3)), none)
    np.testing.assert_allclose(density.log_size[:3], expected, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("weight", [1.0, 0.25])
def test_sizes_without_a_row_are_those_of_newton_in_numpy(weight):
    x, y = counts(200, 4, n_columns=1)
    sizes = PooledCounts.read(grid_of(x["c0"].to_numpy(), y), 1.0, 1.0).density._sizes
    group, cell = np.nonzero(sizes.counts >= weight)
    of, values, weights = group.astype(np.intp), sizes.values[cell], np.full(len(cell), weight)
    left = sizes.sums.of(of).without(values, weights)
    expected = sizes.solved(of, values, weights, left, sizes.of_all[of])
    found = sizes.without(of, values, weights)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-10)


# ---- one row at a time ---------------------------------------------------------------------------
def test_it_follows_single_rows():
    """Means follow each row; sizes are those of the last reading, as widths and strengths are."""
    x, y = counts(400, 3)
    more, labels = counts(40, 8)
    model = NaiveBayes().fit(x, y)
    asked = more.iloc[0].to_dict()
    model.predict_proba_one(asked)
    for row, label in zip(more.to_dict("records"), labels.tolist(), strict=True):
        model.learn_one(row, label)
        found = model.predict_proba_one(asked)
    fresh = NaiveBayes().fit(pd.concat([x, more]), np.append(y, labels))
    assert families(fresh) == families(model)
    expected = fresh.predict_proba_one(asked)
    assert found == pytest.approx(expected, abs=0.01)
    np.testing.assert_allclose(model.predict_proba(x), fresh.predict_proba(x), rtol=1e-12)


@pytest.mark.parametrize("value", [-3.0, 2.5])
def test_a_value_that_is_no_count_makes_the_column_be_read_again(value):
    x, y = counts(400, 3)
    model = NaiveBayes().fit(x, y)
    assert NAME in families(model)
    row = dict.fromkeys(x.columns, value)
    model.predict_proba_one(row)
    model.learn_one(x.iloc[0].to_dict(), int(y[0]))
    model.predict_proba_one(row)
    model.learn_one(row, 1)
    assert NAME not in families(model)
    assert model.predict_proba_one(row) == pytest.approx(
        NaiveBayes()
        .fit(pd.concat([x, x[:1], pd.DataFrame([row])]), np.append(y, [y[0], 1]))
        .predict_proba_one(row)
    )


def test_its_distribution_is_one():
    x, y = counts(400, 3)
    model = NaiveBayes().fit(x, y)
    column = x.columns[families(model).index(NAME)]
    law = model.class_conditional_[column].law
    assert law.whole
    drawn = law.draw(np.repeat([0, 1], 4000), np.random.default_rng(0)).reshape(2, -1)
    np.testing.assert_allclose(drawn.mean(axis=1), law.mean(), rtol=0.1)
    np.testing.assert_allclose(drawn.var(axis=1), law.variance(), rtol=0.2)
    assert (law.entropy() > 0.0).all()
