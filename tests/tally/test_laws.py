"""The laws, for every kind of tally and for the tally of a whole model.

Whole numbers obey them exactly. Of other numbers the bounds are stated here: 2⁻⁵¹ of what is added
for a float64 sum, 2⁻¹⁰⁰ for a double-double.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallybayes.schema import Columns, Schema
from tallybayes.tally import ClassCounts, FeatureSums, LevelCounts, Moments, TableTally
from tallybayes.testing import laws
from tallybayes.testing.laws import exactly, within
from tallybayes.testing.strategies import KINDS, table_tallies, tallies

TABLE = "table"
ALL = (*KINDS, TABLE)
FLOAT64 = 2.0**-51
DOUBLE_DOUBLE = 2.0**-100

# Of moments n, S1 and S2 are double-doubles.
rounded = within(FLOAT64, n=DOUBLE_DOUBLE, s1=DOUBLE_DOUBLE, s2=DOUBLE_DOUBLE)
whole_weights = st.integers(-8, 8).map(float)
fractions = st.integers(-64, 64).map(lambda i: i / 8.0)
reals = st.one_of(st.just(0.0), st.floats(1e-6, 3.0), st.floats(-3.0, -1e-6))


def draw(data, kind, count, *, whole):
    strategy = (
        table_tallies(count, whole=whole) if kind == TABLE else tallies(kind, count, whole=whole)
    )
    return data.draw(strategy)


every_kind = pytest.mark.parametrize("kind", ALL)
exact_or_rounded = pytest.mark.parametrize(
    ("whole", "same"), [(True, exactly), (False, rounded)], ids=["whole", "any"]
)


@every_kind
@exact_or_rounded
@given(data=st.data())
def test_a_tally_obeys_every_law(kind, whole, same, data):
    a, b, c = draw(data, kind, 3, whole=whole)
    laws.law_zero(a)  # these hold bit for bit, whatever was counted
    laws.law_commutativity(a, b)
    laws.law_inverse(a)
    weights = whole_weights if whole else fractions
    v, w = data.draw(weights), data.draw(weights)
    laws.check_every_law(a, b, c, v=v, w=w, same=same, scaled=same)


@every_kind
@given(data=st.data(), v=fractions, w=fractions)
def test_one_two_and_fractions_of_whole_numbers_scale_exactly(kind, data, v, w):
    (t,) = draw(data, kind, 1, whole=False)
    laws.law_unit(t, same=within(DOUBLE_DOUBLE))
    laws.law_doubling(t, same=within(DOUBLE_DOUBLE))
    laws.law_scaling_twice(*draw(data, kind, 1, whole=True), v, w)


@every_kind
@given(data=st.data(), w=reals)
def test_any_weight_scales_sums_and_by_its_square_the_squared_weights(kind, data, w):
    a, b = draw(data, kind, 2, whole=False)
    laws.law_scaling_of_squares(a, w)
    laws.law_scaling_of_a_sum(w, a, b, same=rounded)


@every_kind
@exact_or_rounded
@given(data=st.data())
def test_weights_by_class_scale_each_class_by_its_own(kind, whole, same, data):
    (t,) = draw(data, kind, 1, whole=whole)
    n = t.classes.n_classes if kind == TABLE else t.n_classes
    weights = st.integers(0, 8).map(float) if whole else reals.map(abs)
    laws.law_weighting(t, np.array(data.draw(st.lists(weights, min_size=n, max_size=n))), same=same)


# ---- other frames --------------------------------------------------------------------------------
SUMS = Columns(kind="sums", n_features=2)


def table(classes, columns, counts=None):
    K = len(classes)
    counts = FeatureSums.zeros(K, columns.n_features) if counts is None else counts
    return TableTally(Schema(np.array(classes), (columns,)), ClassCounts.zeros(K), (counts,))


STRANGERS = {
    "kinds": (FeatureSums.zeros(2, 3), ClassCounts.zeros(2)),
    "numbers of classes": (ClassCounts.zeros(2), ClassCounts.zeros(3)),
    "numbers of classes, one of them 1": (FeatureSums.zeros(3, 2), FeatureSums.zeros(1, 2)),
    "numbers of features": (FeatureSums.zeros(2, 3), FeatureSums.zeros(2, 4)),
    "numbers of features, one of them 1": (FeatureSums.zeros(2, 3), FeatureSums.zeros(2, 1)),
    "levels": (
        LevelCounts.zeros(2, np.array([2, 3])),
        LevelCounts.zeros(2, np.array([3, 2])),
    ),
    "origins": (Moments.zeros(2, np.zeros(3)), Moments.zeros(2, np.array([0.0, 0.0, 1e-300]))),
    "class labels": (table(["a", "b"], SUMS), table(["a", "c"], SUMS)),
    "thresholds": (
        table([0, 1], SUMS),
        table([0, 1], Columns(kind="sums", n_features=2, threshold=0.5)),
    ),
    "names": (
        table([0, 1], Columns(kind="sums", n_features=2, names=("x", "y"))),
        table([0, 1], Columns(kind="sums", n_features=2, names=("y", "x"))),
    ),
}


@pytest.mark.parametrize("differing", STRANGERS)
def test_tallies_of_other_frames_are_refused_and_unchanged(differing):
    a, b = STRANGERS[differing]
    laws.law_refuses(a, b)
    laws.law_refuses(b, a)


def test_a_tally_does_not_equal_one_of_another_frame_or_kind():
    for a, b in STRANGERS.values():
        assert a != b
    assert ClassCounts.zeros(2) != "a string"


def test_tallies_are_not_hashable():
    for t in (ClassCounts.zeros(1), table([0], SUMS)):
        with pytest.raises(TypeError, match="unhashable"):
            hash(t)
