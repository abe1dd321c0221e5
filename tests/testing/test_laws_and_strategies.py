"""The shipped laws find unlawful tallies, and the strategies reach what unlawful code survives."""

import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample

from tallybayes.tally import ClassCounts, FeatureSums, Moments
from tallybayes.testing import laws
from tallybayes.testing.laws import exactly, in_mean_and_squares, within
from tallybayes.testing.strategies import (
    FAMILIES,
    KINDS,
    batches,
    columns,
    data_sets,
    far_first_row,
    frames,
    table_tallies,
    tallies,
    weights,
)


def counts(*values):
    return ClassCounts(np.array(values, dtype=float))


# ---- equality ------------------------------------------------------------------------------------
def test_exactly_is_bit_equality():
    assert exactly(counts(1.0, 2.0), counts(1.0, 2.0))
    assert not exactly(counts(1.0), counts(np.nextafter(1.0, 2.0)))


def test_within_is_relative_to_the_terms():
    a, b = counts(0.0), counts(2.0**-40)
    assert not within(2.0**-50)(a, b)
    assert not within(2.0**-50)(a, b, (counts(1.0),))
    assert within(2.0**-50)(a, b, (counts(2.0**10),))


def test_within_refuses_other_frames_and_what_is_not_finite():
    a = FeatureSums(np.array([[1.0, 2.0]]))
    b = FeatureSums(np.array([[1.0], [2.0]]))
    assert not within(1.0)(a, b)
    assert not within(1.0)(counts(np.nan), counts(np.nan))
    assert not within(1.0)(counts(np.inf), counts(np.inf))


def moments(n, s1, s2, origin=0.0, lo=0.0):
    cells = [np.array([[float(v)]]) for v in (n, s1, 0.0, s2, lo)]
    return Moments(np.array([origin]), *cells)


def test_halves_of_a_double_double_are_one_number():
    split = moments(1, 1, 1.0, lo=2.0**-60)
    assert laws.rationals(split)["s2"] == [1 + Fraction(1, 2**60)]
    assert sorted(laws.rationals(split)) == ["n", "s1", "s2"]
    assert not within(2.0**-70)(split, moments(1, 1, 1.0))
    assert within(2.0**-70, s2=2.0**-59)(split, moments(1, 1, 1.0))


def test_mean_and_squares_are_compared_wherever_the_origin_lies():
    same = in_mean_and_squares(2.0**-26)
    near, off = moments(4, 0, 4), moments(4, 0, 4 * (1 + 2.0**-20))
    assert same(near, near)
    assert not same(near, off)
    far, far_off = (t.rebased(np.array([1e9])) for t in (near, off))
    assert same(far, far)
    assert not same(far, far_off)
    assert within(2.0**-26)(far, far_off)  # which the raw sums do not show
    assert not same(near, moments(4, 1e-6, 4))
    assert not same(near, moments(5, 0, 4))


# ---- the laws find faults ------------------------------------------------------------------------
class Unlawful(ClassCounts):
    """A tally with one law broken; the base is what every other law sees."""

    def _like(self, arrays):
        return type(self)(arrays[0])


class NeverZero(Unlawful):
    def zero(self):
        return self._like([np.full_like(self.count, 1e-300)])


class Lopsided(Unlawful):
    def __add__(self, other):
        return self._like([self.count + other.count * (1.0 + 1e-15)])


class Averages(Unlawful):
    """What scikit-learn's running mean is to a sum."""

    def __add__(self, other):
        return self._like([(self.count + other.count) / 2.0])


class ScalesSquaresLinearly(ClassCounts):
    """The squares of weights, scaled as the weights."""

    def _factor(self, name, weight):
        return weight


class Clips(Unlawful):
    """No negative counts: the difference is lost."""

    def __sub__(self, other):
        return self._like([np.maximum(self.count - other.count, 0.0)])

    def __neg__(self):
        return self._like([-0.5 * self.count])


class WrongUnit(Unlawful):
    def __mul__(self, weight):
        return self._like([self.count * weight * (1.0 + 1e-15)])

    __rmul__ = __mul__


class ScalesOnOneSide(Unlawful):
    def __rmul__(self, weight):
        return self._like([self.count * np.round(weight)])


class RoundsScaled(Unlawful):
    def __mul__(self, weight):
        return self._like([np.round(self.count * weight)])

    __rmul__ = __mul__


class SharesCopies(Unlawful):
    def copy(self):
        return self._like([self.count])


class WritesIntoItself(Unlawful):
    def __add__(self, other):
        self.count += other.count
        return self._like([self.count.copy()])


class PlacesAtTheStart(Unlawful):
    def place(self, rows, n_classes):
        return super().place(np.arange(len(rows)), n_classes)


class TakesEverythingIn(Unlawful):
    def _need_frame(self, other):
        if self.n_classes != other.n_classes:
            self.count = np.resize(self.count, other.n_classes)


BROKEN = [
    (NeverZero, laws.law_zero, 1, {}),
    (Lopsided, laws.law_commutativity, 2, {}),
    (Averages, laws.law_associativity, 3, {}),
    (Clips, laws.law_inverse, 1, {}),
    (Clips, laws.law_difference, 2, {}),
    (WrongUnit, laws.law_unit, 1, {}),
    (ScalesOnOneSide, laws.law_unit, 1, {}),
    (WrongUnit, laws.law_doubling, 1, {}),
    (RoundsScaled, laws.law_scaling_by_a_sum, 1, {"v": 0.25, "w": 0.25}),
    (SharesCopies, laws.law_copy_is_independent, 1, {}),
    (WritesIntoItself, laws.law_operands_stay, 2, {}),
    (PlacesAtTheStart, laws.law_place_take, 1, {}),
]


