"""The shipped checks: they pass on the five classifiers, and find what is planted in one."""

import copy
import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tallybayes
from tallybayes import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB
from tallybayes.errors import ModelFileError
from tallybayes.testing import checks
from tallybayes.testing.strategies import data_sets

ESTIMATORS = {
    "gaussian": GaussianNB,
    "categorical": CategoricalNB,
    "multinomial": MultinomialNB,
    "complement": ComplementNB,
    "bernoulli": BernoulliNB,
}
LABELS = {
    "int": np.array([0, 2, 4]),
    "bool": np.array([False, True]),
    "str": np.array(["ham", "spam", "tea"]),
    "object": np.array(["ham", "spam", "tea"], dtype=object),
}


def rows(family, labels="int", n=40):
    rng = np.random.default_rng(0)
    if family == "gaussian":
        x = rng.normal(size=(n, 3)).astype(np.float32).astype(np.float64)
    else:
        x = rng.integers(0, 2 if family == "bernoulli" else 5, size=(n, 3)).astype(np.float64)
    names = LABELS[labels]
    return x, names[rng.integers(0, len(names), size=n)]


every_family = pytest.mark.parametrize("family", ESTIMATORS)


# ---- every check on every classifier -------------------------------------------------------------
@pytest.mark.parametrize(("family", "labels"), [*zip(ESTIMATORS, [*LABELS, "int"], strict=True)])
@pytest.mark.parametrize("check", checks.CHECKS, ids=lambda check: check.__name__)
def test_every_classifier_has_the_property(check, labels, family):
    check(ESTIMATORS[family](), *rows(family, labels))


def test_every_check_is_run():
    named = {name for name in checks.__all__ if name.startswith("check_")}
    assert named == {check.__name__ for check in checks.CHECKS} | {"check_every_property"}
    checks.check_every_property(MultinomialNB(), *rows("multinomial"))


@pytest.mark.parametrize(
    "estimator",
    [
        GaussianNB(var_smoothing=0.0),
        GaussianNB(var_smoothing=1.0, var_smoothing_of="feature"),
        CategoricalNB(alpha=0.5, min_categories=7, unseen="ignore"),
        MultinomialNB(alpha=[0.5, 1.0, 2.0], fit_prior=False),
        ComplementNB(norm=True, class_alpha=1.0),
        BernoulliNB(binarize=0.5, class_alpha=2.0),
    ],
    ids=repr,
)
def test_parameters_change_no_property(estimator):
    family = type(estimator).__name__.removesuffix("NB").lower()
    x, y = rows(family)
    for check in checks.CHECKS:
        # a column more is refused by another rule where alpha is given for each column
        if np.ndim(getattr(estimator, "alpha", 1.0)) and "refused_call" in check.__name__:
            continue
        check(estimator, x, y)


# ---- on drawn data -------------------------------------------------------------------------------
DRAWN = [
    checks.check_forget_undoes_learn,
    checks.check_merge_equals_whole,
    checks.check_split_and_order_do_not_matter,
    checks.check_weights_are_repeats,
    checks.check_predictions_are_probabilities,
    checks.check_fit_twice_is_fit_once,
    checks.check_more_than_counted_is_refused,
]


# drawn weights may be so light that smoothing outweighs the rows; the properties hold anyway
@pytest.mark.filterwarnings("ignore::tallybayes.errors.WeightScaleWarning")
@pytest.mark.parametrize("check", DRAWN, ids=lambda check: check.__name__)
@settings(max_examples=2 * settings.default.max_examples)  # of all families together
@given(family=st.sampled_from([*ESTIMATORS]), data=st.data())
def test_drawn_data_have_the_property(check, family, data):
    x, y, weight = data.draw(data_sets(family, min_rows=2))
    repeats = check is checks.check_weights_are_repeats  # it draws weights itself
    check(ESTIMATORS[family](), x, y, *([] if repeats else [weight]))


@pytest.mark.filterwarnings("ignore::tallybayes.errors.WeightScaleWarning")
@pytest.mark.filterwarnings("ignore::tallybayes.errors.RuledOutWarning")
@settings(max_examples=2 * settings.default.max_examples)
@given(family=st.sampled_from([*ESTIMATORS]), data=st.data())
def test_without_smoothing_predictions_are_probabilities(family, data):
    drawn = data.draw(data_sets(family))
    plain = {"var_smoothing": 0.0} if family == "gaussian" else {"alpha": 0.0}
    checks.check_predictions_are_probabilities(ESTIMATORS[family](**plain), *drawn)


