"""Multinomial, complement and Bernoulli at their edges: alpha, zero counts, certainty, sparsity;
and rows that every class of any of the five rules out.
"""

import warnings

import numpy as np
import pytest

from estimators.cases import (
    DISCRETE,
    GENERATIVE,
    LAYOUTS,
    SUMS,
    assert_same_counts,
    assert_sane_posterior,
    every,
    peer,
    refused,
    rows,
)
from tallybayes import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB
from tallybayes.errors import RuledOutWarning

# ---- alpha, one value a feature -----------------------------------------------------------------
ALPHA = [0.5, 2.0, 1.0, 0.0]


def expected_log_prob(NB, x, y, alpha):
    """feature_log_prob_ by its definition, from the rows."""
    counts = np.array([x[y == c].sum(axis=0) for c in np.unique(y)], dtype=float)
    alpha = np.asarray(alpha, dtype=float)
    if NB is MultinomialNB:
        return np.log((counts + alpha) / (counts + alpha).sum(axis=1, keepdims=True))
    if NB is BernoulliNB:
        counts = np.array([(x[y == c] > 0).sum(axis=0) for c in np.unique(y)], dtype=float)
        n = np.bincount(y)[:, None]
        return np.log((counts + alpha) / (n + 2 * alpha))
    complement = counts.sum(axis=0) - counts + alpha
    return -np.log(complement / complement.sum(axis=1, keepdims=True))


@every(*SUMS)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("holder", [list, tuple, np.array], ids=lambda h: h.__name__)
def test_a_vector_of_alpha_smooths_each_feature_by_its_own_value(NB, layout, holder):
    """Our own version of what scikit-learn's test_alpha_vector looks into by a private helper.

    scikit-learn 1.9.1 takes such an alpha for BernoulliNB as well, and fails on it where there are
    not as many classes as features.
    """
    x, y = rows()
    model = NB(alpha=holder(ALPHA)).fit(LAYOUTS[layout](x), y)
    expected = expected_log_prob(NB, x, y, ALPHA)
    np.testing.assert_allclose(model.feature_log_prob_, expected, rtol=1e-13)
    theirs = peer(NB)(alpha=ALPHA)
    if NB is BernoulliNB:
        with pytest.raises(ValueError, match="broadcast"):
            theirs.fit(x, y)
    else:
        theirs.fit(x, y)
        np.testing.assert_allclose(model.predict_proba(x), theirs.predict_proba(x), rtol=1e-10)


@every(*SUMS)
def test_a_vector_of_equal_alphas_is_the_number(NB):
    x, y = rows()
    vector, number = NB(alpha=np.full(4, 0.3)).fit(x, y), NB(alpha=0.3).fit(x, y)
    np.testing.assert_allclose(vector.predict_proba(x), number.predict_proba(x), rtol=1e-13)


@every(*SUMS)
@pytest.mark.parametrize(
    ("alpha", "message"),
    [
        ([1.0, -0.1, 1.0, 1.0], r"All values in alpha must be greater than 0.*alpha\[1\] is -0\.1"),
        ([1.0, 1.0, np.nan, 1.0], r"alpha\[2\] is nan"),
        ([1.0, 1.0, 1.0, np.inf], r"alpha\[3\] is inf"),
        ([1.0, 2.0, 3.0], r"it should contains `n_features`.*\(3,\) for 4 features"),
        ([[1.0, 2.0, 3.0, 4.0]], r"it should contains `n_features`.*\(1, 4\) for 4 features"),
    ],
    ids=["negative", "NaN", "infinite", "too short", "two axes"],
)
def test_a_vector_of_alpha_that_does_not_fit_is_refused(NB, alpha, message):
    x, y = rows()
    model = NB(alpha=alpha)
    with refused(ValueError, message, model):
        model.fit(x, y)
    with refused(ValueError, message, model):
        model.partial_fit(x, y, classes=[0, 1, 2])


@every(*DISCRETE)
@pytest.mark.parametrize("alpha", [-1.0, np.nan, np.inf, "one", None], ids=str)
def test_an_alpha_that_is_no_number_from_zero_on_is_refused(NB, alpha):
    x, y = rows()
    model = NB(alpha=alpha)
    with refused(ValueError, "The 'alpha' parameter of .* must be a float in the range", model):
        model.fit(x, y)


def test_categorical_smoothing_is_one_number():
    with refused(
        ValueError, "The 'alpha' parameter of CategoricalNB", m := CategoricalNB(alpha=[1])
    ):
        m.fit([[0], [1]], [0, 1])


