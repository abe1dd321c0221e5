"""Bad parameters, rows and values: named as scikit-learn names them, by row and column, and
nothing is changed.
"""

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from estimators import malformed_sparse
from estimators.cases import (
    ALL,
    DISCRETE,
    GENERATIVE,
    LAYOUTS,
    LEARNING,
    call,
    every,
    fitted,
    methods_of,
    peer,
    refused,
    rows,
)
from tallybayes import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB
from tallybayes.errors import LeftOutWarning

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


BAD_SHAPES = {
    "one row as a vector": (lambda x: x[0], ValueError, "Expected 2D array, got 1D array"),
    "three axes": (lambda x: x[None], ValueError, "dim(ension)? ?3|3D|dim 3"),
    "a number": (lambda x: 3.0, ValueError, "Expected 2D array, got scalar"),
    "no row": (lambda x: x[:0], ValueError, r"Found array with 0 sample\(s\)"),
    "no row, sparse": (lambda x: sparse.csr_array(x[:0]), ValueError, r"0 sample\(s\)"),
    "strings": (lambda x: x.astype(str).astype(object) + "?", ValueError, "string|convert"),
    "complex": (lambda x: x + 1j, ValueError, "Complex data not supported"),
    "complex, sparse": (lambda x: sparse.csr_array(x + 1j), ValueError, "Complex data"),
    "None": (lambda x: None, ValueError, "Expected 2D array, got scalar"),
    "ragged": (lambda x: [[1.0, 2.0], [3.0]], ValueError, "inhomogeneous|sequence"),
}


@every()
@pytest.mark.parametrize("kind", BAD_SHAPES)
def test_x_of_another_shape_or_type_is_refused_as_scikit_learn_does(NB, kind):
    spoil, error, message = BAD_SHAPES[kind]
    model, x, y = fitted(NB, SMALL)
    theirs = peer(NB)().fit(x, y)
    comparable = "sparse" not in kind and kind != "None"  # of which scikit-learn makes two errors
    for method in methods_of(NB):
        with refused(error, message, model) as mine:
            call(model, method, spoil(x), y)
        if method in ("fit", "partial_fit", "predict", "predict_proba") and comparable:
            with pytest.raises(mine.type):
                call(theirs, method, spoil(x), y)


@every()
@pytest.mark.parametrize("columns", [1, 3, 5])
def test_another_number_of_features_is_refused(NB, columns):
    model, _, y = fitted(NB, SMALL)
    x = rows(SMALL, d=columns)[0]
    message = f"X has {columns} features, but {NB.__name__} is expecting 4 features"
    for method in methods_of(NB):
        for hold in LAYOUTS.values() if method != "fit" else ():
            with refused(ValueError, message, model):
                call(model, method, hold(x), y)


@every()
def test_no_column_is_refused(NB):
    with refused(ValueError, r"0 feature\(s\)", model := NB()):
        model.fit(np.empty((3, 0)), [0, 1, 1])


@every()
@pytest.mark.parametrize("method", ["partial_fit", "forget", "predict"])
@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["a", "b", "d", "c"], "must be in the same order"),
        (["a", "b", "c", "e"], "unseen at fit time.*e.*\n.*missing.*\n?.*d"),
    ],
    ids=["other order", "other name"],
)
def test_other_feature_names_are_refused(NB, method, names, message):
    x, y = rows(SMALL)
    model = NB().fit(pd.DataFrame(x, columns=list("abcd")), y)
    with refused(ValueError, f"(?s)feature names should match.*{message}", model):
        call(model, method, pd.DataFrame(x, columns=names), y)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="each attempt may end its process, so it forks")
@pytest.mark.parametrize("kind", ["pandas", "arrow", "polars"])
@pytest.mark.parametrize("NB", [GaussianNB, partial(CategoricalNB, levels=[[0, 1]])])
def test_the_index_that_pandas_wrote_is_no_column(NB, kind):
    """As classifiers of tables read it; a frame to predict may have it, or not."""
    frame = pd.DataFrame({"a": [0, 1, 1, 0, 1, 0] * 5}).sample(frac=1.0, random_state=0)
    written, y = pa.Table.from_pandas(frame), ["p", "q"] * 15
    makes = {"pandas": lambda t: pl.from_arrow(t).to_pandas(), "polars": pl.from_arrow}
    read = makes.get(kind, lambda table: table)(written)
    with pytest.warns(LeftOutWarning, match="'__index_level_0__' is left out.* rename it to use"):
        model = NB().fit(read, y)
    assert model.feature_names_in_.tolist() == ["a"]
    expected = NB().fit(frame, y).predict_proba(frame)
    model.partial_fit(read, y).forget(read, y)
    assert np.array_equal(model.predict_proba(read), expected)
    assert np.array_equal(model.predict_proba(frame), expected)


def test_a_sparse_matrix_whose_indices_lie_outside_is_refused_and_not_followed():
    """What became of every attempt of the program, in a process of its own."""
    program = Path(malformed_sparse.__file__)
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(program.parents[1]), os.environ.get("PYTHONPATH", "")]),
        "TALLYBAYES_NUM_THREADS": "1",
    }
    done = subprocess.run(
        [sys.executable, str(program)], env=environment, capture_output=True, text=True, check=True
    )
    outcomes = json.loads(done.stdout)
    assert len(outcomes) == len(malformed_sparse.ATTEMPTS)
    assert {what: found for what, found in outcomes.items() if found != "refused"} == {}


@every()
def test_a_text_among_numbers_has_its_place_and_what_reads_it(NB):
    frame = pd.DataFrame({"n": [1, 2, 3], "job": ["4", "nurse", "5"]})
    place = r"row 1, column 1 \('job'\) holds 'nurse'.* NaiveBayes and WeightedNaiveBayes"
    with pytest.raises(ValueError, match=f"could not convert string to float.*{place}"):
        NB().fit(frame, [0, 1, 0])
    with pytest.raises(ValueError, match=r"row 1, column 1 holds 'nurse'"):
        NB().fit(frame.to_numpy(), [0, 1, 0])


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
