"""Calibration on leave-one-out predictions: what is fitted, and what it does to probabilities."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.isotonic import IsotonicRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from tallybayes import NaiveBayes, cross_validate, leave_one_out
from tallybayes.errors import RuledOutWarning
from tallybayes.families import Categorical, Gaussian, Multinomial
from tallybayes.models.calibration import (
    EVEN_ROWS,
    PENALTY_ABOVE,
    PENALTY_BELOW,
    Isotonic,
    Temperature,
    fitted_calibration,
    log_odds,
)

METHODS = pytest.mark.parametrize("method", ["temperature", "isotonic"])
SETS = {"iris": load_iris, "wine": load_wine, "cancer": load_breast_cancer}


def predictions(seed, k, sure=1.0, n=400):
    """log-probabilities of rows, `sure` times as sure as they should be, and the true classes."""
    rng = np.random.default_rng(seed)
    joint = rng.normal(0.0, 2.0, (n, k))
    true = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
    own = np.array([rng.choice(k, p=p) for p in true])
    joint = sure * joint
    return joint - logsumexp(joint, axis=1, keepdims=True), own, rng


def loss(log_proba, own, weight=None):
    each = -log_proba[np.arange(len(own)), own]
    return float(np.average(each, weights=weight))


# ---- temperature ---------------------------------------------------------------------------------
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("k", [2, 3, 7])
@pytest.mark.parametrize("sure", [0.2, 1.0, 5.0])
def test_the_temperature_has_the_least_log_loss_with_its_prior(sure, k, weighted):
    log_proba, own, rng = predictions(k, k, sure)
    weight = rng.choice([0.5, 1.0, 3.0], len(own)) if weighted else np.ones(len(own))
    found = fitted_calibration("temperature", log_proba, own, weight)
    n = weight.sum() ** 2 / (weight @ weight)

    def penalised(power):
        lost = n * loss(Temperature(float(np.exp(power))).apply(log_proba), own, weight)
        return lost + (PENALTY_ABOVE * power if power > 0.0 else 0.5 * PENALTY_BELOW * power**2)

    best = minimize_scalar(
        penalised, bounds=(-4.0, 3.0), method="bounded", options={"xatol": 1e-10}
    )
    assert np.log(found.beta) == pytest.approx(best.x, abs=1e-4)
    assert penalised(np.log(found.beta)) <= best.fun + 1e-9
    assert 1.0 / found.beta == pytest.approx(sure, rel=0.35 if sure >= 1.0 else 1.5)


def test_a_temperature_without_evidence_is_one():
    even = np.full((10, 3), -np.log(3.0))
    own, ones = np.zeros(10, dtype=np.intp), np.ones(10)
    assert fitted_calibration("temperature", even, own, ones).beta == 1.0
    assert fitted_calibration("temperature", np.zeros((10, 1)), own, ones).beta == 1.0


def test_a_temperature_stays_in_its_range():
    right = np.log(np.array([[0.51, 0.49], [0.49, 0.51]] * 500))
    many, truth = np.full(len(right), 1_000.0), np.arange(len(right)) % 2
    never_wrong = fitted_calibration("temperature", right, truth, many).beta
    always_wrong = fitted_calibration("temperature", right * 50.0, 1 - truth, many).beta
    assert 2.9 < np.log(never_wrong) <= 3.0
    assert -4.0 <= np.log(always_wrong) < -3.9


@pytest.mark.parametrize("n", [2, 10, 100])
@pytest.mark.parametrize("sure", [0.6, 0.9, 0.999, 1.0 - 1e-12])
def test_rows_that_are_all_right_do_not_make_sure(sure, n):
    """No error among n rows is evidence of an error rate of about 1/n, not of none."""
    right = np.log(np.array([[sure, 1.0 - sure], [1.0 - sure, sure]] * (n // 2)))
    truth = np.arange(n) % 2
    for method in ("temperature", "isotonic"):
        found = fitted_calibration(method, right, truth, np.ones(n)).apply(right)
        wrong = found[np.arange(n), 1 - truth]
        assert wrong.min() >= min(np.log(1.0 - sure) * 1.3, -np.log(10.0 * n))


@pytest.mark.parametrize("method", ["temperature", "isotonic"])
@pytest.mark.parametrize("factor", [1e-3, 2.0, 1e6])
def test_a_common_factor_on_weights_calibrates_alike(factor, method):
    log_proba, own, rng = predictions(3, 3, 2.0)
    weight = rng.choice([0.5, 1.0, 3.0], len(own))
    once, scaled = (
        fitted_calibration(method, log_proba, own, w).apply(log_proba)
        for w in (weight, factor * weight)
    )
    np.testing.assert_allclose(once, scaled, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("method", ["temperature", "isotonic"])
@pytest.mark.parametrize("seed", range(3))
def test_the_table_of_the_readme_keeps_its_word_on_fresh_rows(seed, method):
    """Leave-one-out predictions of these rows are all but perfect; fresh ones are not."""
    rng = np.random.default_rng(seed)

    def rows(table):
        table = pd.DataFrame(table)
        return table, (table["age"] + 5 * table["visits"] > 50).to_numpy()

    X, y = rows([{"age": 20 + i % 40, "job": "abc"[i % 3], "visits": i % 5} for i in range(200)])
    fresh, truth = rows(
        {
            "age": rng.integers(20, 60, 2000),
            "job": rng.choice(list("abc"), 2000),
            "visits": rng.integers(0, 5, 2000),
        }
    )
    plain = NaiveBayes(alpha="auto").fit(X, y)
    calibrated = NaiveBayes(alpha="auto", calibrate=method).fit(X, y)
    before, after = (
        loss(model.predict_log_proba(fresh), truth.astype(int)) for model in (plain, calibrated)
    )
    assert after <= before + 0.01


@pytest.mark.parametrize("method", ["temperature", "isotonic"])
@pytest.mark.parametrize("n", [30, 200])
def test_labels_of_a_coin_cost_nothing(n, method):
    before, after = [], []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X = pd.DataFrame(rng.normal(size=(n + 500, 6))).rename(columns=str)
        y = rng.integers(0, 2, n + 500)
        for found, calibrate in ((before, None), (after, method)):
            model = NaiveBayes(calibrate=calibrate).fit(X[:n], y[:n])
            found.append(loss(np.maximum(model.predict_log_proba(X[n:]), -34.0), y[n:]))
    assert np.mean(after) <= np.mean(before)


def test_a_temperature_of_rows_ruled_out_is_finite():
    log_proba = np.log(np.array([[0.6, 0.4], [0.4, 0.6]] * 5))
    log_proba[0] = 0.0, -np.inf
    own = np.array([1, *[0, 1] * 4, 0], dtype=np.intp)
    calibration = fitted_calibration("temperature", log_proba, own, np.ones(10))
    assert 0.0 < calibration.beta < np.inf
    found = calibration.apply(log_proba)
    np.testing.assert_array_equal(found[0], [0.0, -np.inf])
    np.testing.assert_allclose(np.exp(found).sum(axis=1), 1.0)


@pytest.mark.parametrize("beta", [0.02, 0.5, 1.0, 20.0])
def test_a_temperature_keeps_the_order(beta):
    log_proba, _, _ = predictions(0, 4)
    calibrated = Temperature(beta).apply(log_proba)
    np.testing.assert_allclose(np.exp(calibrated).sum(axis=1), 1.0)
    np.testing.assert_array_equal(np.argsort(calibrated, axis=1), np.argsort(log_proba, axis=1))
    odds = log_proba[:, 0] - log_proba[:, 1]
    np.testing.assert_allclose(calibrated[:, 0] - calibrated[:, 1], beta * odds, atol=1e-12)
    if beta == 1.0:
        np.testing.assert_allclose(calibrated, log_proba, atol=1e-14)


# ---- isotonic ------------------------------------------------------------------------------------
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("k", [2, 3, 7])
def test_isotonic_is_that_of_scikit_learn(k, weighted):
    log_proba, own, rng = predictions(k, k, 2.0)
    weight = rng.choice([0.5, 1.0, 3.0], len(own)) if weighted else np.ones(len(own))
    found = fitted_calibration("isotonic", log_proba, own, weight)
    edge = 1.0 / (weight.sum() ** 2 / (weight @ weight) + 2.0)  # effective rows
    shares = np.empty_like(log_proba)
    for c in range(k):
        peer = IsotonicRegression(out_of_bounds="clip").fit(
            np.exp(log_proba[:, c]), own == c, sample_weight=weight
        )
        shares[:, c] = np.clip(peer.predict(np.exp(log_proba[:, c])), edge, 1.0 - edge)
    if k > 2:
        shares /= shares.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(np.exp(found._regressed(log_proba)), shares, atol=1e-6)
    n = weight.sum() ** 2 / (weight @ weight)
    assert found.share == pytest.approx(n / (n + EVEN_ROWS))
    sharp = fitted_calibration("temperature", log_proba, own, weight)
    mixed = found.share * shares + (1.0 - found.share) * np.exp(sharp.apply(log_proba))
    np.testing.assert_allclose(np.exp(found.apply(log_proba)), mixed, atol=1e-6)


@METHODS
@pytest.mark.parametrize("k", [2, 3])
def test_rows_without_weight_do_not_calibrate(k, method):
    log_proba, own, rng = predictions(k, k, 2.0)
    weight = rng.choice([0.0, 1.0, 3.0], len(own))
    heavy = weight > 0.0
    found = fitted_calibration(method, log_proba, own, weight).apply(log_proba)
    among = fitted_calibration(method, log_proba[heavy], own[heavy], weight[heavy])
    np.testing.assert_allclose(found, among.apply(log_proba), rtol=1e-7)


@settings(max_examples=50)
@given(st.integers(1, 5), st.sampled_from([0.0, 1.0, 40.0, 1e3]), st.integers(0, 1000))
def test_log_odds_are_those_of_their_definition(k, scale, seed):
    rng = np.random.default_rng(seed)
    log_proba = np.round(scale * rng.normal(size=(4, k)), 1)  # some are equal
    log_proba -= logsumexp(log_proba, axis=1, keepdims=True)
    for c in range(k):
        others = np.delete(log_proba, c, axis=1)
        rest = logsumexp(others, axis=1) if k > 1 else np.full(4, -np.inf)
        expected = np.clip(log_proba[:, c] - rest, -1e4, 1e4)
        np.testing.assert_allclose(log_odds(log_proba)[:, c], expected, rtol=1e-12, atol=1e-12)


def test_log_odds_of_classes_ruled_out_are_finite():
    log_proba = np.log([[1.0, 1e-300, 1e-300], [0.5, 0.5, 1e-300]])
    log_proba[:, 2] = -np.inf
    log_proba[0, 1] = -np.inf
    odds = log_odds(log_proba)
    np.testing.assert_allclose(odds, [[1e4, -1e4, -1e4], [0.0, 0.0, -1e4]])


def test_isotonic_is_a_rising_function_of_two_classes():
    log_proba, own, _ = predictions(1, 2, 3.0)
    found = fitted_calibration("isotonic", log_proba, own, np.ones(len(own)))
    p = np.linspace(0.0, 1.0, 101)
    with np.errstate(divide="ignore"):
        calibrated = np.exp(found.apply(np.log(np.stack([1.0 - p, p], axis=1))))[:, 1]
    assert (np.diff(calibrated) >= 0.0).all()
    assert np.exp(found._regressed(np.log(np.array([[1.0 - 1e-9, 1e-9]])))).min() >= 1.0 / 402.0
    assert np.exp(found._regressed(np.log(np.array([[1e-9, 1.0 - 1e-9]])))).max() <= 401.0 / 402.0


def test_isotonic_says_nothing_for_sure():
    sure = np.log(np.array([[1.0 - 1e-12, 1e-12]] * 20 + [[1e-12, 1.0 - 1e-12]] * 20))
    own = np.repeat([0, 1], 20)
    found = fitted_calibration("isotonic", sure, own, np.ones(40)).apply(sure)
    # a share of 40 / 2,040 says at least 1 / 42
    np.testing.assert_allclose(np.exp(found).min(), 40.0 / 2040.0 / 42.0, rtol=1e-6)


# ---- in a model ----------------------------------------------------------------------------------
@METHODS
@pytest.mark.parametrize("name", SETS)
def test_it_is_fitted_to_leave_one_out_predictions(name, method):
    X, y = SETS[name](return_X_y=True, as_frame=True)
    plain = NaiveBayes().fit(X, y)
    without = leave_one_out(plain, X, y)
    model = NaiveBayes(calibrate=method).fit(X, y)
    own = y.to_numpy(dtype=np.intp)
    expected = fitted_calibration(method, without, own, np.ones(len(y)))
    np.testing.assert_allclose(
        model.predict_log_proba(X), expected.apply(plain.predict_log_proba(X)), rtol=1e-9
    )
    np.testing.assert_allclose(leave_one_out(model, X, y), expected.apply(without), rtol=1e-9)


@METHODS
@pytest.mark.parametrize("name", SETS)
def test_it_makes_held_out_probabilities_better(name, method):
    """Log-loss on rows that neither counts nor calibration have seen, mean of five splits."""
    X, y = SETS[name](return_X_y=True, as_frame=True)
    before, after = [], []
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(len(y))
        train, test = order[: len(y) // 2], order[len(y) // 2 :]
        for found, calibrate in ((before, None), (after, method)):
            model = NaiveBayes(Gauss, calibrate=calibrate).fit(X.iloc[train], y[train])
            log_proba = np.maximum(model.predict_log_proba(X.iloc[test]), -30.0)
            found.append(loss(log_proba, y[test].to_numpy(dtype=np.intp)))
    worst = {"cancer": 0.5, "wine": 1.5, "iris": 1.5}[name]  # the features of cancer repeat
    assert np.mean(after) <= worst * np.mean(before)


Gauss = {float: Gaussian(ddof=1)}


@METHODS
@pytest.mark.parametrize("name", SETS)
def test_predictions_agree_with_each_other(name, method):
    X, y = SETS[name](return_X_y=True, as_frame=True)
    model = NaiveBayes(calibrate=method).fit(X, y)
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), proba, rtol=1e-12)
    best = proba.max(axis=1)
    # of equal probabilities either may come first
    assert (proba[np.arange(len(y)), model.predict(X)] >= best - 1e-12).all()
    for i, row in enumerate(X[::7].to_dict("records")):
        one = model.predict_proba_one(row)
        assert list(one) == model.classes_.tolist()
        np.testing.assert_allclose(list(one.values()), proba[7 * i], rtol=1e-9, atol=1e-300)
        assert one[model.predict_one(row)] >= best[7 * i] - 1e-9


@METHODS
def test_one_row_of_a_group_is_calibrated_once(method):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    X = pd.DataFrame({"p": rng.poisson(1 + y), "q": rng.poisson(2 - y)})
    group = {("p", "q"): Multinomial(estimate="posterior")}
    model = NaiveBayes(group, calibrate=method).fit(X, y)
    for i in range(5):
        row = X.iloc[i].to_dict()
        expected = model.predict_proba(X.iloc[[i]])[0]
        np.testing.assert_allclose(list(model.predict_proba_one(row).values()), expected)
        assert model.predict_one(row) == model.predict(X.iloc[[i]])[0]


def test_one_row_far_out_is_calibrated_like_a_batch():
    """Its probability is below the least float, but not after a temperature below 1."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 50)
    x = y + 0.02 * rng.normal(size=100)
    x[rng.random(100) < 0.3] = 0.5  # wrong and sure: the temperature falls
    X = pd.DataFrame({"x": x, "again": x})
    model = NaiveBayes(Gauss, calibrate="temperature").fit(X, y)
    plain = NaiveBayes(Gauss).fit(X, y)
    far = next(
        v
        for v in np.arange(2.0, 99.0)
        if plain.predict_log_proba([{"x": v, "again": v}]).min() < -800
    )
    row = {"x": far, "again": far}
    assert plain.predict_proba([row]).min() == 0.0
    one, batch = model.predict_proba_one(row), model.predict_proba([row])[0]
    np.testing.assert_allclose(list(one.values()), batch, rtol=1e-9)
    assert 0.0 < batch.min() < 1.0


