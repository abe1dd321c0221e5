"""A model that has forgotten rows is the model that never saw them: classes, levels, columns,
smoothing and predictions."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse

import tallybayes
from estimators.cases import ALL as ARRAYS
from tallybayes import (
    CategoricalNB,
    GaussianNB,
    NaiveBayes,
    WeightedNaiveBayes,
    leave_one_out,
)
from tallybayes.families import Binned, Categorical, Gaussian, Multinomial, Poisson
from tallybayes.tally import CrossMoments, GridCounts, LevelCounts, Moments

HOSTILE = [0.0, 1.0, 1.0, 2.5, -3.0, 0.1, 7.0, 7.0, 1e8, -1e9, 999_999_999.0, 1e12, 1e-9]


# ---- arrays --------------------------------------------------------------------------------------
@pytest.mark.parametrize("NB", ARRAYS)
@pytest.mark.parametrize("options", [{}, {"fit_prior": False}], ids=["prior", "uniform"])
def test_a_class_without_rows_is_gone(NB, options):
    if NB is GaussianNB and options:
        return
    x = np.array([[0, 1], [1, 2], [2, 0], [1, 1], [2, 2]])
    y = np.array(["a", "b", "c", "a", "c"])
    model = NB(**options).fit(x, y).forget(x[y == "b"], y[y == "b"])
    fresh = NB(**options).fit(x[y != "b"], y[y != "b"])
    assert model.classes_.tolist() == ["a", "c"]
    np.testing.assert_allclose(model.predict_log_proba(x), fresh.predict_log_proba(x), rtol=1e-12)
    again = NB(**options).fit(x, y).partial_fit(x[1:2], y[1:2], sample_weight=[-1.0])
    assert again.tally_ == model.tally_


@pytest.mark.parametrize("NB", ARRAYS)
def test_a_class_that_was_declared_stays(NB, tmp_path):
    x, y = np.array([[0, 1], [1, 2], [1, 1]]), np.array([0, 1, 0])
    model = NB().partial_fit(x, y, classes=[0, 1, 2]).forget(x[1:2], y[1:2])
    assert model.classes_.tolist() == [0, 1, 2]
    model.save(tmp_path / "m.tally")
    model = tallybayes.load(tmp_path / "m.tally").forget(x[:1], y[:1])
    assert model.classes_.tolist() == [0, 1, 2]


def test_a_prior_that_is_given_declares_its_classes():
    x, y = np.array([[0.0], [1.0], [2.0]]), np.array([0, 1, 0])
    model = GaussianNB(priors=[0.5, 0.5]).fit(x, y).forget(x[1:2], y[1:2])
    assert model.classes_.tolist() == [0, 1]


def test_the_number_of_levels_follows_the_rows():
    x, y = np.array([[0, 0], [1, 5], [1, 1]]), np.array([0, 0, 1])
    model = CategoricalNB().fit(x, y).forget(x[1:2], y[1:2])
    fresh = CategoricalNB().fit(x[[0, 2]], y[[0, 2]])
    assert model.n_categories_.tolist() == [2, 2]
    np.testing.assert_array_equal(model.predict_proba([[1, 0]]), fresh.predict_proba([[1, 0]]))
    model = CategoricalNB(min_categories=[2, 4]).fit(x, y).forget(x[1:2], y[1:2])
    assert model.n_categories_.tolist() == [2, 4]
    levels = [[0, 1, 2], [0, 1, 5]]
    model = CategoricalNB(levels=levels).fit(x, y).forget(x[1:2], y[1:2])
    assert model.n_categories_.tolist() == [3, 3]


@pytest.mark.parametrize("NB", ARRAYS)
def test_an_empty_model_says_so_and_learns_again(NB, tmp_path):
    x, y = np.array([[0, 1], [1, 2], [1, 1]]), np.array([0, 1, 0])
    model = NB().fit(x, y).forget(x, y)
    assert model.classes_.tolist() == []
    model.save(tmp_path / "m.tally")
    for empty in (model, tallybayes.load(tmp_path / "m.tally")):
        with pytest.raises(ValueError, match="holds no rows"):
            empty.predict(x)
        labels = np.array(["no", "yes", "no"])
        empty.partial_fit(x, labels)
        np.testing.assert_array_equal(empty.predict_proba(x), NB().fit(x, labels).predict_proba(x))


# ---- tables --------------------------------------------------------------------------------------
def table_of(rows):
    return pd.DataFrame(rows, columns=["a", "t", "p", "q"])


A = table_of([(1.0, "x", 0, 1.5), (2.0, "y", 1, 2.5), (4.0, "x", 2, 0.5), (3.0, "x", 1, 1.0)])
B = table_of([(1e12, "z", 3, 9.0), (5.0, "w", 1, None), (None, "x", 0, -1.0)])
YA, YB = ["no", "yes", "no", "yes"], ["no", "perhaps", "yes"]


@pytest.mark.parametrize("weights", [None, [0.5, 2.0, 0.25]])
@pytest.mark.parametrize("NB", [NaiveBayes, WeightedNaiveBayes])
def test_a_table_is_as_if_it_had_never_seen_the_rows(NB, weights):
    model = NaiveBayes().fit(A, YA).partial_fit(B, YB, sample_weight=weights)
    model.forget(B, YB, sample_weight=weights)
    fresh = NaiveBayes().fit(A, YA)
    if NB is WeightedNaiveBayes:
        model, fresh = (NB().count_from(m, A, YA) for m in (model, fresh))
    assert model.classes_.tolist() == ["no", "yes"]
    assert [len(c.levels[0]) for c in model.tally_.schema.groups if c.levels] == [2]
    np.testing.assert_allclose(
        model.predict_log_proba(A), fresh.predict_log_proba(A), rtol=1e-9, atol=1e-9
    )


def test_a_stray_key_is_gone_with_its_row_and_later_columns_stay_in_place():
    model = NaiveBayes()
    for row, label in [({"a": 1.0}, 0), ({"a": 2.0}, 1), ({"a": 1.5, "a ": 3.0}, 0)]:
        model.learn_one(row, label)
    model.learn_one({"a": 2.5, "b": "x"}, 1)
    model.forget_one({"a": 1.5, "a ": 3.0}, 0)
    assert model.feature_names_in_.tolist() == ["a", "b"]
    assert model.n_features_in_ == 2
    assert {g.names for g in model.tally_.schema.groups} == {("a",), ("b",)}
    frame = pd.DataFrame({"a": [1.0, 3.0], "b": ["x", "y"]})
    assert model.partial_fit(frame, [0, 1]).n_features_in_ == 2


def test_a_row_of_weight_0_is_learned_and_forgotten():
    model = NaiveBayes().fit(A, YA)
    before = model.tally_
    assert model.learn_one({"a": 1.0}, "no", 0.0).forget_one({"a": 1.0}, "no", 0.0).tally_ == before


def test_columns_classes_and_levels_that_were_declared_stay():
    columns = {"t": Categorical(levels=["x", "y", "z"]), "p": Poisson(), "q": Gaussian()}
    frame, y = A[["t", "p", "q"]], np.array(YA)
    model = NaiveBayes(columns=columns, classes=["maybe"]).fit(frame, y)
    model.partial_fit(frame[:1], y[:1], classes=["never"])
    model.forget(frame[:1], y[:1]).forget(frame[y == "yes"], y[y == "yes"])
    assert model.classes_.tolist() == ["maybe", "never", "no"]
    model.forget(frame[y == "no"], y[y == "no"])
    assert model.classes_.tolist() == ["maybe", "never"]
    assert model.feature_names_in_.tolist() == ["t", "p", "q"]


def test_the_place_of_a_column_without_a_name_stays():
    x, y = np.array([[1.0, np.nan], [2.0, np.nan], [3.0, 5.0]]), [0, 1, 1]
    model = NaiveBayes().fit(x, y).forget(x[2:], y[2:])
    assert model.n_features_in_ == 2
    model.partial_fit(x[2:], y[2:])
    np.testing.assert_array_equal(model.predict_proba(x), NaiveBayes().fit(x, y).predict_proba(x))


@pytest.mark.parametrize("everything", ["forget", "decay"])
@pytest.mark.parametrize("NB", [NaiveBayes, WeightedNaiveBayes])
def test_a_table_model_without_rows_says_so_and_learns_again(NB, everything, tmp_path):
    model = NB().fit(A, YA)
    model = model.forget(A, YA) if everything == "forget" else model.decay(0.0)
    assert model.classes_.tolist() == []
    assert model.tally_.schema.groups == ()
    assert model.n_features_in_ == 0
    model.save(tmp_path / "m.tally")
    for empty in (model, tallybayes.load(tmp_path / "m.tally")):
        with pytest.raises(ValueError, match="holds no rows"):
            empty.predict(A)
        empty.partial_fit(B.fillna({"q": 3.0}), [1, 2, 1])
        assert empty.classes_.tolist() == [1, 2]
        assert empty.feature_names_in_.tolist() == ["a", "t", "p", "q"]


def test_decay_by_0_keeps_what_was_declared():
    columns = {"t": Categorical(levels=["x", "y"]), ("p", "q"): Gaussian(covariance="full")}
    model = NaiveBayes(columns=columns, classes=["no", "yes"]).fit(A, YA).decay(0.0)
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.feature_names_in_.tolist() == ["t", "p", "q"]
    np.testing.assert_array_equal(model.predict_proba(A), 0.5)
    model.partial_fit(A, YA)
    fresh = NaiveBayes(columns=columns, classes=["no", "yes"]).fit(A, YA)
    np.testing.assert_allclose(model.predict_proba(A), fresh.predict_proba(A), rtol=1e-12)


def test_a_grid_that_had_to_be_coarser_stays_coarse():
    """The one exception: cells that were joined for want of room cannot be distinguished again."""
    values = np.arange(6000) / 7.0
    y = np.arange(6000) % 2
    model = NaiveBayes(columns={"v": Binned()}).fit(pd.DataFrame({"v": values}), y)
    gone = pd.DataFrame({"v": values[20:]})
    model.forget(gone, y[20:])
    grid = next(g for g in model.tally_.groups if isinstance(g, GridCounts))
    fresh = NaiveBayes(columns={"v": Binned()}).fit(pd.DataFrame({"v": values[:20]}), y[:20])
    exact = next(g for g in fresh.tally_.groups if isinstance(g, GridCounts))
    assert exact.shift == 0 < grid.shift
    assert (grid.counts.sum(axis=1) == exact.counts.sum(axis=1)).all()


# ---- every family, weights, gaps and hostile tables ----------------------------------------------
FAMILIES = {
    "auto": "auto",
    "numbers": {"a": Gaussian(), "p": Poisson(), "q": Binned(bins=3)},
    "log": {"a": Gaussian(transform="yeo-johnson"), "q": Gaussian(ddof=1.0)},
    "group": {("a", "q"): Gaussian(covariance="full"), "t": Categorical(alpha=0.5)},
    "counts": {("p",): Multinomial(), "t": Categorical(levels=["x", "y", "z", "w"])},
}


@st.composite
def histories(draw):
    """A table in batches, of which some are learned and forgotten again in others."""
    n = draw(st.integers(2, 14))
    number = st.one_of(st.none(), st.sampled_from(HOSTILE))
    row = st.tuples(number, st.sampled_from(["x", "y", "z", "w", None]), st.integers(0, 4), number)
    frame = table_of(draw(st.lists(row, min_size=n, max_size=n)))
    frame = frame.astype({"a": float, "q": float, "t": object})
    frame.loc[0, ["a", "q"]], frame.loc[0, "t"] = (1.0, 2.0), "x"  # the types of the columns
    frame.loc[1, ["a", "q"]], frame.loc[1, "t"] = (3.0, 1.0), "y"
    y = np.array(draw(st.lists(st.sampled_from(["c", "d", "e"]), min_size=n, max_size=n)))
    y[:2] = "c", "d"
    weight = st.sampled_from([1.0, 1.0, 2.0, 0.25, 0.5, 3.0])
    w = draw(st.one_of(st.none(), st.lists(weight, min_size=n, max_size=n).map(np.array)))
    gone = np.flatnonzero(
        [False, False, *draw(st.lists(st.booleans(), min_size=n - 2, max_size=n - 2))]
    )
    learned = draw(st.permutations(range(2, n)).map(lambda rest: [0, 1, *rest]))
    forgotten = draw(st.permutations(gone.tolist()))
    return frame, y, w, learned, forgotten, draw(st.integers(1, n)), draw(st.integers(1, n))


def batches(order, size):
    return [np.array(order[i : i + size], dtype=int) for i in range(0, len(order), size)]


def assert_same_tally(found, expected):
    """The same classes, columns and levels, with equal counts and moments within their bound."""
    assert found.schema.classes.tolist() == expected.schema.classes.tolist()
    np.testing.assert_allclose(found.classes.count, expected.classes.count, rtol=1e-12)
    mine = {g.key: (g, t) for g, t in zip(found.schema.groups, found.groups, strict=True)}
    theirs = {g.key: (g, t) for g, t in zip(expected.schema.groups, expected.groups, strict=True)}
    assert mine.keys() == theirs.keys()
    for key, (columns, tally) in mine.items():
        other_columns, other = theirs[key]
        if isinstance(tally, LevelCounts):
            levels, others = (c.levels[0].tolist() for c in (columns, other_columns))
            assert sorted(levels) == sorted(others)
            same = other.counts[:, [others.index(level) for level in levels]]
            np.testing.assert_allclose(tally.counts, same, rtol=1e-12)
        elif isinstance(tally, GridCounts):
            np.testing.assert_array_equal(tally.keys, other.keys)
            np.testing.assert_allclose(tally.counts, other.counts, rtol=1e-12)
        elif isinstance(tally, Moments | CrossMoments):
            np.testing.assert_allclose(tally.n, other.n, rtol=1e-12)
            means, squares = zip(tally.mean_and_squares(), other.mean_and_squares(), strict=True)
            there = tally.n > 0.0  # elsewhere the mean is the origin
            np.testing.assert_allclose(*(m[there] for m in means), rtol=1e-9, atol=1e-9)
            np.testing.assert_allclose(*(s[there] for s in squares), rtol=1e-9, atol=1e-6)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("missing", ["ignore", "level"])
@pytest.mark.parametrize("families", FAMILIES)
@settings(suppress_health_check=list(HealthCheck), deadline=None, max_examples=15)
@given(histories())
def test_learned_and_forgotten_in_any_batches_is_never_seen(families, missing, history):
    frame, y, w, learned, forgotten, size, other_size = history
    columns = FAMILIES[families]
    weights = np.ones(len(y)) if w is None else w

    def new():
        return NaiveBayes(columns=columns, missing=missing, class_alpha=1.0)

    model = new()
    for rows in batches(learned, max(size, 2)):
        model.partial_fit(frame.iloc[rows], y[rows], sample_weight=weights[rows])
    for rows in batches(forgotten, other_size):
        model.forget(frame.iloc[rows], y[rows], sample_weight=weights[rows])
    kept = np.array([i for i in learned if i not in set(forgotten)], dtype=int)
    fresh = new().fit(frame.iloc[kept], y[kept], sample_weight=weights[kept])
    assert_same_tally(model.tally_, fresh.tally_)
    if np.abs(frame[["a", "q"]].to_numpy(na_value=0.0)).max() > 1e10:
        return  # a few rows beside 10¹²: squares are known to 10⁻⁷, which atol above allows for
    found, expected = model.predict_log_proba(frame), fresh.predict_log_proba(frame)
    possible = expected > -1e3  # beyond, one place of a mean is worth more than 10⁻⁹ nats
    rtol = 1e-6 if families == "group" else 1e-9  # a covariance is inverted, which magnifies
    np.testing.assert_allclose(found[possible], expected[possible], rtol=rtol, atol=1e-9)
    np.testing.assert_allclose(np.exp(found), np.exp(expected), atol=1e-8)


# ---- classes of weight 0 -------------------------------------------------------------------------
WEIGHTLESS = [{"a": float(i)} for i in range(6)]
OF_WEIGHT = ["u", "u", "v", "v", "w", "u"], [1.0, 1.0, 1.0, 1.0, 0.0, 1.0]


def weightless(NB, some=slice(None)):
    rows, (y, w) = WEIGHTLESS[some], (part[some] for part in OF_WEIGHT)
    x = np.array([[row["a"]] for row in rows]) if NB in ARRAYS else rows
    return x, y, w


@pytest.mark.parametrize("NB", [*ARRAYS, NaiveBayes])
@pytest.mark.parametrize("way", ["forget", "a negative weight", "forget_one", "saved"])
def test_a_class_whose_rows_weigh_nothing_stays_while_others_are_forgotten(NB, way, tmp_path):
    if NB in ARRAYS and way == "forget_one":
        return
    model, last = NB().fit(*weightless(NB)), weightless(NB, slice(5, 6))
    if way == "saved":
        model.save(tmp_path / "m.tally")
        model = tallybayes.load(tmp_path / "m.tally")
    if way == "forget_one":
        model.forget_one(last[0][0], "u")
    elif way == "a negative weight":
        model.partial_fit(last[0], last[1], sample_weight=[-1.0])
    else:
        model.forget(*last)
    fresh = NB().fit(*weightless(NB, slice(5)))
    assert model.classes_.tolist() == fresh.classes_.tolist() == ["u", "v", "w"]
    x = weightless(NB)[0]
    np.testing.assert_allclose(model.predict_proba(x), fresh.predict_proba(x), rtol=1e-12)


@pytest.mark.parametrize("NB", [*ARRAYS, NaiveBayes])
def test_a_class_whose_rows_weigh_nothing_goes_with_its_row(NB):
    x, y, w = weightless(NB, slice(4, 6))
    model = NB().fit(*weightless(NB)).forget(x, y, w)
    assert model.classes_.tolist() == ["u", "v"]
    if NB is NaiveBayes:
        model = NB().fit(*weightless(NB)).forget_one({"a": 4.0}, "w", 0.0)
        assert model.classes_.tolist() == ["u", "v"]
        assert model.forget_one({"a": 1.0}, "u", 0.0).classes_.tolist() == ["u", "v"]


# ---- far from 0 ----------------------------------------------------------------------------------
FAR = {
    "prices": (100.0, 0.01, 6),
    "kelvin": (300.0, 0.01, 5),
    "years": (2020.0, 30.0, 0),
    "seconds": (1.73e9, 86400.0, 3),
    "near": (1.0, 10.0, 3),
    "some ranges away": (7.0, 1.0, 4),
    "very far": (1e12, 10.0, 1),
}


def far_rows(name, n, weights, seed):
    """Rows of two classes. Those that stay are the first two: one of each class, twins."""
    rng = np.random.default_rng(seed)
    offset, span, decimals = FAR[name]
    x = np.round(offset + rng.uniform(0.0, span, (n, 2)), decimals)
    x[1] = x[0]
    y = np.where(np.arange(n) == 1, "v", "u")
    return x, y, None if weights == "none" else rng.choice([0.3, 1.7, 0.1], n)


def of_rows(name, x):
    return x if name == "array" else [{"d": a, "e": b} for a, b in x.tolist()]


FAR_MODELS = {
    "array": GaussianNB,
    "auto": NaiveBayes,
    "gaussian": lambda: NaiveBayes({"d": Gaussian(), "e": Gaussian(var_smoothing=0.0)}),
    "group": lambda: NaiveBayes({("d", "e"): Gaussian(covariance="full")}),
}


@pytest.mark.parametrize("model", FAR_MODELS)
@pytest.mark.parametrize("name", FAR)
def test_what_is_left_of_many_rows_may_be_a_constant(name, model):
    """Of a chunk only one value stays in each class, which has no spread."""
    sizes = (4, 60, 60, 3000, 20_000) if model == "array" else (4, 60, 60, 3000)
    for seed, n in enumerate(sizes):
        x, y, w = far_rows(name, n, "none" if seed % 2 else "fractional", seed)
        part = (lambda s, w=w: None) if w is None else (lambda s, w=w: w[s])
        kept, gone, asked = slice(0, 2), slice(2, n), of_rows(model, x[:5])
        held = FAR_MODELS[model]().fit(of_rows(model, x), y, part(slice(0, n)))
        held.forget(of_rows(model, x[gone]), y[gone], part(gone))
        fresh = FAR_MODELS[model]().fit(of_rows(model, x[kept]), y[kept], part(kept))
        np.testing.assert_allclose(
            held.predict_joint_log_proba(asked), fresh.predict_joint_log_proba(asked), rtol=1e-9
        )


@pytest.mark.parametrize("weights", ["none", "fractional"])
@pytest.mark.parametrize("far", [1e3, 1e6, 1e9, 1e12])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_a_class_far_from_the_origin_keeps_its_spread(form, far, weights):
    """The origin lies in the first class; that of sparse rows is 0."""
    rng = np.random.default_rng(4)
    n = 2000
    y = np.where(np.arange(n) < 5, "near", "far")
    x = np.round(rng.uniform(0.0, 10.0, (n, 2)), 1) + np.where(y == "far", far, 0.0)[:, None]
    w = np.ones(n) if weights == "none" else rng.choice([0.3, 1.7, 0.1], n)
    kept, gone = np.arange(8), np.arange(8, n)
    model = GaussianNB().fit(form(x), y, w).forget(form(x[gone]), y[gone], w[gone])
    fresh = GaussianNB().fit(x[kept], y[kept], w[kept])
    place = np.spacing(far)
    np.testing.assert_allclose(model.theta_, fresh.theta_, rtol=0, atol=place)
    lost = 1e-9 if form is np.asarray or far < 1e12 else 1e-3  # 2⁻⁹⁷ of squares about 0
    np.testing.assert_allclose(model.var_, fresh.var_, rtol=lost)


def test_a_row_that_makes_all_of_the_spread_leaves_none_when_it_is_forgotten_alone():
    """What rounding leaves of the squares about the origin may be below 0."""
    rows = [{"a": value} for value in (189.6, 116.9, 149.2, 140.7)]
    y, w = ["u", "v", "v", "v"], [0.68, 0.36, 0.65, 0.99]
    model = NaiveBayes().partial_fit(rows[:2], y[:2], sample_weight=w[:2])
    model.merge(NaiveBayes().fit(rows[2:], y[2:], w[2:]))
    for i in (3, 2):
        model.forget_one(rows[i], y[i], w[i])
    moments = model.tally_.groups[0]
    assert isinstance(moments, Moments)
    assert moments.mean_and_squares()[1].tolist() == [[0.0], [0.0]]
    assert (moments.s2_hi >= 0.0).all()


@pytest.mark.parametrize("moved", ["saved", "merged", "copied"])
@pytest.mark.parametrize("NB", [GaussianNB, NaiveBayes])
def test_the_rounding_of_rows_long_gone_is_known_wherever_the_model_goes(NB, moved, tmp_path):
    rng = np.random.default_rng(3)
    x = np.round(100.0 + rng.normal(size=(3000, 1)) * np.array([1e4]), 2)
    x[:40] = np.round(100.0 + rng.normal(size=(40, 1)) * 1e-5, 6)
    x[0] = x[1] = x[2]
    y, w = np.repeat("u", 3000), rng.uniform(0.1, 1.0, 3000)
    y[0] = "v"
    hold = (lambda x: x) if NB is GaussianNB else (lambda x: [{"a": v} for v in x[:, 0].tolist()])
    model = NB().fit(hold(x), y, w).forget(hold(x[40:]), y[40:], w[40:])
    if moved == "saved":
        model.save(tmp_path / "m.tally")
        model = tallybayes.load(tmp_path / "m.tally")
    elif moved == "merged":
        part = NB().fit(hold(x[[0]]), y[[0]], w[[0]])
        model = part.merge(model).forget(hold(x[[0]]), y[[0]], w[[0]])
    else:
        model = pickle.loads(pickle.dumps(copy.copy(model)))
    model.forget(hold(x[3:40]), y[3:40], w[3:40])
    assert not model.tally_.groups[0].mean_and_squares()[1].any()


@pytest.mark.parametrize("moved", ["as it is", "saved", "copied"])
@pytest.mark.parametrize("smoothing", [0.0, 1e-9])
def test_a_row_is_left_out_of_a_model_that_held_a_far_row_before(smoothing, moved, tmp_path):
    values = np.array([1.1] * 3 + [1001.0] + [1.1] * 10 + [1.1, 1.0])
    y, w = np.array([*"u" * 14, *"vu"]), np.full(16, 0.3)
    rows = [{"a": value} for value in values.tolist()]
    kept, gone = [0, 14, 15], list(range(1, 14))
    model = NaiveBayes({"a": Gaussian(var_smoothing=smoothing)}).fit(rows[:5], y[:5], w[:5])
    model.partial_fit(rows[5:], y[5:], sample_weight=w[5:])
    model.forget([rows[i] for i in gone], y[gone], w[gone])
    if moved == "saved":
        model.save(tmp_path / "m.tally")
        model = tallybayes.load(tmp_path / "m.tally")
    elif moved == "copied":
        model = pickle.loads(pickle.dumps(copy.deepcopy(model)))
    left = [rows[i] for i in kept], y[kept], w[kept]
    fresh = NaiveBayes(model.columns).fit(*left)
    found, expected = leave_one_out(model, *left), leave_one_out(fresh, *left)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_decayed_weights_are_known_to_their_last_place_only():
    rows, w = [{"a": value} for value in (1.1, 1.0, 1.0, 1.7)], np.array([1.0, 7.0, 3.0, 1.0])
    model = NaiveBayes({"a": Gaussian()}).fit(rows, ["u", "u", "u", "v"], w)
    model.decay(0.9).decay(0.7)
    left = w * 0.9 * 0.7
    model.forget(rows[1:2], ["u"], left[1:2]).forget_one(rows[2], "u", left[2])
    assert not model.tally_.groups[0].mean_and_squares()[1].any()


@pytest.mark.parametrize("kind", [NaiveBayes, WeightedNaiveBayes])
def test_a_refused_row_leaves_what_was_learned_on_rows_fresh(kind):
    """Nothing was taken away, so no warning says that counts have changed."""
    rows = [{"x": float(i), "z": "ab"[i % 2]} for i in range(20)]
    model = kind().fit(rows, ["p", "q"] * 10)
    for row in ({"x": 77.0, "z": "a"}, {"x": np.inf, "z": "a"}):
        with pytest.raises(ValueError, match=r"77|infinity"):
            model.forget_one(row, "p")
        model.predict(rows)
