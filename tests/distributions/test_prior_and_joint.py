"""P(y), p(x, y) and p(x_S | c) as distribution objects, beside the classifier they are made of."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_wine

from estimators.cases import GENERATIVE, every, rows, unchanged
from estimators.small_table import DATA, Y
from tallybayes import (
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    GaussianNB,
    MultinomialNB,
    NaiveBayes,
)
from tallybayes.distributions import Categorical
from tallybayes.families import Gaussian, Multinomial

NAMES = ("class_prior_distribution_", "class_conditional_", "joint_")
LABELS = ("a", "b", "c")


def wine():
    """The columns of article 5 in docs/origin.md: alcohol and hue."""
    data = load_wine(as_frame=True)
    return data.data[["alcohol", "hue"]], data.target


def fitted(NB, **params):
    x, y = rows(classes=LABELS)
    return NB(**params).fit(x, y), x, y


# ---- the objects of article 5 in docs/origin.md --------------------------------------------------
def test_wine_has_the_shapes_of_the_article():
    """L. Roque, Naive Bayes from scratch with TensorFlow (2023): batch [3], event [2]."""
    x, y = wine()
    model = GaussianNB().fit(x, y)
    prior, conditional = model.class_prior_distribution_, model.class_conditional_
    assert (prior.batch_shape, prior.event_shape) == ((), ())
    assert (conditional.batch_shape, conditional.event_shape) == ((3,), (2,))
    assert "batch_shape=[] event_shape=[] dtype=int64 classes=[0, 1, 2]" in repr(prior)
    assert "batch_shape=[3] event_shape=[2] dtype=float64" in repr(conditional)
    assert "features=['alcohol', 'hue']" in repr(conditional)
    assert model.joint_.event_shape == ([2], [])
    np.testing.assert_allclose(prior.probs, np.bincount(y) / len(y), rtol=1e-15)
    means = [x[y == c].mean() for c in range(3)]
    stddevs = [x[y == c].std(ddof=0) for c in range(3)]
    np.testing.assert_allclose(conditional.mean(), means, rtol=1e-12)
    np.testing.assert_allclose(conditional.stddev(), stddevs, rtol=1e-7)  # var_smoothing


def test_the_article_predicts_by_the_two_factors():
    """Its predict_class, but with log P(c) where it adds P(c)."""
    x, y = wine()
    model = GaussianNB().fit(x, y)
    score = model.class_prior_distribution_.log_probs + model.class_conditional_.log_prob(x)
    np.testing.assert_array_equal(model.classes_[score.argmax(axis=1)], model.predict(x))


# ---- the class prior -----------------------------------------------------------------------------
@every(*GENERATIVE)
def test_the_prior_is_that_of_the_model(NB):
    model, _, y = fitted(NB, class_alpha=2.0)
    prior = model.class_prior_distribution_
    expected = {c: (float((y == c).sum()) + 2.0) / (len(y) + 6.0) for c in LABELS}
    assert dict(zip(prior.classes.tolist(), prior.probs, strict=True)) == pytest.approx(expected)
    assert prior.prob(["c", "a"]).tolist() == pytest.approx([expected["c"], expected["a"]])
    assert prior.log_prob("b") == pytest.approx(np.log(expected["b"]))
    assert prior.log_prob([["a", "?"]]).tolist() == [
        [pytest.approx(np.log(expected["a"])), -np.inf]
    ]
    assert prior.mode() in LABELS
    assert prior.entropy() == pytest.approx(scipy.stats.entropy(list(expected.values())))


def test_class_prior_stays_the_array_that_scikit_learn_has():
    model, _, _ = fitted(GaussianNB)
    assert isinstance(model.class_prior_, np.ndarray)
    np.testing.assert_array_equal(model.class_prior_, model.class_prior_distribution_.probs)


def test_labels_are_drawn_by_their_shares():
    prior = Categorical(np.log([0.2, 0.5, 0.3]), np.array(LABELS))
    drawn = prior.sample(20_000, random_state=0)
    count = [(drawn == c).sum() for c in LABELS]
    assert scipy.stats.chisquare(count, 20_000 * prior.probs).pvalue > 1e-4
    assert prior.sample(random_state=1) in LABELS
    assert prior.sample(0).shape == (0,)
    assert prior.sample(9, random_state=4).tolist() == prior.sample(9, random_state=4).tolist()


def test_a_class_that_cannot_be():
    with np.errstate(divide="ignore"):
        prior = Categorical(np.log([0.0, 1.0]), np.array([0, 1]))
    assert prior.log_prob([0, 1, 2]).tolist() == [-np.inf, 0.0, -np.inf]
    assert prior.entropy() == 0.0
    assert set(prior.sample(50, random_state=0)) == {1}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([-0.5, -0.5], ["a", "b"]), "probabilities sum to 1.2130"),
        (([0.0], ["a", "b"]), r"shape \(1,\) for labels of the shape \(2,\)"),
    ],
)
def test_bad_priors_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Categorical(*arguments)


# ---- the joint -----------------------------------------------------------------------------------
@every(*GENERATIVE)
@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_the_joint_is_what_the_model_scores(NB, alpha):
    model, x, y = fitted(NB, **({} if NB is GaussianNB else {"alpha": alpha}))
    joint = model.joint_
    expected = model.predict_joint_log_proba(x)
    np.testing.assert_allclose(joint.log_prob_of_classes(x), expected, rtol=1e-12)
    own = expected[np.arange(len(x)), np.searchsorted(LABELS, y)]
    np.testing.assert_allclose(joint.log_prob(x, y), own, rtol=1e-12)
    np.testing.assert_allclose(joint.prob(x, y), np.exp(own), rtol=1e-11)
    np.testing.assert_allclose(joint.log_prob(x, "b"), expected[:, 1], rtol=1e-12)
    np.testing.assert_allclose(joint.marginal_log_prob(x), model.score_samples(x), rtol=1e-12)
    assert joint.log_prob(x[0], y[0]) == pytest.approx(own[0])
    assert joint.log_prob(x[:2], ["?", "a"]).tolist() == [-np.inf, pytest.approx(expected[1, 0])]


@every(*GENERATIVE)
def test_rows_of_any_leading_shape_and_layout(NB):
    model, x, _ = fitted(NB)
    conditional = model.class_conditional_
    flat = conditional.log_prob(x)
    assert flat.shape == (60, 3)
    np.testing.assert_array_equal(conditional.log_prob(x.reshape(5, 12, 4)).reshape(60, 3), flat)
    np.testing.assert_allclose(conditional.log_prob(x[0]), flat[0], rtol=1e-14)
    for layout in (sparse.csr_array, sparse.csc_matrix):
        np.testing.assert_allclose(conditional.log_prob(layout(x)), flat, rtol=1e-13)
    np.testing.assert_array_equal(conditional.prob(x), np.exp(flat))
    assert conditional.log_prob(x[:0]).shape == (0, 3)


def test_many_rows_are_asked_about_in_blocks(monkeypatch):
    model, x, _ = fitted(GaussianNB)
    whole = model.class_conditional_.log_prob(x)
    monkeypatch.setattr("tallybayes.distributions.arrays.MAX_INTERMEDIATE", 40)
    np.testing.assert_array_equal(model.class_conditional_.log_prob(x), whole)


@every(*GENERATIVE)
@pytest.mark.parametrize("seed", range(3))
def test_draws_are_those_of_the_model(NB, seed):
    """The same seed gives the same rows and labels as the estimator's own sample."""
    model, _, _ = fitted(NB, class_alpha=1.0)
    mine, theirs = ({"total_count": 9}, {"length": 9}) if NB is MultinomialNB else ({}, {})
    x, y = model.joint_.sample(200, random_state=seed, **mine)
    expected_x, expected_y = model.sample(200, random_state=seed, **theirs)
    np.testing.assert_array_equal(x, expected_x)
    np.testing.assert_array_equal(y, expected_y)
    one, label = model.joint_.sample(random_state=seed, **mine)
    assert one.shape == (4,)
    assert label in LABELS