@METHODS
def test_a_row_that_every_class_rules_out(method):
    levels = {"u": Categorical(levels=["b", "c", "d"], alpha=0.0)}
    y = ["b", "c", "b"] * 10
    model = NaiveBayes(levels, calibrate=method).fit(pd.DataFrame({"u": y}), y)
    with pytest.warns(RuledOutWarning):
        batch = model.predict_proba(pd.DataFrame({"u": ["d"]}))[0]
    with pytest.warns(RuledOutWarning):
        one = model.predict_proba_one({"u": "d"})
    np.testing.assert_allclose(list(one.values()), batch)
    np.testing.assert_allclose(batch.sum(), 1.0)


@METHODS
def test_weights_count_as_rows(method):
    """A weight of 0 is not a row."""
    X, y = load_wine(return_X_y=True, as_frame=True)
    weight = np.random.default_rng(0).choice([0.0, 1.0, 2.5], len(y))
    some = weight > 0.0
    model = NaiveBayes(Gauss, calibrate=method).fit(X, y, sample_weight=weight)
    twin = NaiveBayes(Gauss, calibrate=method).fit(X[some], y[some], sample_weight=weight[some])
    np.testing.assert_allclose(model.predict_proba(X), twin.predict_proba(X), atol=1e-6)


@METHODS
def test_each_fold_is_calibrated_without_its_rows(method):
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = NaiveBayes(Gauss, calibrate=method).fit(X, y)
    fold = np.arange(len(y)) % 5
    found = cross_validate(model, X, y, fold)
    for i in range(5):
        others = NaiveBayes(Gauss, calibrate=method).fit(X[fold != i], y[fold != i])
        expected = others.predict_log_proba(X[fold == i])
        np.testing.assert_allclose(found[fold == i], expected, rtol=1e-6, atol=1e-9)


