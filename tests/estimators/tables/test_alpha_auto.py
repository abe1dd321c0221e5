"""alpha="auto": from the tally alone, or by the leave-one-out log-loss of rows."""

import copy
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris

from tallybayes import NaiveBayes, leave_one_out, load
from tallybayes.errors import NegativeTally, StaleWarning
from tallybayes.estimators.naive_bayes import MIN_GAIN
from tallybayes.families import (
    Bernoulli,
    Binned,
    Categorical,
    Dirichlet,
    Gaussian,
    Multinomial,
    Poisson,
    Smooth,
)

CRITERIA = pytest.mark.parametrize("criterion", ["evidence", "loo_likelihood"])
ALL = pytest.mark.parametrize("criterion", ["evidence", "loo_likelihood", "loo_log_loss"])


def some_rows(n=300, seed=0, levels=12):
    """Levels that tell the class a little, a copy of one of them, numbers, counts and missing
    values."""
    rng = np.random.default_rng(seed)
    y = rng.choice(["a", "b", "c"], n, p=[0.5, 0.3, 0.2])
    k = np.searchsorted(["a", "b", "c"], y)
    u = np.where(rng.random(n) < 0.4, 3 * k, rng.integers(0, levels, n))
    table = pd.DataFrame(
        {
            "u": [f"level {i}" for i in u],
            "again": [f"l{i}" for i in u],
            "yes": rng.random(n) < 0.2 + 0.2 * k,
            "x": rng.normal(k, 1.0).round(3),
            "n": rng.poisson(1 + k),
        }
    )
    for name in ("u", "x"):
        table[name] = table[name].astype(object).where(rng.random(n) > 0.1, None)
    table["x"] = pd.to_numeric(table["x"])
    return table, y


COLUMNS = {"yes": Bernoulli(), "x": Gaussian(ddof=1), "n": Poisson(), "again": Categorical()}


# ---- from the tally alone ------------------------------------------------------------------------
@CRITERIA
@pytest.mark.parametrize("columns", ["auto", COLUMNS], ids=["auto", "declared"])
def test_a_choice_from_the_tally_is_the_same_however_rows_came(criterion, columns):
    X, y = some_rows()
    plain = NaiveBayes(columns, alpha="auto", class_alpha="auto", criterion=criterion)
    whole = clone(plain).fit(X, y)
    order = np.random.default_rng(1).permutation(len(y))
    shuffled = clone(plain).fit(X.iloc[order], y[order])
    batches = clone(plain)
    for rows in np.array_split(np.arange(len(y)), 7):
        batches.partial_fit(X.iloc[rows], y[rows])
    merged = clone(plain).fit(X[200:], y[200:]).merge(clone(plain).fit(X[:200], y[:200]))
    one = clone(plain)
    for row, label in zip(X.to_dict("records"), y.tolist(), strict=True):
        one.learn_one(row, label)
    more = clone(plain).fit(pd.concat([X, X[:50]]), np.concatenate([y, y[:50]]))
    forgot = more.forget(X[:50], y[:50])
    for model in (shuffled, batches, merged, one, forgot):
        assert model.alpha_.keys() == whole.alpha_.keys()
        for name, alpha in whole.alpha_.items():
            if name == "x":  # moments about another origin: to rounding
                assert model.alpha_[name] == pytest.approx(alpha, rel=1e-6)
            else:
                assert model.alpha_[name] == alpha, name
        np.testing.assert_allclose(model.predict_proba(X), whole.predict_proba(X), rtol=1e-6)


@CRITERIA
def test_columns_are_chosen_for_one_by_one(criterion):
    X, y = some_rows()
    together = NaiveBayes(COLUMNS, alpha="auto", criterion=criterion).fit(X, y).alpha_
    assert list(together) == ["u", "again", "yes", "x", "n"]
    for name in X:
        columns = {name: COLUMNS[name]} if name in COLUMNS else "auto"
        alone = NaiveBayes(columns, alpha="auto", criterion=criterion).fit(X[[name]], y).alpha_
        assert alone == {name: together[name]}


