"""How ours and scikit-learn's classes are compared: attribute by attribute, method by method.

Wherever scikit-learn is right; where it is not, see ``tests/estimators``. Two documented
differences are left out: a class without rows takes the pooled estimate, and GaussianNB's
``epsilon_`` is weighted. The promise is about scikit-learn 1.9: the types of older releases'
attributes and answers differ, and are not compared.
"""

import numpy as np
import sklearn.naive_bayes
from scipy import sparse
from sklearn.utils.fixes import parse_version

import tallybayes

PROMISED = parse_version(sklearn.__version__) >= parse_version("1.9")

ALL = ("GaussianNB", "MultinomialNB", "ComplementNB", "BernoulliNB", "CategoricalNB")
DISCRETE = ALL[1:]
SUMS = ("MultinomialNB", "ComplementNB", "BernoulliNB")
LAYOUTS = {"dense": np.asarray, "csr": sparse.csr_array, "csc": sparse.csc_array}
LABELS = {
    "int": np.array([2, 5, 7, -1]),
    "str": np.array(["d", "bb", "a", "c"]),
    "float": np.array([0.0, 4.0, -3.0, 1.0]),
    "bool": np.array([True, False]),
}
EXACT = (
    "class_count_",
    "feature_count_",
    "feature_all_",
    "category_count_",
    "n_categories_",
    "classes_",
    "n_features_in_",
)
COMPUTED = (
    "class_log_prior_",
    "class_prior_",
    "feature_log_prob_",
    "theta_",
    "var_",
    "epsilon_",
)
ATTRIBUTES = {
    "GaussianNB": {"theta_", "var_", "epsilon_", "class_prior_"},
    "MultinomialNB": {"feature_count_", "feature_log_prob_", "class_log_prior_"},
    "ComplementNB": {"feature_count_", "feature_all_", "feature_log_prob_", "class_log_prior_"},
    "BernoulliNB": {"feature_count_", "feature_log_prob_", "class_log_prior_"},
    "CategoricalNB": {"category_count_", "n_categories_", "feature_log_prob_", "class_log_prior_"},
}
COMMON = {"class_count_", "classes_", "n_features_in_"}
PREDICTING = ("predict_joint_log_proba", "predict_log_proba", "predict_proba")
MEANINGFUL = 1e-10  # float64 sums in another order; float32 input is compared to 1e-5


def data(name, *, seed=0, n=300, d=6, labels=LABELS["int"], dtype=np.float64, whole=True):
    """Rows that depend on their class: numbers for GaussianNB, else counts, bits or codes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, len(labels), n)
    y[: len(labels)] = np.arange(len(labels))
    if name == "GaussianNB" and not whole:
        x = rng.normal(size=(n, d)) * rng.uniform(0.1, 5, d) + rng.normal(size=(len(labels), d))[y]
    else:
        x = rng.poisson(rng.gamma(1.0, 1.5, size=(len(labels), d))[y])
        x = np.minimum(x, 9)
    return x.astype(dtype), labels[y]


def pair(name, **params):
    """Ours and theirs."""
    return getattr(tallybayes, name)(**params), getattr(sklearn.naive_bayes, name)(**params)


def held(x, layout):
    return LAYOUTS[layout](x)


def lists(value):
    return value if isinstance(value, list) else [value]


def assert_same_model(name, mine, theirs, *, rtol=MEANINGFUL, leave_out=()):
    """Every fitted attribute of scikit-learn's, in value and shape; and in dtype, except that our
    counts are float64 always."""
    seen = set()
    for attribute in (*EXACT, *COMPUTED):
        assert hasattr(mine, attribute) == hasattr(theirs, attribute), attribute
        if not hasattr(theirs, attribute) or attribute in leave_out:
            continue
        seen.add(attribute)
        got, expected = lists(getattr(mine, attribute)), lists(getattr(theirs, attribute))
        assert len(got) == len(expected), attribute
        for a, b in zip(got, expected, strict=True):
            assert np.shape(a) == np.shape(b), attribute
            if attribute in EXACT and np.asarray(b).dtype.kind not in "f":
                assert np.asarray(a).tolist() == np.asarray(b).tolist(), attribute
            else:
                np.testing.assert_allclose(a, b, rtol=rtol, atol=1e-14, err_msg=attribute)
            counted = attribute in EXACT and np.asarray(b).dtype.kind == "f"
            wanted = np.float64 if counted and attribute != "classes_" else np.asarray(b).dtype
            if PROMISED and attribute != "epsilon_":  # which has a test of its own
                assert np.asarray(a).dtype == wanted, attribute
    assert seen | set(leave_out) >= ATTRIBUTES[name] | COMMON


def assert_same_predictions(mine, theirs, x, *, rtol=1e-9, asked=None):
    """Every prediction of scikit-learn's, in value, shape and dtype.

    Logarithms are compared relative to the largest of the row: a difference of two of them has
    lost what they have in common. The label, where the two best classes are not as good as tied.
    """
    asked = x if asked is None else asked
    expected = theirs.predict_joint_log_proba(asked)
    scale = np.maximum(np.abs(np.where(np.isfinite(expected), expected, 0.0)).max(axis=1), 1.0)
    for method in PREDICTING:
        got, wanted = getattr(mine, method)(x), getattr(theirs, method)(asked)
        assert got.shape == wanted.shape, method
        assert got.dtype == wanted.dtype or not PROMISED, method
        both = np.isneginf(got) & np.isneginf(wanted)
        difference = np.abs(np.where(both, 0.0, got) - np.where(both, 0.0, wanted))
        assert (difference <= rtol * scale[:, None]).all(), (method, difference.max())
    top = np.sort(theirs.predict_proba(asked), axis=1)
    clear = np.ones(len(top), bool) if top.shape[1] == 1 else top[:, -1] - top[:, -2] > 1e-6
    assert clear.mean() > 0.9
    got, wanted = mine.predict(x), theirs.predict(asked)
    assert got.dtype == wanted.dtype
    assert got[clear].tolist() == wanted[clear].tolist()


def theirs_reads(name, x):
    """What scikit-learn's class can read: not every one of them takes sparse rows."""
    return x.toarray() if sparse.issparse(x) and name in ("GaussianNB", "CategoricalNB") else x