# ---- force_alpha --------------------------------------------------------------------------------
@every(*DISCRETE)
@pytest.mark.parametrize("learn", ["fit", "partial_fit"])
def test_without_force_alpha_a_tiny_alpha_is_raised_with_a_warning_at_the_callers_line(NB, learn):
    x, y = rows()
    classes = {"classes": [0, 1, 2]} if learn == "partial_fit" else {}
    model = NB(alpha=0.0, force_alpha=False)
    with pytest.warns(UserWarning, match="alpha too small.*1.0e-10.*force_alpha=True") as caught:
        getattr(model, learn)(x, y, **classes)
    assert model.predict_proba(x).tolist() == NB(alpha=1e-10).fit(x, y).predict_proba(x).tolist()
    assert [w.filename for w in caught] == [__file__]


@every(*SUMS)
def test_without_force_alpha_only_tiny_values_of_a_vector_are_raised(NB):
    x, y = rows()
    with pytest.warns(UserWarning, match="alpha too small"):
        model = NB(alpha=[1e-10 / 2, 0.5, 1.0, 0.0], force_alpha=False).fit(x, y)
    same = NB(alpha=[1e-10, 0.5, 1.0, 1e-10]).fit(x, y)
    assert model.feature_log_prob_.tolist() == same.feature_log_prob_.tolist()


@every(*DISCRETE)
def test_with_force_alpha_a_tiny_alpha_is_used_as_it_is(NB):
    """Origin: scikit-learn issue 10772."""
    x, y = [[0, 1], [1, 0], [1, 1]], [0, 1, 1]
    model = NB(alpha=1e-200).fit(x, y)
    values = model.feature_log_prob_
    values = np.concatenate([np.ravel(v) for v in values]) if NB is CategoricalNB else values
    assert np.abs(values).max() > 400  # |log 1e-200| = 460; of 1e-10 it would be 23
    assert np.isfinite(values).all()


# ---- alpha = 0 and a zero count -----------------------------------------------------------------


ALWAYS = np.array([[1, 0, 0], [1, 1, 0], [0, 1, 0], [1, 1, 0]])
ALWAYS_Y = np.array([0, 0, 1, 1])


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("alpha", [1e-300, 1e-20, 1e-3, 1.0])
def test_bernoulli_with_a_feature_in_every_document_of_a_class(alpha, layout):
    """Origin: scikit-learn 1.9.1 takes log(1 − exp(log p)), which is −inf for p near 1, and NaN."""
    model = BernoulliNB(alpha=alpha).fit(LAYOUTS[layout](ALWAYS), ALWAYS_Y)
    query = np.array([[1, 0, 0], [0, 0, 0], [0, 1, 0]])
    p = np.array([[2, 1, 0], [1, 2, 0]]) + alpha
    q = np.array([[0, 1, 2], [1, 0, 2]]) + alpha
    joint = np.log(0.5) + (query[:, None] * np.log(p) + (1 - query)[:, None] * np.log(q)).sum(-1)
    joint -= 3 * np.log(2 + 2 * alpha)
    got = model.predict_joint_log_proba(LAYOUTS[layout](query))
    np.testing.assert_allclose(got, joint, rtol=1e-12)
    if alpha < 1e-16:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = peer(BernoulliNB)(alpha=alpha).fit(ALWAYS, ALWAYS_Y)
            assert np.isnan(theirs.predict_proba(query)).any()


# ---- binarize -----------------------------------------------------------------------------------
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("binarize", [0.0, 1.0, 2.5])
def test_binarize_counts_what_is_above_the_threshold(layout, binarize):
    x, y = rows()
    model = BernoulliNB(binarize=binarize).fit(LAYOUTS[layout](x), y)
    plain = BernoulliNB(binarize=None).fit((x > binarize).astype(float), y)
    assert_same_counts(model, plain)
    assert (
        model.predict_proba(LAYOUTS[layout](x)).tolist()
        == plain.predict_proba((x > binarize).astype(float)).tolist()
    )


@pytest.mark.parametrize("layout", ["csr", "csc"])
def test_entries_given_twice_are_added_before_they_are_compared_with_the_threshold(layout):
    x = LAYOUTS["csr"](([1.0, 1.0, 1.0], ([0, 0, 1], [0, 0, 1])), shape=(2, 2))
    x = type(x)((np.array([1.0, 1.0, 1.0]), np.array([0, 0, 1]), np.array([0, 2, 3])), shape=(2, 2))
    x = x if layout == "csr" else twice_in_csc()
    model = BernoulliNB(binarize=1.5).fit(x, [0, 1])
    assert model.feature_count_.tolist() == [[1.0, 0.0], [0.0, 0.0]]
    assert MultinomialNB().fit(x, [0, 1]).feature_count_.tolist() == [[2.0, 0.0], [0.0, 1.0]]