@ALL
@pytest.mark.parametrize("calibrate", [None, "temperature", "isotonic"])
def test_weight_two_is_one_row(criterion, calibrate):
    """A row is left out whole, so that its own other half does not speak for it."""
    X, y = some_rows(100)
    columns = {"x": Gaussian(ddof=0), "n": Binned(8)}
    plain = NaiveBayes(columns, alpha="auto", criterion=criterion, calibrate=calibrate)
    plain.set_params(class_alpha=0.0)
    weighted = clone(plain).fit(X, y, sample_weight=np.full(100, 2.0))
    once = clone(plain).fit(X, y)
    doubled = {name: 2.0 * alpha for name, alpha in once.alpha_.items()}
    assert weighted.alpha_ == pytest.approx(doubled, rel=1e-3)
    np.testing.assert_allclose(weighted.predict_proba(X), once.predict_proba(X), atol=2e-3)


@CRITERIA
def test_what_is_declared_is_not_chosen(criterion):
    X, y = some_rows()
    columns = {
        "u": Categorical(alpha=2.0),
        "again": Categorical(prior=Dirichlet(3.0)),
        "yes": Bernoulli(estimate="mle"),
        "x": Smooth(),
        "n": Binned(alpha=0.5),
    }
    model = NaiveBayes(columns, alpha="auto", criterion=criterion).fit(X, y)
    assert model.alpha_ == {}
    fixed = NaiveBayes(columns).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), fixed.predict_proba(X))


@CRITERIA
def test_a_group_of_counts_has_one_alpha(criterion):
    rng = np.random.default_rng(0)
    X, y = pd.DataFrame(rng.poisson(1.0, (80, 3)), columns=list("pqr")), rng.integers(0, 2, 80)
    group = {tuple("pqr"): Multinomial()}
    model = NaiveBayes(group, alpha="auto", criterion=criterion).fit(X, y)
    assert set(model.alpha_) == set("pqr")
    assert len(set(model.alpha_.values())) == 1
    fixed = NaiveBayes(group, alpha=model.alpha_["p"]).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), fixed.predict_proba(X), rtol=1e-12)


@CRITERIA
def test_the_chosen_alpha_is_what_predicts(criterion):
    X, y = some_rows()
    X = X[["u"]]
    model = NaiveBayes(alpha="auto", criterion=criterion).fit(X, y)
    fixed = NaiveBayes(alpha=model.alpha_["u"]).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), fixed.predict_proba(X), rtol=1e-12)


def test_the_schema_tells_the_alpha():
    X, y = some_rows()
    model = NaiveBayes(alpha="auto", criterion="evidence").fit(X, y)
    family = dict(zip(model.schema_["column"], model.schema_["family"], strict=True))["u"]
    assert f"α = {model.alpha_['u']:.3g}" in family


# ---- by the leave-one-out log-loss of rows -------------------------------------------------------
def loss_of(X, y, alpha, columns="auto", weight=None):
    """Leave-one-out log-loss with alpha effective rows, and what a change has to gain."""
    unit = 1.0 if weight is None else (weight @ weight) / weight.sum()
    model = NaiveBayes(columns, alpha=alpha * unit).fit(X, y, sample_weight=weight)
    log_proba = leave_one_out(model, X, y, weight)
    own = np.searchsorted(model.classes_, y)
    each = np.maximum(log_proba[np.arange(len(y)), own], -700.0)
    weight = np.ones(len(y)) if weight is None else weight / unit
    return -weight @ each + MIN_GAIN * np.log10(alpha) ** 2


STRINGS = ["u", "again", "yes"]
DECLARED = dict.fromkeys(STRINGS, Categorical())  # whose alpha is in units of weight


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_alpha_has_the_least_leave_one_out_loss(seed, weighted):
    X, y = some_rows(150, seed)
    X = X[STRINGS]
    weight = np.random.default_rng(seed).choice([0.5, 1.0, 2.0], 150) if weighted else None
    model = NaiveBayes(alpha="auto").fit(X, y, sample_weight=weight)
    (alpha,) = set(model.alpha_.values())
    alpha /= 1.0 if weight is None else (weight @ weight) / weight.sum()
    grid = 10.0 ** np.linspace(-4.0, 2.0, 61)
    losses = [loss_of(X, y, a, DECLARED, weight) for a in grid]
    assert loss_of(X, y, alpha, DECLARED, weight) <= 1.002 * min(losses)  # a parabola's vertex
    assert abs(np.log10(alpha) - np.log10(grid[np.argmin(losses)])) < 0.2


