"""Smooth functions beside the fits: what they learn, when there are none, and what stays exact."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax
from sklearn.datasets import load_wine

from tallybayes import WeightedNaiveBayes, get_num_threads, leave_one_out, load, set_num_threads
from tallybayes.errors import StaleWarning, UninformativeWarning
from tallybayes.weighted import average, smooth
from tallybayes.weighted import objective as optim
from tallybayes.weighted.objective import CorrectedRows, solved
from tallybayes.weighted.smooth import SmoothDesign, SmoothTerms
from weighted.read import cells_of

TRAIN, D = 1500, 9


def clouds():
    """Sixty clouds of points with six labels: no two columns tell clouds apart, all of them do."""
    rng = np.random.default_rng(0)
    centres = 2.0 * rng.normal(size=(60, D))
    own = rng.integers(0, 60, TRAIN + 500)
    return np.round(centres[own] + 0.5 * rng.normal(size=(len(own), D))), own % 6


def many_weak(n_train=400, n_fresh=2000, columns=40, seed=3):
    """Forty numbers, each of which says a little, in a straight line."""
    rng = np.random.default_rng(seed)
    slope = rng.normal(0.0, 0.5, columns)
    X = rng.normal(size=(n_train + n_fresh, columns))
    y = (rng.random(len(X)) < 1.0 / (1.0 + np.exp(-X @ slope))).astype(int)
    return (X[:n_train], y[:n_train]), (X[n_train:], y[n_train:])


def fresh_loss(model, X, y):
    return -np.log(model.predict_proba(X)[np.arange(len(y)), y]).mean()


def learned_of(model):
    return model._model.chosen.weighting.learned


def without_functions(monkeypatch, X, y):
    with monkeypatch.context() as patched:
        patched.setattr(average, "smooth_functions", lambda *given, **options: None)
        return WeightedNaiveBayes().fit(X, y)


@pytest.fixture(scope="module")
def rows():
    X, y = clouds()
    return (X[:TRAIN], y[:TRAIN]), (X[TRAIN:], y[TRAIN:])


@pytest.fixture(scope="module")
def model(rows):
    return WeightedNaiveBayes().fit(*rows[0])


# ---- what they learn -----------------------------------------------------------------------------
def test_functions_of_all_pairs_say_more_than_pairs_that_gain_alone(rows, model, monkeypatch):
    train, test = rows
    assert len(learned_of(model).smooth.pairs) == D * (D - 1) // 2
    without = without_functions(monkeypatch, *train)
    assert learned_of(without).smooth is None
    assert fresh_loss(model, *test) < 0.8 * fresh_loss(without, *test)
    assert model.log_loss_ < without.log_loss_


def test_the_summary_says_what_share_they_have(rows, model):
    share = learned_of(model).smooth.share
    assert share in {smooth.SHARE, smooth.LARGER_SHARE}
    said = f"Smooth functions of columns and pairs have {100 * share:.0f}% of the model."
    assert said in model.summary()
    short = model.simplify(*rows[0], max_terms=3)
    assert "Smooth functions" not in short.summary()


def test_many_numbers_that_say_little_each_say_much_together(monkeypatch):
    train, test = many_weak()
    model, without = WeightedNaiveBayes().fit(*train), without_functions(monkeypatch, *train)
    assert learned_of(model).smooth.pairs == []
    assert fresh_loss(model, *test) < 0.95 * fresh_loss(without, *test)


def test_the_printed_loss_with_functions_is_that_of_fresh_rows(rows, model):
    assert abs(model.log_loss_ - fresh_loss(model, *rows[1])) < 3.0 * model.log_loss_se_


def test_where_labels_follow_a_rule_there_are_no_functions():
    """The parity of three columns: a sum of functions of columns or pairs says nothing of it."""
    rng = np.random.default_rng(1)
    X = rng.integers(0, 2, (1200, 8))
    first = X[:, 0] ^ X[:, 1]
    table = pd.DataFrame(X, columns=[f"c{j}" for j in range(8)]).astype(str)
    model = WeightedNaiveBayes().fit(table, first)
    smooth_tables = learned_of(model).smooth
    assert smooth_tables is None or smooth_tables.pairs
    assert model.accuracy_ == 1.0


def test_permuted_labels_have_no_functions(rows):
    (X, y), (fresh, _) = rows
    mixed = np.random.default_rng(5).permutation(y)
    with pytest.warns(UninformativeWarning):
        model = WeightedNaiveBayes().fit(X[:300], mixed[:300])
    assert learned_of(model).smooth is None
    shares = np.bincount(mixed[:300]) / 300.0
    np.testing.assert_allclose(
        model.predict_proba(fresh), np.tile(shares, (len(fresh), 1)), rtol=1e-5
    )


def test_without_corrections_there_are_no_functions(rows):
    X, y = rows[0]
    assert learned_of(WeightedNaiveBayes(polish=False).fit(X[:400], y[:400])).smooth is None


@pytest.mark.parametrize("interactions", [0, 3])
def test_pairs_have_no_functions_where_their_number_is_given(rows, interactions):
    X, y = rows[0]
    model = WeightedNaiveBayes(interactions=interactions).fit(X[:400], y[:400])
    assert len(model.interactions_) <= interactions
    found = learned_of(model).smooth
    assert found is None or not found.pairs


def waves(n_rows, seed=7):
    """Two numbers, each of which says nothing: where both lie on the same slope of a wave, the
    class is more likely the second."""
    rng = np.random.default_rng(seed)
    X = rng.random((n_rows, 2))
    likely = np.prod(np.sin(4.0 * np.pi * X), axis=1) > 0.0
    return X, (rng.random(n_rows) < np.where(likely, 0.9, 0.1)).astype(int)


def test_a_fine_shape_of_many_rows_has_fine_functions_of_both_columns(monkeypatch):
    """The finest functions are those that rows left out ask for and that rows are enough for."""
    (X, y), fresh = waves(1500), waves(4000, seed=8)
    model = WeightedNaiveBayes().fit(X, y)
    [pair] = learned_of(model).smooth.pairs
    assert pair.sizes == (33, 33)  # two cells of each knot, and the missing value
    with monkeypatch.context() as patched:
        patched.setattr(smooth, "KNOTS_OF_PAIRS", (4,))
        coarse = WeightedNaiveBayes().fit(X, y)
    least = -0.9 * np.log(0.9) - 0.1 * np.log(0.1)  # of whoever knows the wave
    excess, of_coarse = (fresh_loss(each, *fresh) - least for each in (model, coarse))
    assert excess < 0.85 * of_coarse
    few = WeightedNaiveBayes().fit(X[:200], y[:200])
    assert all(max(pair.sizes) <= 17 for pair in getattr(learned_of(few).smooth, "pairs", []))


def test_finer_functions_are_not_taken_where_they_gain_nothing():
    (X, y), _ = many_weak(n_train=1500, columns=3)
    found = learned_of(WeightedNaiveBayes().fit(X, y)).smooth
    assert found is not None
    assert all(max(pair.sizes) <= 17 for pair in found.pairs)


# ---- the least loss ------------------------------------------------------------------------------
def test_coefficients_are_those_of_a_general_minimiser(monkeypatch):
    monkeypatch.setattr(optim, "RIDGE_TOLERANCE", 1e-7)
    table = load_wine(as_frame=True)
    frame = table.data[["alcohol", "hue"]].copy()
    frame["many"] = np.where(frame.alcohol > 13.0, "y", "n")
    columns, rows, _ = cells_of(frame, np.asarray(table.target))
    terms = SmoothTerms(columns, rows.n_classes, knots=4)
    assert len(terms.pairs) == 3
    log_p = np.log(np.bincount(rows.y) / rows.n)
    smooth, start = SmoothDesign(terms, rows, log_p), np.tile(log_p, (rows.n, 1))
    own = CorrectedRows(smooth.codes, start, rows.y, rows.weight, smooth.n_cells)
    curvature = smooth.curvature(own.curvature())
    nothing = np.zeros(curvature.shape)
    found = solved(own, curvature, 1.0, nothing, steps=500, functions=smooth.functions)

    cells = terms.cells.numbered(terms.code, rows.cells, np.arange(rows.n))
    design = np.zeros((rows.n, terms.cells.n))
    np.put_along_axis(design, cells, 1.0, axis=1)
    design = design @ terms.values.toarray()

    def objective(q):
        q = q.reshape(nothing.shape)
        scores = start + design @ q
        p = softmax(scores, axis=1)
        p[np.arange(rows.n), rows.y] -= 1.0
        loss = -log_softmax(scores, axis=1)[np.arange(rows.n), rows.y].sum()
        return loss + (q**2).sum(), (design.T @ p + 2.0 * q).ravel()

    best = minimize(objective, np.zeros(found.size), jac=True, method="L-BFGS-B", tol=1e-12)
    least, gradient = objective(found.ravel())
    assert least == pytest.approx(best.fun, abs=1e-3)
    loss, of_cells = own.loss(smooth.values @ found)
    assert loss + (found**2).sum() == pytest.approx(least, rel=1e-5)
    own_gradient = smooth.values.T @ of_cells + 2.0 * found
    np.testing.assert_allclose(own_gradient.ravel(), gradient, atol=1e-3)


# ---- what stays exact ----------------------------------------------------------------------------
def test_threads_change_nothing(rows, model, monkeypatch):
    monkeypatch.setattr(average, "MAX_ONE_THREAD_WORK", 0)
    before = get_num_threads()
    try:
        set_num_threads(3)
        other = WeightedNaiveBayes().fit(*rows[0])
    finally:
        set_num_threads(before)
    X, _ = rows[1]
    assert np.array_equal(other.predict_proba(X), model.predict_proba(X))


def test_a_common_factor_of_weights_changes_nothing(rows):
    (X, y), (fresh, _) = rows
    X, y = X[:300], y[:300]
    one = WeightedNaiveBayes().fit(X, y).predict_proba(fresh)
    twice = WeightedNaiveBayes().fit(X, y, sample_weight=np.full(300, 2.0)).predict_proba(fresh)
    np.testing.assert_allclose(twice, one, rtol=1e-9)


def test_files_hold_the_functions(rows, model, tmp_path):
    (X, y), (fresh, _) = rows
    said = model.predict_joint_log_proba(fresh)
    model.save(tmp_path / "m.tally")
    again = load(tmp_path / "m.tally")
    assert np.array_equal(again.predict_joint_log_proba(fresh), said)
    assert again.log_loss_ == model.log_loss_
    short = again.simplify(X, y, max_terms=12)
    assert learned_of(short).smooth is None
    assert np.isfinite(short.predict_joint_log_proba(fresh)).all()


def test_explanations_add_up_to_the_score(rows, model):
    fresh = rows[1][0][:20]
    explained = model.explain(fresh)
    total = explained.base + explained.contributions.sum(axis=2)
    np.testing.assert_allclose(total, model.predict_joint_log_proba(fresh))
    names = [str(j) for j in range(D)]
    pairs = [key for key in model.tables_ if isinstance(key, tuple)]
    pairs = {frozenset(pair) for pair in pairs if len(pair) == 2}
    assert pairs == {frozenset(pair) for pair in combinations(names, 2)}


def test_rows_that_come_and_go_leave_no_trace(rows):
    (X, y), (fresh, _) = rows
    model = WeightedNaiveBayes().fit(X[:400], y[:400])
    assert learned_of(model).smooth is not None
    said = model.predict_joint_log_proba(fresh)
    model.partial_fit(X[400:450], y[400:450])
    with pytest.warns(StaleWarning):
        now = model.predict_joint_log_proba(fresh)
    assert not np.array_equal(now, said)
    model.forget(X[400:450], y[400:450])
    assert np.array_equal(model.predict_joint_log_proba(fresh), said)
    without = leave_one_out(model, X[:50], y[:50])
    np.testing.assert_allclose(np.exp(without).sum(axis=1), 1.0)


def test_a_level_that_came_since_has_no_function():
    rng = np.random.default_rng(7)
    n = 300
    X = pd.DataFrame({"kind": rng.choice(list("abc"), n), "size": rng.normal(size=n)})
    y = (rng.random(n) < 1.0 / (1.0 + np.exp(-X["size"] - (X.kind == "a")))).astype(int)
    model = WeightedNaiveBayes().fit(X, y)
    smooth_tables = learned_of(model).smooth
    assert smooth_tables is not None
    more = pd.DataFrame({"kind": ["new"] * 4, "size": [0.0, 1.0, 0.5, -1.0]})
    model.partial_fit(more, [0, 1, 1, 0])
    with pytest.warns(StaleWarning):
        said = model.predict_proba(more)
    assert np.isfinite(said).all()
    np.testing.assert_allclose(said.sum(axis=1), 1.0)
