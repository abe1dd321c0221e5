"""The same numbers as :mod:`sklearn.naive_bayes`, on random data."""

import numpy as np
import pytest
from scipy import sparse

from peers.comparison import (
    ALL,
    ATTRIBUTES,
    DISCRETE,
    LABELS,
    LAYOUTS,
    MEANINGFUL,
    PROMISED,
    assert_same_model,
    assert_same_predictions,
    data,
    held,
    pair,
    theirs_reads,
)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("seed", range(3))
def test_fit(name, labels, seed):
    x, y = data(name, seed=seed, labels=LABELS[labels], whole=False)
    mine, theirs = (model.fit(x, y) for model in pair(name))
    assert_same_model(name, mine, theirs)
    assert_same_predictions(mine, theirs, x)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["f4", "f8", "i1", "i2", "i4", "i8", "u1", "u8"])
def test_types_and_layouts(name, layout, dtype):
    x, y = data(name, dtype=dtype)
    x = held(x, layout)
    mine, theirs = pair(name)
    mine.fit(x, y)
    theirs.fit(theirs_reads(name, x), y)
    rtol = 1e-5 if dtype == "f4" else MEANINGFUL
    assert_same_model(name, mine, theirs, rtol=rtol)
    assert_same_predictions(mine, theirs, x, rtol=rtol, asked=theirs_reads(name, x))


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("trained", ["f4", "f8", "i8"])
@pytest.mark.parametrize("asked", ["f4", "f8", "i8"])
def test_the_type_of_an_answer_when_it_is_asked_in_another(name, trained, asked):
    x, y = data(name)
    mine, theirs = (model.fit(x.astype(trained), y) for model in pair(name))
    assert_same_predictions(mine, theirs, x.astype(asked), rtol=1e-4)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("batch", [37, 150])
def test_partial_fit_in_batches(name, layout, batch):
    """For CategoricalNB every category is in every batch, as scikit-learn needs it to be."""
    x, y = data(name)
    params = {"min_categories": 10} if name == "CategoricalNB" else {}
    if name == "GaussianNB":
        params = {"var_smoothing": 0.0}  # theirs depends on the batches, see tests/estimators
    mine, theirs = pair(name, **params)
    classes = np.unique(y)
    for i in range(0, len(x), batch):
        part = held(x[i : i + batch], layout)
        mine.partial_fit(part, y[i : i + batch], classes=classes)
        theirs.partial_fit(theirs_reads(name, part), y[i : i + batch], classes=classes)
    # scikit-learn counts the levels of the last batch only
    assert_same_model(name, mine, theirs, leave_out={"n_categories_"} & ATTRIBUTES[name])
    whole = held(x, layout)
    assert_same_predictions(mine, theirs, whole, asked=theirs_reads(name, whole))


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("weights", ["whole", "fractional", "some zero", "list", "number"])
def test_weights(name, layout, weights):
    x, y = data(name)
    rng = np.random.default_rng(1)
    w = {
        "whole": rng.integers(1, 5, len(y)),
        "fractional": rng.uniform(0.01, 3.0, len(y)),
        "some zero": rng.integers(0, 3, len(y)).astype(float),
        "list": rng.uniform(0.5, 2.0, len(y)).tolist(),
        "number": 2.5,
    }[weights]
    x = held(x, layout)
    mine, theirs = pair(name, **({"var_smoothing": 0.0} if name == "GaussianNB" else {}))
    mine.fit(x, y, sample_weight=w)
    theirs.fit(theirs_reads(name, x), y, sample_weight=w)
    assert_same_model(name, mine, theirs)
    assert_same_predictions(mine, theirs, x, asked=theirs_reads(name, x))


@pytest.mark.parametrize("name", ALL)
def test_weights_in_batches(name):
    x, y = data(name)
    params = {"min_categories": 10} if name == "CategoricalNB" else {}
    params |= {"var_smoothing": 0.0} if name == "GaussianNB" else {}
    mine, theirs = pair(name, **params)
    w = np.random.default_rng(2).uniform(0.1, 3.0, len(y))
    for part in np.array_split(np.arange(len(y)), 4):
        for model in (mine, theirs):
            model.partial_fit(x[part], y[part], classes=np.unique(y), sample_weight=w[part])
    assert_same_model(name, mine, theirs, leave_out={"n_categories_"} & ATTRIBUTES[name])
    assert_same_predictions(mine, theirs, x)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize(
    "prior", [[0.1, 0.2, 0.3, 0.4], (0.25, 0.25, 0.25, 0.25), np.array([0.7, 0.1, 0.1, 0.1])]
)
def test_given_priors(name, prior):
    x, y = data(name)
    params = {"priors" if name == "GaussianNB" else "class_prior": prior}
    mine, theirs = (model.fit(x, y) for model in pair(name, **params))
    assert_same_model(name, mine, theirs)
    assert_same_predictions(mine, theirs, x)


