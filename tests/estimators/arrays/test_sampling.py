"""score_samples, log p(x), and sample, draws from p(x, y), of the four generative models."""

import itertools
import warnings

import numpy as np
import pytest
from scipy.special import logsumexp
from sklearn.exceptions import NotFittedError

from estimators.cases import GENERATIVE, LAYOUTS, every, refused, rows, unchanged
from tallybayes import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB

DRAWS = 40_000
SIGMAS = 5.0  # one false alarm in 1.7 million; the seeds are fixed besides


# ---- score_samples -----------------------------------------------------------------------------
@every(*GENERATIVE)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_log_evidence_is_the_joint_summed_over_the_classes(NB, layout):
    x, y = rows()
    model = NB().fit(x, y)
    held = LAYOUTS[layout](x)
    got = model.score_samples(held)
    assert got.shape == (60,)
    joint = model.predict_joint_log_proba(held)
    np.testing.assert_allclose(got, logsumexp(joint, axis=1), rtol=1e-13)
    np.testing.assert_allclose(joint - got[:, None], model.predict_log_proba(held), atol=1e-12)


def test_the_evidence_of_all_categorical_rows_sums_to_one():
    x, y = rows(d=3, dtype=int)
    model = CategoricalNB(min_categories=5).fit(x, y)
    space = np.array(list(itertools.product(range(5), repeat=3)))
    assert np.exp(model.score_samples(space)).sum() == pytest.approx(1.0, rel=1e-12)


def test_the_evidence_of_all_bernoulli_rows_sums_to_one():
    x, y = rows(d=4)
    model = BernoulliNB(class_alpha=0.5).fit(x, y)
    space = np.array(list(itertools.product([0, 1], repeat=4)))
    assert np.exp(model.score_samples(space)).sum() == pytest.approx(1.0, rel=1e-12)


def test_the_evidence_of_one_word_sums_to_one():
    x, y = rows(d=6)
    assert np.exp(MultinomialNB().fit(x, y).score_samples(np.eye(6))).sum() == pytest.approx(1.0)


def test_the_gaussian_evidence_integrates_to_one():
    model = GaussianNB().fit([[0.0], [1.0], [4.0], [6.0]], [0, 0, 1, 1])
    grid = np.linspace(-20, 30, 20_001)
    density = np.exp(model.score_samples(grid[:, None]))
    assert np.trapezoid(density, grid) == pytest.approx(1.0, rel=1e-9)


def test_score_samples_follows_the_type_of_x_as_the_joint_does():
    x, y = rows(dtype=np.float32)
    model = GaussianNB().fit(x, y)
    assert model.score_samples(x).dtype == model.predict_joint_log_proba(x).dtype == np.float32
    assert model.score_samples(x.astype(np.float64)).dtype == np.float64


# ---- frequencies -------------------------------------------------------------------------------
def assert_frequencies(count, n, p):
    """Counts of n draws agree with probabilities p within five standard deviations."""
    count, p = np.asarray(count, dtype=float), np.asarray(p, dtype=float)
    sigma = np.sqrt(n * p * (1 - p))
    assert (np.abs(count - n * p) <= SIGMAS * sigma + 1e-9).all()


@every(*GENERATIVE)
def test_classes_are_drawn_by_the_class_prior(NB):
    x, y = rows(n=61, classes=("a", "b", "c"))
    model = NB(class_alpha=3.0).fit(x, y)
    drawn, labels = model.sample(DRAWS, random_state=0)
    assert drawn.shape == (DRAWS, 4)
    assert labels.shape == (DRAWS,)
    counts = np.array([(labels == c).sum() for c in model.classes_])
    assert_frequencies(counts, DRAWS, (model.class_count_ + 3) / (61 + 9))


def test_categories_are_drawn_by_their_probability_in_the_class():
    x, y = rows(dtype=int)
    model = CategoricalNB(alpha=0.5).fit(x, y)
    drawn, labels = model.sample(DRAWS, random_state=1)
    assert drawn.dtype == np.int64
    for j, table in enumerate(model.feature_log_prob_):
        for k in range(3):
            column = drawn[labels == k, j]
            count = np.bincount(column, minlength=table.shape[1])
            assert_frequencies(count, len(column), np.exp(table[k]))


