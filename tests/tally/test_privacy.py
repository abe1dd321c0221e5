"""Released counts: their noise, what is read of them, and the vectors of several parties."""

import io
import math
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta, chisquare

from tallybayes import NaiveBayes, Schema, collect, load
from tallybayes.errors import IncompatibleTallies, ModelFileError, UnseenLevel
from tallybayes.families import Poisson, Text
from tallybayes.privacy import Budget, NoisedTally, noised_vector, release
from tallybayes.tally import LevelCounts, TableTally

SCHEMA = Schema.declare({"a": ["x", "y", "z"], "b": [True, False]}, classes=["no", "yes"])


def rows(n, seed=0, *, by_class=0.3):
    """Rows of SCHEMA; column a tells of the class, b does not, and has gaps."""
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.3
    a = np.where(rng.random(n) < 0.3 + by_class * y, "x", rng.choice(["y", "z"], n))
    b = (rng.random(n) < 0.4).astype(object)
    b[rng.random(n) < 0.1] = None
    return pd.DataFrame({"a": a, "b": b, "t": np.where(y, "yes", "no")})


def counted(n=400, seed=0, **how):
    return collect(rows(n, seed, **how), "t", SCHEMA)


def cells(tally):
    """The counts of a tally as a release has them, missing values after the levels."""
    count = tally.classes.count[:, None]
    parts = [count]
    for group in tally.groups:
        parts += [group.counts, count - group.totals()]
    return np.concatenate(parts, axis=1).astype(np.int64)


small_rows = st.lists(
    st.tuples(
        st.sampled_from(["x", "y", "z", None]),
        st.sampled_from([True, False, None]),
        st.sampled_from(["no", "yes"]),
    ),
    max_size=12,
)


def tally_of(given_rows):
    """A tally of SCHEMA, of any rows or none."""
    total = counted(1) - counted(1)
    if given_rows:
        total = total + collect(pd.DataFrame(given_rows, columns=["a", "b", "t"]), "t", SCHEMA)
    return total


# ---- one schema without rows, and vectors that add modulo 2⁶⁴ ------------------------------------
@settings(max_examples=15, deadline=None)
@given(st.lists(small_rows, min_size=1, max_size=4), st.randoms(use_true_random=False))
def test_masked_vectors_sum_to_the_counts_of_all_rows(parties, random):
    """Additive secret sharing: each party's vector is split into random shares, modulo 2⁶⁴."""
    tallies = [tally_of(part) for part in parties]
    n = len(tallies[0].to_vector())
    received = np.zeros(n, dtype=np.uint64)
    for tally in tallies:
        masks = [
            np.array([random.getrandbits(64) for _ in range(n)], dtype=np.uint64) for _ in range(2)
        ]
        last = tally.to_vector().view(np.uint64) - masks[0] - masks[1]
        for share in (*masks, last):
            received += share
    pooled = tally_of([row for part in parties for row in part])
    assert TableTally.from_vector(SCHEMA, received) == pooled
    assert np.array_equal(received.view(np.int64), pooled.to_vector())


def test_a_schema_agreed_on_does_not_depend_on_the_order_of_the_parties():
    parts = [rows(30, seed).assign(a=f"only {seed}") for seed in range(3)]
    schemas = [collect(part, "t", {"b": None}).schema for part in parts]
    agreed = Schema.agree(schemas)
    assert agreed == Schema.agree(schemas[::-1])
    assert agreed == Schema.agree([Schema.agree(schemas[:2]), schemas[2]])
    assert not agreed.public
    assert Schema.agree([SCHEMA, SCHEMA]).public
    pooled = collect(pd.concat(parts), "t", agreed)
    total = sum(collect(part, "t", agreed).to_vector() for part in parts)
    assert TableTally.from_vector(agreed, total) == pooled
    joined = sum(collect(part, "t", {"b": None}) for part in parts)
    assert joined.in_schema(agreed) == pooled


def test_a_declared_schema_counts_what_does_not_occur():
    tally = collect(rows(20).assign(a="x", id=range(20)), "t", SCHEMA)
    assert tally.schema == SCHEMA
    assert [group.counts.shape for group in tally.groups] == [(2, 3), (2, 2)]
    assert collect(rows(5).assign(t="no"), "t", SCHEMA).classes.count.tolist() == [5.0, 0.0]


