"""The laws of `WeightedNaiveBayes` over weights, missing values and edges of a table."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

from estimators.model_laws import (
    forget,
    frame_of,
    learn,
    parts_of,
    quietly,
    saved_and_loaded,
    weighs_in_each_class,
)
from tallybayes import (
    NaiveBayes,
    WeightedNaiveBayes,
    get_num_threads,
    leave_one_out,
    set_num_threads,
)
from tallybayes.testing.edge_tables import WEIGHTS, edge_tables

pytestmark = pytest.mark.filterwarnings("ignore::tallybayes.errors.TallyWarning")
law = settings(
    max_examples=settings.default.max_examples // 5,  # each fits several models
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink],  # to explain takes minutes
)
# the optimum is found to a tolerance that probabilities feel in the seventh place
CLOSE = {"rtol": 0.0, "atol": 1e-6}
OF_ROWS = tuple(kind for kind in WEIGHTS if kind != "zeros")  # a row of weight 0 is none


def fitted(table, weights=None, order=None):
    order = np.arange(len(table)) if order is None else order
    weights = table.weights if weights is None else weights
    weight = None if weights is None else weights[order]
    return WeightedNaiveBayes().fit(frame_of(table, order), table.labels[order], weight)


@law
@given(table=edge_tables(max_rows=25), data=st.data(), factor=st.sampled_from([2.0, 1000.0, 1e-3]))
def test_neither_a_common_factor_nor_the_order_of_rows_and_columns_matters(table, data, factor):
    weight = np.ones(len(table)) if table.weights is None else table.weights
    # beside learned classes one of weight 0 has what the class prior's declared smoothing gives it
    assume(all(weight[table.labels == label].any() for label in set(table.labels)))
    once, x = fitted(table, weight), table.counted()
    expected = quietly(once.predict_proba, x)
    np.testing.assert_allclose(
        quietly(fitted(table, factor * weight).predict_proba, x), expected, **CLOSE
    )
    order = np.array(data.draw(st.permutations(range(len(table)))))
    before = get_num_threads()
    try:
        set_num_threads(data.draw(st.sampled_from([1, 2])))
        found = quietly(fitted(table, weight, order).predict_proba, x)
    finally:
        set_num_threads(before)
    np.testing.assert_allclose(found, expected, **CLOSE)


@law
@given(table=edge_tables(max_rows=25, min_rows=2), data=st.data())
def test_leaving_a_row_out_is_forgetting_it_under_fixed_weights(table, data):
    """Without pairs: forgetting leaves them as they were learned, and here they lose the row.
    Counts in effective rows are rounded to 30 binary digits."""
    x, y, w = table.records(), table.labels, table.weights
    if w is not None:  # a class of weight 0 is gone once anything is forgotten
        assume(np.count_nonzero(w) > 1 and weighs_in_each_class(table))
        x, heavy = table.counted(), w > 0.0  # of other rows nothing is known, not even strings
        y, w = y[heavy], w[heavy]
    model = WeightedNaiveBayes(interactions=0).fit(x, y, w)
    found = leave_one_out(model, x, y, w)
    weight = np.ones(len(y)) if w is None else w
    for i in data.draw(st.sets(st.integers(0, len(y) - 1), min_size=1, max_size=3)):
        if weight[y == y[i]].sum() == weight[i]:
            continue  # the class has no other row
        if not _can_be_asked(x[i], x[:i] + x[i + 1 :]):
            continue  # the column then holds numbers only, and refuses the string
        others = copy.deepcopy(model).forget([x[i]], y[[i]], weight[[i]])
        expected = quietly(others.predict_log_proba, [x[i]])[0]
        np.testing.assert_allclose(found[i], expected, rtol=0.0, atol=1e-7)


@law
@given(table=edge_tables(max_rows=25, min_rows=2), data=st.data())
def test_what_is_forgotten_was_never_seen(table, data):
    """By the counts, on which weights are then learned."""
    gone = data.draw(st.sets(st.integers(0, len(table) - 1), max_size=len(table) - 1))
    if table.weights is not None:
        gone |= set(np.flatnonzero(table.weights == 0.0).tolist())
    kept = np.array([i for i in range(len(table)) if i not in gone], dtype=int)
    assume(len(kept))
    assume(weighs_in_each_class(table) or table.weight(sorted(gone)).any())
    x, y, w = table.records(kept), table.labels[kept], table.weight(kept)
    counted = learn(NaiveBayes(), table, data.draw(parts_of(range(len(table)))), NaiveBayes)
    forget(counted, table, data.draw(parts_of(sorted(gone))))
    model = WeightedNaiveBayes().count_from(counted, x, y, w)
    fresh = WeightedNaiveBayes().fit(x, y, w)
    assert model.classes_.tolist() == fresh.classes_.tolist()
    found, expected = (quietly(m.predict_proba, x) for m in (model, fresh))
    np.testing.assert_allclose(found, expected, **CLOSE)


def _can_be_asked(row, known):
    """Whether each string of a row stands in a column that had strings: among numbers alone it is
    refused."""
    with_strings = {name for other in known for name, v in other.items() if isinstance(v, str)}
    return all(name in with_strings for name, v in row.items() if isinstance(v, str))


@law
@given(table=edge_tables(max_rows=25, min_rows=2, of_weights=OF_ROWS), data=st.data())
def test_what_came_after_the_weights_and_is_forgotten_was_never_seen(table, data):
    """Classes, levels and columns among it; weights stay as they were learned."""
    rows, before = range(len(table)), data.draw(st.integers(1, len(table) - 1))
    first, more = np.array(rows[:before]), np.array(rows[before:])
    model = WeightedNaiveBayes().fit(table.records(first), table.labels[first], table.weight(first))
    x = [row for row in table.records() if _can_be_asked(row, table.records(first))]
    assume(x)
    classes, expected = model.classes_.tolist(), quietly(model.predict_proba, x)
    model.partial_fit(table.records(more), table.labels[more], sample_weight=table.weight(more))
    forget(model, table, data.draw(parts_of(more.tolist())))
    assert model.classes_.tolist() == classes
    np.testing.assert_allclose(quietly(model.predict_proba, x), expected, rtol=0.0, atol=1e-9)


@pytest.mark.parametrize("factor", [2.0, 1000.0, 1e-3])
def test_where_nothing_could_be_learned_a_common_factor_changes_nothing(factor):
    x, y = [{"n": float(i)} for i in range(5)], list("nnnns")
    w = np.array([1.0, 1.0, 1.0, 1.0, 0.0])  # all weight is of one class
    once, scaled = (WeightedNaiveBayes().fit(x, y, u * w) for u in (1.0, factor))
    np.testing.assert_allclose(scaled.predict_proba(x), once.predict_proba(x), rtol=1e-9)
    np.testing.assert_allclose(once.predict_proba(x)[0], [5.0 / 6.0, 1.0 / 6.0])
    left = [leave_one_out(m, x, y, u * w) for m, u in ((once, 1.0), (scaled, factor))]
    np.testing.assert_allclose(left[1], left[0], rtol=1e-9)
    np.testing.assert_allclose(left[0][0], np.log([4.0 / 5.0, 1.0 / 5.0]))


def test_a_class_that_came_after_the_weights_goes_with_its_last_row():
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b"], 60)
    x = [
        {"n": n, "t": t}
        for n, t in zip(rng.normal(y == "a"), rng.choice(list("uv"), 120), strict=True)
    ]
    model = WeightedNaiveBayes().fit(x, y)
    expected = model.predict_proba(x)
    model.partial_fit([{"n": 9.0, "t": "w", "new": 1.0}], ["c"])
    assert model.classes_.tolist() == ["a", "b", "c"]
    model.forget([{"n": 9.0, "t": "w", "new": 1.0}], ["c"])
    assert model.classes_.tolist() == ["a", "b"]
    assert model.feature_names_in_.tolist() == ["n", "t"]
    np.testing.assert_allclose(model.predict_proba(x), expected, rtol=0.0, atol=1e-12)
    model.forget(x[:60], y[:60])  # of a class that weights were learned for, they stay
    assert model.classes_.tolist() == ["a", "b"]


@law
@given(table=edge_tables(max_rows=25))
def test_predictions_are_probabilities_and_a_file_gives_the_same_bits(table):
    model = WeightedNaiveBayes().fit(table.records(), table.labels, table.weights)
    rows = [*table.counted(), {}]
    proba = quietly(model.predict_proba, rows)
    assert np.isfinite(proba).all()
    assert (proba >= 0.0).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-12)
    assert quietly(saved_and_loaded(model).predict_proba, rows).tobytes() == proba.tobytes()
    for row, shares in zip(rows[:3], proba, strict=False):
        one = list(quietly(model.predict_proba_one, row).values())
        np.testing.assert_allclose(one, shares, rtol=1e-9, atol=1e-300)


def test_numbers_beyond_1e100_are_in_a_file():
    x = [{"v": v} for v in (5e97, 5e97, 5.05e99, 1.005e100, 1.1e101)]
    model = WeightedNaiveBayes().fit(x, list("nnsst"))
    again = saved_and_loaded(model)
    assert again.predict_proba(x).tobytes() == model.predict_proba(x).tobytes()


def test_a_row_of_weight_0_whose_class_has_no_rows_is_predicted_as_any_other():
    x = [{"v": v} for v in (0.5, 1.0, 1.5, 3.0, 3.5, 4.0, 9.0)]
    y, w = np.array(list("nnnsssy")), np.array([1.0] * 6 + [0.0])
    model = WeightedNaiveBayes().fit(x, y, w)
    found = leave_one_out(model, x, y, w)
    np.testing.assert_allclose(found[6], model.predict_log_proba(x)[6], atol=1e-12)
    np.testing.assert_allclose(found[:6], leave_one_out(model, x[:6], y[:6]), atol=1e-12)