def test_bits_are_drawn_by_their_probability_in_the_class():
    x, y = rows()
    model = BernoulliNB(binarize=1.0).fit(x, y)
    drawn, labels = model.sample(DRAWS, random_state=2)
    assert set(np.unique(drawn)) == {0, 1}
    for k in range(3):
        part = drawn[labels == k]
        assert_frequencies(part.sum(axis=0), len(part), np.exp(model.feature_log_prob_[k]))


@pytest.mark.parametrize("length", [1, 7])
def test_words_are_drawn_by_their_probability_and_sum_to_the_length(length):
    x, y = rows()
    model = MultinomialNB().fit(x, y)
    drawn, labels = model.sample(DRAWS, random_state=3, length=length)
    assert (drawn.sum(axis=1) == length).all()
    for k in range(3):
        part = drawn[labels == k]
        words = np.exp(model.feature_log_prob_[k])
        assert_frequencies(part.sum(axis=0), length * len(part), words)


def test_numbers_are_drawn_with_mean_and_variance_of_the_class():
    x, y = rows()
    model = GaussianNB().fit(x, y)
    drawn, labels = model.sample(DRAWS, random_state=4)
    for k in range(3):
        part = drawn[labels == k]
        sd, n = np.sqrt(model.var_[k]), len(part)
        assert (np.abs(part.mean(axis=0) - model.theta_[k]) < SIGMAS * sd / np.sqrt(n)).all()
        assert (np.abs(part.var(axis=0) - sd**2) < SIGMAS * sd**2 * np.sqrt(2 / n)).all()


@every(*GENERATIVE)
def test_a_model_of_draws_is_the_model_they_were_drawn_from(NB):
    """Which the smoothing of so many rows does not hide."""
    x, y = rows()
    model = NB().fit(x, y)
    more = {"length": 20} if NB is MultinomialNB else {}
    again = NB().fit(*model.sample(DRAWS, random_state=5, **more))
    assert np.abs(again.predict_proba(x) - model.predict_proba(x)).max() < 0.05


# ---- y, n, length, random_state -----------------------------------------------------------------
@every(*GENERATIVE)
def test_classes_can_be_asked_for(NB):
    x, y = rows(classes=("a", "b", "c"))
    model = NB().fit(x, y)
    for asked, n in [(["b", "a", "b"], None), (np.array(["c"] * 5), 5), ("a", 4), ("a", None)]:
        drawn, labels = model.sample(n, y=asked, random_state=0)
        expected = [asked] * (n or 1) if isinstance(asked, str) else list(asked)
        assert labels.tolist() == expected
        assert drawn.shape == (len(expected), 4)
        assert labels.dtype == model.classes_.dtype


@every(*GENERATIVE)
def test_a_class_never_seen_is_drawn_from_when_asked_for(NB):
    x, y = rows()
    model = NB().partial_fit(x, y, classes=[0, 1, 2, 3])
    drawn, labels = model.sample(50, y=3, random_state=0)
    assert labels.tolist() == [3] * 50
    assert np.isfinite(drawn).all()
    assert 3 not in model.sample(500, random_state=0)[1]


@every(*GENERATIVE)
@pytest.mark.parametrize("n", [0, 1, 2])
def test_so_many_rows_as_asked_for(NB, n):
    model = NB().fit(*rows())
    drawn, labels = model.sample(n, random_state=0)
    assert drawn.shape == (n, 4)
    assert labels.shape == (n,)
    none, _ = model.sample(y=[], random_state=0)
    assert none.shape == (0, 4)


@every(*GENERATIVE)
def test_a_seed_makes_the_draws_repeatable(NB):
    model = NB().fit(*rows())

    def draw(state):
        x, y = model.sample(20, random_state=state)
        return x.tolist(), y.tolist()

    assert draw(7) == draw(7) == draw(np.random.RandomState(7))
    assert draw(7) != draw(8)
    assert draw(None) != draw(None)


@every(*GENERATIVE)
def test_drawing_changes_nothing(NB):
    model = NB().fit(*rows())
    with unchanged(model):
        model.sample(10, random_state=0)
        model.score_samples(rows()[0])