def test_what_rows_decide_is_public_no_more():
    """A level that no row has, or an operation on counts, takes the declaration with it."""
    tally = counted()
    assert tally.schema.public
    assert (tally + counted(seed=1)).schema.public
    assert not tally.held(None).schema.public or tally.held(None).schema == SCHEMA
    assert not collect(rows(9).assign(a="x"), "t", SCHEMA).held(None).schema.public
    assert not (tally + collect(rows(9), "t")).schema.public
    file = io.BytesIO()
    tally.save(file)
    file.seek(0)
    loaded = TableTally.load(file)
    assert loaded == tally
    assert loaded.schema.public


# ---- the noise -----------------------------------------------------------------------------------
def laplace(z, b):
    q = math.exp(-1.0 / b)
    return (1.0 - q) / (1.0 + q) * q ** np.abs(z)


def gaussian(z, sigma):
    wide = np.arange(-int(40 * sigma) - 1, int(40 * sigma) + 2)
    return np.exp(-z * z / (2.0 * sigma**2)) / np.exp(-wide * wide / (2.0 * sigma**2)).sum()


def fits(drawn, probability, scale):
    """Whether whole numbers were drawn with these probabilities, by a χ² test at .001."""
    bound = int(3 * scale)
    z = np.arange(-bound, bound + 1)
    expected = probability(z, scale) * len(drawn)
    seen = np.bincount(np.clip(drawn, -bound - 1, bound + 1) + bound + 1, minlength=2 * bound + 3)
    tails = (len(drawn) - expected.sum()) / 2.0
    return chisquare(seen, np.array([tails, *expected, tails])).pvalue > 0.001


def many_cells(n):
    levels = [str(i) for i in range(n)]
    schema = Schema.declare({"a": levels}, ["no"])
    return collect(pd.DataFrame({"a": ["0"], "t": ["no"]}), "t", schema)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_noise_has_the_exact_probabilities(delta):
    tally = many_cells(5000)
    found = release(tally, 0.7, delta)
    noise = (found.counts - cells(tally))[0, 1:]
    assert found.counts.dtype == np.int64
    if delta == 0.0:
        scale = 1.0 / (0.65 * 0.7)
        assert fits(noise, laplace, scale)
        q = math.exp(-1.0 / scale)
        assert found.variances[1] == pytest.approx(2.0 * q / (1.0 - q) ** 2, rel=1e-9)
    else:
        assert fits(noise, gaussian, math.sqrt(found.variances[1]))
    assert noise.var() == pytest.approx(found.variances[1], rel=0.15)


def test_shares_of_the_noise_add_up_to_discrete_laplace():
    tally = many_cells(1500)
    total = sum(noised_vector(tally, 0.7, parties=3) for _ in range(3))
    found = NoisedTally.from_vector(tally.schema, total, 0.7)
    noise = (found.counts - 3 * cells(tally))[0, 1:]
    assert fits(noise, laplace, 1.0 / (0.65 * 0.7))
    assert found.variances == release(tally, 0.7).variances
    assert found.guarantees == release(tally, 0.7).guarantees


def test_noise_grows_with_the_rows_of_a_person_and_shrinks_with_epsilon():
    tally = counted()
    one = release(tally, 1.0).variances
    for found, factor in (
        (release(tally, 1.0, rows_per_person=3), 9.0),
        (release(tally, 0.5), 4.0),
        (release(tally, 1.0, 1e-6, rows_per_person=3), None),
    ):
        of = one if factor else release(tally, 1.0, 1e-6).variances
        for mine, theirs in zip(found.variances, of, strict=True):
            assert mine == pytest.approx((factor or 9.0) * theirs, rel=0.05)


def test_an_attack_does_not_exceed_epsilon():
    """Whoever knows all rows but one looks at the likelihood ratio of the counts with and without
    it; what they are right about bounds ε from below (Clopper and Pearson, at 99 %)."""
    with_it = collect(pd.DataFrame({"a": ["0"], "t": ["no"]}), "t", many_cells(2).schema)
    without = with_it - with_it
    n, epsilon = 300, 1.0
    scales = np.array([1 / 0.35, 1 / 0.65, 1 / 0.65, 1 / 0.65])
    here, there = cells(with_it)[0], cells(without)[0]

    def statistic(tally):
        found = np.array([release(tally, epsilon).counts[0] for _ in range(n)])
        return ((np.abs(found - there) - np.abs(found - here)) / scales).sum(axis=1)

    inside, outside = statistic(with_it), statistic(without)
    alarm = 0.5
    true, false = int((inside >= alarm).sum()), int((outside >= alarm).sum())
    low, high = beta.ppf(0.005, true, n - true + 1), beta.ppf(0.995, false + 1, n - false)
    assert math.log(low / high) <= epsilon
    assert true > false  # the attack is one