def test_other_columns_take_part_in_the_loss():
    """A column that repeats another makes rows too sure, which more smoothing allays."""
    X, y = some_rows(150)
    fixed = {"x": Gaussian(ddof=1), "n": Binned(alpha=1.0)}
    (alpha,) = set(NaiveBayes(fixed, alpha="auto").fit(X, y).alpha_.values())
    grid = 10.0 ** np.linspace(-2.0, 2.0, 41)
    losses = [loss_of(X, y, a, fixed) for a in grid]
    assert loss_of(X, y, alpha, fixed) <= 1.002 * min(losses)


@pytest.mark.parametrize("missing", ["ignore", "level"])
def test_the_chosen_alpha_is_the_model(missing):
    X, y = some_rows()
    model = NaiveBayes(alpha="auto", missing=missing).fit(X[STRINGS], y)
    (alpha,) = set(model.alpha_.values())
    fixed = NaiveBayes(alpha=alpha, missing=missing).fit(X[STRINGS], y)
    np.testing.assert_allclose(
        model.predict_proba(X[STRINGS]), fixed.predict_proba(X[STRINGS]), rtol=1e-9
    )


def test_numbers_declared_as_levels_are_chosen_for():
    X, y = load_iris(return_X_y=True, as_frame=True)
    columns = {name: Categorical() for name in X}
    model = NaiveBayes(columns, alpha="auto").fit(X, y)
    assert set(model.alpha_) == set(X)
    before = model.alpha_
    assert model.recalibrate(X, y).alpha_ == before


def test_many_rows_are_chosen_on_by_a_sample():
    """A choice from 2,048 rows is near that of all: the loss is flat there."""
    X, y = some_rows(20_000)
    X = X[STRINGS]
    (alpha,) = set(NaiveBayes(alpha="auto").fit(X, y).alpha_.values())
    best = min(loss_of(X, y, a) for a in 10.0 ** np.linspace(-3.0, 2.0, 11))
    assert loss_of(X, y, alpha) <= 1.001 * best


# ---- staleness -----------------------------------------------------------------------------------
PREDICTIONS = {
    "predict": lambda model, X: model.predict(X),
    "predict_proba": lambda model, X: model.predict_proba(X),
    "predict_log_proba": lambda model, X: model.predict_log_proba(X),
    "predict_proba_interval": lambda model, X: model.predict_proba_interval(X, n_draws=5),
    "predict_one": lambda model, X: model.predict_one(X.to_dict("records")[0]),
    "predict_proba_one": lambda model, X: model.predict_proba_one(X.to_dict("records")[0]),
}


def other_model(X, y, plain):
    return clone(plain).fit(X[:50], y[:50])


CHANGES = {
    "partial_fit": lambda model, X, y: model.partial_fit(X[:9], y[:9]),
    "forget": lambda model, X, y: model.forget(X[:9], y[:9]),
    "forget_one": lambda model, X, y: model.forget_one(X.to_dict("records")[3], y[3]),
    "merge": lambda model, X, y: model.merge(other_model(X, y, model)),
    "plus": lambda model, X, y: model + other_model(X, y, model),
    "decay": lambda model, X, y: model.decay(0.5),
    "learn_one": lambda model, X, y: model.learn_one(X.to_dict("records")[0], y[0]),
}
CHOICES = {
    "alpha": {"alpha": "auto"},
    "temperature": {"calibrate": "temperature"},
    "isotonic": {"calibrate": "isotonic"},
    "both": {"alpha": "auto", "calibrate": "temperature"},
    "tally": {"alpha": "auto", "criterion": "evidence", "calibrate": "temperature"},
}


@pytest.mark.parametrize("choices", CHOICES)
@pytest.mark.parametrize("change", CHANGES)
def test_a_change_makes_choices_stale(change, choices):
    X, y = some_rows(120)
    X = X[STRINGS]
    model = NaiveBayes(**CHOICES[choices]).fit(X, y)
    for predict in PREDICTIONS.values():
        predict(model, X[:2])  # a warning would be an error
    model = CHANGES[change](model, X, y)
    for name, predict in PREDICTIONS.items():
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            predict(copy.copy(model), X[:2])  # a model says it once, a copy for itself
        assert [w.category for w in told] == [StaleWarning], name
        assert told[0].filename == __file__, name
    if change == "decay":  # rows now weigh half
        model.recalibrate(X, y, np.full(len(y), 0.5))
    else:
        model.recalibrate(X[9:], y[9:])
    for predict in PREDICTIONS.values():
        predict(model, X[:2])


