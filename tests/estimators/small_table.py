"""A small good table in every frame library, for tests that spoil it."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tallybayes import NaiveBayes

N = 120
RNG = np.random.default_rng(5)
Y = np.where(RNG.random(N) < 0.4, "yes", "no")
DATA = {
    "age": (40.0 + 9.0 * (Y == "yes") + RNG.normal(0, 6, N)).round(1).tolist(),
    "visits": RNG.poisson(1.0 + 2.0 * (Y == "yes")).tolist(),
    "job": np.where(RNG.random(N) < 0.7, np.where(Y == "yes", "cook", "clerk"), "nurse").tolist(),
}
FRAMES = {
    "pandas": pd.DataFrame,
    "polars": lambda data: pl.DataFrame(data, strict=False),
    "pyarrow": pa.table,
    "dicts": lambda data: [
        dict(zip(data, row, strict=True)) for row in zip(*data.values(), strict=True)
    ],
}
EVERY = pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
TABLES = pytest.mark.parametrize(  # what has columns even where it has no row
    "frame", [FRAMES[name] for name in ("pandas", "polars", "pyarrow")], ids=list(FRAMES)[:3]
)
WHOLE = NaiveBayes().fit(pd.DataFrame(DATA), Y)
EXPECTED = WHOLE.predict_proba(pd.DataFrame(DATA))


def decided(model):
    """The rows of schema_, by column."""
    return model.schema_.set_index("column")


def refused(words, call, model=None):
    """A ValueError with these words; the model predicts as before."""
    with pytest.raises(ValueError, match=words):
        call()
    if model is not None:
        assert np.array_equal(model.predict_proba(pd.DataFrame(DATA)), EXPECTED)


def trained():
    return NaiveBayes().fit(pd.DataFrame(DATA), Y)