# ---- laws of released counts ---------------------------------------------------------------------
def test_released_counts_add_and_scale_with_their_variance():
    a, b = release(counted(), 1.0), release(counted(seed=1), 0.5, 1e-6)
    both = a + b
    assert both == b + a
    assert both == sum([a, b])
    assert np.array_equal(both.counts, a.counts + b.counts)
    assert both.variances == tuple(np.add(a.variances, b.variances))
    assert (both.epsilon, both.delta) == (1.5, 1e-6)
    assert (3 * a).counts.dtype == np.int64
    assert np.array_equal((3 * a).counts, 3 * a.counts)
    assert (3 * a).variances == tuple(9.0 * np.array(a.variances))
    assert (a * 0.5 + a * 0.5).counts.tolist() == a.counts.tolist()


@pytest.mark.parametrize("noised", [release(counted(), 1.0), release(counted(), 1.0, 1e-6) * 0.5])
def test_released_counts_are_what_they_were_after_a_file(noised, tmp_path):
    noised.save(tmp_path / "noised.tally")
    loaded = NoisedTally.load(tmp_path / "noised.tally")
    assert loaded == noised
    assert loaded.guarantees == noised.guarantees
    assert loaded.counts.dtype == noised.counts.dtype
    assert loaded.schema.public
    with pytest.raises(ModelFileError, match=r"NoisedTally\.load reads them"):
        TableTally.load(tmp_path / "noised.tally")
    with pytest.raises(ModelFileError, match=r"NoisedTally\.load\(path\)"):
        load(tmp_path / "noised.tally")
    counted().save(tmp_path / "plain.tally")
    with pytest.raises(ModelFileError, match="it holds no noise"):
        NoisedTally.load(tmp_path / "plain.tally")


# ---- what is read --------------------------------------------------------------------------------
def test_without_noise_the_counts_are_read():
    tally = counted()
    found = release(tally, 1e5).read()
    assert np.allclose(found.classes.count, tally.classes.count, atol=1e-3)
    for mine, theirs in zip(found.groups, tally.groups, strict=True):
        assert isinstance(mine, LevelCounts)
        assert np.allclose(mine.counts, theirs.counts, atol=0.01)


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0])
@pytest.mark.parametrize("n", [0, 1, 40, 4000])
def test_what_is_read_are_counts_that_fit_each_other(n, epsilon):
    tally = counted(n) if n else counted(1) - counted(1)
    for seed in range(3):
        found = release(tally, epsilon).read()
        assert (found.classes.count > 0.0).all(), seed
        for group in found.groups:
            assert (group.counts > 0.0).all()
            assert (group.totals() <= found.classes.count[:, None] * (1 + 1e-9)).all()
        assert np.isfinite(NaiveBayes.from_tally(found).predict_proba(rows(3))).all()


def log_loss(model, x):
    proba = model.predict_proba(x.drop(columns="t"))
    own = np.searchsorted(model.classes_, x["t"])
    return -np.log(proba[np.arange(len(x)), own]).mean()


def wide(n, seed, *, by_class):
    """Twelve columns of six levels, of which three tell of the class."""
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.25
    frame = {}
    for j in range(12):
        told = rng.random(n) < (by_class * y if j < 3 else 0.0)
        frame[f"c{j}"] = np.where(told, "0", rng.integers(0, 6, n).astype(str))
    return pd.DataFrame(frame).assign(t=np.where(y, "yes", "no"))


WIDE = Schema.declare({f"c{j}": [str(i) for i in range(6)] for j in range(12)}, ["no", "yes"])


def test_noise_costs_little_and_is_never_taken_for_signal():
    """Of many rows nothing is lost; of few, no more than the class shares lose."""
    test = wide(3000, 99, by_class=0.7)
    shares = np.where(test["t"] == "yes", 0.25, 0.75)
    for n, epsilon in ((20_000, 1.0), (2000, 1.0), (2000, 0.1)):
        for seed in range(2):
            tally = collect(wide(n, seed, by_class=0.7), "t", WIDE)
            exact = log_loss(NaiveBayes.from_tally(tally), test)
            found = log_loss(NaiveBayes.from_tally(release(tally, epsilon)), test)
            if epsilon == 1.0:
                assert found < exact + (0.01 if n > 10_000 else 0.06), (n, seed)
            else:
                assert found < -np.log(shares).mean() + 0.05, (n, epsilon, seed)


