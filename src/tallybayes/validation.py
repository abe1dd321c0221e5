"""Rows, labels, weights and groups as users give them, read by scikit-learn's rules."""

from __future__ import annotations

import math
import warnings
from collections import defaultdict
from datetime import UTC, date, datetime
from itertools import count
from numbers import Real
from typing import Any, Literal, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils._array_api import _convert_to_numpy, get_namespace
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_sample_weight,
    assert_all_finite,
    check_consistent_length,
    column_or_1d,
)

from tallybayes.errors import IndexOrderWarning, warn_user
from tallybayes.schema import (
    are_among,
    numbered_strings,
    places_among,
    ranked_whole_numbers,
)
from tallybayes.scoring import Figures
from tallybayes.tables import Table
from tallybayes.tables.read import is_arrow
from tallybayes.threads import get_num_threads

__all__ = [
    "Given",
    "LeftOut",
    "as_numpy",
    "as_rows",
    "codes_of",
    "is_missing_label",
    "label_array",
    "labels_and_codes",
    "labels_given",
    "labels_named",
    "like",
    "model_array",
    "read_given",
    "read_groups",
    "read_labels",
    "rows_of",
    "seconds_of",
    "unfitted",
    "warn_of_other_order",
]


# ---- predictions of learned rows by models that have not seen them -------------------------------
Array = NDArray[np.float64]


class LeftOut(NamedTuple):
    """How a model predicts rows that it has learned, each left out.

    Parameters
    ----------
    rows : index array (n_rows,)
        Ascending places among the rows that were given.
    log_proba : float64 array (n_rows, n_classes)
    weight : float64 array (n_rows,)
    how : {"whole", "folds", "counts"}
        Left out of the whole fit; by cross-validation, which repeats every choice; or of the counts
        alone, one by one.
    figures : Figures, optional
        What the fit states of these rows, where it does.
    """

    rows: NDArray[np.intp]
    log_proba: Array
    weight: Array
    how: Literal["whole", "folds", "counts"]
    figures: Figures | None = None

    @classmethod
    def of_all(
        cls, log_proba: Any, weight: Any, how: Literal["whole", "folds", "counts"] = "counts"
    ) -> LeftOut:
        """Predictions of all rows that were given, whose weight is 1 unless given."""
        n = len(log_proba)
        given = np.ones(n) if weight is None else np.asarray(as_numpy(weight), dtype=np.float64)
        return cls(np.arange(n), np.asarray(log_proba, dtype=np.float64), given, how)


# ---- arrays of other libraries, where scikit-learn's array API dispatch is on --------------------
# The kernels read memory of the host, so rows, labels and weights are moved to NumPy, and
# predictions are moved back to the library and the device of the rows. The class of an array offers
# its memory; for an attribute of its own a frame may look among its columns, which of Spark Connect
# are on a server.
def _library(x: Any) -> Any:
    """The array API namespace of x; None for NumPy, for no array, and where dispatch is off."""
    if isinstance(x, np.ndarray) or not hasattr(type(x), "__dlpack__"):
        return None
    if not get_config()["array_api_dispatch"]:
        return None
    try:
        return get_namespace(x)[0]
    except TypeError:  # a column of a table that only offers its memory
        return None


def as_numpy(x: Any) -> Any:
    """x, or the same values in NumPy where it is an array that scikit-learn dispatches on; what a
    masked array hides is a missing value."""
    if not hasattr(type(x), "__dlpack__"):  # frames and lists
        return x
    if isinstance(x, np.ma.MaskedArray):
        return _unmasked(x)
    library = _library(x)
    return x if library is None else _convert_to_numpy(x, library)


def _unmasked(x: Any) -> NDArray[Any]:
    held = np.ma.getdata(x)
    if not np.ma.getmaskarray(x).any():
        return held
    if held.dtype.kind in "fmM":
        filled: NDArray[Any] = x.filled(np.nan if held.dtype.kind == "f" else "NaT")
        return filled
    objects = np.array(held, dtype=object)
    objects[np.ma.getmaskarray(x)] = None
    return objects


def like(x: Any, values: NDArray[Any]) -> Any:
    """The values in the library and on the device of x; in NumPy where x is not such array, and
    for strings, which array libraries do not hold."""
    if type(x) is np.ndarray:  # nearly all are
        return values
    library = _library(x)
    if library is None or values.dtype.kind not in "biufc":
        return values
    return library.asarray(values, device=x.device)