@every(*GENERATIVE)
def test_the_entropy_is_the_mean_of_minus_log_p(NB):
    model, _, _ = fitted(NB)
    x, y = model.joint_.sample(40_000, random_state=0)
    values = -model.joint_.log_prob(x, y)
    assert np.isfinite(values).all()
    sigma = values.std() / np.sqrt(len(values))
    assert abs(values.mean() - model.joint_.entropy()) < 5 * sigma


@every(*GENERATIVE)
@pytest.mark.parametrize("state", [5, np.random.RandomState, np.random.default_rng])
def test_a_seed_or_generator_makes_draws_repeatable(NB, state):
    model, _, _ = fitted(NB)

    def draw(seed):
        given = state if isinstance(state, int) else state(seed)
        return model.class_conditional_.sample(8, random_state=given).tolist()

    assert draw(5) == draw(5)
    assert isinstance(state, int) or draw(5) != draw(6)
    assert model.class_conditional_.sample(8).shape == (8, 3, 4)


# ---- what becomes of them ------------------------------------------------------------------------
@every(*GENERATIVE)
def test_later_learning_does_not_change_them(NB):
    model, x, y = fitted(NB)
    before = model.joint_
    score = before.log_prob_of_classes(x)
    assert model.joint_ is before
    model.partial_fit(x[:20], np.roll(y[:20], 1))
    np.testing.assert_array_equal(before.log_prob_of_classes(x), score)
    now = model.joint_.log_prob_of_classes(x)
    np.testing.assert_allclose(now, model.predict_joint_log_proba(x), rtol=1e-12)
    assert not np.array_equal(now, score)


