"""The laws of `NaiveBayes` over every family, weight, missing value and edge of a table."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

from estimators.model_laws import (
    assert_close,
    assert_same_predictions,
    declarations,
    forget,
    frame_of,
    learn,
    lost_digits,
    parts_of,
    quietly,
    rounding,
    saved_and_loaded,
    with_levels,
)
from tallybayes import NaiveBayes, get_num_threads, leave_one_out, set_num_threads
from tallybayes.testing.edge_tables import edge_tables

pytestmark = pytest.mark.filterwarnings("ignore::tallybayes.errors.TallyWarning")
law = settings(
    max_examples=settings.default.max_examples // 2,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink],  # to explain takes minutes
)
missing = st.sampled_from(["ignore", "level"])
data = st.data()


def any_model(draw, table, **options):
    """A model of a table, its families chosen or declared."""
    columns = "auto" if draw(st.booleans()) else draw(declarations(table, fixed=False))()
    options.setdefault("missing", draw(missing))
    return lambda: NaiveBayes(columns, **options)


# ---- leave-one-out -------------------------------------------------------------------------------
@law
@given(table=edge_tables(min_rows=2, max_rows=20), data=data)
def test_leaving_a_row_out_is_fitting_without_it(table, data):
    columns = with_levels(data.draw(declarations(table))(), table)
    classes = np.unique(table.labels)
    new = NaiveBayes(columns, classes=classes, class_alpha=0.5, missing=data.draw(missing))
    model = NaiveBayes(**new.get_params(deep=False)).fit(
        table.records(), table.labels, table.weights
    )
    found = leave_one_out(model, table.records(), table.labels, table.weights)
    for i in data.draw(st.sets(st.integers(0, len(table) - 1), min_size=1, max_size=3)):
        lost = lost_digits(table, [i])
        if lost > 1e-6:  # of 1e12 beside thousandths no digits are left
            continue
        rest = np.flatnonzero(np.arange(len(table)) != i)
        if table.weights is not None and not table.weights[rest].any():
            continue
        others = NaiveBayes(**new.get_params(deep=False)).fit(
            table.records(rest), table.labels[rest], table.weight(rest)
        )
        row = table.records([i])
        expected = quietly(others.predict_log_proba, row)
        assert_close(found[[i]], expected, rounding(others, row, lost))


# ---- forgetting ----------------------------------------------------------------------------------
@law
@given(table=edge_tables(min_rows=2), data=data)
def test_what_is_forgotten_was_never_seen(table, data):
    new = any_model(data.draw, table)
    gone = data.draw(st.sets(st.integers(0, len(table) - 1), max_size=len(table) - 1))
    if table.weights is not None:  # a row of weight 0 holds nothing: neither class nor level
        gone |= set(np.flatnonzero(table.weights == 0.0).tolist())
    kept = np.array([i for i in range(len(table)) if i not in gone], dtype=int)
    assume(len(kept))
    ways = data.draw(parts_of(range(len(table))))
    model = learn(new(), table, ways, new)
    forget(model, table, data.draw(parts_of(sorted(gone))))
    weight = table.weight(kept)
    # keys that few rows have are columns only where a frame had them
    framed = any(way == "frame" for _, way in ways)
    rows = frame_of(table, kept) if framed else table.records(kept)
    fresh = new().fit(rows, table.labels[kept], weight)
    ours, theirs = set(model.feature_names_in_), set(fresh.feature_names_in_)
    assert ours <= theirs  # a key whose values are all forgotten is gone, its name with it
    assert not any(table.columns[n][i] is not None for n in theirs - ours for i in kept)
    held = 1.0 if table.weights is None else table.weights.sum()  # of which the last place is lost
    np.testing.assert_allclose(model.class_count_, fresh.class_count_, rtol=0, atol=1e-14 * held)
    families, expected = (m.schema_.set_index("column")["family"].to_dict() for m in (model, fresh))
    lost = lost_digits(table, gone)
    if lost < 1e-6:  # of 1e12 beside thousandths no digits are left
        assert families == {name: expected[name] for name in families}
        assert_same_predictions(model, fresh, table.records(kept), lost)


# ---- weights -------------------------------------------------------------------------------------
@law
@given(table=edge_tables(), data=data, factor=st.sampled_from([2.0, 1000.0, 1e-3]))
def test_weights_scale_with_what_is_stated_in_rows(table, data, factor):
    columns = data.draw(declarations(table, scaling=True))
    weight = np.ones(len(table)) if table.weights is None else table.weights
    option = {"missing": data.draw(missing)}
    once = NaiveBayes(columns(1.0), **option).fit(table.records(), table.labels, weight)
    scaled = NaiveBayes(columns(factor), alpha=factor, class_alpha=factor, **option)
    scaled.fit(table.records(), table.labels, factor * weight)
    assert_same_predictions(scaled, once, table.counted())


@settings(law, max_examples=settings.default.max_examples // 4)
@given(table=edge_tables(max_rows=15), data=data, factor=st.sampled_from([2.0, 1000.0, 1e-3]))
def test_a_common_factor_chooses_the_same(table, data, factor):
    weight = np.ones(len(table)) if table.weights is None else table.weights
    criterion = data.draw(st.sampled_from(["evidence", "loo_likelihood"]))
    chosen = []
    for unit in (1.0, factor):
        model = NaiveBayes(alpha="auto", criterion=criterion)
        model.fit(table.records(), table.labels, unit * weight)
        chosen.append([family.partition(", α = ")[0] for family in model.schema_["family"]])
    assert chosen[0] == chosen[1]


# ---- order ---------------------------------------------------------------------------------------
@law
@given(table=edge_tables(), data=data)
def test_order_and_batches_and_threads_do_not_matter(table, data):
    new = any_model(data.draw, table)
    once = new().fit(table.records(), table.labels, table.weights)
    before = get_num_threads()
    try:
        set_num_threads(data.draw(st.sampled_from([1, 2])))
        model = learn(new(), table, data.draw(parts_of(range(len(table)))), new)
        assert_same_predictions(model, once, table.counted())
        names = data.draw(st.permutations(list(table.columns)))
        order = data.draw(st.permutations(range(len(table))))
        frame = frame_of(table, order)[names]
        model = new().fit(frame, table.labels[order], table.weight(order))
        assert_same_predictions(model, once, table.counted())
    finally:
        set_num_threads(before)


# ---- predictions ---------------------------------------------------------------------------------
@law
@given(table=edge_tables(), data=data)
def test_predictions_are_probabilities_alone_and_in_batches(table, data):
    model = any_model(data.draw, table)().fit(table.records(), table.labels, table.weights)
    rows = [*table.counted(), {}]
    proba, labels = quietly(model.predict_proba, rows), quietly(model.predict, rows)
    assert np.isfinite(proba).all()
    assert (proba >= 0.0).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-12)
    joint = quietly(model.predict_joint_log_proba, rows)
    assert not np.isnan(joint).any()
    assert (joint < np.inf).all()
    for row, shares, label in zip(rows, proba, labels.tolist(), strict=True):
        one = quietly(model.predict_proba_one, row)
        np.testing.assert_allclose(list(one.values()), shares, rtol=1e-9, atol=1e-300)
        best = quietly(model.predict_one, row)
        assert best == label or np.isclose(one[best], one[label], rtol=1e-9)


@law
@given(table=edge_tables(min_rows=2, max_rows=20), data=data)
def test_rows_learned_and_asked_in_turn_are_read_afresh(table, data):
    columns = data.draw(declarations(table))()
    option = {"missing": data.draw(missing)}
    start = data.draw(st.integers(1, len(table)))
    weight = np.ones(len(table)) if table.weights is None else table.weights
    model = NaiveBayes(columns, **option)
    model.fit(table.records(range(start)), table.labels[:start], weight[:start])
    quietly(model.predict_one, table.records([0])[0])
    for i in range(start, len(table)):
        row = table.records([i])[0]
        model.learn_one(row, table.labels[i].item(), weight[i])
        asked = table.records([data.draw(st.integers(0, len(table) - 1))])
        fresh = NaiveBayes(columns, **option)
        fresh.fit(table.records(range(i + 1)), table.labels[: i + 1], weight[: i + 1])
        one = quietly(model.predict_proba_one, asked[0])
        expected = quietly(fresh.predict_log_proba, asked)
        assert list(one) == fresh.classes_.tolist()
        with np.errstate(divide="ignore"):
            found = np.log([list(one.values())])
        assert_close(found, expected, rounding(fresh, asked))


@law
@given(table=edge_tables(), data=data)
def test_a_file_gives_the_same_bits(table, data):
    model = any_model(data.draw, table)().fit(table.records(), table.labels, table.weights)
    again = saved_and_loaded(model)
    for name in ("predict_log_proba", "predict_joint_log_proba"):
        found, expected = (quietly(getattr(m, name), table.counted()) for m in (again, model))
        assert found.tobytes() == expected.tobytes()