def test_each_row_can_have_a_length_of_its_own():
    model = MultinomialNB().fit(*rows())
    drawn, _ = model.sample(4, random_state=0, length=[0, 1, 5, 100])
    assert drawn.sum(axis=1).tolist() == [0, 1, 5, 100]
    drawn, _ = model.sample(y=[0, 2], random_state=0, length=np.array([3, 4]))
    assert drawn.sum(axis=1).tolist() == [3, 4]


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_draws_do_what_the_model_holds_for_possible(alpha):
    """Every drawn row has a finite log p(x): nothing of probability 0 is drawn."""
    x, y = rows()
    for NB in (MultinomialNB, BernoulliNB, CategoricalNB):
        model = NB(alpha=alpha).fit(x, y)
        drawn, labels = model.sample(2000, random_state=0)
        joint = model.predict_joint_log_proba(drawn)
        assert np.isfinite(joint[np.arange(2000), labels]).all()


def test_declared_levels_are_drawn_as_values_that_the_model_reads():
    levels = [["sun", "rain", "snow"], ["calm", "wind"]]
    model = CategoricalNB(levels=levels).fit([["sun", "calm"], ["rain", "wind"]], ["out", "in"])
    drawn, labels = model.sample(200, random_state=0)
    assert set(drawn[:, 0]) == {"sun", "rain", "snow"}
    assert set(drawn[:, 1]) == {"calm", "wind"}
    model.partial_fit(drawn, labels)


@every(*GENERATIVE)
def test_a_prior_that_sums_to_one_only_nearly_can_be_drawn_from(NB):
    """Three times 0.33333 is within the tolerance in which a prior is taken."""
    prior = "priors" if NB is GaussianNB else "class_prior"
    model = NB(**{prior: [0.333333, 0.333333, 0.333333]}).fit(*rows())
    _, labels = model.sample(DRAWS, random_state=0)
    assert_frequencies(np.bincount(labels), DRAWS, [1 / 3] * 3)


@every(*GENERATIVE)
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, r"how many rows.*sample\(n\).*sample\(y=labels\)"),
        ({"n": -1}, "n must be a whole number of rows, got -1"),
        ({"n": 2.5}, r"n must be a whole number of rows, got 2\.5"),
        ({"n": True}, "n must be a whole number of rows, got True"),
        ({"n": "three"}, "n must be a whole number of rows, got 'three'"),
        ({"n": np.nan}, "n must be a whole number of rows, got nan"),
        ({"n": [3]}, r"n must be a whole number of rows, got \[3\]"),
        ({"n": 3, "y": [0, 1]}, "n=3 rows were asked for, but y has 2 labels"),
        ({"y": [0, 7]}, r"label\(s\) \[7\].*row 1\)"),
        ({"n": 2, "y": "b"}, r"label\(s\) \['b'\]"),
        ({"y": [[0, 1], [1, 0]]}, "y "),
        ({"y": [[0], [1]]}, "y "),
        ({"n": 3, "random_state": "seed"}, "cannot be used to seed"),
    ],
    ids=str,
)
def test_bad_arguments_are_refused(NB, arguments, message):
    model = NB().fit(*rows())
    with refused((ValueError, TypeError), message, model):
        model.sample(**arguments)


@pytest.mark.parametrize(
    ("length", "message"),
    [
        (-1, "length must be whole numbers from 0 on"),
        (2.5, "length must be whole numbers from 0 on"),
        ([1, -2, 3], "length must be whole numbers from 0 on"),
        ([1, 2], "length has 2 values for 3 rows"),
        ([[1], [2], [3]], "length must be whole numbers"),
        ("long", "length must be whole numbers"),
    ],
    ids=str,
)
def test_bad_lengths_are_refused(length, message):
    model = MultinomialNB().fit(*rows())
    with refused(ValueError, message, model):
        model.sample(3, length=length)


@every(*GENERATIVE)
def test_only_a_fitted_model_can_be_drawn_from(NB):
    with pytest.raises(NotFittedError):
        NB().sample(3)


def test_a_model_that_has_forgotten_everything_cannot_draw_classes():
    x, y = rows()
    model = CategoricalNB(min_categories=5).partial_fit(x, y, classes=[0, 1, 2]).forget(x, y)
    with refused(ValueError, "class prior cannot be estimated from no rows", model):
        model.sample(3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        drawn, _ = model.sample(2000, y=1, random_state=0)  # its levels are all alike
    assert_frequencies(np.bincount(drawn[:, 0]), 2000, [1 / 5] * 5)