# ---- sizes ---------------------------------------------------------------------------------------
@every_family
def test_a_model_of_a_million_rows_is_as_small_as_one_of_a_thousand(family):
    x, y = rows(family, n=200)
    checks.check_no_rows_kept(ESTIMATORS[family](), x, y, rows=(1_000, 1_000_000))


# ---- planted faults ------------------------------------------------------------------------------
class KeepsTheBatch(MultinomialNB):
    """Forgets nothing."""

    def forget(self, X, y, sample_weight=None):
        return self


class ForgetsHalf(MultinomialNB):
    def forget(self, X, y, sample_weight=None):
        return super().forget(X, y, sample_weight=np.full(len(X), 0.5))


class MergesTwice(MultinomialNB):
    def merge(self, other):
        super().merge(other)
        return super().merge(other)


class LearnsFirstRowTwice(MultinomialNB):
    """Depends on how rows are cut into batches."""

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        super().partial_fit(X, y, classes=classes, sample_weight=sample_weight)
        return super().partial_fit(X[:1], y[:1])


class FitsOn(MultinomialNB):
    """Does not start from scratch, like the program of article 1 in docs/origin.md."""

    def fit(self, X, y, sample_weight=None):
        if "_model" in self.__dict__:
            return self.partial_fit(X, y, sample_weight=sample_weight)
        return super().fit(X, y, sample_weight=sample_weight)


class IgnoresWeights(MultinomialNB):
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        return super().partial_fit(X, y, classes=classes)


class CountsBeforeItChecks(MultinomialNB):
    """Half a batch is counted when the second half is refused."""

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        if "_model" in self.__dict__ and len(X) > 1:
            super().partial_fit(X[:1], y[:1])
        return super().partial_fit(X, y, classes=classes, sample_weight=sample_weight)


class Pickled(MultinomialNB):
    """Model files hold tallybayes' own classes only."""

    def save(self, path):
        Path(path).write_bytes(pickle.dumps(self))


class KeepsRows(Pickled):
    def fit(self, X, y, sample_weight=None):
        self.rows_ = X
        return super().fit(X, y, sample_weight=sample_weight)


class DependsOnThreads(MultinomialNB):
    def predict_proba(self, X):
        return super().predict_proba(X) * (1.0 + 1e-16 * tallybayes.get_num_threads())

    def fit(self, X, y, sample_weight=None):
        super().fit(X, y, sample_weight=sample_weight)
        if tallybayes.get_num_threads() > 2:
            self.tally_.groups[0].sums[0, 0] += 1e-9
        return self


class ReadsMemoryOrder(MultinomialNB):
    def fit(self, X, y, sample_weight=None):
        if hasattr(X, "strides") and not X.flags.c_contiguous:
            X = X + 1.0
        return super().fit(X, y, sample_weight=sample_weight)


class SumsToMore(MultinomialNB):
    def predict_proba(self, X):
        return super().predict_proba(X) * (1.0 + 1e-9)


class LosesALittle(Pickled):
    """Pickles and copies are rounded."""

    def __deepcopy__(self, memo):
        twin = copy.copy(self)
        twin.partial_fit(np.full((1, 3), 1e-9), self.classes_[:1])
        return twin


PLANTED = [
    (KeepsTheBatch, checks.check_forget_undoes_learn),
    (KeepsTheBatch, checks.check_more_than_counted_is_refused),
    (ForgetsHalf, checks.check_forget_undoes_learn),
    (MergesTwice, checks.check_merge_equals_whole),
    (LearnsFirstRowTwice, checks.check_split_and_order_do_not_matter),
    (FitsOn, checks.check_fit_twice_is_fit_once),
    (IgnoresWeights, checks.check_weights_are_repeats),
    (CountsBeforeItChecks, checks.check_refused_call_changes_nothing),
    (KeepsRows, checks.check_no_rows_kept),
    (DependsOnThreads, checks.check_threads_do_not_matter),
    (ReadsMemoryOrder, checks.check_layout_does_not_matter),
    (SumsToMore, checks.check_predictions_are_probabilities),
    (LosesALittle, checks.check_saved_model_predicts_the_same),
]


@pytest.mark.parametrize(
    ("estimator", "check"), PLANTED, ids=[f"{e.__name__}-{c.__name__}" for e, c in PLANTED]
)
def test_a_planted_fault_is_found(estimator, check):
    x, y = rows("multinomial")
    load = {"load": lambda path: estimator().fit(x, y)} if "saved" in check.__name__ else {}
    check(MultinomialNB(), x, y)
    # a subclass is refused when it is saved, which tells as much
    with pytest.raises((AssertionError, ModelFileError)):
        check(estimator(), x, y, **load)


def test_every_check_finds_something():
    assert {check for _, check in PLANTED} == set(checks.CHECKS)
