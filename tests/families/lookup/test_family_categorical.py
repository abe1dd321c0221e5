"""Categorical and the class prior: equations (9) to (12) of article 1 in docs/origin.md."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from reference.logs import assert_logs, ln_all
from reference.rational import exact
from tallybayes import NaiveBayes
from tallybayes.families import Categorical, ClassPrior
from tallybayes.tally import ClassCounts, LevelCounts

ALPHAS = [0.0, 1.0, 0.5, 1e-10, 3.25]


@st.composite
def level_counts(draw):
    """Counts of one to three classes and columns of one to four levels, some without rows."""
    n_levels = np.array(draw(st.lists(st.integers(1, 4), min_size=1, max_size=3)))
    tally = LevelCounts.zeros(draw(st.integers(1, 3)), n_levels)
    element = st.one_of(st.integers(0, 5).map(float), st.floats(0.01, 9.0))
    for k in range(tally.n_classes):
        for j in range(tally.n_features):
            if draw(st.integers(0, 3)):  # else this class has no rows in this column
                width = int(n_levels[j])
                tally.column(j)[k] = draw(st.lists(element, min_size=width, max_size=width))
    return tally


def expected(tally, alpha):
    """P_α(x_j = a | c) of the levels, and of one that the column does not have; by column."""
    known, unseen = [], []
    for j in range(tally.n_features):
        n, a, N = exact(tally.column(j)), Fraction(alpha), int(tally.n_levels[j])
        p, q = np.empty_like(n), np.empty(len(n), dtype=object)
        for k in range(len(n)):
            row = n[k] if n[k].sum() else n.sum(axis=0)  # pooled: no observation in the class
            total = row.sum() + a * N
            p[k] = (row + a) / total if total else Fraction(1, N)
            q[k] = a / total if total else Fraction(0)
        known.append(p)
        unseen.append(q)
    return known, unseen


def classes_of(tally):
    return ClassCounts(np.maximum(tally.totals().max(axis=1, initial=0.0), 0.0))


@pytest.mark.parametrize("alpha", ALPHAS)
@given(tally=level_counts())
def test_log_probabilities_are_those_of_the_equations(alpha, tally):
    """(11): (n_cja + λ) / (n_cj + λN_j); λ = 0 is (10)."""
    known, _ = expected(tally, alpha)
    assert_logs(Categorical(alpha=alpha).log_probabilities(tally), np.concatenate(known, axis=1))


@pytest.mark.parametrize("alpha", ALPHAS)
@given(tally=level_counts())
def test_the_table_holds_the_levels_and_then_the_unseen_one(alpha, tally):
    known, unseen = expected(tally, alpha)
    lookup = Categorical(alpha=alpha).parameters(tally, classes_of(tally))
    np.testing.assert_array_equal(np.diff(lookup.start), tally.n_levels + 1)
    assert not lookup.offset.any()
    for j, (p, q) in enumerate(zip(known, unseen, strict=True)):
        column = lookup.table[:, lookup.start[j] : lookup.start[j + 1]]
        assert_logs(column[:, :-1], p)
        assert_logs(column[:, -1], q)


@pytest.mark.parametrize("alpha", ALPHAS)
@given(tally=level_counts())
def test_the_levels_of_a_column_sum_to_one_in_every_class(alpha, tally):
    log_prob = Categorical(alpha=alpha).log_probabilities(tally)
    for j in range(tally.n_features):
        column = np.exp(log_prob[:, tally.start[j] : tally.start[j + 1]])
        assert (np.abs(column.sum(axis=1) - 1.0) <= 1e-13).all()


@given(tally=level_counts())
def test_reading_changes_no_count(tally):
    before = tally.copy()
    for unseen in ("smooth", "ignore", "error"):
        Categorical(unseen=unseen).parameters(tally, classes_of(tally))
    assert tally == before


@given(tally=level_counts())
def test_an_ignored_level_contributes_nothing(tally):
    smooth = Categorical().parameters(tally, classes_of(tally))
    ignore = Categorical(unseen="ignore").parameters(tally, classes_of(tally))
    last = smooth.start[1:] - 1
    assert not ignore.table[:, last].any()
    others = np.delete(np.arange(smooth.table.shape[1]), last)
    np.testing.assert_array_equal(ignore.table[:, others], smooth.table[:, others])


def test_weights_count_as_rows():
    whole = LevelCounts(np.array([0, 2]), np.array([[1.0, 3.0]]))
    half = 0.5 * whole
    a, b = (Categorical(alpha=0.0).log_probabilities(t) for t in (whole, half))
    np.testing.assert_allclose(a, b, rtol=1e-15)


def test_a_level_of_the_column_that_a_class_lacks_has_probability_zero_without_smoothing():
    tally = LevelCounts(np.array([0, 3]), np.array([[2.0, 0.0, 2.0], [0.0, 5.0, 0.0]]))
    assert_logs(
        Categorical(alpha=0.0).log_probabilities(tally),
        [[Fraction(1, 2), 0, Fraction(1, 2)], [0, 1, 0]],
    )


def test_a_class_without_observations_in_a_column_takes_the_counts_of_all_classes_there():
    tally = LevelCounts(np.array([0, 2, 4]), np.array([[3.0, 1.0, 0.0, 0.0], [1.0, 1.0, 2.0, 2.0]]))
    found = Categorical(alpha=1.0).log_probabilities(tally)
    thirds = [Fraction(4, 6), Fraction(2, 6)]
    halves = [Fraction(1, 2), Fraction(1, 2)]
    assert_logs(found, [[*thirds, *halves], [*halves, *halves]])


def test_a_column_without_any_observation_finds_every_level_alike():
    tally = LevelCounts.zeros(2, np.array([4]))
    for alpha in (0.0, 1.0):
        found = Categorical(alpha=alpha).log_probabilities(tally)
        np.testing.assert_allclose(found, ln_all(np.full((2, 4), Fraction(1, 4))))


def test_a_level_count_far_beyond_two_to_the_24_is_smoothed_exactly():
    tally = LevelCounts(np.array([0, 2]), np.array([[2.0**40, 1.0]]))
    n = Fraction(2**40)
    assert_logs(Categorical(alpha=1.0).log_probabilities(tally), [[(n + 1) / (n + 3), 2 / (n + 3)]])


@pytest.mark.parametrize(
    ("values", "said"), [(["u"], "categorical, 1 level"), (["u", "v"], "categorical, 2 levels")]
)
def test_the_schema_counts_levels_in_words(values, said):
    rows = [{"x": value} for value in values * 4]
    model = NaiveBayes().fit(rows, [0, 1] * (len(rows) // 2))
    assert model.schema_["family"].tolist() == [said]


counts = hnp.arrays(
    np.float64,
    st.integers(1, 6),
    elements=st.one_of(st.integers(0, 9).map(float), st.floats(0, 50)),
).filter(lambda c: c.sum() > 1e-6)


@given(count=counts)
def test_maximum_likelihood_is_the_share_of_rows(count):
    """Equation (9): P(c) = Σ I(y = c) / m."""
    n = exact(count)
    assert_logs(ClassPrior().log(ClassCounts(count)), n / n.sum())


@given(count=counts, alpha=st.sampled_from([1.0, 0.5, 3.25, 1e-3]))
def test_smoothing_adds_alpha_rows_to_every_class(count, alpha):
    """Equation (12): P(c) = (Σ I(y = c) + λ) / (m + Kλ)."""
    n, a = exact(count), Fraction(alpha)
    expected = (n + a) / (n.sum() + len(n) * a)
    assert_logs(ClassPrior(alpha=alpha).log(ClassCounts(count)), expected)


@given(count=counts, alpha=st.sampled_from([0.0, 1.0]))
def test_the_prior_sums_to_one(count, alpha):
    prior = np.exp(ClassPrior(alpha=alpha).log(ClassCounts(count)))
    assert abs(prior.sum() - 1.0) <= 1e-14


def test_a_class_without_rows_cannot_occur_unless_smoothed():
    classes = ClassCounts(np.array([3.0, 0.0, 1.0]))
    assert_logs(ClassPrior().log(classes), [Fraction(3, 4), 0, Fraction(1, 4)])
    assert_logs(
        ClassPrior(alpha=1.0).log(classes), [Fraction(4, 7), Fraction(1, 7), Fraction(2, 7)]
    )


def test_a_given_prior_is_not_changed_by_counts():
    prior = ClassPrior(given=np.array([0.25, 0.75, 0.0]))
    for count in ([0.0, 0.0, 0.0], [5.0, 1.0, 9.0]):
        assert_logs(
            prior.log(ClassCounts(np.array(count))), [Fraction(1, 4), Fraction(3, 4), Fraction(0)]
        )


def test_no_rows_have_no_prior_unless_it_is_smoothed_or_given():
    nothing = ClassCounts.zeros(2)
    with pytest.raises(ValueError, match=r"no rows.*class_alpha"):
        ClassPrior().log(nothing)
    assert_logs(ClassPrior(alpha=0.1).log(nothing), [Fraction(1, 2)] * 2)


def test_weights_that_cancel_have_no_prior():
    with pytest.raises(ValueError, match="sum to 0"):
        ClassPrior().log(ClassCounts(np.array([0.0, 0.0])))


def test_reading_the_prior_changes_no_count():
    count = np.array([3.0, 1.0])
    ClassPrior(alpha=1.0).log(ClassCounts(count))
    assert count.tolist() == [3.0, 1.0]