def test_read_alike_in_any_order_of_columns_and_classes():
    noised = release(counted(), 1.0)
    names = [columns.names[0] for columns in noised.schema.groups]
    assert names == ["a", "b"]
    swapped = Schema.declare({"b": [True, False], "a": ["x", "y", "z"]}, ["no", "yes"])
    order = [0, 4 + 1, 5 + 1, 6 + 1, 1, 2, 3, 4]
    other = NoisedTally(swapped, noised.counts[:, order], noised.variances, noised.guarantees)
    mine, theirs = noised.read(), other.read()
    assert np.allclose(mine.groups[0].counts, theirs.groups[1].counts, rtol=1e-9)
    assert np.allclose(mine.groups[1].counts, theirs.groups[0].counts, rtol=1e-9)


# ---- models --------------------------------------------------------------------------------------
def test_a_model_of_released_counts_learns_and_is_saved_but_does_not_forget(tmp_path):
    noised = release(counted(2000), 1.0)
    model = NaiveBayes.from_tally(noised)
    x = rows(50, 7)
    proba = model.predict_proba(x)
    assert proba[x["a"] == "x", 1].mean() > proba[x["a"] == "y", 1].mean()
    model.save(tmp_path / "m.tally")
    again = load(tmp_path / "m.tally")
    assert np.array_equal(again.predict_proba(x), proba)
    merged = NaiveBayes.from_tally(counted()).merge(model)
    for one in (model, again, merged):
        for forget in (
            lambda one=one: one.forget(x.drop(columns="t"), x["t"]),
            lambda one=one: one.forget_one({"a": "x"}, "no"),
        ):
            before = one.predict_proba(x)
            with pytest.raises(ValueError, match=r"released counts \(\(1, 0\)-differential"):
                forget()
            assert np.array_equal(one.predict_proba(x), before)
    model.partial_fit(x.drop(columns="t"), x["t"])
    assert model.fit(x.drop(columns="t"), x["t"]).forget_one(
        {"a": x["a"][0], "b": x["b"][0]}, x["t"][0]
    )


# ---- bad input -----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"epsilon": 0.0}, r"epsilon is a number above 0, got 0\.0"),
        ({"epsilon": -1}, "epsilon is a number above 0, got -1"),
        ({"epsilon": math.nan}, "epsilon is a number above 0, got nan"),
        ({"epsilon": math.inf}, "epsilon is a number above 0, got inf"),
        ({"epsilon": "1"}, "epsilon is a number above 0, got '1'"),
        ({"epsilon": 1e-9}, "below 1e-06, and its noise leaves nothing"),
        ({"delta": 1.0}, r"delta is a probability below 1, got 1\.0"),
        ({"delta": -0.1}, "delta is a probability below 1"),
        ({"delta": math.nan}, "delta is a probability below 1, got nan"),
        ({"rows_per_person": 0}, "rows_per_person is a whole number from 1 on, got 0"),
        ({"rows_per_person": 1.5}, "rows_per_person is a whole number"),
    ],
)
def test_numbers_that_no_guarantee_has_are_refused(how, message):
    budget = Budget(10.0, 0.5)
    with pytest.raises(ValueError, match=message):
        release(counted(), **how, budget=budget)
    assert budget.spent == (0.0, 0.0)


def test_tallies_that_cannot_be_released_are_refused():
    plain = rows(20)
    number = plain.assign(n=np.arange(20.0))
    for tally, message in (
        (collect(plain, "t"), "of 'a', 'b' they were found. Declare them"),
        (collect(number, "t"), "column 'n' is counted as moments of numbers"),
        (collect(number, "t", {"n": Poisson()}), "column 'n' is counted as moments"),
        (collect(plain, "t", {"a": Text()}), "column 'a' is counted as text"),
        (counted() * 0.5, "class 'no' has the weight .* in rows that weigh 0.5 on average"),
        (counted() * 2.0, "in rows that weigh 2 on average"),
        (counted() * -1.0, "class 'no' has the weight -"),
        (release(counted(), 1.0), r"this tally is released: \(1, 0\)-differential"),
        (NaiveBayes.from_tally(release(counted(), 1.0)).tally_, "takes counts of"),
        ([1, 2], "takes a TableTally"),
    ):
        for made in (release, lambda tally: noised_vector(tally, parties=2)):
            with pytest.raises(ValueError, match=message):
                made(tally)