@pytest.mark.parametrize(
    ("unlawful", "law", "count", "more"),
    BROKEN,
    ids=[f"{b[0].__name__}-{b[1].__name__}" for b in BROKEN],
)
def test_a_broken_law_is_found(unlawful, law, count, more):
    # found with any values, here some that are not 0
    tallies = [unlawful(np.array([i + 1.0, 2.5, -3.0])) for i in range(count)]
    law(*[ClassCounts(t.count.copy()) for t in tallies], **more)
    with pytest.raises(AssertionError):
        law(*tallies, **more)


def test_squared_weights_that_scale_as_weights_are_found():
    t = ScalesSquaresLinearly(np.array([3.0]), np.array([5.0]))
    with pytest.raises(AssertionError, match="squared_weights"):
        laws.law_scaling_of_squares(t, 2.0)


def test_scaling_a_sum_by_rounding_is_found():
    a, b = (RoundsScaled(np.array([v])) for v in (1.0, 1.0))
    with pytest.raises(AssertionError, match=r"0\.4·"):
        laws.law_scaling_of_a_sum(0.4, a, b)


def test_a_tally_that_takes_strangers_in_is_found():
    with pytest.raises(AssertionError, match="was not refused"):
        laws.law_refuses(TakesEverythingIn(np.zeros(2)), TakesEverythingIn(np.zeros(3)))


def test_a_broken_law_shows_both_sides():
    with pytest.raises(AssertionError, match=r"a \+ b = b \+ a does not hold") as error:
        laws.law_commutativity(Lopsided(np.array([1.0])), Lopsided(np.array([2.0])))
    assert "left" in str(error.value)
    assert "array" in str(error.value)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=10)
@given(data=st.data())
def test_every_law_is_run_at_once(kind, data):
    a, b, c = data.draw(tallies(kind, 3, whole=True))
    laws.check_every_law(a, b, c, v=2.0, w=-3.0)


@settings(max_examples=10)
@given(tables=table_tallies(3, whole=True))
def test_every_law_is_run_at_once_for_a_table(tables):
    laws.check_every_law(*tables, v=2.0, w=-3.0)


def test_all_laws_are_named():
    defined = {name for name in vars(laws) if name.startswith("law_")}
    assert defined == {name for name in laws.__all__ if name.startswith("law_")}


# ---- the strategies reach edges ------------------------------------------------------------------
def reaches(strategy, condition):
    """Whether a few hundred draws find what is looked for; it is not made smaller."""
    try:
        find(
            strategy,
            condition,
            settings=settings(max_examples=1000, derandomize=True, phases=[Phase.generate]),
        )
    except NoSuchExample:
        return False
    return True


@pytest.mark.parametrize("kind", KINDS)
def test_tallies_may_be_empty_and_signed(kind):
    assert reaches(tallies(kind), lambda t: t[0] == t[0].zero())
    assert reaches(tallies(kind), lambda t: min(a.min() for a in t[0]._arrays()) < 0.0)
    assert reaches(tallies(kind, 2), lambda t: t[0] != t[1])


def test_batches_have_no_row_one_row_and_many():
    for n in (0, 1, 5):
        frame = frames("sums").flatmap(batches)
        assert reaches(frame, lambda batch, n=n: len(batch.codes) == n)


def test_weights_are_of_every_kind():
    drawn = weights(4)
    assert reaches(drawn, lambda w: w is None)
    assert reaches(drawn, lambda w: w is not None and (w == 0.0).any() and (w > 0.0).any())
    assert reaches(drawn, lambda w: w is not None and (w != np.floor(w)).all())
    assert reaches(drawn, lambda w: w is not None and (w < 0.0).any())
    assert reaches(drawn, lambda w: w is not None and w.any() and w.sum() == 0.0)


def test_moments_are_of_extreme_magnitudes():
    sizes = tallies("moments").map(lambda t: np.abs(t[0].s2_hi))
    assert reaches(sizes, lambda s: (s > 1e150).any())
    assert reaches(sizes, lambda s: ((s > 0.0) & (s < 1e-150)).any())


@pytest.mark.parametrize("family", FAMILIES)
def test_data_sets_have_one_row_one_class_and_labels_of_both_types(family):
    assert reaches(data_sets(family), lambda data: len(data.X) == 1)
    assert reaches(data_sets(family, min_rows=5), lambda data: len(np.unique(data.y)) == 1)
    assert reaches(data_sets(family), lambda data: data.y.dtype.kind == "U")
    assert reaches(data_sets(family), lambda data: data.sample_weight is not None)


@given(x=far_first_row(50, 2))
def test_the_first_row_is_a_billion_standard_deviations_away(x):
    away = np.abs(x[0] - x[1:].mean(axis=0)) / x[1:].std(axis=0)
    assert (away > 5e8).all()


def test_unknown_kinds_and_families_are_refused():
    with pytest.raises(ValueError, match="kind must be one of"):
        find(columns("words"), lambda _: True)
    with pytest.raises(ValueError, match="family must be one of"):
        find(data_sets("poisson"), lambda _: True)


# ---- what loads what -----------------------------------------------------------------------------
LOADING = """
import sys
import tallybayes
import tallybayes.estimators.loading, tallybayes.estimators.naive_bayes
assert "tallybayes.testing" not in sys.modules
import tallybayes.testing.checks, tallybayes.testing.laws
assert "hypothesis" not in sys.modules
import tallybayes.testing.strategies
"""


def test_testing_is_loaded_by_nobody_and_hypothesis_by_strategies_alone():
    done = subprocess.run([sys.executable, "-P", "-c", LOADING], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
