"""Learning twice, in batches, in any type and layout: the counts are those of the rows."""

from __future__ import annotations

import numpy as np
import pytest

from estimators.cases import (
    LAYOUTS,
    PROMISED,
    assert_same_counts,
    assert_same_predictions,
    every,
    fit_parts,
    peer,
    rows,
    state,
)
from tallybayes import CategoricalNB, ComplementNB, GaussianNB, MultinomialNB

# ---- learning twice ----------------------------------------------------------------------------


@every()
def test_fitting_again_forgets_classes_columns_and_names(NB):
    import pandas as pd

    x, y = rows(d=3)
    model = NB().fit(pd.DataFrame(x, columns=["a", "b", "c"]), y.astype(str))
    other_x, other_y = rows(d=6, classes=(7, 8), seed=4)
    model.fit(other_x, other_y)
    fresh = NB().fit(other_x, other_y)
    assert state(model) == state(fresh)
    assert not hasattr(model, "feature_names_in_")


@every()
def test_questions_between_batches_change_no_answer(NB):
    x, y = rows(n=90)
    model = NB().partial_fit(x[:30], y[:30], classes=[0, 1, 2])
    for begin in (30, 60):
        model.predict_proba(x)
        part = slice(begin, begin + 30)
        model.partial_fit(x[part], y[part])
        fresh = NB().partial_fit(x[: begin + 30], y[: begin + 30], classes=[0, 1, 2])
        np.testing.assert_allclose(model.predict_proba(x), fresh.predict_proba(x), rtol=1e-9)


@every()
def test_a_large_batch_counts_as_its_rows_do(NB):
    """Beyond 8192 rows a batch is counted by another path than below."""
    x, y = rows(n=20_000, seed=2)
    large = NB().partial_fit(x[:3], y[:3], classes=[0, 1, 2]).partial_fit(x[3:], y[3:])
    small = fit_parts(
        NB, [(x[i : i + 500], y[i : i + 500]) for i in range(0, 20_000, 500)], [0, 1, 2]
    )
    assert_same_counts(large, small)


@every()
def test_hyperparameters_set_between_batches_are_used_from_the_next_batch_on(NB):
    """As in scikit-learn, whose partial_fit reads alpha, the prior and var_smoothing each time."""
    x, y = rows()
    changed = {"class_prior": [0.2, 0.3, 0.5], "alpha": 0.1}
    if NB is GaussianNB:
        changed = {"var_smoothing": 0.5}
    model = NB().fit(x, y).set_params(**changed).partial_fit(x, y)
    fresh = NB(**changed).fit(np.concatenate([x, x]), np.concatenate([y, y]))
    np.testing.assert_allclose(model.predict_proba(x), fresh.predict_proba(x), rtol=1e-9)
    theirs = peer(NB)().fit(x, y).set_params(**changed).partial_fit(x, y)
    if NB is GaussianNB:  # takes the new epsilon off variances that hold the old one
        assert np.abs(theirs.predict_proba(x) - fresh.predict_proba(x)).max() > 0.01
    else:
        np.testing.assert_allclose(model.predict_proba(x), theirs.predict_proba(x), rtol=1e-6)


# ---- counting ----------------------------------------------------------------------------------
@every()
def test_float32_input_counts_beyond_2_to_the_24(NB):
    """Origin: scikit-learn 1.9.1 keeps GaussianNB's counts in X's type; a float32 stops at 2^24."""
    x = np.array([[1.0, 0.0], [0.0, 1.0]], dtype=np.float32)
    heavy = np.array([2.0**24, 2.0**24])
    model = NB().partial_fit(x, [0, 1], classes=[0, 1], sample_weight=heavy).partial_fit(x, [0, 1])
    assert model.class_count_.tolist() == [2.0**24 + 1] * 2
    if NB is GaussianNB:
        theirs = peer(NB)().partial_fit(x, [0, 1], classes=[0, 1], sample_weight=heavy)
        if PROMISED:  # older releases keep them in float64
            assert theirs.partial_fit(x, [0, 1]).class_count_.tolist() == [2.0**24] * 2
        assert model.tally_.groups[0].n.tolist() == [[2.0**24 + 1] * 2] * 2
    elif NB is CategoricalNB:
        assert model.category_count_[0].tolist() == [[0, 2.0**24 + 1], [2.0**24 + 1, 0]]
    else:
        assert model.feature_count_.tolist() == [[2.0**24 + 1, 0], [0, 2.0**24 + 1]]


@every(MultinomialNB, ComplementNB)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_float32_sums_do_not_stop_at_2_to_the_24(NB, layout):
    x = np.array([[2.0**24, 0.0], [1.0, 0.0], [1.0, 3.0]], dtype=np.float32)
    model = NB().fit(LAYOUTS[layout](x), [0, 0, 0])
    assert model.feature_count_.tolist() == [[2.0**24 + 2, 3.0]]


@every()
def test_counts_are_float64_whatever_x_is(NB):
    x, y = rows(dtype=np.float32)
    model = NB().fit(x, y)
    assert model.class_count_.dtype == np.float64
    for name in ("feature_count_", "feature_log_prob_", "class_log_prior_", "feature_all_"):
        if hasattr(model, name) and NB is not CategoricalNB:
            assert getattr(model, name).dtype == np.float64, name
    if NB is CategoricalNB:
        assert {a.dtype for a in (*model.category_count_, *model.feature_log_prob_)} == {
            np.dtype(np.float64)
        }


@every()
@pytest.mark.parametrize(
    "arranged",
    [
        lambda x: x.astype(x.dtype.newbyteorder()),
        lambda x: x.tolist(),
    ],
    ids=["other endian", "list"],
)
def test_the_layout_of_x_in_memory_does_not_matter(NB, arranged):
    x, y = rows()
    model, plain = NB().fit(arranged(x), y), NB().fit(x, y)
    assert_same_counts(model, plain)
    assert_same_predictions(model, plain, x)
    assert model.predict_proba(arranged(x)).tolist() == plain.predict_proba(x).tolist()


@every()
def test_neither_x_nor_y_nor_weights_are_changed(NB):
    x, y = rows()
    w = np.arange(len(y)) / 7.0
    for array in (x, y, w):
        array.flags.writeable = False
    model = NB().partial_fit(x, y, classes=[0, 1, 2], sample_weight=w)
    model.fit(x, y, w).partial_fit(x, y, sample_weight=w).forget(x, y, w)
    model.predict_proba(x)


@every()
def test_a_negative_weight_takes_a_row_away(NB):
    x, y = rows()
    signed = np.r_[np.ones(60), -np.ones(10)]
    model = NB().fit(np.r_[x, x[:10]], np.r_[y, y[:10]], sample_weight=signed)
    rest = NB().fit(x[10:], y[10:])
    assert_same_counts(model, rest)
    later = NB().fit(x, y).partial_fit(x[:10], y[:10], sample_weight=-np.ones(10))
    assert_same_counts(later, rest)
