"""The laws of the models of tables over every family, weight, missing value and edge."""

import copy

import numpy as np
import pyarrow as pa
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
    weighs_in_each_class,
    with_levels,
)
from tallybayes import (
    LazyNaiveBayes,
    NaiveBayes,
    WeightedNaiveBayes,
    get_num_threads,
    leave_one_out,
    set_num_threads,
)
from tallybayes.families import Categorical
from tallybayes.families.choice import UNDECLARED
from tallybayes.testing.edge_tables import COLUMNS, NUMBERS, WEIGHTS, edge_tables

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


weighted_law = settings(
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


@weighted_law
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


@weighted_law
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


@weighted_law
@given(table=edge_tables(max_rows=25, min_rows=2), data=st.data())
def test_what_a_weighted_model_forgets_was_never_seen(table, data):
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


@weighted_law
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


@weighted_law
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


# a column of a database has one type
KINDS = tuple(
    kind for kind in COLUMNS if "and" not in kind and kind not in ("missing", "identifiers")
)
TYPES = {"whole": pa.int64(), "booleans": pa.bool_(), "dates": pa.date32()}


def source(table, order=None):
    order = range(len(table)) if order is None else order
    arrays = {}
    for name, values in table.columns.items():
        kind = table.kinds[name]
        of = TYPES.get(kind, pa.float64() if kind in NUMBERS else pa.string())
        arrays[name] = pa.array([values[i] for i in order], of)
    arrays["label"] = pa.array([table.labels[i] for i in order])
    return pa.table(arrays)


def families(table):
    numbers = (*NUMBERS, "dates")
    return {n: UNDECLARED if k in numbers else Categorical() for n, k in table.kinds.items()}


@law
@given(
    table=edge_tables(kinds=KINDS, min_rows=2, max_rows=20, of_weights=("none",)),
    missing=st.sampled_from(["ignore", "level"]),
    data=st.data(),
)
def test_it_is_a_model_of_the_rows_that_are_there_in_any_order(table, missing, data):
    """Those rows may be all but one: so it leaves out, and forgets, as any other."""
    order = data.draw(st.permutations(range(len(table))))
    left = order[: data.draw(st.integers(1, len(table)))]
    lazy = LazyNaiveBayes(source(table, left), "label", missing=missing)
    fresh = NaiveBayes(families(table), missing=missing)
    here = source(table, sorted(left)).drop_columns(["label"])
    fresh.fit(here, table.labels[sorted(left)])
    rows = table.records(data.draw(st.sets(st.integers(0, len(table) - 1), min_size=1, max_size=5)))
    found, expected = quietly(lazy.predict_log_proba, rows), quietly(fresh.predict_log_proba, rows)
    assert lazy.classes_.tolist() == fresh.classes_.tolist()
    assert_close(found, expected, rounding(fresh, rows))
    assert np.isfinite(quietly(lazy.predict_proba, rows)).all()