@pytest.mark.parametrize("name", DISCRETE)
@pytest.mark.parametrize("learn", ["fit", "partial_fit"])
def test_no_prior(name, learn):
    x, y = data(name)
    mine, theirs = pair(name, fit_prior=False)
    more = {"classes": np.unique(y)} if learn == "partial_fit" else {}
    for model in (mine, theirs):
        getattr(model, learn)(x, y, **more)
    assert_same_model(name, mine, theirs)
    assert_same_predictions(mine, theirs, x)


@pytest.mark.parametrize("name", DISCRETE)
@pytest.mark.parametrize("alpha", [1e-8, 0.01, 0.5, 1, 7.5, np.float32(0.25), np.int64(3)])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_alpha(name, alpha, layout):
    x, y = data(name)
    x = held(x, layout)
    mine, theirs = pair(name, alpha=alpha)
    mine.fit(x, y)
    theirs.fit(theirs_reads(name, x), y)
    # theirs takes log(1 − p) of a p that was rounded, and loses it where α makes p nearly 1
    rtol = 1e-4 if name == "BernoulliNB" and alpha < 1e-3 else 1e-7
    assert_same_model(name, mine, theirs, rtol=rtol)
    assert_same_predictions(mine, theirs, x, rtol=rtol, asked=theirs_reads(name, x))


@pytest.mark.parametrize("name", ["MultinomialNB", "ComplementNB"])
@pytest.mark.parametrize(
    "alpha", [[0.5, 1.0, 2.0, 0.1, 3.0, 1e-3], np.linspace(0.1, 2.0, 6)], ids=str
)
def test_an_alpha_for_each_feature(name, alpha):
    x, y = data(name)
    mine, theirs = (model.fit(x, y) for model in pair(name, alpha=alpha))
    assert_same_model(name, mine, theirs)
    assert_same_predictions(mine, theirs, x)


@pytest.mark.parametrize("name", DISCRETE)
@pytest.mark.parametrize("alpha", [0.0, 1e-12, 1e-10, 1e-9, 0.5])
def test_force_alpha_false(name, alpha):
    x, y = data(name)
    mine, theirs = pair(name, alpha=alpha, force_alpha=False)
    if alpha < 1e-10:
        with pytest.warns(UserWarning, match="alpha too small will result in numeric errors") as a:
            mine.fit(x, y)
        with pytest.warns(UserWarning, match="alpha too small will result in numeric errors") as b:
            theirs.fit(x, y)
        assert str(a[0].message).split(".")[0] == str(b[0].message).split(".")[0]
    else:
        mine.fit(x, y)
        theirs.fit(x, y)
    assert_same_model(name, mine, theirs, rtol=1e-5)  # theirs adds α to the sums of all classes
    assert_same_predictions(mine, theirs, x, rtol=1e-5)


@pytest.mark.parametrize("norm", [False, True])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("alpha", [0.3, 1.0])
def test_complement_norm(norm, layout, alpha):
    x, y = data("ComplementNB")
    mine, theirs = (m.fit(held(x, layout), y) for m in pair("ComplementNB", norm=norm, alpha=alpha))
    assert_same_model("ComplementNB", mine, theirs)
    assert_same_predictions(mine, theirs, held(x, layout))


@pytest.mark.parametrize("binarize", [0.0, 0.5, 1.0, 2.5, 100.0])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_bernoulli_binarize(binarize, layout):
    x, y = data("BernoulliNB")
    x = held(x, layout)
    mine, theirs = (model.fit(x, y) for model in pair("BernoulliNB", binarize=binarize))
    assert_same_model("BernoulliNB", mine, theirs)
    assert_same_predictions(mine, theirs, x)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_bernoulli_of_bits(layout):
    x, y = data("BernoulliNB")
    x = held((x > 1).astype(float), layout)
    mine, theirs = (model.fit(x, y) for model in pair("BernoulliNB", binarize=None))
    assert_same_model("BernoulliNB", mine, theirs)
    assert_same_predictions(mine, theirs, x)


