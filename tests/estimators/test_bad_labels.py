"""Labels, classes and weights that do not fit the rows: refused, and nothing is changed."""

from __future__ import annotations

import numpy as np
import pytest

from estimators.cases import LAYOUTS, LEARNING, call, every, fitted, refused, rows
from tallybayes.errors import NegativeTally

CLASSES = [0, 1, 2]
SMALL, LARGE = 60, 20_000  # below and above the 8192 rows that are counted in one piece


@every()
@pytest.mark.parametrize("method", LEARNING)
def test_a_y_of_another_length_is_refused(NB, method):
    model, x, y = fitted(NB, SMALL)
    for length in (0, 1, 59, 61):
        for hold in LAYOUTS.values():
            message = rf"inconsistent numbers of samples: \[60, {length}\]"
            with refused(ValueError, message, model):
                call(model, method, hold(x), np.resize(y, length))


@every()
@pytest.mark.parametrize("n", [1, SMALL, LARGE])
def test_an_unknown_label_is_named_with_its_row(NB, n):
    model, x, known = fitted(NB, max(n, 3))
    x = x[:n]
    for unknown in (7, -3, 1.5, 2**40, "tea"):
        if isinstance(unknown, str):
            y, row, shown = np.full(n, unknown), 0, repr(unknown)
        else:
            y = np.array([*known[: n - 1].tolist(), unknown])
            row, shown = n - 1, rf"{unknown}\.?"
        message = rf"label\(s\) \[{shown}\] in y do not exist in the initial classes.*row {row}\)"
        if isinstance(unknown, float) and n > 1:
            message = "Unknown label type|" + message  # scikit-learn's words for such as 1.5
        for method in ("partial_fit", "forget"):
            with refused(ValueError, message, model):
                call(model, method, x, y)


NO_LABELS = [
    (None, "y"),
    (np.array([0.0, np.nan] * 30), "contains NaN"),
    (np.array([0.0, np.inf] * 30), "Input y contains infinity"),
    (np.array([0, np.nan, 1] * 20, dtype=object), "contains NaN"),
    (np.array([["a", "b"]] * 60), r"y should be a 1d array.*\(60, 2\)"),
    (np.linspace(0, 1, 60), "Unknown label type: continuous|do not exist"),
    (3, "y should be a 1d array|scalar"),
]


@every()
@pytest.mark.parametrize("method", LEARNING)
def test_a_y_that_holds_no_labels_is_refused(NB, method):
    model, x, _ = fitted(NB, SMALL)
    for y, message in NO_LABELS:
        with refused(ValueError, message, model):
            call(model, method, x, y)


@every()
@pytest.mark.parametrize("learn", ["fit", "partial_fit"])
@pytest.mark.parametrize("odd", [None, 1], ids=repr)
def test_labels_of_mixed_types_are_refused_with_words_for_it(NB, learn, odd):
    """scikit-learn 1.9.1 raises a TypeError too, about '<' between str and int."""
    x, _ = rows(4)
    y = np.array(["a", odd, "b", "a"], dtype=object)
    classes = {"classes": ["a", "b"]} if learn == "partial_fit" else {}
    with refused((TypeError, ValueError), "(?i)label|class|target|y contains", model := NB()):
        getattr(model, learn)(x, y, **classes)


@every()
def test_a_y_of_one_column_is_read_with_scikit_learns_warning(NB):
    from sklearn.exceptions import DataConversionWarning

    x, y = rows()
    with pytest.warns(DataConversionWarning):
        model = NB().fit(x, y[:, None])
    assert model.predict_proba(x).tolist() == NB().fit(x, y).predict_proba(x).tolist()


