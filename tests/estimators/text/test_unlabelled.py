"""TextNB with documents that have no label: which they are, what is counted, what is refused."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

import tallybayes
from tallybayes import TextNB

TOPICS = ("food", "music", "sport")


def documents_of(n, seed):
    """Documents of some of the forty words of a topic, and some words that say nothing."""
    random = np.random.default_rng(seed)
    labels = [TOPICS[i % 3] for i in range(n)]
    words = [
        [f"{k}{i}" for i in random.integers(0, 40, 4)]
        + [f"w{i}" for i in random.integers(0, 30, 4)]
        for k in labels
    ]
    return [" ".join(some) for some in words], labels


X, Y = documents_of(330, 0)
N = 30  # labelled
MARKED = [*Y[:N], *[None] * (len(Y) - N)]
TEST, EXPECTED = documents_of(300, 1)


@pytest.fixture(scope="module")
def model():
    return TextNB(unlabelled="auto").fit(X, MARKED)


def test_unlabelled_documents_help(model):
    alone = TextNB().fit(X[:N], Y[:N])
    assert model.unlabelled_weight_ > 0.0
    assert model.score(TEST, EXPECTED) > alone.score(TEST, EXPECTED) + 0.02
    assert model.n_iter_ >= 1
    path = model.unlabelled_path_
    assert path[0, :2].tolist() == [0.0, 0.0]
    chosen = (path[:, 0] == model.unlabelled_weight_) & (path[:, 1] == model.n_iter_)
    assert chosen.sum() == 1
    assert path[chosen, 2] < path[0, 2]


def test_figures_are_about_those_of_new_documents(model):
    assert abs(model.accuracy_ - model.score(TEST, EXPECTED)) < 4.0 * (model.accuracy_se_ + 0.02)


def test_marks_are_none_missing_values_and_minus_one(model):
    codes = np.unique(Y, return_inverse=True)[1]
    ints = np.where(np.arange(len(Y)) < N, codes, -1)
    expected = model.predict_proba(TEST)
    for y in (
        np.array(MARKED, dtype=object),
        pd.Series(MARKED),
        pd.Series(MARKED, dtype="string"),
        pl.Series(MARKED),
        ints,
        ints.tolist(),
        pd.Series(np.where(ints < 0, np.nan, ints)),
        pd.Series(ints).astype("Int64").mask(ints < 0),
    ):
        found = TextNB(unlabelled="auto").fit(X, y)
        np.testing.assert_array_equal(found.predict_proba(TEST), expected)


def test_by_default_minus_one_is_a_class_and_none_is_refused():
    y = np.where(np.array(Y) == "food", 1, -1)
    assert TextNB(ridge=False).fit(X, y).classes_.tolist() == [-1, 1]
    with pytest.raises(ValueError, match="label"):
        TextNB().fit(X, MARKED)


def test_minus_one_beside_one_other_label_is_refused():
    y = np.where(np.array(Y) == "food", 1, -1)
    model = TextNB(unlabelled="auto")
    with pytest.raises(ValueError, match="If -1 is a class"):
        model.fit(X, y)
    assert not hasattr(model, "classes_")
    marked = np.array([1, 1, 0, None, -1], dtype=object)
    assert TextNB(unlabelled="auto").fit(X[:5], marked).classes_.tolist() == [0, 1]


@pytest.mark.parametrize("y", [Y[:N], [*Y[:3], *[None] * (N - 3)]], ids=["none marked", "one each"])
def test_where_nothing_is_counted_the_model_is_that_of_the_labelled_alone(y):
    labelled = [i for i, label in enumerate(y) if label is not None]
    found = TextNB(unlabelled="auto").fit(X[:N], y)
    alone = TextNB().fit([X[i] for i in labelled], [y[i] for i in labelled])
    assert found.unlabelled_weight_ == 0.0
    assert found.n_iter_ == 0
    assert found.tally_ == alone.tally_
    np.testing.assert_array_equal(found.predict_proba(TEST), alone.predict_proba(TEST))


def test_labels_of_chance_lose_nothing_beyond_noise():
    y = np.random.default_rng(2).choice(TOPICS, N)
    marked = [*y, *[None] * (len(X) - N)]
    found = TextNB(unlabelled="auto").fit(X, marked)
    alone = TextNB().fit(X[:N], y)
    rows, k = np.arange(len(TEST)), np.searchsorted(alone.classes_, EXPECTED)
    loss = [-m.predict_log_proba(TEST)[rows, k].mean() for m in (found, alone)]
    assert loss[0] < loss[1] + 0.1


def test_documents_of_other_topics_lose_nothing_beyond_noise():
    random = np.random.default_rng(3)
    others = [" ".join(random.choice([f"other{i}" for i in range(50)], 6)) for _ in range(300)]
    found = TextNB(unlabelled="auto").fit([*X[:N], *others], [*Y[:N], *[None] * 300])
    alone = TextNB().fit(X[:N], Y[:N])
    rows, k = np.arange(len(TEST)), np.searchsorted(alone.classes_, EXPECTED)
    loss = [-m.predict_log_proba(TEST)[rows, k].mean() for m in (found, alone)]
    assert loss[0] < loss[1] + 0.1


def test_a_given_weight_is_taken():
    found = TextNB(unlabelled=0.5).fit(X, MARKED)
    assert found.unlabelled_weight_ == 0.5
    assert found.tally_.documents.sum() == pytest.approx(N + 0.5 * (len(X) - N), rel=0.05)
    with pytest.raises(ValueError, match="two labelled documents"):
        TextNB(unlabelled=0.5).fit(X, [*Y[:3], *[None] * (len(X) - 3)])


def test_soft_counts_add_and_later_documents_are_forgotten_exactly(model):
    other = clone(model).fit(X, MARKED)
    before = other.tally_.copy()
    other.partial_fit(TEST[:50], EXPECTED[:50])
    assert other.tally_ - before == TextNB().fit(TEST[:50], EXPECTED[:50]).tally_
    other.forget(TEST[:50], EXPECTED[:50])
    assert other.tally_ == before
    other.merge(TextNB().fit(TEST[:50], EXPECTED[:50]))
    assert other.unlabelled_weight_ == model.unlabelled_weight_
    assert other.tally_ == before + TextNB().fit(TEST[:50], EXPECTED[:50]).tally_


@pytest.mark.parametrize("action", ["partial_fit", "forget", "leave_one_out"])
def test_other_calls_need_labels(model, action):
    before = model.predict_proba(TEST[:5])
    with pytest.raises(ValueError, match="row 1 has none"):
        getattr(model, action)(X[:2], ["food", None])
    np.testing.assert_array_equal(model.predict_proba(TEST[:5]), before)


def test_reweighting_soft_counts_is_refused(model):
    with pytest.raises(ValueError, match="fit again"):
        model.reweight(X[:N], Y[:N])


def test_a_model_with_soft_counts_is_saved_and_loaded(model, tmp_path):
    model.save(tmp_path / "model.tb")
    found = tallybayes.load(tmp_path / "model.tb")
    np.testing.assert_array_equal(found.predict_proba(TEST), model.predict_proba(TEST))
    assert found.unlabelled_weight_ == model.unlabelled_weight_
    assert found.n_iter_ == model.n_iter_
    np.testing.assert_array_equal(found.unlabelled_path_, model.unlabelled_path_)
    with pytest.raises(ValueError, match="fit again"):
        found.reweight(X[:N], Y[:N])


@pytest.mark.parametrize(
    ("parameters", "y", "says"),
    [
        ({"unlabelled": "auto"}, [None] * len(X), "no document has a label"),
        ({"unlabelled": "auto"}, MARKED[:-1], "give one label a document"),
        ({"unlabelled": 2.0}, MARKED, "unlabelled"),
        ({"unlabelled": "auto", "model": "multinomial"}, MARKED, "model='weighted'"),
    ],
)
def test_what_is_refused(parameters, y, says):
    with pytest.raises(ValueError, match=says):
        TextNB(**parameters).fit(X, y)


def test_weights_of_documents_beside_unlabelled_ones_are_refused():
    with pytest.raises(ValueError, match="sample_weight"):
        TextNB(unlabelled="auto").fit(X, MARKED, sample_weight=np.full(len(X), 2.0))
