"""Labels and weights whose index has another order than that of the rows are told of."""

import copy
import functools
import warnings

import numpy as np
import pandas as pd
import pytest

import tallybayes as tb
from estimators.containers.every_container import INDEXES
from tallybayes.errors import IndexOrderWarning

N = 12
X = pd.DataFrame({"a": [i % 3 for i in range(N)], "b": [i % 5 for i in range(N)]})
DOCUMENTS = pd.Series([f"w{i % 3} v{i % 5}" for i in range(N)])
Y = pd.Series(["no", "yes", "no"] * (N // 3))
ORDER = np.random.default_rng(1).permutation(N)
TOLD = r"the same index in another order, and rows are matched by position: .*\.loc\[X\.index\]"

MODELS = {
    "NaiveBayes": (tb.NaiveBayes, X),
    "GaussianNB": (tb.GaussianNB, X),
    "CategoricalNB": (tb.CategoricalNB, X),
    "WeightedNaiveBayes": (lambda: tb.WeightedNaiveBayes(parts=1), X),
    "TextNB": (lambda: tb.TextNB(model="multinomial"), DOCUMENTS),
}


class Outside:
    """A model whose rows are left out by a function."""

    def __init__(self, model):
        self.leave_one_out = functools.partial(tb.leave_one_out, model)


CALLS = {
    "fit": lambda model, x, y: model.fit(x, y),
    "first partial_fit": lambda model, x, y: type(model)().partial_fit(x, y, ["no", "yes"]),
    "partial_fit": lambda model, x, y: model.partial_fit(x, y),
    "forget": lambda model, x, y: model.forget(x, y),
    "score": lambda model, x, y: model.score(x, y),
    "report": lambda model, x, y: model.report(x, y),
    "leave_one_out": lambda model, x, y: (
        model if hasattr(model, "leave_one_out") else Outside(model)
    ).leave_one_out(x, y),
}


@pytest.mark.filterwarnings("ignore::tallybayes.errors.StaleWarning")
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("name", MODELS)
def test_labels_in_another_order_are_told_of(name, call):
    make, x = MODELS[name]
    model = make().fit(x, Y)
    with pytest.warns(IndexOrderWarning, match=f"X and y have {TOLD}"):
        CALLS[call](copy.deepcopy(model), x, Y.set_axis(Y.index[::-1]))
    CALLS[call](copy.deepcopy(model), x, Y)


@pytest.mark.parametrize("name", MODELS)
def test_weights_in_another_order_are_told_of(name):
    make, x = MODELS[name]
    weights = pd.Series(1.0, index=x.index[::-1])
    with pytest.warns(IndexOrderWarning, match=f"X and sample_weight have {TOLD}"):
        make().fit(x, Y, sample_weight=weights)


GROUPED_CALLS = {
    "fit": lambda model, groups: model.fit(X, Y, groups=groups),
    "reweight": lambda model, groups: model.reweight(X, Y, groups=groups),
    "leave_one_out": lambda model, groups: tb.leave_one_out(model, X, Y, groups=groups),
    "cross_validate": lambda model, groups: tb.cross_validate(model, X, Y, 2, groups=groups),
    "report": lambda model, groups: model.report(X, Y, groups=groups),
}


@pytest.mark.parametrize("call", GROUPED_CALLS)
def test_groups_in_another_order_are_told_of(call):
    groups = pd.Series([f"g{i % 4}" for i in range(N)], index=X.index)
    model = tb.WeightedNaiveBayes(parts=1).fit(X, Y)
    with pytest.warns(IndexOrderWarning, match=f"X and groups have {TOLD}"):
        GROUPED_CALLS[call](model, groups.set_axis(X.index[::-1]))
    GROUPED_CALLS[call](model, groups)


def test_cross_validation_and_lazy_models_tell_too():
    model, other = tb.NaiveBayes().fit(X, Y), Y.set_axis(Y.index[::-1])
    with pytest.warns(IndexOrderWarning):
        tb.cross_validate(model, X, other, 2)
    with pytest.warns(IndexOrderWarning):
        tb.LazyNaiveBayes(X.assign(y=Y), "y").score(X, other)


CHANGES_NOTHING = {"repeated"}  # one value


@pytest.mark.parametrize("index", INDEXES)
def test_of_any_index(index):
    rows = X.set_axis(INDEXES[index](N))
    labels = Y.set_axis(rows.index)
    tb.GaussianNB().fit(rows, labels)  # the same order
    tb.GaussianNB().fit(rows, labels.to_numpy())
    tb.GaussianNB().fit(rows, Y.set_axis(range(100, 100 + N)))  # another index
    moved = labels.iloc[ORDER]
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        tb.GaussianNB().fit(rows, moved)
    assert [w.category for w in given] == [IndexOrderWarning] * (index not in CHANGES_NOTHING)


def test_rows_are_matched_by_position():
    with pytest.warns(IndexOrderWarning):
        found = tb.GaussianNB().fit(X, Y.iloc[ORDER])
    assert found == tb.GaussianNB().fit(X, Y.to_numpy()[ORDER])
    assert tb.GaussianNB().fit(X, Y.iloc[ORDER].loc[X.index]) == tb.GaussianNB().fit(X, Y)