@every(*GENERATIVE)
def test_they_can_be_pickled_and_copied_and_change_nothing(NB):
    model, x, _ = fitted(NB)
    with unchanged(model):
        joint = model.joint_
        score = joint.log_prob_of_classes(x)
    for twin in (pickle.loads(pickle.dumps(joint)), copy.deepcopy(joint)):
        np.testing.assert_array_equal(twin.log_prob_of_classes(x), score)
    np.testing.assert_array_equal(
        pickle.loads(pickle.dumps(model)).joint_.log_prob_of_classes(x), score
    )


@every(*GENERATIVE, NaiveBayes)
@pytest.mark.parametrize("name", NAMES)
def test_only_a_fitted_model_has_them(NB, name):
    assert not hasattr(NB(), name)
    with pytest.raises(AttributeError, match=f"{name}.*before it is fitted"):
        getattr(NB(), name)


@pytest.mark.parametrize("name", NAMES)
def test_complement_naive_bayes_has_none_and_says_why(name):
    model, _, _ = fitted(ComplementNB)
    assert not hasattr(model, name)
    assert name not in dir(model)
    with pytest.raises(AttributeError, match=r"no likelihood.*MultinomialNB"):
        getattr(model, name)
    with pytest.raises(AttributeError, match="'ComplementNB' object has no attribute 'nothing'"):
        _ = model.nothing


def test_a_changed_prior_changes_the_prior_only():
    model, x, _ = fitted(CategoricalNB)
    other = model.with_class_prior([0.2, 0.3, 0.5])
    np.testing.assert_allclose(other.class_prior_distribution_.probs, [0.2, 0.3, 0.5])
    np.testing.assert_array_equal(
        other.class_conditional_.log_prob(x), model.class_conditional_.log_prob(x)
    )


