"""What is left after a subtraction: a count, a deficit, or rounding."""

import numpy as np
import pytest

from tallybayes import BernoulliNB, GaussianNB
from tallybayes.errors import NegativeTally
from tallybayes.schema import Columns, Schema
from tallybayes.tally import ClassCounts, FeatureSums, LevelCounts, Moments, TableTally
from tallybayes.tally.base import RESIDUE, is_residue

COUNTS = {
    "classes": lambda values: ClassCounts(np.array(values)),
    "sums": lambda values: FeatureSums(np.array([values])),
    "levels": lambda values: LevelCounts(np.array([0, len(values)]), np.array([values])),
}


@pytest.mark.parametrize(
    ("rest", "before", "rounding"),
    [
        (0.0, 0.0, True),
        (0.0, 5.0, True),
        (RESIDUE, 1.0, True),
        (-RESIDUE, 1.0, True),
        (np.nextafter(RESIDUE, 1.0), 1.0, False),
        (1e-300, 0.0, False),  # nothing was there: this is not a rest
        (1.0, 2.0**53, False),  # a whole weight is never rounding
        (0.4, 2.0**45, True),
        (0.5, 2.0**45, False),
        (-1.0, 2.0**60, False),
        (RESIDUE, -1.0, True),
    ],
)
def test_a_residue_is_a_tiny_share_of_what_was_held_and_less_than_half_a_row(
    rest, before, rounding
):
    assert is_residue(np.array(rest), np.array(before)) == rounding


@pytest.mark.parametrize("kind", COUNTS)
def test_settling_zeroes_residues_and_nothing_else(kind):
    before = COUNTS[kind]([1.0, 1.0, 1.0, 2.0**50, 0.0])
    rest = COUNTS[kind]([1e-13, -1e-13, 1e-8, 1.0, 0.0])
    rest.settle(before)
    name = rest.additive[0]
    assert getattr(rest, name).ravel().tolist() == [0.0, 0.0, 1e-8, 1.0, 0.0]


@pytest.mark.parametrize("kind", COUNTS)
def test_forgetting_fractional_weights_leaves_nothing(kind):
    w = np.random.default_rng(0).uniform(0.1, 1.0, size=1000)
    held = COUNTS[kind]([0.0])
    for weight in w:
        held = held + COUNTS[kind]([weight])
    before, rest = held, held
    for weight in w[::-1] * 1.0:
        rest = rest - COUNTS[kind]([weight])
    rest.settle(before)
    assert rest == held.zero()


@pytest.mark.parametrize("kind", COUNTS)
def test_a_tally_that_rows_can_have_has_no_deficit(kind):
    assert COUNTS[kind]([0.0, 1.0, 0.25]).deficit() is None
    assert COUNTS[kind]([]).deficit() is None


@pytest.mark.parametrize(
    ("kind", "found"),
    [("classes", (1, -1, "-0.5")), ("sums", (0, 1, "-0.5")), ("levels", (0, 0, "-0.5"))],
)
def test_a_deficit_is_class_column_and_count(kind, found):
    assert COUNTS[kind]([1.0, -0.5, -3.0]).deficit() == found


# ---- moments -------------------------------------------------------------------------------------
def moments(n, s1, s2, origin=0.0):
    cells = [np.array([[float(v)]]) for v in (n, s1, 0.0, s2, 0.0)]
    return Moments(np.array([origin]), *cells)


def test_moments_of_rows_have_no_deficit():
    assert moments(0, 0, 0).deficit() is None
    assert moments(3, 6, 12).deficit() is None  # three times 2
    assert moments(3, 6, 14).deficit() is None


@pytest.mark.parametrize(
    ("tally", "shown"),
    [
        (moments(-1, 0, 0), "n = -1"),
        (moments(0, 0, 4), "n = 0 but a sum of squares of 4"),
        (moments(0, 1, 0), "n = 0 but"),
        (moments(3, 6, 11), "a sum of squares of -1"),
        (moments(1, 2, 3), "a sum of squares of -1"),
    ],
)
def test_moments_that_no_rows_have_show_a_deficit(tally, shown):
    k, j, text = tally.deficit()
    assert (k, j) == (0, 0)
    assert shown in text


