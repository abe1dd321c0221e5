"""One model from one set of rows: whatever their order, batches, parts, frames, types and columns.

For "auto", which chooses families from what was counted, and for families that are declared. What
is chosen and printed in schema_ is equal; probabilities are equal bit for bit where rows come in
one order, and to rounding where moments about different origins were added.
"""

from __future__ import annotations

import datetime
import io

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tallybayes import NaiveBayes
from tallybayes.families import Bernoulli, Binned, Categorical, Gaussian, Poisson, Smooth

N = 500
DECLARED = {
    "age": Gaussian(ddof=1),
    "gain": Smooth(),
    "visits": Poisson(),
    "score": Binned(),
    "size": Categorical(),
    "smoker": Bernoulli(),
}
COLUMNS = pytest.mark.parametrize("columns", ["auto", DECLARED], ids=["auto", "declared"])


def drawn(n=N, seed=0):
    """Every kind of column, with missing values. Its floats fit float16, so that any width holds
    them."""
    rng = np.random.default_rng(seed)
    y = rng.choice(["a", "b", "c"], n, p=[0.5, 0.3, 0.2])
    k = np.searchsorted(["a", "b", "c"], y)
    table = pd.DataFrame(
        {
            "age": rng.normal(40 + 6 * k, 9).astype(np.float16).astype(float),
            "gain": np.where(rng.random(n) < 0.6, 0.0, rng.exponential(100 * (k + 1)).round(1)),
            "visits": rng.poisson(1 + 2 * k),
            "score": rng.choice([-1, 0, 1], n) * k + rng.integers(0, 60, n),
            "size": rng.integers(36, 46, n) + k,
            "job": np.array(["cook", "nurse", "clerk", "pilot"])[
                np.minimum(rng.integers(0, 4, n), 3 - k)
            ],
            "smoker": rng.random(n) < 0.2 + 0.3 * k,
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 400, n), "D"),
            "empty": np.full(n, None),
        }
    )
    table["gain"] = table["gain"].astype(np.float16).astype(float)
    for name in ("age", "job", "day"):
        table.loc[rng.random(n) < 0.1, name] = None
    return table, y


X, Y = drawn()
QUERY, _ = drawn(150, seed=1)
MODELS = {
    "auto": NaiveBayes().fit(X, Y),
    "declared": NaiveBayes(DECLARED).fit(X, Y),
}


def records(table):
    """Rows as dicts, with None for missing values."""
    return table.astype(object).where(table.notna(), None).to_dict("records")


def same(model, columns, query=QUERY, *, rounded=True):
    whole = MODELS["auto" if isinstance(columns, str) else "declared"]
    assert model.classes_.tolist() == whole.classes_.tolist()
    assert model.class_count_.tolist() == whole.class_count_.tolist()
    assert model.schema_.set_index("column").equals(
        whole.schema_.set_index("column").loc[list(model.schema_["column"])]
    )
    got, expected = model.predict_proba(query), whole.predict_proba(QUERY)
    if rounded:
        np.testing.assert_allclose(got, expected, rtol=1e-10, atol=1e-14)
    else:
        assert got.tolist() == expected.tolist()
    assert model.predict(query).tolist() == whole.predict(QUERY).tolist()


def test_auto_chooses_more_than_one_family():
    families = {text.split(",")[0] for text in MODELS["auto"].schema_["family"]}
    assert families >= {"Gaussian", "categorical"}
    assert len(families) >= 4


# ---- rows ----
@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_a_row_asked_alone_is_answered_as_in_a_table(model):
    for row, shares in zip(records(QUERY), model.predict_proba(QUERY), strict=True):
        got = list(model.predict_proba_one(row).values())
        np.testing.assert_allclose(got, shares, rtol=1e-10, atol=1e-14)


@COLUMNS
def test_rows_sorted_by_class_or_value(columns):
    for key in (Y, X["age"].to_numpy(), X["job"].fillna("").to_numpy()):
        order = np.argsort(key, kind="stable")
        same(NaiveBayes(columns).fit(X.iloc[order], Y[order]), columns)


def test_whole_weights_are_rows():
    """A row of weight 3 is three rows, wherever they stand, where nothing is chosen."""
    w = np.random.default_rng(4).integers(1, 4, N)
    columns = {**DECLARED, "score": Binned(20, alpha=1.0)}
    columns |= {"gain": Gaussian(ddof=1), "day": Gaussian(ddof=1)}
    columns |= {"job": Categorical()}
    weighted = NaiveBayes(columns).fit(X, Y, w)
    rows = np.random.default_rng(5).permutation(np.repeat(np.arange(N), w))
    repeated = NaiveBayes(columns).fit(X.iloc[rows], Y[rows])
    assert weighted.class_count_.tolist() == repeated.class_count_.tolist()
    assert weighted.schema_.equals(repeated.schema_)
    np.testing.assert_allclose(
        weighted.predict_proba(QUERY), repeated.predict_proba(QUERY), rtol=1e-10
    )


