"""Undeclared columns of prose are read as text, whatever the order and the batches."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tallybayes import NaiveBayes, WeightedNaiveBayes, load
from tallybayes.errors import StaleWarning
from tallybayes.families import Categorical, Text

N = 90
SUBJECTS = ["parcel", "phone", "order", "shop", "driver", "letter", "screen", "price"]
OPINIONS = {"good": ["perfect", "wonderful", "quick"], "bad": ["broken", "late", "awful"]}


def _rows(n=N, seed=0):
    rng = np.random.default_rng(seed)
    rows, labels = [], []
    for i in range(n):
        label = str(rng.choice(["bad", "good"]))
        words = [*rng.choice(SUBJECTS, 3), *rng.choice(OPINIONS[label], 2), "and", "the"]
        body = " ".join(rng.permutation(words)) + f" {rng.integers(10**6)}"
        rows.append({"body": body, "size": str(rng.choice(["small", "large"])), "number": i % 7})
        labels.append(label)
    return rows, labels


ROWS, LABELS = _rows()


def _same(a, b, rows=ROWS):
    return np.array_equal(a.predict_joint_log_proba(rows), b.predict_joint_log_proba(rows))


def _why(model):
    return dict(zip(model.schema_["column"], model.schema_["why"], strict=True))["body"]


@pytest.mark.parametrize("kind", [NaiveBayes, WeightedNaiveBayes])
def test_prose_is_read_as_declared_text(kind):
    model = kind().fit(ROWS, LABELS)
    assert "its strings are prose" in _why(model)
    assert _same(model, kind({"body": Text()}).fit(ROWS, LABELS))


@given(st.permutations(range(N)), st.integers(1, N - 1))
@settings(max_examples=10)
def test_order_batches_and_merging_do_not_matter(order, cut):
    whole = NaiveBayes().fit(ROWS, LABELS)
    rows, labels = [ROWS[i] for i in order], [LABELS[i] for i in order]
    parts = NaiveBayes().partial_fit(rows[:cut], labels[:cut])
    parts.partial_fit(rows[cut:], labels[cut:])
    assert _same(whole, parts)
    one, two = NaiveBayes().fit(rows[:cut], labels[:cut]), NaiveBayes()
    assert _same(whole, one.merge(two.fit(rows[cut:], labels[cut:])))


def test_rows_learned_one_by_one_and_forgotten():
    model = NaiveBayes()
    more, more_labels = _rows(40, seed=1)
    for row, label in zip(ROWS + more, LABELS + more_labels, strict=True):
        model.learn_one(row, label)
    model.forget(more, more_labels)
    assert _same(model, NaiveBayes().fit(ROWS, LABELS))
    model.forget(ROWS[45:], LABELS[45:])
    assert _why(model) == "strings are levels"  # of 45 rows


def test_a_declared_family_is_kept():
    model = NaiveBayes({"body": Categorical()}).fit(ROWS, LABELS)
    assert _why(model) == "declared"
    assert _same(model, NaiveBayes({str: Categorical()}).fit(ROWS, LABELS))


def test_calibration_leaves_rows_out_of_its_terms():
    found = NaiveBayes(calibrate="temperature").fit(ROWS, LABELS)
    declared = NaiveBayes({"body": Text()}, calibrate="temperature").fit(ROWS, LABELS)
    assert np.array_equal(found.predict_proba(ROWS), declared.predict_proba(ROWS))


def test_missing_values_numbers_and_weights():
    rows = [{**row, "body": None} if i % 9 == 0 else row for i, row in enumerate(ROWS)]
    rows[1] = {**rows[1], "body": 17}
    weight = np.resize([0.5, 2.0, 1.0], N)
    model = NaiveBayes().fit(rows, LABELS, sample_weight=weight)
    declared = NaiveBayes({"body": Text()}).fit(rows, LABELS, sample_weight=weight)
    assert _why(model) == "its strings are prose"
    assert model.predict_joint_log_proba(rows) == pytest.approx(
        declared.predict_joint_log_proba(rows), abs=1e-12
    )


@pytest.mark.parametrize("kind", [NaiveBayes, WeightedNaiveBayes])
def test_a_file_keeps_it(kind, tmp_path):
    model = kind().fit(ROWS, LABELS)
    model.save(tmp_path / "model")
    found = load(tmp_path / "model")
    assert _same(model, found)
    assert _why(found) == _why(model)


def test_repeated_strings_stay_levels():
    rows = [ROWS[i % 60] for i in range(N)]
    assert _why(NaiveBayes().fit(rows, LABELS)) == "strings are levels"


def test_weights_keep_what_they_were_learned_for_until_they_are_learned_again():
    model = WeightedNaiveBayes().fit(ROWS, LABELS)
    few = [{**row, "body": "same"} for row in ROWS * 3]
    model.partial_fit(few, LABELS * 3)
    with pytest.warns(StaleWarning):
        model.predict(ROWS)
    assert "its strings are prose" in _why(model)
    model.reweight(few, LABELS * 3)
    assert "prose" not in _why(model)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(ROWS)