def model_array(x: Any) -> Any:
    """An empty array of the library and device of x, which a model can keep; None for NumPy."""
    library = _library(x)
    return None if library is None else library.empty((0,), device=x.device)


# ---- reading y and sample_weight: class labels as codes, and the weights of rows -----------------
Codes = NDArray[np.int32]


def _is_none(label: Any) -> bool:
    return label is None


def _is_na(label: Any) -> bool:
    """Whether a label is pandas' NA, which does not say whether it differs from itself."""
    return type(label).__name__ == "NAType"


def is_missing_label(label: Any) -> bool:
    """Whether a label is None, NA, NaN or NaT."""
    return _is_none(label) or _is_na(label) or bool(label != label)


class Given(NamedTuple):
    """What is given beside rows.

    Parameters
    ----------
    labels : array (n_rows,)
    weights : float64 array (n_rows,), optional
        None for weight 1.
    groups : index array (n_rows,), optional
        The number of each row's group; None where there are none.
    """

    labels: NDArray[Any]
    weights: Array | None = None
    groups: NDArray[np.intp] | None = None


def read_given(X: Any, y: Any, sample_weight: Any, groups: Any, n_rows: int, whose: str) -> Given:
    """Labels, weights and groups of the rows X, of which there are so many.

    Raises
    ------
    ValueError
        As of :func:`read_labels` and :func:`read_groups`, or if there is not one finite weight a
        row.
    """
    warn_of_other_order(X, y, sample_weight, groups)
    labels, weights = read_labels(y, n_rows, whose), None
    if sample_weight is not None:  # scikit-learn looks at the number of rows only
        rows = np.broadcast_to(0.0, (n_rows, 1))
        weights = _check_sample_weight(as_numpy(sample_weight), rows, dtype=np.float64)
        weights = np.ascontiguousarray(weights)
    return Given(labels, weights, None if groups is None else read_groups(groups, n_rows))


