"""The laws of the five array classes over weights and edges of numbers."""

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st
from scipy import sparse

from estimators.model_laws import assert_close, lost_digits, quietly, saved_and_loaded
from tallybayes import (
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    GaussianNB,
    MultinomialNB,
    get_num_threads,
    leave_one_out,
    set_num_threads,
)
from tallybayes.testing.edge_tables import NUMBERS, WHOLE, edge_tables

pytestmark = pytest.mark.filterwarnings("ignore::tallybayes.errors.TallyWarning")
law = settings(
    max_examples=settings.default.max_examples // 4,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink],  # to explain takes minutes
)

# As a function of the unit of weights: what is stated in rows is stated in it.
MODELS = {
    "gaussian": lambda u: GaussianNB(class_alpha=u),
    "gaussian, each feature": lambda u: GaussianNB(var_smoothing_of="feature", var_smoothing=1e-3),
    "categorical": lambda u: CategoricalNB(alpha=0.5 * u, min_categories=6),
    "categorical, no smoothing": lambda u: CategoricalNB(alpha=0.0, min_categories=6),
    "multinomial": lambda u: MultinomialNB(alpha=0.5 * u, class_alpha=u),
    "multinomial, no smoothing": lambda u: MultinomialNB(alpha=0.0),
    "complement": lambda u: ComplementNB(alpha=u),
    "complement, norm": lambda u: ComplementNB(alpha=u, norm=True),
    "bernoulli": lambda u: BernoulliNB(alpha=u, binarize=1.5),
    "bernoulli, no smoothing": lambda u: BernoulliNB(alpha=0.0, binarize=1.5),
}
# sums of squares of 1e100 leave float64, and a variance that largest columns smooth tells nothing
OF_NUMBERS = tuple(kind for kind in NUMBERS if kind not in ("huge", "vanishing"))
every_model = pytest.mark.parametrize("name", MODELS)


def tables(name, **options):
    kinds = OF_NUMBERS if "gaussian" in name else WHOLE
    return edge_tables(kinds=kinds, missing=False, **options)


def matrix(table):
    x = np.array(list(table.columns.values()), dtype=np.float64).T
    return np.ascontiguousarray(x)


def rounding(model, x, lost=0.0):
    """What some last places of the numbers, and so of the means, are worth in nats; and a share
    `lost` of the variances."""
    joint = quietly(model.predict_joint_log_proba, x)
    size = np.where(np.isfinite(joint), np.abs(joint), 0.0).max(axis=1, keepdims=True)
    if not isinstance(model, GaussianNB):
        return 1e-9 * (1.0 + size)
    further = quietly(model.predict_joint_log_proba, x * (1.0 + 2.0**-50))
    there = np.isfinite(joint) & np.isfinite(further)
    apart = np.abs(np.where(there, further, 0.0) - np.where(there, joint, 0.0))
    return (1e-9 + lost) * (1.0 + size) + 8.0 * apart.max(axis=1, keepdims=True)


def assert_same(model, other, x, lost=0.0):
    assert model.classes_.tolist() == other.classes_.tolist()
    found, expected = (quietly(m.predict_log_proba, x) for m in (model, other))
    assert_close(found, expected, rounding(other, x, lost))


@every_model
@law
@given(data=st.data())
def test_leaving_a_row_out_is_fitting_without_it(name, data):
    table = data.draw(tables(name, min_rows=2, max_rows=20))
    x, y, w = matrix(table), table.labels, table.weights
    if "gaussian" not in name and data.draw(st.booleans(), label="sparse"):
        x = sparse.csr_array(x)
    model = MODELS[name](1.0).fit(x, y, w)
    if w is not None and np.count_nonzero(w) == 1 and model.class_alpha == 0.0:
        with pytest.raises(ValueError, match="has all of the weight"):  # as fitting no rows does
            leave_one_out(model, x, y, w)
        return
    found = quietly(leave_one_out, model, x, y, w)
    for i in data.draw(st.sets(st.integers(0, len(y) - 1), min_size=1, max_size=3)):
        lost = lost_digits(table, [i])
        if lost > 1e-6:  # of 1e12 beside thousandths no digits are left
            continue
        rest = np.flatnonzero(np.arange(len(y)) != i)
        if w is not None and not w[rest].any():
            continue
        others = MODELS[name](1.0)
        others.partial_fit(x[rest], y[rest], model.classes_, table.weight(rest))
        expected = quietly(others.predict_log_proba, x[[i]])
        assert_close(found[[i]], expected, rounding(others, x[[i]], lost))


@every_model
@law
@given(data=st.data())
def test_what_is_forgotten_was_never_seen_in_any_order_and_batches(name, data):
    table = data.draw(tables(name))
    x, y, w = matrix(table), table.labels, table.weights
    gone = data.draw(st.sets(st.integers(0, len(y) - 1), max_size=len(y) - 1))
    if w is not None:
        gone |= set(np.flatnonzero(w == 0.0).tolist())
    kept = np.array([i for i in range(len(y)) if i not in gone], dtype=int)
    assume(len(kept))
    model, fresh = MODELS[name](1.0), MODELS[name](1.0)
    order = np.array(data.draw(st.permutations(range(len(y)))))
    before = get_num_threads()
    try:
        set_num_threads(data.draw(st.sampled_from([1, 2])))
        model.fit(x[order], y[order], table.weight(order))
        # a row of weight 0 takes nothing away, and its class may be gone with an earlier part
        batch = np.array(sorted(i for i in gone if w is None or w[i] != 0.0), dtype=int)
        for part in np.array_split(batch, data.draw(st.integers(1, 3))):
            weight = table.weight(part)
            if len(part) and (weight is None or weight.any()):
                model.forget(x[part], y[part], weight)
    finally:
        set_num_threads(before)
    fresh.fit(x[kept], y[kept], table.weight(kept))
    there = model.classes_[model.class_count_ > 0.0]
    if len(there) < len(model.classes_):  # nothing was forgotten, and a class has weight 0
        return
    held = 1.0 if w is None else w.sum()  # of which the last place is lost
    np.testing.assert_allclose(model.class_count_, fresh.class_count_, rtol=0, atol=1e-14 * held)
    lost = lost_digits(table, batch)
    if lost < 1e-6:  # of 1e12 beside thousandths no digits are left
        assert_same(model, fresh, x, lost)


@every_model
@law
@given(data=st.data(), factor=st.sampled_from([2.0, 1000.0, 1e-3]))
def test_weights_scale_with_what_is_stated_in_rows(name, data, factor):
    table = data.draw(tables(name))
    x, y = matrix(table), table.labels
    w = np.ones(len(y)) if table.weights is None else table.weights
    once, scaled = MODELS[name](1.0).fit(x, y, w), MODELS[name](factor).fit(x, y, factor * w)
    assert_same(scaled, once, x)


@every_model
@law
@given(data=st.data())
def test_predictions_are_probabilities_and_a_file_gives_the_same_bits(name, data):
    table = data.draw(tables(name))
    x, y, w = matrix(table), table.labels, table.weights
    model = MODELS[name](1.0).fit(x, y, w)
    proba = quietly(model.predict_proba, x)
    assert np.isfinite(proba).all()
    assert (proba >= 0.0).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-12)
    assert not np.isnan(quietly(model.predict_joint_log_proba, x)).any()
    again = saved_and_loaded(model)
    assert quietly(again.predict_proba, x).tobytes() == proba.tobytes()
    part = data.draw(st.integers(1, len(y)))
    alone = quietly(model.predict_proba, x[:part])
    np.testing.assert_allclose(alone, proba[:part], rtol=1e-12, atol=1e-300)