@every()
def test_classes_of_later_calls_are_those_of_the_first_in_any_order(NB):
    model, x, y = fitted(NB, SMALL)
    others = [[0, 1], [0, 1, 3], [0, 1, 2, 2], [*range(4)], ["0", "1", "2"], [], [[*range(4)]]]
    for other in others:
        with refused(ValueError, "is not the same as on last call to partial_fit", model):
            model.partial_fit(x, y, classes=other)
    for n, same in enumerate(([2, 0, 1], np.array([0, 1, 2]), (1, 2, 0), [0.0, 1.0, 2.0]), start=2):
        model.partial_fit(x, y, classes=same)
        assert model.class_count_.sum() == n * SMALL


@every()
def test_the_classes_of_a_first_call_are_checked(NB):
    x, y = rows()
    for classes, message in [
        (None, r"classes must be passed on the first call to partial_fit.*classes=\["),
        ([0, 1], r"target label\(s\) \[2\] in y do not exist in the initial classes"),
        ([0.5, 1.5, 2.5], "Unknown label type"),
        ([0.0, 1.0, np.nan], "NaN"),
        ([], "class"),
    ]:
        with refused(ValueError, message, model := NB()):
            model.partial_fit(x, y, classes=classes)


# ---- weights ------------------------------------------------------------------------------------
NO_WEIGHTS = [
    (np.ones(59), r"sample_weight\.shape == \(59,\), expected \(60,\)"),
    (np.ones((60, 2)), "Sample weights must be 1D array or scalar"),
    (np.r_[np.ones(59), np.nan], "Input sample_weight contains NaN"),
    (np.r_[np.ones(59), np.inf], "Input sample_weight contains infinity"),
    (["heavy"] * 60, "could not convert string"),
]


@every()
@pytest.mark.parametrize("method", LEARNING)
def test_weights_that_are_not_one_finite_number_a_row_are_refused(NB, method):
    model, x, y = fitted(NB, SMALL)
    for weights, message in NO_WEIGHTS:
        with refused(ValueError, message, model):
            call(model, method, x, y, sample_weight=weights)


@every()
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_negative_weights_that_exceed_what_was_counted_are_refused(NB, method):
    model, x, y = fitted(NB, SMALL)
    weights = np.where(y == 1, -2.0, 1.0)
    message = rf"{method} with these negative weights.*more than was counted: class 1 "
    for hold in LAYOUTS.values():
        with refused(NegativeTally, message, model):
            call(model, method, hold(x), y, sample_weight=weights)


@every()
@pytest.mark.parametrize("method", LEARNING)
def test_a_number_as_weight_is_the_weight_of_every_row(NB, method):
    model, x, y = fitted(NB, SMALL)
    if method == "forget":
        model.fit(x, y, sample_weight=5.0)
    call(model, method, x, y, sample_weight=2.5)
    expected = {"fit": 2.5, "partial_fit": 3.5, "forget": 2.5}[method]
    assert model.class_count_.tolist() == [20 * expected] * 3


@every()
def test_a_label_that_is_lacking_has_its_row(NB):
    model, x, y = fitted(NB, SMALL)
    gaps = y.astype(float)
    gaps[[7, 9]] = np.nan
    times = gaps.astype("timedelta64[s]")
    nothing = gaps.astype(object)
    nothing[[7, 9]] = None
    for what, lacking in (
        ("NaN", gaps),
        ("NaN", gaps.astype(object)),
        ("NaT", times),
        ("NaT", times.astype("datetime64[ns]")),
        ("None", nothing),
    ):
        message = rf"Input y contains {what}: row 7 has no label \(2 in all\)"
        with refused(ValueError, message, model):
            model.fit(x, lacking)


@every()
def test_the_name_of_a_column_is_no_y(NB):
    model, x, _ = fitted(NB, SMALL)
    with refused(ValueError, r"got the string 'buys': .* such as frame\['buys'\]", model):
        model.fit(x, "buys")


@every()
def test_many_labels_are_not_taken_for_a_regression(NB):
    """Warnings are errors here: distinct labels are not rows, and many may be right."""
    _, x, _ = fitted(NB, SMALL)
    NB().fit(x, [f"label {i % 25}" for i in range(SMALL)])
