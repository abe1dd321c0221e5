"""Documents that belong together are left out together, wherever documents are left out."""

import numpy as np
import pytest

from tallybayes import TextNB, cross_validate, leave_one_out
from tallybayes.errors import DependentRowsWarning

PLAIN = ["multinomial", "complement", "bernoulli"]
WORDS = [f"w{i}" for i in range(400)]
TIMES = 6
TOPICS = np.random.default_rng(9).random((2, len(WORDS)))
TOPICS /= TOPICS.sum(axis=1, keepdims=True)


def authors(n, seed=0, times=TIMES):
    """Several documents of each author, who has words of his own; topics predict in part."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    documents = []
    for i in range(n):
        own = " ".join(rng.choice(WORDS, 12, p=TOPICS[y[i]]))
        signed = " ".join(f"a{seed}n{i}k{j}" for j in range(8))
        documents += [f"{own} {signed} {rng.choice(WORDS)}" for _ in range(times)]
    return documents, np.repeat(y, times), np.repeat(np.arange(n), times)


X, Y, GROUPS = authors(120)
NEW, NEW_Y, _ = authors(600, 5, times=1)


def loss_of(log_proba, y):
    return -log_proba[np.arange(len(y)), y].mean()


def loss(model):
    return loss_of(model.predict_log_proba(NEW), NEW_Y)


@pytest.mark.parametrize("ridge", [True, False])
def test_the_figures_of_a_fit_are_those_of_new_groups(ridge):
    model = TextNB(ridge=ridge).fit(X, Y, groups=GROUPS)
    alone = TextNB(ridge=ridge).fit(X, Y)
    assert alone.log_loss_ < 0.5 * loss(alone)
    assert abs(model.log_loss_ - loss(model)) < 3.0 * model.log_loss_se_
    assert model.log_loss_se_ > 1.5 * alone.log_loss_se_
    assert loss(model) < loss(alone)
    assert model.tally_ == alone.tally_


@pytest.mark.parametrize("event", PLAIN)
def test_the_figures_of_a_plain_model_are_those_of_new_groups(event):
    model = TextNB(model=event).fit(X, Y, groups=GROUPS)
    alone = TextNB(model=event).fit(X, Y)
    accuracy = (model.predict(NEW) == NEW_Y).mean()
    assert abs(model.accuracy_ - accuracy) < 3.0 * model.accuracy_se_
    assert alone.accuracy_ > accuracy + 0.05
    np.testing.assert_array_equal(model.predict_proba(NEW), alone.predict_proba(NEW))


@pytest.mark.parametrize("event", ["weighted", *PLAIN])
def test_groups_of_one_document_change_no_bit(event):
    x, y, _ = authors(80, 3, times=1)
    groups = np.random.default_rng(0).permutation(len(y))
    one, other = TextNB(model=event).fit(x, y), TextNB(model=event).fit(x, y, groups=groups)
    assert one == other
    assert (one.log_loss_, one.log_loss_se_) == (other.log_loss_, other.log_loss_se_)
    np.testing.assert_array_equal(one.leave_one_out(x, y), one.leave_one_out(x, y, groups=groups))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("event", PLAIN)
def test_leave_one_out_is_a_fit_without_the_group(event, weighted):
    x, y, groups = authors(20, 1, times=3)
    y[1::3] = 1 - y[1::3]  # groups of two labels
    weight = np.random.default_rng(0).integers(1, 4, len(y)) if weighted else np.ones(len(y))
    model = TextNB(model=event).fit(x, y, weight)
    found = model.leave_one_out(x, y, weight, groups=groups)
    for g in range(20):
        others, some = np.flatnonzero(groups != g), np.flatnonzero(groups == g)
        rest = TextNB(model=event).fit([x[i] for i in others], y[others], weight[others])
        expected = rest.predict_log_proba([x[i] for i in some])
        np.testing.assert_allclose(found[some], expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
def test_sums_without_a_group_are_those_of_the_other_counts(weighted):
    """By the weights, shares and τ of all documents, as leave-one-out of one document."""
    x, y, groups = authors(30, 2, times=3)
    y[2::3] = 1 - y[2::3]
    weight = np.random.default_rng(0).integers(1, 4, len(y)) if weighted else np.ones(len(y))
    model = TextNB(ridge=False).fit(x, y, weight, groups=groups)
    found = model.leave_one_out(x, y, weight, groups=groups)
    held, reading = model._fitted(), model._fitted().learned.reading
    for g in range(0, 30, 7):
        some = np.flatnonzero(groups == g)
        rest = (
            TextNB(ridge=False)
            .fit(x, y, weight)
            .forget([x[i] for i in some], y[some], weight[some])
        )
        other = rest._fitted()
        documents = rest._counter.rows([x[i] for i in some], other.tally)
        share = held.table.share(reading.share)
        sums = other.table.sums(documents, documents.tf, reading.tau, share)
        sums *= reading.factor(documents, documents.tf)[:, None, None]
        weights = held.learned.weights
        weights = weights._replace(weights=weights.weights[: sums.shape[2]])
        expected = weights.scores(sums)
        expected -= np.logaddexp.reduce(expected, axis=1)[:, None]
        np.testing.assert_allclose(found[some], expected, rtol=1e-9, atol=1e-9)


def test_the_order_of_documents_and_the_names_of_groups_change_no_bit():
    one = TextNB().fit(X, Y, groups=GROUPS)
    order = np.random.default_rng(0).permutation(len(Y))
    named = np.array([f"author {999 - g}" for g in GROUPS])
    other = TextNB().fit([X[i] for i in order], Y[order], groups=named[order])
    np.testing.assert_array_equal(other.predict_proba(NEW), one.predict_proba(NEW))
    assert other.log_loss_ == one.log_loss_


def test_weights_are_learned_again_with_groups():
    whole = TextNB().fit(X, Y, groups=GROUPS)
    again = TextNB().fit(X, Y).reweight(X, Y, groups=GROUPS)
    first = TextNB().partial_fit(X, Y, groups=GROUPS)
    for model in (again, first):
        np.testing.assert_array_equal(model.predict_proba(NEW), whole.predict_proba(NEW))
        assert model.log_loss_ == whole.log_loss_


def test_documents_of_weight_0_are_in_no_group():
    weight = np.ones(len(Y))
    weight[: 2 * TIMES] = 0.0
    kept = slice(2 * TIMES, None)
    one = TextNB().fit(X, Y, weight, groups=GROUPS)
    other = TextNB().fit(X[kept], Y[kept], np.ones(len(Y))[kept], groups=GROUPS[kept])
    np.testing.assert_allclose(one.predict_proba(NEW), other.predict_proba(NEW), rtol=1e-12)


def test_copies_are_warned_of_where_no_groups_say_so():
    copies, labels = [d for d in X[::TIMES] for _ in range(9)], np.repeat(Y[::TIMES], 9)
    with pytest.warns(DependentRowsWarning, match="documents repeat"):
        TextNB().fit(copies, labels)
    TextNB().fit(copies, labels, groups=np.repeat(np.arange(120), 9))


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (GROUPS[:-1], r"groups is one value a row, and X has 720 rows; got .* shape \(719,\)"),
        (np.where(GROUPS == 1, np.nan, GROUPS), "groups has a missing value in row 6"),
    ],
)
@pytest.mark.parametrize("method", ["fit", "partial_fit", "reweight", "leave_one_out"])
def test_bad_groups_are_named_and_leave_the_model_as_it_was(method, groups, message):
    model = TextNB().fit(X, Y)
    before = model.predict_proba(NEW)
    with pytest.raises(ValueError, match=message):
        getattr(model, method)(X, Y, groups=groups)
    np.testing.assert_array_equal(model.predict_proba(NEW), before)


def test_functions_of_tables_take_documents_where_they_can():
    model = TextNB().fit(X[:20], Y[:20], groups=GROUPS[:20])
    found = leave_one_out(model, X[:20], Y[:20], groups=GROUPS[:20])
    np.testing.assert_array_equal(found, model.leave_one_out(X[:20], Y[:20], groups=GROUPS[:20]))
    with pytest.raises(TypeError, match="leaves documents out itself, and log_loss_"):
        cross_validate(model, X, Y, groups=GROUPS)


def test_documents_without_labels_have_no_groups():
    y = [None, *Y[1:].tolist()]
    with pytest.raises(ValueError, match="groups is not for documents of which some have no label"):
        TextNB(unlabelled="auto").fit(X, y, groups=GROUPS)