def test_bernoulli_of_negative_numbers():
    x, y = data("BernoulliNB")
    mine, theirs = (model.fit(x - 3, y) for model in pair("BernoulliNB", binarize=0.0))
    assert_same_model("BernoulliNB", mine, theirs)
    assert_same_predictions(mine, theirs, x - 3)


@pytest.mark.parametrize("least", [1, 3, 12, [10, 11, 12, 13, 14, 15], np.arange(1, 7)], ids=str)
@pytest.mark.parametrize("alpha", [0.2, 1.0])
def test_categorical_min_categories(least, alpha):
    x, y = data("CategoricalNB", dtype=int)
    params = {"min_categories": least, "alpha": alpha}
    mine, theirs = (model.fit(x, y) for model in pair("CategoricalNB", **params))
    assert_same_model("CategoricalNB", mine, theirs)
    assert_same_predictions(mine, theirs, x)
    assert mine.n_categories_.dtype == theirs.n_categories_.dtype


@pytest.mark.parametrize("var_smoothing", [0.0, 1e-9, 1e-3, 1.0, 10])
@pytest.mark.parametrize("scale", [1e-10, 1.0, 1e10])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_gaussian_var_smoothing(var_smoothing, scale, dtype):
    x, y = data("GaussianNB", whole=False)
    x = (x * scale).astype(dtype)
    params = {"var_smoothing": var_smoothing}
    mine, theirs = (model.fit(x, y) for model in pair("GaussianNB", **params))
    rtol = 1e-4 if dtype == "f4" else MEANINGFUL
    assert_same_model("GaussianNB", mine, theirs, rtol=rtol)
    assert_same_predictions(mine, theirs, x, rtol=rtol)


@pytest.mark.skipif(not PROMISED, reason="older releases of scikit-learn keep it in float64")
@pytest.mark.parametrize("dtype", ["f4", "f8", "i8"])
def test_gaussian_epsilon_follows_the_type_of_x(dtype):
    x, y = data("GaussianNB", dtype=dtype)
    mine, theirs = (model.fit(x, y) for model in pair("GaussianNB"))
    assert np.asarray(mine.epsilon_).dtype == np.asarray(theirs.epsilon_).dtype


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("k", [1, 2, 40])
def test_few_and_many_classes(name, k):
    x, y = data(name, labels=np.arange(k), n=400, d=8)
    mine, theirs = (model.fit(x, y) for model in pair(name))
    assert_same_model(name, mine, theirs)
    assert_same_predictions(mine, theirs, x)


@pytest.mark.parametrize("name", ALL)
def test_one_column_and_more_columns_than_rows(name):
    for n, d in [(50, 1), (20, 100)]:
        x, y = data(name, n=n, d=d, labels=np.arange(2))
        params = {"var_smoothing": 1e-2} if name == "GaussianNB" else {}
        mine, theirs = (model.fit(x, y) for model in pair(name, **params))
        assert_same_model(name, mine, theirs)
        assert mine.predict(x).shape == theirs.predict(x).shape
        np.testing.assert_allclose(
            mine.predict_joint_log_proba(x), theirs.predict_joint_log_proba(x), rtol=1e-9
        )


@pytest.mark.parametrize("name", ALL)
def test_scores_of_rows_that_were_not_trained_on(name):
    x, y = data(name, n=400, whole=False)
    x = np.minimum(x, 4) if name == "CategoricalNB" else x
    mine, theirs = (model.fit(x[:200], y[:200]) for model in pair(name))
    assert_same_predictions(mine, theirs, x[200:])
    assert mine.score(x[200:], y[200:]) == pytest.approx(theirs.score(x[200:], y[200:]), abs=0.01)
    w = np.random.default_rng(0).uniform(size=200)
    assert mine.score(x[200:], y[200:], w) == pytest.approx(
        theirs.score(x[200:], y[200:], w), abs=0.01
    )


@pytest.mark.parametrize("name", ALL)
def test_a_dense_model_is_asked_sparse_rows_and_the_other_way_round(name):
    x, y = data(name)
    dense, thin = pair(name)[0].fit(x, y), pair(name)[0].fit(sparse.csr_array(x), y)
    theirs = pair(name)[1].fit(x, y)
    assert_same_predictions(dense, theirs, sparse.csr_array(x), asked=x)
    assert_same_predictions(dense, theirs, sparse.csc_array(x), asked=x)
    assert_same_predictions(thin, theirs, x)