# ---- bad arguments -------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda j: j.log_prob(np.zeros((2, 4)), ["a"] * 3), r"y has the shape \(3,\).*\(2,\)"),
        (lambda j: j.log_prob(np.zeros((2, 3)), "a"), r"\(2, 3\).* 4 long.*columns \[0, 1, 2, 3\]"),
        (lambda j: j.conditional.log_prob(1.0), r"x has the shape \(\)"),
        (lambda j: j.sample(-1), "n is a whole number of draws from 0 on.* -1"),
        (lambda j: j.sample(2.5), "got 2.5"),
        (lambda j: j.sample(True), "got True"),
        (lambda j: j.sample(2, random_state="seed"), "random_state is None, a whole number"),
        (lambda j: j.conditional.sample(2, random_state=1.5), "random_state"),
    ],
)
def test_bad_arguments_are_refused(call, message):
    model, _, _ = fitted(BernoulliNB)
    with pytest.raises(ValueError, match=message):
        call(model.joint_)


ROWS = np.random.default_rng(0).normal(size=(40, 3))
TWO_LABELS = np.arange(40) % 2


def fitted_named(name):
    if name == "gaussian":
        return GaussianNB().fit(ROWS, TWO_LABELS)
    if name == "bernoulli":
        return BernoulliNB(binarize=0.2).fit(ROWS, TWO_LABELS)
    return CategoricalNB().fit(np.abs(ROWS).astype(int), TWO_LABELS)


def rows_of(name):
    return np.abs(ROWS).astype(int) if name == "categorical" else ROWS


EACH = ["gaussian", "bernoulli", "categorical"]


@pytest.mark.parametrize("name", EACH)
@given(order=st.permutations([0, 1, 2]), cut=st.integers(1, 2))
def test_marginals_multiply_to_the_whole(name, order, cut):
    whole, x = fitted_named(name).class_conditional_, rows_of(name)
    parts = [whole.marginal(order[:cut]), whole.marginal(order[cut:])]
    found = sum(
        part.log_prob(x[:, index])
        for part, index in zip(parts, (order[:cut], order[cut:]), strict=True)
    )
    np.testing.assert_allclose(found, whole.log_prob(x), rtol=1e-12)
    assert parts[0].features == order[:cut]
    assert parts[0].event_shape == (cut,)


def test_the_marginal_is_the_sum_over_the_others():
    whole = fitted_named("categorical").class_conditional_
    n = [p.shape[1] for p in whole.probs]
    for a in range(n[1]):
        rows = [[i, a, k] for i in range(n[0]) for k in range(n[2])]
        total = whole.prob(rows).sum(axis=0)
        np.testing.assert_allclose(whole.marginal([1]).prob([[a]])[0], total, rtol=1e-12)
    normal = fitted_named("gaussian").class_conditional_
    law = scipy.stats.norm(normal.mean()[:, 2], normal.stddev()[:, 2])
    np.testing.assert_allclose(normal.marginal([2]).prob([[0.3]])[0], law.pdf(0.3))


def test_all_of_it_is_itself():
    for name in EACH:
        whole = fitted_named(name).class_conditional_
        assert whole.marginal([0, 1, 2]) is whole
        np.testing.assert_array_equal(
            whole.marginal([2]).sample(3, random_state=0).shape, (3, 2, 1)
        )


def test_declared_levels_keep_their_names():
    model = CategoricalNB(levels=[["a", "b"], ["x", "y", "z"]], unseen="ignore")
    whole = model.fit([["a", "x"], ["b", "z"]], [0, 1]).class_conditional_
    part = whole.marginal([1])
    np.testing.assert_allclose(part.prob([["z"]])[0], [1 / 4, 2 / 4])
    np.testing.assert_allclose(part.log_prob([["w"]])[0], 0.0)  # left out


