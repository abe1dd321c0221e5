"""Frames of pandas, polars and pyarrow: names are learned, checked and kept."""

from __future__ import annotations

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import tallybayes
from estimators.cases import every, rows

NAMES = ["long", "wide", "high", "deep"]
FRAMES = {
    "pandas": lambda x: pd.DataFrame(x, columns=NAMES),
    "polars": lambda x: pl.DataFrame(x, schema=NAMES, orient="row"),
    "pyarrow": lambda x: pa.table({name: x[:, j] for j, name in enumerate(NAMES)}),
}


@every()
def test_a_categorical_series_of_labels_is_read_as_its_values(NB):
    x, y = rows(classes=("a", "b", "c"))
    series = pd.Series(pd.Categorical(y, categories=["c", "b", "a", "never"]))
    model = NB().fit(x, series)
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert model.predict_proba(x).tolist() == NB().fit(x, y).predict_proba(x).tolist()


@every()
@pytest.mark.parametrize("library", FRAMES)
def test_names_are_learned_and_libraries_can_be_mixed(NB, library):
    x, y = rows()
    model = NB().fit(FRAMES[library](x), y)
    assert model.feature_names_in_.tolist() == NAMES
    assert model.feature_names_in_.dtype == object
    assert model.n_features_in_ == 4
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
