"""forget_one takes rows away in a compiled counter: as forgetting them in a batch does."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tallybayes import NaiveBayes
from tallybayes.errors import NegativeTally
from tallybayes.families import Categorical, Gaussian

VALUES = st.fixed_dictionaries(
    {},
    optional={
        "n": st.sampled_from([0.0, 1.0, 1.5, -2.25, 1e6, 7]),
        "t": st.sampled_from(["u", "v", "w"]),
        "b": st.booleans(),
        "mixed": st.sampled_from([1, 2.5, "x"]),
    },
)
ROWS = st.lists(
    st.tuples(VALUES, st.sampled_from("pq"), st.sampled_from([1.0, 2.0, 0.5])),
    min_size=1,
    max_size=12,
)
COLUMNS = {"n": Gaussian(ddof=1.0), "mixed": Categorical()}

pytestmark = pytest.mark.filterwarnings("ignore::tallybayes.errors.TallyWarning")


def learned(rows, columns):
    model = NaiveBayes(columns)
    for row, label, weight in rows:
        model.learn_one(row, label, weight)
    return model


def same(model, expected, asked):
    assert model.classes_.tolist() == expected.classes_.tolist()
    assert model.tally_.schema == expected.tally_.schema
    np.testing.assert_allclose(
        model.predict_proba(asked), expected.predict_proba(asked), rtol=1e-9, atol=1e-12
    )


@settings(max_examples=60, deadline=None, derandomize=True)
@given(kept=ROWS, gone=ROWS, columns=st.sampled_from(["auto", COLUMNS]), rng=st.randoms())
def test_it_is_never_having_seen_the_rows(kept, gone, columns, rng):
    both = [*kept, *gone]
    rng.shuffle(both)
    model = learned(both, columns)
    for i, (row, label, weight) in enumerate(gone):
        model.forget_one(row, label, weight)
        if i == 1:
            model.learn_one({"t": "z", "new": 1}, "r")
            model.forget_one({"t": "z", "new": 1}, "r")
    in_batch = learned(both, columns)
    rows, labels, weights = zip(*gone, strict=True)
    in_batch.forget(list(rows), list(labels), list(weights))
    same(model, in_batch, [row for row, _, _ in kept])


def test_many_rows_are_forgotten_in_turn_with_learning():
    rng = random.Random(0)
    rows = [
        ({"n": rng.gauss(0, 1), "t": rng.choice("uvw"), "k": rng.randrange(5)}, rng.random() < 0.5)
        for _ in range(600)
    ]
    model = NaiveBayes().fit([row for row, _ in rows[:300]], [y for _, y in rows[:300]])
    for i in range(300):  # a window of 300 rows
        model.learn_one(*rows[300 + i])
        model.forget_one(*rows[i])
    last = NaiveBayes().fit([row for row, _ in rows[300:]], [y for _, y in rows[300:]])
    asked = [row for row, _ in rows]
    np.testing.assert_allclose(model.predict_proba(asked), last.predict_proba(asked), rtol=1e-9)
    assert model.class_count_.tolist() == last.class_count_.tolist()


@pytest.mark.parametrize("far", [1e8, 1e12])
def test_a_far_row_leaves_nothing_behind(far):
    rng = np.random.default_rng(0)
    rows = [{"n": v} for v in rng.normal(size=40).tolist()]
    labels = [i % 2 for i in range(40)]
    model = NaiveBayes({"n": Gaussian()}).fit(rows, labels)
    expected = model.predict_proba(rows)
    for _ in range(3):
        model.learn_one({"n": far}, 1).forget_one({"n": far}, 1)
    np.testing.assert_allclose(model.predict_proba(rows), expected, atol=1e-9)


@pytest.mark.parametrize(
    ("row", "label", "weight"),
    [
        ({"n": 1.0, "t": "u"}, "p", 5.0),
        ({"n": 1.0, "t": "never"}, "p", 1.0),
        ({"n": 9.0}, "p", 1.0),
        ({"n": 1.0}, "never", 1.0),
    ],
)
def test_what_was_not_learned_is_refused_and_changes_nothing(row, label, weight):
    rows = [({"n": float(i), "t": "uv"[i % 2]}, "pq"[i % 2], 1.0) for i in range(8)]
    model = learned(rows, "auto")
    model.forget_one(*rows[3])
    before = learned(rows, "auto").forget_one(*rows[3]).tally_
    with pytest.raises(ValueError, match=r"remove more|does not|never|holds") as info:
        model.forget_one(row, label, weight)
    assert weight == 1.0 or isinstance(info.value, NegativeTally)
    assert model.tally_ == before


def test_everything_forgotten_is_an_empty_model_that_learns_again():
    rows = [({"n": 1.0, "t": "u"}, "p", 1.0), ({"n": 2.0}, "q", 1.0)]
    model = learned(rows, "auto")
    for row in rows:
        model.forget_one(*row)
    assert model.class_count_.sum() == 0.0
    model.learn_one({"n": 3.0}, "p")
    assert model.class_count_.tolist() == [1.0]
