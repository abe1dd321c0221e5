"""Hyperparameters out of their range, and calls that need a fitted model."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from estimators.cases import ALL, DISCRETE, GENERATIVE, every, methods_of, refused, rows
from tallybayes import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB

CLASSES = [0, 1, 2]
SMALL, LARGE = 60, 20_000  # below and above the 8192 rows that are counted in one piece


@every()
def test_everything_but_learning_needs_a_fitted_model(NB):
    x, y = rows(3)
    model, other = NB(), NB().fit(x, y)
    calls = {
        "forget": lambda: model.forget(x, y),
        "merge": lambda: model.merge(other),
        "with_class_prior": lambda: model.with_class_prior([0.5, 0.25, 0.25]),
        "save": lambda: model.save("never-written"),
        **{m: (lambda m=m: getattr(model, m)(x)) for m in methods_of(NB, learning=False)},
    }
    if NB in GENERATIVE:
        calls["sample"] = lambda: model.sample(3)
    for name, attempt in calls.items():
        with refused(NotFittedError, f"This {NB.__name__} instance is not fitted yet", model):
            attempt()
            pytest.fail(f"{name} worked")
    with refused(NotFittedError, "is not fitted yet", other):
        other.merge(model)


# ---- hyperparameters ----------------------------------------------------------------------------
OUT_OF_RANGE = {
    ALL: [{"class_alpha": -1.0}, {"class_alpha": "one"}, {"class_alpha": np.nan}],
    DISCRETE: [{"fit_prior": "yes"}, {"force_alpha": "yes"}, {"alpha": -1.0}],
    (GaussianNB,): [
        {"var_smoothing": -1e-9},
        {"var_smoothing": np.inf},
        {"var_smoothing_of": "row"},
    ],
    (ComplementNB,): [{"norm": 3}],
    (BernoulliNB,): [{"binarize": -1.0}, {"binarize": "x"}],
    (CategoricalNB,): [{"unseen": "guess"}, {"non_integer": "round"}],
}


@pytest.mark.parametrize(
    ("NB", "params"),
    [
        pytest.param(NB, params, id=f"{NB.__name__}-{params}")
        for classes, wrong in OUT_OF_RANGE.items()
        for NB in classes
        for params in wrong
    ],
)
def test_a_parameter_outside_its_range_is_refused_before_anything_is_counted(NB, params):
    x, y = rows()
    message = f"The '{next(iter(params))}' parameter of {NB.__name__} must be"
    fitted_before = NB().fit(x, y).set_params(**params)
    with refused(ValueError, message, fitted_before):
        fitted_before.fit(x, y)
    with refused(ValueError, message, fresh := NB(**params)):
        fresh.fit(x, y)
    with refused(ValueError, message, fresh):
        fresh.partial_fit(x, y, classes=CLASSES)


@every()
def test_positional_hyperparameters_are_refused(NB):
    with pytest.raises(TypeError, match="positional"):
        NB(1.0)
