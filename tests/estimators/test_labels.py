"""Labels of every type keep their type and value; those that do not fit the rows are refused."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from estimators.cases import LAYOUTS, LEARNING, call, every, fitted, refused, rows
from tallybayes import GaussianNB, NaiveBayes, WeightedNaiveBayes, cross_validate, leave_one_out
from tallybayes.errors import IncompatibleTallies, NegativeTally
from tallybayes.schema import are_among, joined_labels, places_among
from tallybayes.validation import codes_of, labels_and_codes, read_labels

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


BIG = [2**53, 2**53 + 1, 2**53, 2**53 + 1, 2**53 + 2, 2**53]
HUGE = np.array([2**63, 2**63 + 1, 2**63, 2**63 + 1, 1, 2], dtype=np.uint64)
YES = [True, False, True, False, True, False]
X = np.array([[0.0, 1], [1, 0], [2, 1], [3, 0], [2.5, 1], [0.5, 0]])

INTEGERS = {
    "pandas Int64": lambda v: pd.Series(v, dtype="Int64"),
    "pandas array Int64": lambda v: pd.array(v, dtype="Int64"),
    "pandas index Int64": lambda v: pd.Index(v, dtype="Int64"),
    "pandas int64[pyarrow]": lambda v: pd.Series(v, dtype="int64[pyarrow]"),
    "pandas frame": lambda v: pd.DataFrame({"y": pd.array(v, dtype="Int64")})["y"],
    "polars": lambda v: pl.Series(v),
    "arrow": lambda v: pa.array(v),
    "arrow chunked": lambda v: pa.chunked_array([v[:2], v[2:]]),
    "list": list,
}
BOOLEANS = {
    "pandas boolean": lambda v: pd.Series(v, dtype="boolean"),
    "pandas array boolean": lambda v: pd.array(v, dtype="boolean"),
    "pandas bool[pyarrow]": lambda v: pd.Series(v, dtype="bool[pyarrow]"),
    "polars": lambda v: pl.Series(v),
    "arrow": lambda v: pa.array(v),
}
MODELS = [NaiveBayes, GaussianNB]


@pytest.mark.parametrize("kind", INTEGERS)
@pytest.mark.parametrize("model", MODELS)
def test_integers_keep_their_type_and_value(kind, model):
    made = model().fit(X, INTEGERS[kind](BIG))
    assert made.classes_.dtype == np.int64
    assert made.classes_.tolist() == [2**53, 2**53 + 1, 2**53 + 2]
    assert made.class_count_.tolist() == [3.0, 2.0, 1.0]
    assert made.predict(X).dtype == np.int64


@pytest.mark.parametrize("kind", BOOLEANS)
@pytest.mark.parametrize("model", MODELS)
def test_booleans_stay_booleans(kind, model):
    made = model().fit(X, BOOLEANS[kind](YES))
    assert made.classes_.dtype == bool
    assert made.predict(X).tolist() == model().fit(X, YES).predict(X).tolist()


@pytest.mark.parametrize("dtype", ["Int8", "UInt16", "Int32", "UInt64", "uint8[pyarrow]"])
def test_the_width_of_integers_stays(dtype):
    labels = pd.Series([1, 2, 1, 2, 1, 2], dtype=dtype)
    assert NaiveBayes().fit(X, labels).classes_.dtype == labels.dtype.numpy_dtype


def test_unsigned_integers_beyond_int64():
    made = NaiveBayes().fit(X, pd.Series(HUGE, dtype="UInt64"))
    assert made.classes_.tolist() == np.unique(HUGE).tolist()


def test_a_column_vector_is_read_as_labels_with_scikit_learns_warning():
    column = pd.DataFrame({"y": pd.array(BIG, dtype="Int64")})
    with pytest.warns(UserWarning, match="column-vector y was passed"):
        made = NaiveBayes().fit(X, column)
    assert made.classes_.tolist() == [2**53, 2**53 + 1, 2**53 + 2]


@pytest.mark.parametrize("dtype", ["Int64", "boolean", "int64[pyarrow]", "bool[pyarrow]"])
def test_a_gap_among_nullable_labels_is_refused_with_its_row(dtype):
    labels = pd.Series([1, 0, None, 1, None, 0], dtype=dtype)
    with pytest.raises(ValueError, match=r"row 2 has no label \(2 in all\)"):
        NaiveBayes().fit(X, labels)


@pytest.mark.filterwarnings("ignore::tallybayes.errors.LeakWarning")
@pytest.mark.parametrize("model", [NaiveBayes, GaussianNB, WeightedNaiveBayes])
def test_every_method_that_takes_labels_takes_nullable_ones(model):
    rows, labels = np.tile(X, (10, 1)), pd.Series(YES * 10, dtype="boolean")
    plain = np.asarray(YES * 10)
    made = model().partial_fit(rows, labels, classes=pd.array([False, True], dtype="boolean"))
    np.testing.assert_array_equal(
        leave_one_out(made, rows, labels), leave_one_out(made, rows, plain)
    )
    assert made.classes_.dtype == bool
    assert made.score(rows, labels) == made.score(rows, plain)
    made.forget(rows[:6], labels[:6])
    assert made.class_count_.tolist() == [27.0, 27.0]


def test_cross_validation_takes_nullable_labels():
    rows, labels = np.tile(X, (10, 1)), pd.Series(BIG[:4] * 15, dtype="Int64")
    made = GaussianNB().fit(rows, labels)
    np.testing.assert_array_equal(
        cross_validate(made, rows, labels, folds=3),
        cross_validate(made, rows, np.array(BIG[:4] * 15), folds=3),
    )


# ---- labels of two types -------------------------------------------------------------------------
def test_signed_labels_find_their_unsigned_class():
    made = GaussianNB().partial_fit(X, HUGE, classes=np.unique(HUGE))
    made.partial_fit(X[:2], np.array([1, 2], dtype=np.int64))
    assert made.class_count_.tolist() == [2.0, 2.0, 2.0, 2.0]
    with pytest.raises(ValueError, match="do not exist"):
        made.partial_fit(X[:2], np.array([-1, 2], dtype=np.int64))


def test_parts_of_signed_and_unsigned_labels_merge_exactly():
    signed = NaiveBayes().fit(X[:2], np.array([2**53, 2**53 + 1], dtype=np.int64))
    unsigned = NaiveBayes().fit(X[2:], np.array([2**53 + 2, 2**53 + 3] * 2, dtype=np.uint64))
    both = signed + unsigned
    assert both.classes_.tolist() == [2**53, 2**53 + 1, 2**53 + 2, 2**53 + 3]
    assert both.class_count_.tolist() == [1.0, 1.0, 2.0, 2.0]


def test_labels_that_no_type_holds_together_are_refused():
    signed = NaiveBayes().fit(X[:2], np.array([-1, 1], dtype=np.int64))
    unsigned = NaiveBayes().fit(X, HUGE)
    with pytest.raises(IncompatibleTallies, match="no type in common"):
        _ = signed + unsigned
    fractions = NaiveBayes().fit(X[:2], np.array([1.0, 2.0]))
    big = NaiveBayes().fit(X, np.array(BIG))
    with pytest.raises(IncompatibleTallies, match="no type in common"):
        _ = big + fractions


near = st.integers(2**53 - 3, 2**53 + 3) | st.integers(-3, 3) | st.integers(2**63 - 2, 2**63 + 2)


@given(st.lists(near, min_size=1, max_size=8), st.lists(near, min_size=1, max_size=8))
def test_places_are_those_of_pythons_numbers(a, b):
    def sorted_array(values):
        values = sorted(set(values))
        fits = values[-1] < 2**63
        if not fits and values[0] < 0:
            values = [v for v in values if v >= 0]
        return np.array(values, dtype=np.int64 if fits else np.uint64)

    a, b = sorted_array(a), sorted_array(b)
    assert are_among(a, b).tolist() == [v in b.tolist() for v in a.tolist()]
    assert places_among(a, b).tolist() == [sum(w < v for w in b.tolist()) for v in a.tolist()]
    union = sorted({*a.tolist(), *b.tolist()})
    if union[0] >= 0 or union[-1] < 2**63:
        assert joined_labels(a, b).tolist() == union
    else:
        with pytest.raises(IncompatibleTallies):
            joined_labels(a, b)


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=20))
def test_codes_give_the_labels_back(values):
    labels = read_labels(pd.Series(values, dtype="Int64"), len(values), "test")
    classes, codes = labels_and_codes(labels)
    assert classes[codes].tolist() == values
    assert codes_of(labels, classes).tolist() == codes.tolist()


WORDS = st.text(max_size=9) | st.sampled_from(["", "a", "b", "a" * 9, "é", "語", "a\0b", "\0a"])


@given(st.lists(WORDS, min_size=1, max_size=30), st.sampled_from("<>=O"), st.integers(1, 3))
def test_codes_give_strings_back(words, kind, step):
    """Whatever array holds them: of either byte order, of objects, strided."""
    words = [word.rstrip("\0") for word in words]  # which NumPy does not tell from the end
    array = np.array(words, dtype=object) if kind == "O" else np.array(words)
    array = array if kind == "O" else array.astype(array.dtype.newbyteorder(kind))
    labels = np.repeat(array, step)[::step]
    classes, codes = labels_and_codes(labels)
    assert classes.tolist() == sorted(set(words))
    assert classes.dtype == array.dtype
    assert [classes.tolist()[code] for code in codes] == words