@METHODS
def test_many_rows_are_calibrated_on_a_sample(method, monkeypatch):
    from tallybayes.estimators import naive_bayes as row_choices

    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 3000)
    X = pd.DataFrame({"x": y + rng.normal(size=3000)})
    X["again"] = X["x"]
    whole = NaiveBayes(Gauss, calibrate=method).fit(X, y).predict_proba(X)
    monkeypatch.setattr(row_choices, "MAX_ROWS_FOR_CALIBRATION", 1500)
    sampled = NaiveBayes(Gauss, calibrate=method).fit(X, y).predict_proba(X)
    again = NaiveBayes(Gauss, calibrate=method).fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(sampled, again)
    assert 0.0 < np.abs(sampled - whole).mean() < 0.03


@pytest.mark.parametrize("bad", ["platt", "sigmoid", True, 3])
def test_other_methods_are_refused(bad):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="'calibrate' parameter of NaiveBayes must be"):
        NaiveBayes(calibrate=bad).fit(X, y)


def test_the_kinds_of_calibration_are_what_was_asked_for():
    X, y = load_iris(return_X_y=True, as_frame=True)
    kinds = {"temperature": Temperature, "isotonic": Isotonic}
    for method, kind in kinds.items():
        assert type(NaiveBayes(calibrate=method).fit(X, y)._model.chosen.calibration) is kind


# docs/decisions/0012-effective-rows.md: the same counts, and choices by the rows they came from
CHOICES = {
    f"check_sample_weight_equivalence_on_{kind}_data": "families, smoothing and calibration are "
    "chosen by leaving out rows, and a row of weight 3 is one row"
    for kind in ("dense", "sparse")
}


@parametrize_with_checks(
    [
        NaiveBayes(alpha="auto", calibrate="temperature"),
        NaiveBayes(alpha="auto", criterion="evidence", class_alpha="auto", calibrate="isotonic"),
    ],
    expected_failed_checks=lambda estimator: CHOICES,
)
def test_it_is_an_estimator_of_scikit_learn(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # constant columns, tiny tables
        check(estimator)
