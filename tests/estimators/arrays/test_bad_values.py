"""Values that a column does not admit: named by row and column, and nothing is changed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from estimators.cases import ALL, LAYOUTS, LEARNING, call, every, fitted, methods_of, refused, rows
from tallybayes import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB

CLASSES = [0, 1, 2]
SMALL, LARGE = 60, 20_000  # below and above the 8192 rows that are counted in one piece


@dataclass(frozen=True)
class BadValue:
    """A value that the estimators refuse, and in which words."""

    value: float
    message: str
    estimators: tuple[type, ...] = ALL
    params: dict[str, Any] = field(default_factory=dict)


NO_NAN = r"Input X contains NaN: {place} holds nan\. {NB} does not accept missing values.*imputer"
NO_INFINITY = r"Input X contains infinity: {place} holds -?inf\. Replace it"
NO_COUNT = (
    r"Negative values in data passed to {NB} \(input X\): {place} holds -1\.0\. Counts.*cannot"
)
NO_CODE = (
    r"Negative values in data passed to {NB} \(input X\): {place} holds -1\.0\. .*OrdinalEncoder"
)
NO_LEVEL = (
    r"{NB} reads X as level codes, whole numbers.*{place} holds 1\.5\..*OrdinalEncoder.*levels="
)
NO_BIT = r"binarize=None.*0 and 1.*{place} holds 2\.0.*Set binarize"
BAD_VALUES = {
    "NaN": BadValue(np.nan, NO_NAN),
    "infinity": BadValue(np.inf, NO_INFINITY),
    "minus infinity": BadValue(-np.inf, NO_INFINITY),
    "negative count": BadValue(-1.0, NO_COUNT, (MultinomialNB, ComplementNB)),
    "negative code": BadValue(-1.0, NO_CODE, (CategoricalNB,)),
    "fraction": BadValue(1.5, NO_LEVEL, (CategoricalNB,)),
    "no bit": BadValue(2.0, NO_BIT, (BernoulliNB,), {"binarize": None}),
    "NaN for a bit": BadValue(np.nan, NO_NAN, (BernoulliNB,), {"binarize": None}),
    "NaN to truncate": BadValue(np.nan, NO_NAN, (CategoricalNB,), {"non_integer": "truncate"}),
}
BAD_VALUES_OF_EACH = [
    pytest.param(bad, NB, id=f"{kind}-{NB.__name__}")
    for kind, bad in BAD_VALUES.items()
    for NB in bad.estimators
]


@pytest.mark.parametrize(("bad", "NB"), BAD_VALUES_OF_EACH)
def test_a_bad_value_is_named_by_row_and_column(bad, NB):
    """The first one in reading order, although a column-wise layout meets another one before."""
    model, x, y = fitted(NB, SMALL, **bad.params)
    single = x[:1].copy()  # one row goes by the shortest path
    x[41, 2] = x[57, 0] = single[0, 1] = bad.value
    message = bad.message.format(place="row 41, column 2", NB=NB.__name__)
    of_one = bad.message.format(place="row 0, column 1", NB=NB.__name__)
    for method in methods_of(NB):
        for hold in LAYOUTS.values():
            for dtype in (np.float32, np.float64):
                with refused(ValueError, message, model):
                    call(model, method, hold(x.astype(dtype)), y)
        with refused(ValueError, of_one, model):
            call(model, method, single, y[:1])


@pytest.mark.parametrize(("bad", "NB"), BAD_VALUES_OF_EACH)
def test_a_bad_value_in_the_last_chunk_of_a_large_batch_leaves_nothing_counted(bad, NB):
    model, x, y = fitted(NB, LARGE, **bad.params)
    x[-1, -1] = bad.value
    message = bad.message.format(place=f"row {LARGE - 1}, column 3", NB=NB.__name__)
    for layout in ("dense", "csr"):
        for method in (*LEARNING, "predict"):
            with refused(ValueError, message, model):
                call(model, method, LAYOUTS[layout](x), y)


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize(("bad", "NB"), BAD_VALUES_OF_EACH)
def test_a_first_batch_that_is_refused_leaves_the_estimator_unfitted(bad, NB, method):
    model, (_, x, y) = NB(**bad.params), fitted(NB, SMALL, **bad.params)
    x[3, 1] = bad.value
    message = bad.message.format(place="row 3, column 1", NB=NB.__name__)
    with refused(ValueError, message, model):
        call(model, method, x, y, **({"classes": CLASSES} if method == "partial_fit" else {}))
    with pytest.raises(NotFittedError):
        model.predict(x[:1])
    assert not hasattr(model, "n_features_in_")


@every()
@pytest.mark.parametrize("method", [*LEARNING, "predict"])
def test_a_column_with_a_name_is_called_by_it(NB, method):
    x, y = rows(SMALL)
    frame = pd.DataFrame(x, columns=["long", "wide", "high", "deep"])
    model = NB().fit(frame, y)
    frame.loc[5, "high"] = np.nan
    with refused(ValueError, r"row 5, column 2 \('high'\) holds nan", model):
        call(model, method, frame, y)


@every(MultinomialNB, ComplementNB, CategoricalNB)
@pytest.mark.parametrize("method", [*LEARNING, "predict"])
def test_negative_integers_are_refused_too(NB, method):
    model, x, y = fitted(NB, SMALL)
    x[8, 3] = -2
    for dtype in (np.int8, np.int32, np.int64):
        for hold in LAYOUTS.values():
            with refused(ValueError, "Negative values in data.*row 8, column 3 holds -2", model):
                call(model, method, hold(x.astype(dtype)), y)


@every(GaussianNB, BernoulliNB)
def test_negative_values_are_fine_where_they_mean_something(NB):
    x, y = rows()
    NB().fit(x - 2, y).partial_fit(x - 2, y).predict(x - 2)


@pytest.mark.parametrize("n", [1, 2, 500, 10_000])
@pytest.mark.parametrize("method", ["partial_fit", "forget"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_column_whose_squares_exceed_float64_is_refused(n, method, layout):
    """x is finite, but Σ(x−c)² is not: without this check it would turn the model to NaN."""
    x, y = rows(n=max(n, 3), d=3)
    model = GaussianNB().fit(x, y)
    x, y = x[:n].copy(), y[:n]
    x[n - 1, 1] = 1e200
    with refused(ValueError, "column.*too large.*exceed.*Rescale", model):
        call(model, method, LAYOUTS[layout](x), y)


@pytest.mark.parametrize("n", [2, 500, 10_000])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_fit_of_a_column_whose_squares_exceed_float64_is_refused(n, layout):
    x, y = rows(n=n, d=3, classes=(0, 1))
    x[n - 1, 1] = 1e200
    with refused(ValueError, "column.*too large.*exceed.*Rescale", model := GaussianNB()):
        model.fit(LAYOUTS[layout](x), y)


@every(MultinomialNB, ComplementNB)
@pytest.mark.parametrize("learn", ["fit", "partial_fit"])
def test_sums_that_exceed_float64_are_refused(NB, learn):
    model = NB().fit([[1.0, 2.0], [3.0, 1.0]], [0, 1])
    with refused(ValueError, "too large", model):
        getattr(model, learn)([[1.7e308, 1.0], [1.7e308, 1.0], [1.0, 1.0]], [0, 0, 1])


@pytest.mark.parametrize("layout", ["csr", "csc"])
def test_the_first_bad_value_of_a_wide_sparse_matrix_is_found(layout):
    """Wider than the pieces in which it is looked for."""
    rng = np.random.default_rng(0)
    n, d, nnz = 3_000, 200_000, 100_000
    i, j = rng.integers(0, n, nnz), rng.integers(0, d, nnz)
    x = sparse.csr_array((np.ones(nnz), (i, j)), shape=(n, d))
    x.sum_duplicates()
    for row in (2_990, 2_991):
        x.data[x.indptr[row] + 1] = -1.0
    message = f"Negative values.*row 2990, column {x.indices[x.indptr[2_990] + 1]} "
    with refused(ValueError, message, model := MultinomialNB()):
        model.fit(x.asformat(layout), np.arange(n) % 2)