# ---- frames and types ----
def arrow(table):
    return pa.Table.from_pandas(table, preserve_index=False)


def feathered(table):
    """As a file of Arrow record batches would give it: strings as dictionaries, in chunks."""
    text = arrow(table)
    at = text.column_names.index("job")
    text = text.set_column(at, "job", text["job"].cast(pa.string()).dictionary_encode())
    return pa.Table.from_batches(text.to_batches(max_chunksize=37))


class Stream:
    """Anything with the Arrow C stream."""

    def __init__(self, table):
        self.table = arrow(table)

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


def through_csv(table):
    """Strings and numbers as a CSV file gives them; dates are read as dates."""
    text = io.StringIO(table.to_csv(index=False))
    return pd.read_csv(text, parse_dates=["day"])


FRAMES = {
    "polars": pl.from_pandas,
    "pyarrow": arrow,
    "pyarrow in chunks": feathered,
    "arrow stream": Stream,
    "dicts": records,
    "pandas, nullable": lambda t: t.convert_dtypes(),
    "pandas, pyarrow types": lambda t: t.convert_dtypes(dtype_backend="pyarrow"),
    "pandas, objects": lambda t: t.astype(object),
    "pandas, from CSV": through_csv,
    "pandas, odd index": lambda t: t.set_axis(np.arange(len(t))[::-1] // 2, axis=0),
    "pandas, rows reversed in memory": lambda t: t[::-1].copy()[::-1],
}
EVERY_FRAME = pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)


@COLUMNS
@EVERY_FRAME
def test_frame_library(columns, frame):
    same(NaiveBayes(columns).fit(frame(X), Y), columns, frame(QUERY), rounded=False)


NUMBERS = ["visits", "score", "size"]
WIDTHS = {
    "int8": dict.fromkeys(NUMBERS, "int8"),
    "uint16": {"visits": "uint16", "size": "uint16"},
    "int32": dict.fromkeys(NUMBERS, "int32"),
    "float64": dict.fromkeys(NUMBERS, "float64"),
    "float32": dict.fromkeys([*NUMBERS, "age", "gain"], "float32"),
    "float16": dict.fromkeys([*NUMBERS, "age", "gain"], "float16"),
    "Int16": dict.fromkeys(NUMBERS, "Int16"),
    "Float32": dict.fromkeys([*NUMBERS, "age", "gain"], "Float32"),
    "arrow": {name: pd.ArrowDtype(pa.float32()) for name in [*NUMBERS, "age", "gain"]},
    "objects": dict.fromkeys([*NUMBERS, "age", "gain"], object),
}


@COLUMNS
@pytest.mark.parametrize("types", WIDTHS.values(), ids=WIDTHS)
def test_width_of_integers_and_floats(columns, types):
    narrow = NaiveBayes(columns).fit(X.astype(types), Y)
    same(narrow, columns, QUERY.astype(types), rounded=False)
    same(narrow, columns, rounded=False)
    same(MODELS["auto" if columns == "auto" else "declared"], columns, QUERY.astype(types))


def test_a_width_may_change_between_batches():
    model = NaiveBayes()
    for types, part in zip(WIDTHS.values(), np.array_split(np.arange(N), len(WIDTHS)), strict=True):
        model.partial_fit(X.iloc[part].astype(types), Y[part])
    same(model, "auto")


# ---- columns ----
@COLUMNS
def test_order_of_columns(columns):
    """Contributions are added in another order, hence to rounding."""
    turned = X.columns[np.random.default_rng(0).permutation(X.shape[1])]
    same(NaiveBayes(columns).fit(X[turned], Y), columns)
    whole = MODELS["auto" if columns == "auto" else "declared"]
    same(whole, columns, QUERY[turned], rounded=False)
    same(NaiveBayes(columns).fit(X[:200], Y[:200]).partial_fit(X[turned][200:], Y[200:]), columns)
    same(
        NaiveBayes(columns).fit(X[turned][:200], Y[:200])
        + NaiveBayes(columns).fit(X[200:], Y[200:]),
        columns,
    )