def test_a_rest_of_moments_without_rows_is_rounding():
    before, rest = moments(0.7, 7e3, 7e7), moments(1e-17, 1e-10, 1e-6)
    rest.settle(before)
    assert rest == rest.zero()


def test_sums_that_are_no_rest_stay_and_are_a_deficit():
    before, rest = moments(5, 10, 30), moments(0, 1, -7)
    rest.settle(before)
    assert rest == moments(0, 1, -7)
    assert rest.deficit() is not None


@pytest.mark.parametrize("origin", [0.0, 3.0, 1e6])
def test_a_sum_of_squares_that_rounding_made_negative_becomes_zero(origin):
    before = moments(100.5, 50, 1e6, origin)  # fractional weights are known to their last place
    rest = moments(7.25, 14.5, 29 - 1e-6, origin)
    assert rest.deficit() is not None
    rest.settle(before)
    assert rest.deficit() is None
    _, squares = rest.mean_and_squares()
    assert 0.0 <= squares[0, 0] <= 1e-9
    assert rest.n[0, 0] == 7.25
    assert rest.s1_hi[0, 0] == 14.5


@pytest.mark.parametrize(("off", "rounding"), [(-1e-6, False), (-1e-19, True), (1e-24, True)])
def test_whole_weights_leave_the_rounding_of_double_doubles_only(off, rounding):
    before, rest = moments(100, 50, 1e6), moments(7, 14, 28)
    rest.s2_lo[:] = off
    rest.settle(before)
    assert (rest.mean_and_squares()[1][0, 0] == 0.0) == rounding
    assert (rest.deficit() is None) == rounding


def test_what_cannot_be_told_from_zero_is_zero_also_after_the_far_row_has_gone():
    rest = moments(7, 14, 28)
    rest.s2_lo[:] = 1e-14  # of a sum of squares of 10¹⁶ that was removed before
    kept = rest.copy()
    kept.settle(kept.copy())
    assert kept.mean_and_squares()[1][0, 0] > 0.0
    rest.take_bounds(np.full((2, 1), 1e16))
    rest.settle(rest.copy())
    assert rest.mean_and_squares()[1][0, 0] == 0.0


def test_a_sum_of_squares_that_is_truly_negative_stays():
    before, rest = moments(100, 50, 1e6), moments(7, 14, 20)
    rest.settle(before)
    assert rest == moments(7, 14, 20)


COLUMNS = {
    "normal": lambda rng, n: rng.normal(size=(n, 1)),
    "one decimal": lambda rng, n: np.round(rng.normal(size=(n, 1)), 1),
    "mostly zero": lambda rng, n: np.round(rng.normal(size=(n, 1)), 1) * (rng.random((n, 1)) < 0.5),
    "lognormal": lambda rng, n: rng.lognormal(sigma=4.0, size=(n, 1)),
    "far from zero": lambda rng, n: 1e6 + np.round(rng.normal(size=(n, 1)), 1),
    "first row far": lambda rng, n: np.where(np.arange(n) > 0, rng.normal(size=n), 1e9)[:, None],
}


@pytest.mark.parametrize("weights", ["none", "fractional"])
@pytest.mark.parametrize("column", COLUMNS)
def test_rows_learned_together_may_be_forgotten_one_by_one(column, weights):
    """What chunks have rounded off is not a deficit, whichever row is removed last."""
    rng = np.random.default_rng(0)
    for n in (2, 3, 8, 40) * 6:
        x, y = COLUMNS[column](rng, n + 1), np.ones(n + 1)
        y[0] = 0  # one row that stays
        w = None if weights == "none" else rng.uniform(0.1, 1.0, size=n + 1)
        model = GaussianNB().partial_fit(x, y, classes=[0, 1], sample_weight=w)
        for i in 1 + rng.permutation(n):
            model.forget(x[[i]], y[[i]], sample_weight=None if w is None else w[[i]])
        assert model.class_count_[1] == 0.0
        moments = model.tally_.groups[0].take(np.array([1]))
        assert moments == moments.zero()


