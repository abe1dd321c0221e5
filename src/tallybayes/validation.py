"""Rows, labels, weights and groups as users give them, read by scikit-learn's rules."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
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
from tallybayes.labels import (
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
    "LeftOut",
    "as_numpy",
    "as_rows",
    "codes_of",
    "is_missing_label",
    "label_array",
    "labels_and_codes",
    "labels_of_rows",
    "like",
    "model_array",
    "places_of_labels",
    "read_groups",
    "read_labels",
    "read_weights",
    "rows_of",
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


# ---- arrays of other libraries, where scikit-learn's array API dispatch is on --------------------
# The kernels read memory of the host, so rows, labels and weights are moved to NumPy, and
# predictions are moved back to the library and the device of the rows.
def _is_array(x: Any) -> bool:
    """Whether x's class offers its memory; for attributes of its own a frame may look among its
    columns, which of Spark Connect are on a server."""
    return hasattr(type(x), "__dlpack__")


def _library(x: Any) -> Any:
    """The array API namespace of x; None for NumPy, for no array, and where dispatch is off."""
    if isinstance(x, np.ndarray) or not _is_array(x):
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
    if not _is_array(x):  # frames and lists
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


def is_missing_label(label: Any) -> bool:
    """Whether a label is None, NA or NaN."""
    return label is None or type(label).__name__ == "NAType" or bool(label != label)


def warn_of_other_order(X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> None:
    """Warns where labels, weights or groups have the index of X in another order: they are matched
    to its rows by position."""
    if type(X) is np.ndarray:
        return
    index = getattr(X, "index", None)
    if not hasattr(index, "equals"):  # a list has a method of this name
        return
    for name, given in (("y", y), ("sample_weight", sample_weight), ("groups", groups)):
        other = getattr(given, "index", None)
        if hasattr(other, "equals") and _is_reordered(index, other):
            warn_user(
                f"X and {name} have the same index in another order, and rows are matched by "
                f"position: if the index says which belong together, give {name}.loc[X.index]; if "
                f"the positions are right, {name}.set_axis(X.index)",
                IndexOrderWarning,
            )


def _is_reordered(index: Any, other: Any) -> bool:
    """Whether two indexes hold the same values in different order."""
    if index is other or len(index) != len(other) or index.equals(other):
        return False
    if index.nlevels != other.nlevels:
        return False
    if index.is_unique and other.is_unique:
        return bool(index.isin(other).all())
    mine, theirs = (i.value_counts(dropna=False) for i in (index, other))
    return len(mine) == len(theirs) and bool((theirs.reindex(mine.index) == mine).all())


def label_array(y: Any) -> NDArray[Any]:
    """Labels as NumPy holds them, of any shape; ValueError for a missing value in nullable ones."""
    return np.asarray(_without_nullable(y))


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
        more = f" ({len(missing)} in all)" if len(missing) > 1 else ""
        raise ValueError(
            f"Input y contains NA: row {missing[0]} has no label{more}. Drop such rows from X and y"
        )
    return y.to_numpy(dtype=held)


def read_groups(groups: Any, x: Any) -> NDArray[np.intp] | None:
    """The groups of rows by their number, index array (n_rows,); None where there are none.

    Raises
    ------
    ValueError
        If they are not one-dimensional, not as long as x, or a value is missing.
    """
    if groups is None:
        return None
    values = label_array(groups)
    n = x.n_rows if hasattr(x, "n_rows") else x.shape[0]
    if values.ndim != 1 or len(values) != n:
        raise ValueError(
            f"groups is one value a row, and X has {n} rows; got an array of shape {values.shape}"
        )
    missing = np.array([value is None or value != value for value in values.tolist()], dtype=bool)
    if missing.any():
        raise ValueError(
            f"groups has a missing value in row {int(missing.argmax())}: give each row its group, "
            "one of its own where it belongs to none"
        )
    return np.unique(values, return_inverse=True)[1].astype(np.intp)


def read_labels(y: Any, x: Any, whose: str) -> NDArray[Any]:
    """y as an array (n_rows,), as long as x.

    Raises
    ------
    ValueError
        If y is missing, not one-dimensional, not as long as x, mixes strings and numbers, or holds
        NaN, NA or infinity.
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
            _need_strings(given)
    if len(y) != x.shape[0]:
        _need_as_many(y, x)
    if y.dtype.kind in "fcO" and not _are_strings(y):
        try:
            assert_all_finite(y, input_name="y")
        except (
            ValueError,
            TypeError,
        ) as error:
            _raise_missing(y, error)
    labels: NDArray[Any] = y
    return labels


