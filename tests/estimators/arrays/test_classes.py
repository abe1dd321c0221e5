"""Labels of any type, classes without rows, and one class alone."""

from __future__ import annotations

import numpy as np
import pytest

from estimators.cases import (
    GENERATIVE,
    LAYOUTS,
    assert_same_counts,
    assert_same_predictions,
    assert_sane_posterior,
    every,
    fit_parts,
    rows,
)
from tallybayes import CategoricalNB, ComplementNB

LABELS = {
    "int": [3, 1, 2],
    "negative": [-5, 0, 7],
    "wide": [10**12, -(10**12), 3],
    "uint64": np.array([2**63 + 5, 1, 2], dtype=np.uint64),
    "float": [1.0, -1.0, 2.0],
    "bool": [True, False],
    "str": ["tea", "coffee", "milk"],
    "object": np.array(["tea", "coffee", "milk"], dtype=object),
}


# ---- labels ------------------------------------------------------------------------------------
@every()
@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_labels_of_any_type_are_sorted_and_come_back(NB, labels):
    x, y = rows(n=90, classes=np.arange(len(labels)), d=5)
    labels = np.asarray(labels)
    model, plain = NB().fit(x, labels[y]), NB().fit(x, y)
    order = np.argsort(labels)
    assert model.classes_.tolist() == sorted(labels.tolist())
    assert model.classes_.dtype == labels.dtype
    assert np.array_equal(model.class_count_, plain.class_count_[order])
    np.testing.assert_allclose(model.predict_proba(x), plain.predict_proba(x)[:, order], rtol=1e-12)
    assert set(model.predict(x).tolist()) <= set(labels.tolist())
    assert model.predict(x).dtype == labels.dtype
    parts = fit_parts(NB, [(x[i : i + 1], labels[y[i : i + 1]]) for i in range(90)], labels)
    assert_same_counts(parts, model)


# ---- classes without rows ----------------------------------------------------------------------
@every()
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_class_declared_but_never_seen_has_no_probability(NB, layout):
    """Origin: the issue. Of no rows nothing is estimated: the pooled estimate stands in, and the
    prior of equation (9) is 0. No warning, no NaN."""
    x, y = rows()
    x = LAYOUTS[layout](x)
    model = NB().partial_fit(x, y, classes=[0, 1, 2, 9])
    assert model.class_count_[3] == 0.0
    assert_sane_posterior(model, x)
    if NB is not ComplementNB:  # whose scores do not depend on a prior
        assert (model.predict_proba(x)[:, 3] == 0.0).all()
        np.testing.assert_allclose(
            model.predict_proba(x)[:, :3], NB().fit(x, y).predict_proba(x), rtol=1e-12
        )
        assert np.array_equal(model.predict(x), NB().fit(x, y).predict(x))


@every(*GENERATIVE)
def test_with_class_alpha_a_class_never_seen_is_like_all_classes_together(NB):
    x, y = rows()
    model = NB(class_alpha=1.0).partial_fit(x, y, classes=[0, 1, 2, 9])
    prior = np.array([21, 21, 21, 1]) / 64
    joint = model.predict_joint_log_proba(x)
    pooled = NB().fit(x, np.zeros(len(x), dtype=int)).predict_joint_log_proba(x)[:, 0]
    np.testing.assert_allclose(joint[:, 3], np.log(prior[3]) + pooled, rtol=1e-12)
    assert_sane_posterior(model, x)
    assert (model.predict_proba(x)[:, 3] > 0.0).all()


@every()
def test_a_class_can_be_seen_later(NB):
    x, y = rows()
    model = NB().partial_fit(x, y, classes=[0, 1, 2, 9])
    model.partial_fit(x[:5], [9] * 5)
    both = NB().fit(np.concatenate([x, x[:5]]), np.concatenate([y, [9] * 5]))
    assert_same_counts(model, both)
    assert_same_predictions(model, both, x)


@every()
def test_rows_of_weight_zero_leave_their_class_as_if_it_were_never_seen(NB):
    x, y = rows()
    model = NB().fit(x, y, sample_weight=(y != 1).astype(float))
    never = NB().partial_fit(x[y != 1], y[y != 1], classes=[0, 1, 2])
    if NB is CategoricalNB:  # levels that only class 1 has are known to one and not to the other
        model = NB(min_categories=5).fit(x, y, sample_weight=(y != 1).astype(float))
        never = NB(min_categories=5).partial_fit(x[y != 1], y[y != 1], classes=[0, 1, 2])
    assert_same_counts(model, never)
    assert_sane_posterior(model, x)


# ---- one class ---------------------------------------------------------------------------------
@every()
@pytest.mark.parametrize("label", [5, "only", True, -1.0], ids=repr)
@pytest.mark.parametrize("learn", ["fit", "partial_fit"])
def test_one_class_alone_is_certain(NB, label, learn):
    x, _ = rows(n=7)
    classes = {"classes": [label]} if learn == "partial_fit" else {}
    model = getattr(NB(), learn)(x, [label] * 7, **classes)
    assert model.predict(x).tolist() == [label] * 7
    assert model.predict_proba(x).tolist() == [[1.0]] * 7
    assert model.predict_log_proba(x).tolist() == [[0.0]] * 7
    assert np.isfinite(model.predict_joint_log_proba(x)).all()
