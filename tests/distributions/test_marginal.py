"""p(x_S | c): columns left out of the product, which sums over them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from estimators.small_table import DATA, Y
from tallybayes import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB, NaiveBayes
from tallybayes.families import Gaussian, Multinomial

ROWS = np.random.default_rng(0).normal(size=(40, 3))
LABELS = np.arange(40) % 2


def fitted(name):
    if name == "gaussian":
        return GaussianNB().fit(ROWS, LABELS)
    if name == "bernoulli":
        return BernoulliNB(binarize=0.2).fit(ROWS, LABELS)
    return CategoricalNB().fit(np.abs(ROWS).astype(int), LABELS)


def rows_of(name):
    return np.abs(ROWS).astype(int) if name == "categorical" else ROWS


EACH = ["gaussian", "bernoulli", "categorical"]


@pytest.mark.parametrize("name", EACH)
@given(order=st.permutations([0, 1, 2]), cut=st.integers(1, 2))
def test_marginals_multiply_to_the_whole(name, order, cut):
    whole, x = fitted(name).class_conditional_, rows_of(name)
    parts = [whole.marginal(order[:cut]), whole.marginal(order[cut:])]
    found = sum(
        part.log_prob(x[:, index])
        for part, index in zip(parts, (order[:cut], order[cut:]), strict=True)
    )
    np.testing.assert_allclose(found, whole.log_prob(x), rtol=1e-12)
    assert parts[0].features == order[:cut]
    assert parts[0].event_shape == (cut,)


def test_the_marginal_is_the_sum_over_the_others():
    whole = fitted("categorical").class_conditional_
    n = [p.shape[1] for p in whole.probs]
    for a in range(n[1]):
        rows = [[i, a, k] for i in range(n[0]) for k in range(n[2])]
        total = whole.prob(rows).sum(axis=0)
        np.testing.assert_allclose(whole.marginal([1]).prob([[a]])[0], total, rtol=1e-12)
    normal = fitted("gaussian").class_conditional_
    law = scipy.stats.norm(normal.mean()[:, 2], normal.stddev()[:, 2])
    np.testing.assert_allclose(normal.marginal([2]).prob([[0.3]])[0], law.pdf(0.3))


def test_all_of_it_is_itself():
    for name in EACH:
        whole = fitted(name).class_conditional_
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
    model = fitted("gaussian")
    joint = model.joint_.marginal([2, 0])
    two = GaussianNB(var_smoothing=0.0).fit(ROWS[:, [2, 0]], LABELS)
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
        fitted("gaussian").class_conditional_.marginal(wanted)


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