def twice_in_csc():
    data, rows_, start = np.array([1.0, 1.0, 1.0]), np.array([0, 0, 1]), np.array([0, 2, 3])
    return LAYOUTS["csc"]((data, rows_, start), shape=(2, 2))


# ---- layouts ------------------------------------------------------------------------------------
@every(*SUMS)
@pytest.mark.parametrize("layout", ["csr", "csc"])
@pytest.mark.parametrize("dtype", ["f4", "f8", "i1", "i8", "u2", "?"])
def test_sparse_rows_train_and_score_as_dense_ones(NB, layout, dtype):
    x, y = rows()
    x = x.astype(dtype)
    held = LAYOUTS[layout](x)
    dense, thin = NB().fit(x, y), NB().fit(held, y)
    assert_same_counts(dense, thin)
    np.testing.assert_allclose(thin.predict_proba(held), dense.predict_proba(x), rtol=1e-12)
    thin.partial_fit(held, y).forget(held, y)
    assert_same_counts(dense, thin)


@every(*SUMS)
@pytest.mark.parametrize("fmt", ["coo", "lil", "dok", "bsr", "dia"])
def test_other_sparse_formats_are_read(NB, fmt):
    x, y = rows()
    held = LAYOUTS["csr"](x).asformat(fmt)
    model = NB().fit(held, y)
    assert_same_counts(model, NB().fit(x, y))
    np.testing.assert_allclose(model.predict_proba(held), NB().fit(x, y).predict_proba(x))


def ruling_out(NB):
    """A model of two classes with priors ⅓ and ⅔, and rows of which the first is impossible."""
    x, y = np.array([[1, 0], [0, 1], [0, 1]]), ["a", "b", "b"]
    model = NB(alpha=0.0).fit(x, y)
    return model, np.array([[1, 1], [1, 0], [0, 1]])


@every(*DISCRETE)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_row_that_every_class_rules_out_gets_the_class_prior_and_a_warning(NB, layout):
    """Origin: DESIGN. scikit-learn 1.9.1 gives NaN."""
    model, query = ruling_out(NB)
    query = LAYOUTS[layout](query)
    message = "every class gives probability 0 to 1 of 3 rows.*class prior.*alpha > 0"
    with pytest.warns(RuledOutWarning, match=message):
        posterior = model.predict_proba(query)
    np.testing.assert_allclose(posterior, [[1 / 3, 2 / 3], [1, 0], [0, 1]], rtol=1e-15)
    with pytest.warns(RuledOutWarning, match=message):
        log_posterior = model.predict_log_proba(query)
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(log_posterior, np.log(posterior), rtol=1e-15)
    with pytest.warns(RuledOutWarning, match=message):
        assert model.predict(query).tolist() == ["b", "a", "b"]
    joint = model.predict_joint_log_proba(query)  # says so by itself: no warning
    assert np.isneginf(joint[0]).all()
    assert np.isfinite(joint[1:]).any(axis=1).all()
    if NB in GENERATIVE:
        assert model.score_samples(query)[0] == -np.inf
        assert np.isfinite(model.score_samples(query)[1:]).all()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = peer(NB)(alpha=0.0).fit([[1, 0], [0, 1], [0, 1]], ["a", "b", "b"])
        assert np.isnan(theirs.predict_proba([[1, 1]])).all()


@every(*DISCRETE)
@pytest.mark.parametrize("method", ["predict", "predict_proba", "predict_log_proba"])
def test_the_warning_is_given_once_and_at_the_callers_line(NB, method):
    model, query = ruling_out(NB)
    with pytest.warns(RuledOutWarning) as caught:
        getattr(model, method)(query)
    assert [w.filename for w in caught] == [__file__]


def test_a_row_too_far_from_every_gaussian_gets_the_class_prior_too():
    model = GaussianNB().fit([[0.0], [1.0], [2.0]], [0, 1, 1])
    with pytest.warns(RuledOutWarning):
        posterior = model.predict_proba([[1e300]])
    np.testing.assert_allclose(posterior, [[1 / 3, 2 / 3]], rtol=1e-15)


@every(*DISCRETE)
def test_no_smoothing_and_no_data_in_common_is_still_a_posterior(NB):
    """α = 0 on every pattern of two features: whatever is predicted, it is a distribution."""
    patterns = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    rng = np.random.default_rng(0)
    for _ in range(20):
        pick = rng.integers(0, 4, size=5)
        model = NB(alpha=0.0).partial_fit(patterns[pick], rng.integers(0, 3, 5), classes=[0, 1, 2])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuledOutWarning)
            assert_sane_posterior(model, patterns)