def warn_of_other_order(X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> None:
    """Warns where labels, weights or groups have the index of X in another order: they are matched
    to its rows by position."""
    if type(X) is np.ndarray:
        return
    index: Any = getattr(X, "index", None)
    if not hasattr(index, "equals"):  # a list has a method of this name
        return
    for name, given in (("y", y), ("sample_weight", sample_weight), ("groups", groups)):
        other: Any = getattr(given, "index", None)
        if other is index or not hasattr(other, "equals"):
            continue
        if len(index) != len(other) or index.equals(other) or index.nlevels != other.nlevels:
            continue
        if index.is_unique and other.is_unique:
            reordered = bool(index.isin(other).all())
        else:
            mine, theirs = (i.value_counts(dropna=False) for i in (index, other))
            reordered = len(mine) == len(theirs) and (theirs.reindex(mine.index) == mine).all()
        if reordered:
            warn_user(
                f"X and {name} have the same index in another order, and rows are matched by "
                f"position: if the index says which belong together, give {name}.loc[X.index]; if "
                f"the positions are right, {name}.set_axis(X.index)",
                IndexOrderWarning,
            )


def label_array(y: Any) -> NDArray[Any]:
    """Labels as NumPy holds them, of any shape; ValueError for a missing value in nullable ones."""
    return np.asarray(_without_nullable(y))


def labels_given(y: Any) -> NDArray[Any]:
    """The labels of rows that are judged, of any shape and in any order.

    Raises
    ------
    ValueError
        For a missing one, as where a model learns: it is neither right nor wrong.
    """
    labels = label_array(y)
    if labels.dtype.kind in "US" and isinstance(y, list | tuple):  # NumPy makes a string of NaN
        labels = np.array(y, dtype=object)
    _need_labels(labels.ravel(), "")
    return labels


def labels_named(classes: Any) -> NDArray[Any]:
    """The distinct labels that ``classes=`` names, sorted."""
    return labels_and_codes(label_array(classes).ravel())[0]


def _without_nullable(y: Any) -> Any:
    """y, but nullable integers and booleans of pandas as NumPy's of the same type, and so arrays
    that scikit-learn dispatches on.

    By themselves nullable ones become floats, in which whole numbers beyond 2⁵³ coincide, or
    objects.

    Raises
    ------
    ValueError
        For a missing value among them.
    """
    y = as_numpy(y)
    if getattr(y, "ndim", 1) == 2 and hasattr(y, "iloc") and y.shape[1] == 1:
        column = y.iloc[:, 0]
        known = _without_nullable(column)
        return y if known is column else known.reshape(-1, 1)
    held = getattr(getattr(y, "dtype", None), "numpy_dtype", None)
    if held is None or held.kind not in "iub" or not hasattr(y, "isna"):
        return y
    missing = np.flatnonzero(np.asarray(y.isna()))
    if missing.size:
        raise _without_label("NA", missing)
    return y.to_numpy(dtype=held)


def _without_label(what: str, missing: NDArray[np.intp], whose: str = "") -> ValueError:
    """The error for rows without a label."""
    more = f" ({len(missing)} in all)" if len(missing) > 1 else ""
    use = ", or learn from them with unlabelled='auto'" if whose == "TextNB" else ""
    return ValueError(
        f"Input y contains {what}: row {missing[0]} has no label{more}. Drop such rows from X and "
        f"y{use}"
    )


def read_groups(groups: Any, n_rows: int) -> NDArray[np.intp]:
    """The groups of rows by their number, index array (n_rows,).

    Raises
    ------
    ValueError
        If they are not one-dimensional, not one a row, or a value is missing.
    """
    values = label_array(groups)
    if values.ndim != 1 or len(values) != n_rows:
        raise ValueError(
            f"groups is one value a row, and X has {n_rows} rows; got an array of shape "
            f"{values.shape}"
        )
    missing = np.array([is_missing_label(value) for value in values.tolist()], dtype=bool)
    if values.dtype.kind in "mM":
        missing = np.isnat(values)
    if missing.any():
        raise ValueError(
            f"groups has a missing value in row {int(missing.argmax())}: give each row its group, "
            "one of its own where it belongs to none"
        )
    return np.unique(values, return_inverse=True)[1].astype(np.intp)


def read_labels(y: Any, n_rows: int, whose: str) -> NDArray[Any]:
    """y as an array (n_rows,).

    Raises
    ------
    ValueError
        If y is missing, not one-dimensional, not one label a row, mixes strings and numbers, or
        holds NaN, NA or infinity.
    """
    if type(y) is not np.ndarray or y.ndim != 1:
        if y is None:
            raise ValueError(
                f"{whose} requires y to be passed, but the target y is None: give one label a row"
            )
        if isinstance(y, str):
            raise ValueError(
                f"y should be a 1d array, got the string {y!r}: give the labels, such as "
                f"frame[{y!r}], and the other columns as X"
            )
        given, y = y, column_or_1d(_without_nullable(y), warn=True)
        if y.dtype.kind in "US" and isinstance(given, list | tuple):
            kinds = {type(label) for label in given}  # NumPy silently makes strings of numbers
            if not all(issubclass(kind, str | bytes | list | tuple | np.ndarray) for kind in kinds):
                _need_labels(np.array(given, dtype=object), whose)  # of NaN and None, too
                _raise_no_order(kinds)
    if len(y) != n_rows:
        try:
            check_consistent_length(range(n_rows), y)
        except ValueError as error:
            raise ValueError(
                f"{error}: X has {n_rows} rows and y {len(y)} labels. Give one label a row"
            ) from None
    labels: NDArray[Any] = y
    if _need_labels(labels, whose):
        assert_all_finite(labels, input_name="y")
    return labels


def _need_labels(labels: NDArray[Any], whose: str) -> bool:
    """Raises ValueError where one of the labels (n_rows,) is missing; says whether they may be
    infinite."""
    if labels.dtype.kind in "mM" and np.isnat(labels).any():
        raise _without_label("NaT", np.flatnonzero(np.isnat(labels)), whose)
    if labels.dtype.kind not in "fcO" or _are_strings(labels):
        return False
    if labels.dtype.kind == "O":  # of which scikit-learn takes None for a label
        for what, is_one in (("None", _is_none), ("NA", _is_na)):
            missing = np.flatnonzero([is_one(label) for label in labels.tolist()])
            if missing.size:
                raise _without_label(what, missing, whose)
    missing = np.flatnonzero(labels != labels)
    if missing.size:
        raise _without_label("NaN", missing, whose)
    return True


def _are_strings(y: NDArray[Any]) -> bool:
    return y.dtype.kind == "U" or (y.dtype.kind == "O" and {*map(type, y.tolist())} == {str})


def _raise_no_order(kinds: set[type]) -> NoReturn:
    """Raises the ValueError for labels that cannot be ordered."""
    raise ValueError(
        f"y mixes labels of the types {', '.join(sorted(kind.__name__ for kind in kinds))}, which "
        "have no common order: use labels of one type"
    ) from None


def labels_and_codes(y: NDArray[Any]) -> tuple[NDArray[Any], Codes]:
    """The sorted distinct labels of y, and each row's index among them.

    Raises
    ------
    ValueError
        If the labels are not classes but, for example, continuous numbers.
    """
    if y.dtype.kind in "iub" and y.dtype.isnative:
        ranked = ranked_whole_numbers(y, get_num_threads())
        if ranked is not None:
            return ranked
    if y.dtype.kind in "OUT":  # a hash table is much quicker than sorting strings
        if y.dtype.kind == "U":
            distinct, numbered = numbered_strings(y)
        else:
            numbers = defaultdict[Any, int](count().__next__)  # in order of appearance
            numbered = np.fromiter(map(numbers.__getitem__, y.tolist()), np.int32, count=len(y))
            distinct = np.empty(len(numbers), dtype=y.dtype)
            distinct[:] = list(numbers)
        found = distinct.tolist()
        try:
            classes = np.unique(distinct)
        except TypeError:
            _raise_no_order({*map(type, found)})
        place = {label: i for i, label in enumerate(classes.tolist())}
        codes = np.array([place[label] for label in found], dtype=np.int32)[numbered]
    else:
        classes, rank = np.unique(y, return_inverse=True)
        codes = rank.astype(np.int32)
    if not len(classes) or not _are_strings(classes):  # strings always are classes
        with warnings.catch_warnings():  # distinct labels are not rows, of which few should differ
            warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
            check_classification_targets(classes)
    return classes, codes


def _are_same(found: NDArray[Any], classes: NDArray[Any]) -> bool:
    """Whether two arrays of sorted labels hold the same."""
    if len(found) != len(classes):
        return False
    if found.dtype == classes.dtype and found.dtype.kind in "iub":  # quicker than to compare each
        return found.tobytes() == classes.tobytes()
    return bool((found == classes).all())


def codes_of(y: NDArray[Any], classes: NDArray[Any]) -> Codes:
    """Each row's index among known classes.

    Raises
    ------
    ValueError
        If a label is none of them.
    """
    if len(y) == 1:
        if y.dtype == classes.dtype:
            at = classes.searchsorted(y)
            if at[0] < len(classes) and classes[at[0]] == y[0]:
                return at.astype(np.int32)
        found, codes = y, np.zeros(1, dtype=np.int32)
    else:
        found, codes = labels_and_codes(y)
        if _are_same(found, classes):
            return codes
    rank = np.minimum(places_among(found, classes), len(classes) - 1)
    known = are_among(found, classes)
    if not known.all():
        unknown = found[~known]
        row = int(np.flatnonzero(codes == np.flatnonzero(~known)[0])[0])
        raise ValueError(
            f"The target label(s) {unknown} in y do not exist in the initial classes {classes} "
            f"(first at row {row}). Name every class on the first call: partial_fit(X, y, "
            "classes=[...])."
        )
    return rank.astype(np.int32)[codes]


# ---- subsets of a classifier's rows, and unfitted copies of classifiers --------------------------
def as_rows(X: Any) -> Any:
    """X as :func:`rows_of` takes rows of it, again and again: an array of another library as
    NumPy's, and what only offers Arrow's memory as a pyarrow table."""
    if is_arrow(X) and not hasattr(X, "__len__"):
        from tallybayes.tables.arrow import as_table

        return as_table(X)
    return as_numpy(X)


def rows_of(X: Any, rows: NDArray[np.intp]) -> Any:
    """The rows of a frame, a table, an array, a sparse matrix or a list, by their numbers."""
    if isinstance(X, Table):
        return X.take(rows)
    if is_arrow(X):
        from tallybayes.tables.arrow import take

        return take(X, rows)
    return _safe_indexing(as_numpy(X), rows)


def unfitted(model: Any) -> Any:
    """An unfitted classifier with the same parameters."""
    return clone(model)


# ---- times ---------------------------------------------------------------------------------------
def seconds_of(time: Any) -> float:
    """A time in seconds since 1970.

    Parameters
    ----------
    time : float, datetime or date
        A datetime without a zone is taken for UTC.

    Returns
    -------
    float
        Finite.

    Raises
    ------
    ValueError
        For anything else.
    """
    if isinstance(time, np.datetime64):
        time = time.astype("datetime64[us]").item()
    if isinstance(time, datetime) and time == time:  # unlike NaT of pandas
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
    if isinstance(time, date) and time == time:
        return datetime(time.year, time.month, time.day, tzinfo=UTC).timestamp()
    if isinstance(time, Real) and math.isfinite(time):
        return float(time)
    raise ValueError(f"a time is a datetime, a date, or seconds since 1970; got {time!r}")
