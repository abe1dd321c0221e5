"""Frames of pandas, polars and pyarrow: names are learned, checked and kept."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import tallybayes
from estimators.cases import PREDICTING, every, rows, unchanged

NAMES = ["long", "wide", "high", "deep"]
FRAMES = {
    "pandas": lambda x: pd.DataFrame(x, columns=NAMES),
    "polars": lambda x: pl.DataFrame(x, schema=NAMES, orient="row"),
    "pyarrow": lambda x: pa.table({name: x[:, j] for j, name in enumerate(NAMES)}),
}
SERIES = {"pandas": pd.Series, "polars": pl.Series, "pyarrow": pa.array}
LIBRARIES = pytest.mark.parametrize("library", FRAMES)


@every()
@LIBRARIES
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.int8])
def test_a_frame_is_read_as_its_numbers(NB, library, dtype):
    x, y = rows(dtype=dtype)
    model, plain = NB().fit(FRAMES[library](x), y), NB().fit(x, y)
    assert model.feature_names_in_.tolist() == NAMES
    assert model.feature_names_in_.dtype == object
    assert model.n_features_in_ == 4
    for method in PREDICTING:
        got, expected = getattr(model, method)(FRAMES[library](x)), getattr(plain, method)(x)
        assert got.tolist() == expected.tolist(), method
    model.partial_fit(FRAMES[library](x), y).forget(FRAMES[library](x), y)
    np.testing.assert_allclose(
        model.predict_proba(FRAMES[library](x)), plain.predict_proba(x), rtol=1e-6
    )


@every()
@LIBRARIES
@pytest.mark.parametrize("labels", [[3, 1, 2], ["tea", "coffee", "milk"], [True, False]], ids=str)
def test_labels_and_weights_can_be_series(NB, library, labels):
    x, y = rows(classes=np.arange(len(labels)))
    y = np.asarray(labels)[y]
    w = np.arange(len(y)) / 8.0
    series = SERIES[library]
    model = NB().fit(x, series(y.tolist()), series(w.tolist()))
    plain = NB().fit(x, y, w)
    assert model.classes_.tolist() == plain.classes_.tolist()
    assert model.predict(x).tolist() == plain.predict(x).tolist()
    assert model.predict_proba(x).tolist() == plain.predict_proba(x).tolist()
    model.partial_fit(x, series(y.tolist())).forget(x, series(y.tolist()))


@every()
def test_a_categorical_series_of_labels_is_read_as_its_values(NB):
    x, y = rows(classes=("a", "b", "c"))
    series = pd.Series(pd.Categorical(y, categories=["c", "b", "a", "never"]))
    model = NB().fit(x, series)
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert model.predict_proba(x).tolist() == NB().fit(x, y).predict_proba(x).tolist()


@every()
@LIBRARIES
def test_libraries_can_be_mixed(NB, library):
    x, y = rows()
    model = NB().fit(FRAMES[library](x), y)
    expected = NB().fit(x, y).predict_proba(x).tolist()
    for other in FRAMES.values():
        assert model.predict_proba(other(x)).tolist() == expected


@every()
def test_numbers_without_names_after_names_are_read_with_scikit_learns_warning(NB):
    x, y = rows()
    model = NB().fit(FRAMES["pandas"](x), y)
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        model.predict(x)
    plain = NB().fit(x, y)
    with pytest.warns(UserWarning, match=r"X has feature names, but \w+ was fitted without"):
        plain.predict(FRAMES["pandas"](x))


@every()
def test_names_survive_saving(NB, tmp_path):
    x, y = rows()
    model = NB().fit(FRAMES["polars"](x), y)
    model.save(tmp_path / "model")
    loaded = tallybayes.load(tmp_path / "model")
    assert loaded.feature_names_in_.tolist() == NAMES
    with pytest.raises(ValueError, match="feature names should match"):
        loaded.predict(FRAMES["pandas"](x).rename(columns={"wide": "broad"}))


@every()
def test_columns_that_are_numbered_have_no_names(NB):
    x, y = rows()
    assert not hasattr(NB().fit(pd.DataFrame(x), y), "feature_names_in_")


@every()
def test_a_frame_of_sparse_columns_is_read(NB):
    x, y = rows()
    frame = pd.DataFrame(
        {n: pd.arrays.SparseArray(x[:, j], fill_value=0.0) for j, n in enumerate(NAMES)}
    )
    model = NB().fit(frame, y)
    assert model.predict(frame).tolist() == NB().fit(x, y).predict(x).tolist()
    assert model.feature_names_in_.tolist() == NAMES


@every()
@pytest.mark.parametrize("dtype", ["Int64", "Float64", "boolean"])
def test_nullable_columns_are_read_and_a_gap_in_them_is_refused(NB, dtype):
    x, y = rows()
    x = x % 2
    frame = pd.DataFrame(x.astype(bool) if dtype == "boolean" else x, columns=NAMES).astype(dtype)
    model = NB().fit(frame, y)
    assert model.predict_proba(frame).tolist() == NB().fit(x, y).predict_proba(x).tolist()
    frame.loc[4, "wide"] = pd.NA
    with unchanged(model), pytest.raises(ValueError, match=r"NaN|missing|NA"):
        model.partial_fit(frame, y)