def test_a_choice_from_the_tally_is_never_stale():
    X, y = some_rows(120)
    model = NaiveBayes(alpha="auto", criterion="evidence").fit(X, y)
    for change in CHANGES.values():
        model = change(model, X, y)
        model.predict(X)
    with pytest.raises(ValueError, match="nothing to choose on rows"):
        model.recalibrate(X, y)


@pytest.mark.parametrize("choices", CHOICES)
def test_choosing_again_on_the_same_rows_changes_nothing(choices):
    X, y = some_rows()
    fresh = NaiveBayes(**CHOICES[choices]).fit(X, y)
    again = NaiveBayes(**CHOICES[choices]).fit(X, y).recalibrate(X, y).recalibrate(X, y)
    np.testing.assert_array_equal(again.predict_proba(X), fresh.predict_proba(X))


@pytest.mark.parametrize("choices", CHOICES)
def test_learning_in_batches_and_choosing_at_last_is_fitting(choices):
    X, y = some_rows()
    fresh = NaiveBayes(**CHOICES[choices]).fit(X, y)
    late = NaiveBayes(**CHOICES[choices]).partial_fit(X[:20], y[:20]).partial_fit(X[20:], y[20:])
    late.recalibrate(X, y)
    np.testing.assert_allclose(late.predict_proba(X), fresh.predict_proba(X), rtol=1e-6)


@pytest.mark.parametrize("choices", CHOICES)
def test_a_first_partial_fit_chooses(choices):
    X, y = some_rows()
    fresh = NaiveBayes(**CHOICES[choices]).fit(X, y)
    first = NaiveBayes(**CHOICES[choices]).partial_fit(X, y)
    np.testing.assert_array_equal(first.predict_proba(X), fresh.predict_proba(X))


@pytest.mark.parametrize("choices", CHOICES)
def test_a_half_life_weighs_what_is_chosen_on(choices):
    """Rows are taken out with the weight that they have come to, not with what they came with."""
    X, y = some_rows(60)
    X = X[STRINGS]
    weight = 0.5 ** (np.arange(59, -1, -1) / 30.0)
    aged = NaiveBayes(half_life=30.0, **CHOICES[choices]).fit(X, y)
    weighted = NaiveBayes(**CHOICES[choices]).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(aged.predict_proba(X), weighted.predict_proba(X), rtol=1e-9)


def test_parameters_that_were_set_since_are_taken():
    X, y = some_rows()
    model = NaiveBayes(alpha=2.0).fit(X, y)
    model.set_params(alpha="auto", calibrate="temperature").recalibrate(X, y)
    fresh = NaiveBayes(alpha="auto", calibrate="temperature").fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), fresh.predict_proba(X))
    model.set_params(alpha=1.0, calibrate=None).partial_fit(X[:9], y[:9])
    plain = NaiveBayes().fit(pd.concat([X, X[:9]]), np.concatenate([y, y[:9]]))
    np.testing.assert_allclose(model.predict_proba(X), plain.predict_proba(X), rtol=1e-9)
    model.set_params(calibrate="isotonic").partial_fit(X[9:20], y[9:20])
    with pytest.warns(StaleWarning, match="call recalibrate"):
        model.predict(X)


# ---- states of a model ---------------------------------------------------------------------------
@ALL
@pytest.mark.parametrize("calibrate", [None, "temperature", "isotonic"])
def test_files_and_copies_hold_what_was_chosen(criterion, calibrate, tmp_path):
    X, y = some_rows()
    model = NaiveBayes(alpha="auto", criterion=criterion, calibrate=calibrate).fit(X, y)
    model.save(tmp_path / "m")
    expected = model.predict_proba(X)
    twins = [load(tmp_path / "m"), copy.copy(model), copy.deepcopy(model)]
    for twin in [*twins, pickle.loads(pickle.dumps(model))]:
        np.testing.assert_array_equal(twin.predict_proba(X), expected)
        assert twin.alpha_ == model.alpha_
        lower, upper = twin.predict_proba_interval(X[:5], n_draws=20)
        for got, want in zip(
            (lower, upper), model.predict_proba_interval(X[:5], n_draws=20), strict=True
        ):
            np.testing.assert_array_equal(got, want)