@pytest.mark.parametrize("column", ["normal", "one decimal", "mostly zero", "first row far"])
def test_a_row_that_was_not_learned_cannot_be_forgotten(column):
    """With the right n and the wrong value: the sum of squares shows it."""
    rng = np.random.default_rng(1)
    for n in (1, 2, 8):
        x, y = COLUMNS[column](rng, n + 1), np.ones(n + 1)
        y[0] = 0
        model = GaussianNB().fit(x, y)
        if n > 1:
            model.forget(x[2:], y[2:])
        before = model.tally_.copy()
        with pytest.raises(NegativeTally, match=r"class 1\.0, feature 0"):
            model.forget(x[[1]] + 3.0, y[[1]])
        assert model.tally_ == before


def test_a_feature_present_in_more_rows_than_there_are_is_a_deficit():
    """Of yes/no features the rows without one are a count too: n less the rows with it."""
    columns = Columns(kind="sums", n_features=2, threshold=0.5)
    schema = Schema(np.array(["no", "yes"]), (columns,))
    sums = FeatureSums(np.array([[1.0, 2.0], [3.0, 0.0]]))
    TableTally(schema, ClassCounts(np.array([2.0, 3.0])), (sums,)).need_non_negative("forget")
    with pytest.raises(NegativeTally, match=r"class 'yes', feature 0"):
        TableTally(schema, ClassCounts(np.array([2.0, 2.0])), (sums,)).need_non_negative("forget")


def test_forgetting_the_wrong_yes_no_rows_is_refused():
    model = BernoulliNB(alpha=0.5).fit([[1], [1], [0], [1], [0]], [0, 0, 0, 1, 1])
    before = model.tally_.copy()
    with pytest.raises(NegativeTally, match="class 0, feature 0"):
        model.forget([[0], [0]], [0, 0])  # one row of class 0 lacks the feature, not two
    assert model.tally_ == before


# ---- the error -----------------------------------------------------------------------------------
LABELS = {
    "int": np.array([3, 8]),
    "float": np.array([0.5, 8.0]),
    "bool": np.array([False, True]),
    "str": np.array(["ham", "spam"]),
    "object": np.array(["ham", "spam"], dtype=object),
}


def table(labels, sums, count=(1.0, 1.0), names=("tea", "milk")):
    columns = Columns(kind="sums", n_features=2, names=names)
    return TableTally(
        Schema(labels, (columns,)), ClassCounts(np.array(count)), (FeatureSums(np.array(sums)),)
    )


@pytest.mark.parametrize("labels", LABELS)
def test_a_negative_tally_names_class_and_feature(labels):
    tally = table(LABELS[labels], [[1.0, 0.0], [2.0, -3.0]])
    with pytest.raises(NegativeTally, match="forget would remove more") as error:
        tally.need_non_negative("forget")
    for word in (
        repr(LABELS[labels].tolist()[1]),
        "feature 1 ('milk')",
        "-3",
        "Nothing was changed",
    ):
        assert word in str(error.value)


@pytest.mark.parametrize("labels", LABELS)
def test_a_negative_class_count_names_the_class(labels):
    tally = table(LABELS[labels], [[0.0, 0.0], [0.0, 0.0]], count=(0.0, -2.0))
    with pytest.raises(NegativeTally, match="-2") as error:
        tally.need_non_negative("forget")
    assert repr(LABELS[labels].tolist()[1]) in str(error.value)
    assert "feature" not in str(error.value).split(". ")[0]


def test_columns_without_names_are_named_by_number():
    tally = table(np.array([0, 1]), [[0.0, -1.0], [0.0, 0.0]], names=None)
    with pytest.raises(NegativeTally, match="class 0, feature 1 would be left with -1"):
        tally.need_non_negative("forget")


def test_a_tally_that_rows_can_have_is_let_pass():
    table(np.array([0, 1]), [[0.0, 1.0], [0.5, 0.0]]).need_non_negative("forget")