def test_a_budget_is_spent_once():
    budget = Budget(1.0, 1e-6)
    for _ in range(10):
        budget.spend(0.1)
    with pytest.raises(ValueError, match=r"of \(1, 1e-06\), \(1, 0\) is spent.* Nothing was"):
        release(counted(), 0.1, budget=budget)
    assert budget.spent == (1.0, 0.0)
    with pytest.raises(ValueError, match="asks for"):
        Budget(1.0).spend(0.5, 1e-9)
    budget = Budget(1.0)
    release(counted(), 0.75, budget=budget)
    assert budget.spent == (0.75, 0.0)
    assert "of which (0.75, 0) is spent" in repr(budget)


def test_nothing_is_taken_out_of_released_counts():
    noised = release(counted(), 1.0)
    for wrong, message in (
        (lambda: noised - noised, "cannot be taken out"),
        (lambda: noised.forget(rows(1)), "cannot be taken out"),
        (lambda: noised * -1.0, "a number from 0 on, got -1.0"),
        (lambda: noised * math.nan, "got nan"),
        (lambda: noised + counted(), "got a TableTally"),
        (lambda: noised + release(many_cells(2), 1.0), "released under two"),
    ):
        before = noised.counts.copy()
        with pytest.raises(ValueError, match=message):
            wrong()
        assert np.array_equal(noised.counts, before)


def test_values_that_a_schema_lacks_are_refused():
    frame = rows(5)
    with pytest.raises(UnseenLevel, match="column 'a' holds 'q', which is not among the declared"):
        collect(frame.assign(a="q"), "t", SCHEMA)
    with pytest.raises(IncompatibleTallies, match="class 'maybe' is not among 'no', 'yes'"):
        collect(frame.assign(t="maybe"), "t", SCHEMA)
    with pytest.raises(IncompatibleTallies, match="column 'a' has 'q', which is not among"):
        collect(frame.assign(a="q"), "t").in_schema(SCHEMA)
    with pytest.raises(IncompatibleTallies, match="column 'b' is counted as moments"):
        collect(frame.assign(b=0.5), "t").in_schema(SCHEMA)


@pytest.mark.parametrize(
    ("columns", "classes", "message"),
    [
        ({"a": []}, ["no"], "column 'a' has no level"),
        ({"a": "xyz"}, ["no"], "column 'a' has no level: give a list of them, got 'xyz'"),
        ({"a": ["x", "x"]}, ["no"], "column 'a' has the level 'x' twice"),
        ({"a": [1, "1"]}, ["no"], "column 'a' has the level '1' twice"),
        ({"a": ["x", None]}, ["no"], "column 'a' has the level None"),
        ({"a": ["x", math.nan]}, ["no"], "column 'a' has the level nan"),
        ({"a": ["x"]}, [], "the target has no class"),
        ({"a": ["x"]}, ["no", 1], "class labels are of one type"),
    ],
)
def test_declarations_that_name_nothing_are_refused(columns, classes, message):
    with pytest.raises(ValueError, match=message):
        Schema.declare(columns, classes)


def test_vectors_that_no_rows_give_are_refused():
    vector = counted().to_vector()
    for wrong, message in (
        (vector[:-1], r"has 12 whole numbers \(int64"),
        (vector.astype(float), "got float64 numbers"),
        (vector - 1000, "a count is negative"),
        (vector * np.array([1, 1, *[2] * 10]), "more values in a column than rows"),
    ):
        with pytest.raises(ValueError, match=message):
            TableTally.from_vector(SCHEMA, wrong)
    with pytest.raises(IncompatibleTallies, match="column 'n' is counted as moments"):
        collect(rows(9).assign(n=0.5), "t").to_vector()
    with pytest.raises(ValueError, match="to_vector takes counts of rows of weight 1"):
        (counted() * 2.0).to_vector()
    with pytest.raises(IncompatibleTallies, match="agree takes the schemas of the parties"):
        Schema.agree([])
    with pytest.raises(ValueError, match="parties is a whole number from 1 on, got 0"):
        noised_vector(counted(), parties=0)


def test_no_noise_is_drawn_twice():
    found = Counter(tuple(release(counted(), 1.0).counts.ravel().tolist()) for _ in range(5))
    assert max(found.values()) == 1