def test_a_file_holds_staleness(tmp_path):
    X, y = some_rows()
    model = NaiveBayes(calibrate="isotonic").fit(X, y).partial_fit(X[:3], y[:3])
    model.save(tmp_path / "m")
    with pytest.warns(StaleWarning):
        load(tmp_path / "m").predict(X)


REFUSED = {
    "fit with a short y": lambda m, X, y: m.fit(X, y[:-1]),
    "fit with a bad criterion": lambda m, X, y: m.set_params(criterion="aic").fit(X, y),
    "fit with two smoothings": lambda m, X, y: m.set_params(estimate="mle").fit(X, y),
    "rows that were not learned": lambda m, X, y: m.recalibrate(
        pd.concat([X] * 3), np.repeat("b", 3 * len(y)), np.full(3 * len(y), 1e6)
    ),
    "a label that was not learned": lambda m, X, y: m.recalibrate(X[:2], ["z", "a"]),
    "a short y": lambda m, X, y: m.recalibrate(X, y[:-1]),
    "a negative weight": lambda m, X, y: m.recalibrate(X, y, -np.ones(len(y))),
    "forgotten twice": lambda m, X, y: m.forget(pd.concat([X, X]), np.concatenate([y, y])),
    "a level of no interval": lambda m, X, y: m.predict_proba_interval(X, level=1.0),
    "one draw": lambda m, X, y: m.predict_proba_interval(X, n_draws=1),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("choices", ["alpha", "isotonic", "both"])
def test_a_refused_call_leaves_the_model_as_it_was(name, choices):
    X, y = some_rows()
    model = NaiveBayes(**CHOICES[choices]).fit(X, y)
    before = model.predict_proba(X)
    parameters = {"criterion": "loo_log_loss", "estimate": "mean"}
    if name == "fit with two smoothings" and choices == "isotonic":
        model.set_params(alpha=0.5)
    with pytest.raises(ValueError):  # noqa: PT011 (each has words of its own, tested elsewhere)
        REFUSED[name](model, X, y)
    model.set_params(**parameters)
    np.testing.assert_array_equal(model.predict_proba(X), before)


def test_rows_that_were_decayed_have_the_weights_of_now():
    X, y = some_rows()
    model = NaiveBayes(alpha="auto").fit(X, y).decay(0.5)
    with pytest.raises(NegativeTally, match="with the weights that they have by now"):
        model.recalibrate(X, y)
    model.recalibrate(X, y, np.full(len(y), 0.5)).predict(X)


def test_words_of_refusals():
    X, y = some_rows()
    with pytest.raises(ValueError, match="estimate='mle' does not smooth, but alpha='auto'"):
        NaiveBayes(alpha="auto", estimate="mle").fit(X, y)
    with pytest.raises(ValueError, match=r"estimate='mle' does not smooth, but alpha=0\.5"):
        NaiveBayes(alpha=0.5, estimate="mle").fit(X, y)
    model = NaiveBayes(alpha="auto").fit(X, y)
    with pytest.raises(NegativeTally, match="more than the"):
        model.recalibrate(X, y, np.full(len(y), 1e6))
    with pytest.raises(ValueError, match=r"weights from 0 on, got -1\.0"):
        model.recalibrate(X, y, -np.ones(len(y)))


@pytest.mark.parametrize("choices", ["alpha", "temperature", "both"])
def test_learning_one_by_one_cannot_begin_with_a_choice_on_rows(choices):
    X, _ = some_rows(3)
    row = X[STRINGS].to_dict("records")[0]
    model = NaiveBayes(**CHOICES[choices])
    with pytest.raises(ValueError, match="rows learned one by one are not kept: begin with fit"):
        model.learn_one(row, "a")
    assert not hasattr(model, "classes_")
    message = "evidence" if choices == "alpha" else "begin with fit or partial_fit$"
    with pytest.raises(ValueError, match=message):
        model.learn_one(row, "a")


@CRITERIA
def test_learning_one_by_one_takes_a_choice_from_the_tally(criterion):
    X, y = some_rows(12)
    model = NaiveBayes(alpha="auto", criterion=criterion)
    for row, label in zip(X.to_dict("records"), y.tolist(), strict=True):
        model.learn_one(row, label)
        model.predict_one(row)
    assert model.alpha_.keys() >= {"u", "again"}


# ---- odd tables ----------------------------------------------------------------------------------
@ALL
@pytest.mark.parametrize("calibrate", [None, "temperature", "isotonic"])
def test_odd_tables(criterion, calibrate):
    rows, y = some_rows(40)
    gaps = pd.DataFrame({"g": [None] * 40})
    constant = pd.DataFrame({"k": ["same"] * 40})
    odd = {
        "one row": (rows[:1], y[:1]),
        "two rows": (rows[:2], ["a", "b"]),
        "one class": (rows, ["a"] * 40),
        "one column": (rows[["u"]], y),
        "all missing values": (gaps, y),
        "a constant": (constant, y),
        "missing values beside": (pd.concat([rows, gaps], axis=1), y),
        "a class each": (rows, np.arange(40)),
        "numbers only": (rows[["x", "n"]], y),
    }
    for name, (X, labels) in odd.items():
        model = NaiveBayes(alpha="auto", criterion=criterion, calibrate=calibrate)
        proba = model.fit(X, labels).predict_proba(X)
        assert np.isfinite(proba).all(), name
        np.testing.assert_allclose(proba.sum(axis=1), 1.0, err_msg=name)
        assert all(1e-7 < alpha < 1e4 for alpha in model.alpha_.values()), name
        assert model.predict(X).shape == (len(X),)
        lower, upper = model.predict_proba_interval(X[:3], n_draws=10)
        assert ((lower >= 0.0) & (lower <= upper) & (upper <= 1.0)).all(), name


@ALL
def test_an_identifier_is_left_out(criterion):
    X, y = some_rows(200)
    X = X.assign(id=[f"row {i}" for i in range(200)])
    with pytest.warns(UserWarning, match="'id' is left out"):
        alpha = NaiveBayes(alpha="auto", criterion=criterion).fit(X, y).alpha_
    assert "id" not in alpha
    used = NaiveBayes({"id": Categorical()}, alpha="auto", criterion=criterion).fit(X, y)
    assert used.alpha_["id"] > 0.0
    assert np.isfinite(used.predict_log_proba(X)).all()


@ALL
@pytest.mark.parametrize("calibrate", [None, "temperature", "isotonic"])
def test_declared_classes_that_never_occur(criterion, calibrate):
    X, y = some_rows()
    plain = NaiveBayes(alpha="auto", criterion=criterion, calibrate=calibrate)
    there = clone(plain).set_params(classes=["0", "a", "b", "c", "d"]).fit(X, y)
    later = clone(plain).partial_fit(X, y, classes=["0", "a", "b", "c", "d"])
    np.testing.assert_array_equal(there.predict_proba(X), later.predict_proba(X))
    without = clone(plain).fit(X, y)
    proba = there.predict_proba(X)[:, 1:4]
    assert np.abs(proba - without.predict_proba(X)).mean() < 0.02
    assert (there.predict_proba(X)[:, [0, 4]] < 0.1).all()


@ALL
def test_a_class_of_one_row(criterion):
    X, y = some_rows(60)
    y = y.copy()
    y[0] = "alone"
    model = NaiveBayes(alpha="auto", criterion=criterion, calibrate="temperature").fit(X, y)
    assert np.isfinite(model.predict_log_proba(X)).all()


@ALL
def test_fractional_and_zero_weights(criterion):
    X, y = some_rows(100)
    weight = np.random.default_rng(0).choice([0.0, 0.25, 1.0], 100)
    model = NaiveBayes(alpha="auto", criterion=criterion, calibrate="isotonic")
    model.fit(X, y, sample_weight=weight)
    assert np.isfinite(model.predict_log_proba(X)).all()
    some = weight > 0.0
    twin = clone(model).fit(X[some], y[some], sample_weight=weight[some])
    columns = [n for n in model.alpha_ if n in STRINGS and n in twin.alpha_]
    for name in columns:
        assert model.alpha_[name] == pytest.approx(twin.alpha_[name], rel=0.05), name
