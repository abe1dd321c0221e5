"""No column of numbers says more than its counts support: constants, sentinels, outliers, tiny
numbers.
"""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.integrate import quad
from sklearn.base import clone

from tallybayes import GaussianNB, LazyNaiveBayes, NaiveBayes, leave_one_out
from tallybayes.errors import UnderflowWarning
from tallybayes.families import Gaussian

RNG = np.random.default_rng(3)
N = 200
Y = np.repeat(["a", "b"], N)


def normal(mean=5.0, n=N):
    return RNG.normal(mean, 1.0, n)


def zeros_among(x, share):
    return np.where(RNG.uniform(size=len(x)) < share, 0.0, x)


COLUMNS = {
    "a fee of 0": np.r_[np.zeros(N), normal()],
    "999 for never": np.r_[np.full(N, 999.0), normal()],
    "999 in part of a class": np.r_[np.full(150, 999.0), normal(n=50), normal()],
    "-1 among integers": np.round(np.r_[np.full(150, -1.0), normal(n=50), normal()]),
    "half zeros": np.r_[zeros_among(normal(), 0.5), zeros_among(normal(8.0), 0.05)],
    "zeros beside a skewed rest": zeros_among(RNG.lognormal(np.repeat([0.0, 1.0], N), 1.0), 0.5),
    "a constant in every class": np.r_[np.zeros(N), np.full(N, 5.0)],
    "constant but for one row": np.r_[np.zeros(N - 1), 1e-3, normal()],
    "jitter": np.r_[1e-12 * normal(0.0), normal()],
    "few tiny values": np.r_[np.tile([0.0, 0.001, 0.002, 0.003], N // 4), normal()],
    "zeros and ones": RNG.binomial(1, np.repeat([0.2, 0.8], N)).astype(float),
    "one to five": RNG.integers(1, 6, 2 * N).astype(float),
    "rounded money": np.round(RNG.lognormal(np.repeat([3.0, 4.0], N), 1.0), -1),
    "an outlier": np.r_[normal(), normal(6.0, N - 1), 1e12],
    "tiny": np.r_[normal(), normal(7.0)] * 1e-160,
    "huge": np.r_[normal(), normal(7.0)] * 1e150,
}


def beyond(x):
    """Values of a column, between them, beside them and far from them."""
    low, high = x.min(), x.max()
    return np.r_[x, np.linspace(low, high, 301), np.nextafter(x, np.inf), low - 1e3, 9.0 * high]


def shares(model, values):
    """What the column adds, (n_values, n_classes)."""
    table = pd.DataFrame({"x": values})
    return model.predict_joint_log_proba(table) - model.class_log_prior_


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("labels", ["two", "three"])
def test_a_column_says_no_more_than_about_the_logarithm_of_its_rows(name, labels):
    x, y = COLUMNS[name], Y.copy()
    if labels == "three":
        y[::20] = "c"
    model = NaiveBayes().fit(pd.DataFrame({"x": x}), y)
    values = beyond(x)
    found = shares(model, values)
    assert np.isfinite(found).all()
    n = model.class_count_
    bound = np.log((len(x) + 1.0) * (n.max() + 1.0) / (n.min() + 1.0))
    assert np.ptp(found, axis=1).max() <= bound + 0.5
    few = values[:: len(values) // 7]
    one = [list(model.predict_proba_one({"x": v}).values()) for v in few.tolist()]
    np.testing.assert_allclose(one, model.predict_proba(pd.DataFrame({"x": few})), rtol=1e-12)
    held_out = leave_one_out(model, pd.DataFrame({"x": x}), y)
    assert np.isfinite(held_out).all()


def test_a_fee_of_zero_does_not_rule_out_what_is_nearly_zero():
    x = pd.DataFrame({"fee": COLUMNS["a fee of 0"]})
    found = NaiveBayes().fit(x, Y).predict_joint_log_proba(pd.DataFrame({"fee": [0.01]}))
    assert abs(found[0, 0] - found[0, 1]) <= np.log(2 * N)


@pytest.mark.parametrize(
    ("x", "y"),
    [
        ([3.0, 8.0, 6.5], ["y", "n", "n"]),
        ([1.0, 1.0, 5.0], ["y", "y", "n"]),
        ([2.0, 2.0, 2.0], ["y", "n", "n"]),
        ([7.0, *np.linspace(3.0, 7.0, 50)], ["once", *["b"] * 50]),
    ],
)
def test_a_few_rows_say_little(x, y):
    model = NaiveBayes().fit(pd.DataFrame({"x": x}), y)
    found = shares(model, np.array([*x, 0.0, 1e6, -1e6]))
    n = model.class_count_
    assert np.ptp(found, axis=1).max() <= np.log((len(x) + 1) * (n.max() + 1) / (n.min() + 1))


def test_atoms_are_named_in_the_schema():
    rng = np.random.default_rng(0)
    label = np.repeat(["a", "b"], 1000)
    x = rng.normal(np.where(label == "a", 5.0, 6.0), 1.0)
    x = np.where(rng.uniform(size=2000) < np.where(label == "a", 0.5, 0.05), 0.0, x)
    model = NaiveBayes().fit(pd.DataFrame({"x": x}), label)
    assert model.schema_["family"].tolist() == ["Gaussian beside 1 atom (0)"]
    zeros, beside = shares(model, np.array([0.0, 1e-9]))
    n_a, n_b = ((x == 0.0) & (label == k) for k in "ab")
    share = [(z.sum() + (n_a.sum() + n_b.sum()) / 2000) / 1001 for z in (n_a, n_b)]
    np.testing.assert_allclose(zeros, np.log(share), rtol=1e-12)
    assert beside[1] != pytest.approx(zeros[1])
    in_parts = NaiveBayes()
    for rows in np.array_split(rng.permutation(2000), 7):
        in_parts.partial_fit(pd.DataFrame({"x": x[rows]}), label[rows])
    np.testing.assert_allclose(
        shares(in_parts, beyond(x)), shares(model, beyond(x)), rtol=1e-9, atol=1e-12
    )
    explained = model.explain(pd.DataFrame({"x": [0.0, 4.0]}))
    np.testing.assert_allclose(explained.contributions[:, :, 0], shares(model, [0.0, 4.0]))

    column = model.class_conditional_["x"]
    for k in range(2):
        whole = quad(lambda v, k=k: np.exp(column.log_prob(v)[k]), -10.0, 20.0, points=[5.0])[0]
        assert whole + np.exp(column.log_prob(0.0)[k]) == pytest.approx(1.0, abs=1e-6)
    drawn = column.sample(200_000, random_state=1)
    np.testing.assert_allclose((drawn == 0.0).mean(axis=0), np.exp(column.log_prob(0.0)), atol=5e-3)
    np.testing.assert_allclose(drawn.mean(axis=0), column.mean(), atol=0.03)
    np.testing.assert_allclose(drawn.var(axis=0), column.variance(), rtol=0.02)
    entropy = -column.log_prob(drawn)[..., range(2), range(2)].mean(axis=0)
    np.testing.assert_allclose(entropy, column.entropy(), atol=0.01)


def test_noise_costs_little_on_fresh_rows():
    rng = np.random.default_rng(4)
    n, d, lost = 400, 2, []
    for _ in range(10):
        table = np.where(rng.uniform(size=(2 * n, d)) < 0.4, 0.0, rng.normal(5.0, 1.0, (2 * n, d)))
        label = rng.integers(0, 2, 2 * n)
        model = NaiveBayes().fit(table[:n], label[:n])
        lost.append(-model.predict_log_proba(table[n:])[np.arange(n), label[n:]].mean())
    assert np.mean(lost) < np.log(2.0) + 0.03


# ---- leave-one-out -------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["none", "constant in a class", "single rows", "nearly constant"])
@pytest.mark.parametrize("settings", [{}, {"ddof": 1.0}, {"pooled_rows": 1.0, "ddof": 1.0}])
def test_leaving_a_row_out_of_what_classes_borrow_is_fitting_without_it(name, settings):
    y = np.repeat(["a", "b", "c"], [9, 7, 5])
    x = RNG.normal(np.repeat([0.0, 1.0, 4.0], [9, 7, 5]), 1.0)
    if name == "constant in a class":
        x[:9] = 2.0
    elif name == "nearly constant":
        x[:8] = 2.0
    elif name == "single rows":
        x, y = x[[0, 1, 2, 9, 16]], y[[0, 1, 2, 9, 16]]
    family = {"x": Gaussian(var_smoothing=0.0, **settings)}
    table = pd.DataFrame({"x": x})
    held_out = leave_one_out(NaiveBayes(family, classes=["a", "b", "c"]).fit(table, y), table, y)
    for i in range(len(x)):
        rest = np.arange(len(x)) != i
        again = NaiveBayes(family, classes=["a", "b", "c"]).fit(table[rest], y[rest])
        np.testing.assert_allclose(
            held_out[i], again.predict_log_proba(table[i : i + 1])[0], rtol=1e-8, atol=1e-9
        )


# ---- declared, and in a database -----------------------------------------------------------------
def test_a_class_without_spread_has_the_spread_within_the_others():
    x = np.r_[np.full(10, 2.0), normal(5.0, 40), normal(8.0, 20)]
    y = np.repeat(["a", "b", "c"], [10, 40, 20])
    for ddof in (0.0, 1.0):
        model = NaiveBayes({"x": Gaussian(var_smoothing=0.0, ddof=ddof)})
        found = shares(model.fit(pd.DataFrame({"x": x}), y), [1.0, 2.0, 6.0])[:, 0]
        squares = sum(((p - p.mean()) ** 2).sum() for p in (x[10:50], x[50:]))
        within = np.sqrt(squares / (60.0 - 2.0 * ddof))
        np.testing.assert_allclose(found, stats.norm(2.0, within).logpdf([1.0, 2.0, 6.0]))


def test_constants_in_every_class_have_the_spread_of_all_rows():
    table = pd.DataFrame({"x": [0.0, 0.0, 5.0, 5.0]})
    model = NaiveBayes({"x": Gaussian()}).fit(table, list("aabb"))
    found = shares(model, [0.0])[0]
    np.testing.assert_allclose(found, stats.norm([0.0, 5.0], 2.5).logpdf(0.0), rtol=1e-6)


def test_lazy_numbers_say_no_more_than_their_rows():
    pytest.importorskip("duckdb")
    seen = pd.DataFrame({"wind": [3.0, 8.0, 6.5], "go": ["yes", "no", "no"]})
    lazy = LazyNaiveBayes(seen, "go")
    found = lazy.predict_log_proba([{"wind": 7.0}, {"wind": 3.0}, {"wind": 1e6}])
    assert np.isfinite(found).all()
    assert np.ptp(found, axis=1).max() < np.log(3.0) + 1.0
    assert lazy.predict([{"wind": 7.0}, {"wind": 3.0}]).tolist() == ["no", "yes"]


@pytest.mark.parametrize(
    "wrong", [{"transform": "log"}, {"covariance": "full"}], ids=["transform", "covariance"]
)
def test_pooled_rows_are_for_a_single_column_as_it_is(wrong):
    with pytest.raises(ValueError, match="pooled_rows=1 is for a single column"):
        Gaussian(pooled_rows=1.0, **wrong)


HALVES = np.repeat([0, 1], 200)
X = np.random.default_rng(0).normal(size=(400, 1)) + 4.0 * HALVES[:, None]


def fitted(model, x):
    """The model and whether it warned of underflow."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        model.fit(x, HALVES)
    return model, any(issubclass(w.category, UnderflowWarning) for w in found)


@pytest.mark.parametrize("model", [GaussianNB(), NaiveBayes({float: Gaussian()})], ids=repr)
@settings(max_examples=60, deadline=None, derandomize=True)
@given(power=st.integers(-320, 150))
def test_it_works_or_warns(model, power):
    """Origin: from 1e-155 on GaussianNB fell to chance without a word."""
    x = X * 10.0**power
    found, warned = fitted(model, x)
    right = (found.predict(x) == HALVES).mean()
    assert right > 0.95 or warned or not x.any()
    assert not warned or power < -148


def test_the_columns_are_named():
    x = np.hstack([X, X * 1e-160, X * 1e-170])
    with pytest.warns(UnderflowWarning, match=r"columns 1, 2 differ by less"):
        GaussianNB().fit(x, HALVES)
    with pytest.warns(UnderflowWarning, match=r"columns 1, 2 differ by less"):
        GaussianNB().partial_fit(x, HALVES, classes=[0, 1])


GROUP = NaiveBayes({("a", "b"): Gaussian(covariance="full")})


@pytest.mark.parametrize("spread", [1.0, 0.0], ids=["spread", "constant in each class"])
@pytest.mark.parametrize("power", [-147, -149, -151, -154, -158, -162, -170])
@pytest.mark.parametrize("model", [GaussianNB(), NaiveBayes({float: Gaussian()}), GROUP], ids=repr)
def test_no_way_to_count_such_numbers_is_silent(model, power, spread):
    x = (spread * X + (1.0 - spread) * HALVES[:, None]) * 10.0**power @ np.ones((1, 2))
    rows = x if isinstance(model, GaussianNB) else pd.DataFrame(x, columns=["a", "b"])
    found, warned = fitted(clone(model), rows)
    assert warned or (found.predict(rows) == HALVES).mean() > 0.95
    assert not warned or power < -147


def test_a_warning_comes_when_later_rows_show_it():
    model = GaussianNB().partial_fit([[0.0]], [0], classes=[0, 1])
    with pytest.warns(UnderflowWarning, match="column 0 differ"):
        model.partial_fit(X * 1e-162, HALVES).predict(X)


@pytest.mark.filterwarnings("ignore::tallybayes.errors.UnderflowWarning")
@pytest.mark.parametrize("estimate", ["mean", "posterior"])
def test_squares_that_underflow_say_nothing(estimate):
    """Degrees of freedom must not follow from which squares of 1e-322 rounding left above 0."""
    x, y = np.array([[1.354e-160], [-9.54e-161], [-4.29e-161]]), np.array([0, 0, 1])
    w = np.array([1.0, 1.7, 0.3])
    model = NaiveBayes({float: Gaussian(estimate=estimate)}, class_alpha=0.5, classes=[0, 1])
    model.fit(x, y, w)
    found = leave_one_out(model, x, y, w)
    for i in range(4):
        rest = np.arange(3) != i  # and all rows
        prior = 0.5 + np.bincount(y[rest], w[rest], 2)
        prior /= prior.sum()
        others = clone(model).fit(x[rest], y[rest], w[rest])
        np.testing.assert_allclose(others.predict_proba(x), np.tile(prior, (3, 1)), rtol=1e-12)
        if i < 3:
            np.testing.assert_allclose(np.exp(found[i]), prior, rtol=1e-12)


@pytest.mark.filterwarnings("ignore::tallybayes.errors.UnderflowWarning")
@pytest.mark.parametrize("model", [GaussianNB(), NaiveBayes({float: Gaussian()})], ids=repr)
@settings(deadline=None)
@example(seed=43360, power=-152.9664779950575, fractions=True)  # -5e-324 is left of one row
@given(seed=st.integers(0, 10**6), power=st.floats(-170.0, -140.0), fractions=st.booleans())
def test_rows_of_tiny_numbers_can_be_forgotten(model, seed, power, fractions):
    """Their squares are rounded by more than they hold, and so may seem less than 0."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7))
    x, y = rng.normal(size=(n, 1)) * 10.0**power, np.arange(n) % 2
    w = rng.choice([0.3, 1.0, 1.7, 30.0] if fractions else [1.0, 2.0], n)
    model = clone(model).fit(x, y, w)
    for i in rng.permutation(n)[:-1]:
        model.forget(x[[i]], y[[i]], w[[i]])
    assert len(model.classes_) == 1


@pytest.mark.parametrize("value", [0.0, 1e-300, 3.0])
def test_constants_are_no_reason(value):
    assert not fitted(GaussianNB(), np.full((400, 1), value))[1]


def test_families_that_cut_cells_read_such_numbers():
    found, warned = fitted(NaiveBayes(), X * 1e-160)
    assert not warned
    assert (found.predict(X * 1e-160) == HALVES).mean() > 0.9