def _are_strings(y: NDArray[Any]) -> bool:
    return y.dtype.kind == "U" or (y.dtype.kind == "O" and {*map(type, y.tolist())} == {str})


def _need_strings(labels: Sequence[Any]) -> None:
    """Raises ValueError for numbers among strings, of which NumPy silently makes strings."""
    kinds = {type(label) for label in labels}
    if not all(issubclass(kind, str | bytes | list | tuple | np.ndarray) for kind in kinds):
        names = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise ValueError(
            f"y mixes labels of the types {names}, which have no common order: use labels of one "
            "type"
        )


def _need_as_many(y: NDArray[Any], x: Any) -> None:
    try:
        check_consistent_length(x, y)
    except ValueError as error:
        raise ValueError(
            f"{error}: X has {x.shape[0]} rows and y {len(y)} labels. Give one label a row"
        ) from None


def _raise_missing(y: NDArray[Any], error: ValueError | TypeError) -> NoReturn:
    """Raises the error that names the missing label; `error` itself where none is."""
    if isinstance(error, TypeError):  # pd.NA does not say whether it differs from itself
        found = [i for i, v in enumerate(y.tolist()) if type(v).__name__ == "NAType"]
        if not found:
            raise error
        raise ValueError(
            f"Input y contains NA: row {found[0]} has no label. Drop such rows from X and y"
        ) from None
    missing = np.flatnonzero(y != y)
    if not missing.size:
        raise error
    more = f" ({len(missing)} in all)" if len(missing) > 1 else ""
    raise ValueError(
        f"Input y contains NaN: row {missing[0]} has no label{more}. Drop such rows from X and y"
    ) from error


def _raise_no_order(labels: list[Any]) -> NoReturn:
    """Raises the ValueError for labels that cannot be ordered."""
    kinds = sorted({type(label).__name__ for label in labels})
    unlabelled = [label for label in labels if label is None]
    advice = "use labels of one type"
    if unlabelled:
        advice = "drop the rows without a label (TextNB learns from them with unlabelled='auto')"
    raise ValueError(
        f"y mixes labels of the types {', '.join(kinds)}, which have no common order: {advice}"
    ) from None


class _Numbers(dict[Any, int]):
    """Numbers keys from 0 on, in the order in which they are first looked up."""

    def __missing__(self, key: Any) -> int:
        self[key] = number = len(self)
        return number


def _numbered(y: NDArray[Any]) -> tuple[NDArray[Any], Codes]:
    """The distinct labels of strings or objects in order of appearance, and each row's index among
    them."""
    if y.dtype.kind == "U":
        return numbered_strings(y)
    labels, numbers = y.tolist(), _Numbers()
    codes = np.fromiter(map(numbers.__getitem__, labels), dtype=np.int32, count=len(labels))
    found = list(numbers)
    distinct = np.empty(len(found), dtype=y.dtype)
    distinct[:] = found
    return distinct, codes


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
        distinct, numbered = _numbered(y)
        found = distinct.tolist()
        try:
            classes = np.unique(distinct)
        except TypeError:
            _raise_no_order(found)
        place = {label: i for i, label in enumerate(classes.tolist())}
        codes = np.array([place[label] for label in found], dtype=np.int32)[numbered]
    else:
        classes, rank = np.unique(y, return_inverse=True)
        codes = rank.astype(np.int32)
    _need_classes(classes)
    return classes, codes


def _need_classes(classes: NDArray[Any]) -> None:
    """Raises where distinct labels are not classes, as strings always are."""
    if len(classes) and _are_strings(classes):
        return
    with warnings.catch_warnings():  # distinct labels are not rows, of which few ought to differ
        warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
        check_classification_targets(classes)


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


def read_weights(sample_weight: Any, x: Any) -> NDArray[np.float64] | None:
    """Weights as float64 (n_rows,), or None for weight 1.

    Raises
    ------
    ValueError
        If there is not one finite weight a row.
    """
    if sample_weight is None:
        return None
    if isinstance(x, Table):  # scikit-learn looks at the number of rows only
        x = np.broadcast_to(0.0, x.shape)
    weights = _check_sample_weight(as_numpy(sample_weight), x, dtype=np.float64)
    return np.ascontiguousarray(weights)


# ---- subsets of a classifier's rows and labels, and unfitted copies of classifiers ---------------
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


def labels_of_rows(y: Any) -> NDArray[Any]:
    """Labels as an array (n_rows,)."""
    return np.asarray(label_array(y)).ravel()


def places_of_labels(labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.intp]:
    """Each label's place among known classes; ValueError for another label."""
    return codes_of(labels, classes).astype(np.intp)