def test_a_table():
    frame = pd.DataFrame(DATA)
    model = NaiveBayes().fit(frame, Y)
    whole = model.class_conditional_
    names = whole.features[1:4]
    part, rest = (
        whole.marginal(names),
        whole.marginal([f for f in whole.features if f not in names]),
    )
    found = part.log_prob(frame) + rest.log_prob(frame)
    np.testing.assert_allclose(found, whole.log_prob(frame), rtol=1e-10)
    assert part.features == names
    only = part.log_prob([{name: frame[name].tolist()[0] for name in names}])
    np.testing.assert_allclose(only, part.log_prob(frame)[:1], rtol=1e-12)
    column = whole[names[0]]
    assert column.marginal([names[0]]) is column


def test_the_joint_and_its_best_class():
    model = fitted_named("gaussian")
    joint = model.joint_.marginal([2, 0])
    two = GaussianNB(var_smoothing=0.0).fit(ROWS[:, [2, 0]], TWO_LABELS)
    np.testing.assert_array_equal(joint.best_class(ROWS[:, [2, 0]]), two.predict(ROWS[:, [2, 0]]))
    np.testing.assert_array_equal(model.joint_.best_class(ROWS), model.predict(ROWS))
    even = GaussianNB().fit([[0.0], [1.0], [0.0], [1.0]], ["b", "b", "a", "a"])
    assert even.joint_.best_class([[0.3]]).tolist() == even.predict([[0.3]]).tolist() == ["a"]


def test_counts_that_share_a_total_stay_together():
    counts = MultinomialNB().fit([[1, 2, 0], [0, 1, 3]], [0, 1]).class_conditional_
    assert counts.marginal([0, 1, 2]) is counts
    with pytest.raises(TypeError, match="share a total"):
        counts.marginal([0, 1])
    rows = [{"a": 1, "b": 2, "z": "u"}, {"a": 0, "b": 3, "z": "v"}]
    table = NaiveBayes({("a", "b"): Multinomial()}).fit(rows, [0, 1]).class_conditional_
    together = table.marginal(["b", "a"])
    assert sorted(together.features) == ["a", "b"]
    left = table.log_prob(rows) - table.marginal(["z"]).log_prob(rows)
    np.testing.assert_allclose(together.log_prob(rows), left, rtol=1e-12)
    with pytest.raises(TypeError, match="share a total"):
        table.marginal(["a", "z"])


@pytest.mark.parametrize("wanted", [[], [0, 0], [7], ["0"]])
def test_columns_that_are_not_there(wanted):
    with pytest.raises(ValueError, match="each once, got"):
        fitted_named("gaussian").class_conditional_.marginal(wanted)


@pytest.mark.parametrize("estimate", ["mean", "posterior"])
def test_part_of_a_correlated_group(estimate):
    rng = np.random.default_rng(2)
    x = pd.DataFrame(rng.normal(size=(60, 3)) @ rng.normal(size=(3, 3)), columns=list("abc"))
    x["d"] = rng.normal(size=60)
    group = {("a", "b", "c"): Gaussian(covariance="full", estimate=estimate), "d": Gaussian()}
    whole = NaiveBayes(group).fit(x, np.arange(60) % 2).class_conditional_
    some = whole.marginal(["c", "a", "d"])
    alone = whole["a"].marginal(["c", "a"])
    frozen = alone.frozen
    rows = x.iloc[:5]
    expected = np.column_stack([law.logpdf(rows[["c", "a"]].to_numpy()) for law in frozen])
    np.testing.assert_allclose(alone.log_prob(rows[["c", "a"]].to_numpy()), expected, rtol=1e-9)
    by_table = some.log_prob(rows) - whole.marginal(["d"]).log_prob(rows)
    np.testing.assert_allclose(by_table, expected, rtol=1e-9)
    np.testing.assert_allclose(alone.mean(), whole["a"].mean()[:, [2, 0]])
    np.testing.assert_allclose(alone.covariance(), whole["a"].covariance()[:, [2, 0]][:, :, [2, 0]])
    np.testing.assert_allclose(alone.entropy(), [law.entropy() for law in frozen], rtol=1e-9)
    assert alone.sample(4, random_state=0).shape[-1] == 2