JOBS = ["pilot", "never", "clerk", "nurse", "cook"]
STORED = {
    "object": lambda t: t.assign(job=t["job"].astype(object)),
    "string": lambda t: t.assign(job=t["job"].astype("string")),
    "string[pyarrow]": lambda t: t.assign(job=t["job"].astype("string[pyarrow]")),
    "category": lambda t: t.assign(job=t["job"].astype("category")),
    "category, more and turned": lambda t: t.assign(job=t["job"].astype(pd.CategoricalDtype(JOBS))),
    "booleans as strings": lambda t: t.assign(smoker=t["smoker"].astype(str)),
    "booleans as a category": lambda t: t.assign(smoker=t["smoker"].astype("category")),
    "booleans as objects": lambda t: t.assign(smoker=t["smoker"].astype(object)),
    "polars categorical": lambda t: pl.from_pandas(t).with_columns(
        pl.col("job").cast(pl.Categorical)
    ),
    "polars enum": lambda t: pl.from_pandas(t).with_columns(pl.col("job").cast(pl.Enum(JOBS))),
    "arrow dictionary": feathered,
}


@COLUMNS
@pytest.mark.parametrize("stored", STORED.values(), ids=STORED)
def test_how_a_category_is_stored(columns, stored):
    model = NaiveBayes(columns).fit(stored(X), Y)
    same(model, columns, stored(QUERY), rounded=False)
    same(model, columns, rounded=False)
    same(MODELS["auto" if columns == "auto" else "declared"], columns, stored(QUERY))


def test_levels_that_are_numbers():
    """A category of whole numbers is that of their strings, with or without a point."""
    makes = [
        lambda t: t.assign(size=t["size"].astype("category")),
        lambda t: t.assign(size=t["size"].astype(str)),
        lambda t: t.assign(size=t["size"].astype(float).astype("category")),
    ]
    models = [NaiveBayes().fit(make(X), Y) for make in makes]
    expected = models[0].predict_proba(makes[0](QUERY)).tolist()
    for model in models:
        assert model.schema_.equals(models[0].schema_)
        for make in makes:
            assert model.predict_proba(make(QUERY)).tolist() == expected


# ---- everything at once ----
@COLUMNS
@pytest.mark.parametrize("seed", range(12))
def test_any_history(columns, seed):
    """Rows in any order, in batches and parts of any size, in any frame, type and way of learning;
    some are learned that are forgotten again.
    """
    rng = np.random.default_rng(seed)
    order = rng.permutation(N)
    cuts = np.sort(rng.choice(np.arange(1, N), int(rng.integers(1, 12)), replace=False))
    extra, labels = drawn(60, seed=100 + seed)
    parts = []
    for rows in np.split(order, cuts):
        part = X.iloc[rows][X.columns[rng.permutation(X.shape[1])]]
        way = str(rng.choice(["batch", "rows", "merge", "forget"]))
        if way == "merge" or not parts:
            parts.append(NaiveBayes(columns))
        model = parts[int(rng.integers(len(parts)))] if way == "batch" else parts[-1]
        if way == "rows":
            for row, label in zip(records(part), Y[rows], strict=True):
                model.learn_one(row, label)
            continue
        frame = list(FRAMES.values())[int(rng.integers(len(FRAMES)))]
        model.partial_fit(frame(part), Y[rows])
        if way == "forget":
            model.partial_fit(extra, labels)
            model.forget(extra[::2], labels[::2]).forget(extra[1::2], labels[1::2])
    total = parts[0]
    for part in parts[1:]:
        total = total.merge(part)
    whole = MODELS["auto" if columns == "auto" else "declared"]
    assert total.class_count_.tolist() == whole.class_count_.tolist()
    ours, theirs = (m.schema_.set_index("column")["family"].to_dict() for m in (total, whole))
    assert ours == theirs
    np.testing.assert_allclose(
        total.predict_proba(QUERY), whole.predict_proba(QUERY), rtol=1e-8, atol=1e-12
    )


@pytest.mark.parametrize("zone", [None, "UTC", "Asia/Tokyo"])
def test_dates_by_library(zone):
    """An instant is a number of days, in whatever zone and unit it is written."""
    days = X["day"].dt.tz_localize("UTC")
    days = days.dt.tz_localize(None) if zone is None else days.dt.tz_convert(zone)
    expected = NaiveBayes().fit(X[["day"]], Y).predict_proba(QUERY[["day"]]).tolist()
    for unit in ("s", "ms", "us", "ns"):
        frame = pd.DataFrame({"day": days.dt.as_unit(unit)})
        polars = {} if unit == "s" else {"polars": pl.from_pandas(frame)}
        for table in (frame, arrow(frame), *polars.values(), records(frame)):
            assert NaiveBayes().fit(table, Y).predict_proba(QUERY[["day"]]).tolist() == expected
    if zone is None:
        dates = [{"day": None if d != d else datetime.date(d.year, d.month, d.day)} for d in days]
        assert NaiveBayes().fit(dates, Y).predict_proba(QUERY[["day"]]).tolist() == expected
