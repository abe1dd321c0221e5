"""One model from one set of rows: whatever their order, batches, parts, frames, types and columns.

For "auto", which chooses families from what was counted, and for families that are declared. What
is chosen and printed in schema_ is equal; probabilities are equal bit for bit where rows come in
one order, and to rounding where moments about different origins were added. On columns of one kind
it is the classifier of that kind.
"""

import datetime
import io

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

from tallybayes import BernoulliNB, CategoricalNB, GaussianNB, NaiveBayes
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


SETS = {"iris": load_iris, "wine": load_wine, "cancer": load_breast_cancer}
EVERY_SET = pytest.mark.parametrize("load", SETS.values(), ids=SETS)
CLASS_ALPHA = pytest.mark.parametrize("class_alpha", [0.0, 1.0, 2.5])
RNG = np.random.default_rng(8)


def as_alone(table, alone, rows, x):
    """Equal probabilities and scores, all rows at once and one by one."""
    assert table.classes_.tolist() == alone.classes_.tolist()
    for method in ("predict_proba", "predict_joint_log_proba"):
        expected = getattr(alone, method)(x)
        np.testing.assert_allclose(
            getattr(table, method)(rows), expected, rtol=1e-12, atol=1e-12, err_msg=method
        )
    expected = alone.predict_proba(x)
    records = rows.to_dict("records") if isinstance(rows, pd.DataFrame) else []
    for row, shares in zip(records[:30], expected[:30], strict=False):
        got = list(table.predict_proba_one(row).values())
        np.testing.assert_allclose(got, shares, rtol=1e-12, atol=1e-12)


def named(x, dtype=None):
    """The columns of an array as a frame with names."""
    frame = pd.DataFrame(x, columns=[f"c{j}" for j in range(x.shape[1])])
    return frame if dtype is None else frame.astype(dtype)


def every_column(frame, family):
    return dict.fromkeys(frame.columns, family)


# ---- Gaussian ----
@EVERY_SET
@CLASS_ALPHA
@pytest.mark.parametrize("smoothing", [0.0, 1e-9, 0.1])
def test_gaussian(load, class_alpha, smoothing):
    """A share of each column's own variance is added: a table's columns know no other's."""
    x, y = load(return_X_y=True)
    frame = named(x)
    family = Gaussian(var_smoothing=smoothing, relative_to="feature")
    table = NaiveBayes(every_column(frame, family), class_alpha=class_alpha).fit(frame, y)
    alone = GaussianNB(
        var_smoothing=smoothing, var_smoothing_of="feature", class_alpha=class_alpha
    ).fit(x, y)
    as_alone(table, alone, frame, x)


def test_gaussian_with_weights_batches_and_a_given_prior():
    x, y = load_wine(return_X_y=True)
    w = RNG.uniform(0.25, 3.0, len(y)).round(2)
    frame, prior = named(x), [0.5, 0.2, 0.3]
    columns = every_column(frame, Gaussian(var_smoothing=0.0))
    table = NaiveBayes(columns, classes=[0, 1, 2], class_alpha=0.0, class_prior=prior)
    for part in (slice(0, 1), slice(1, 60), slice(60, 178)):  # classes come one after another
        table.partial_fit(frame[part], y[part], sample_weight=w[part])
    alone = GaussianNB(priors=prior, var_smoothing=0.0).fit(x, y, w)
    as_alone(table, alone, frame, x)


def test_gaussian_of_float32():
    x, y = load_wine(return_X_y=True)
    x = x.astype(np.float32)
    frame = pl.from_pandas(named(x))
    table = NaiveBayes(every_column(named(x), Gaussian(var_smoothing=0.0)), class_alpha=0.0)
    alone = GaussianNB(var_smoothing=0.0).fit(x.astype(np.float64), y)
    as_alone(table.fit(frame, y), alone, frame, x.astype(np.float64))


# ---- categorical ----
LEVELS = np.array(["red", "green", "blue", "black", "white"])


def coded(n, seed=0):
    """Four columns of two to five levels that all occur, and a label that depends on them."""
    rng = np.random.default_rng(seed)
    codes = np.column_stack([rng.integers(0, k, n) for k in (2, 3, 5, 4)])
    codes[:5] = np.minimum(np.arange(5)[:, None], [1, 2, 4, 3])
    return codes, (codes[:, 0] + codes[:, 2] + rng.integers(0, 3, n)) % 3


@CLASS_ALPHA
@pytest.mark.parametrize("alpha", [1e-3, 1.0, 4.0])
@pytest.mark.parametrize("dtype", ["int64", "str", "category", "float32"])
def test_categorical(class_alpha, alpha, dtype):
    codes, y = coded(400)
    test, _ = coded(100, seed=1)
    strings = dtype in ("str", "category")
    train, rows = (named(LEVELS[c] if strings else c, dtype) for c in (codes, test))
    w = RNG.integers(1, 5, len(y)).astype(float)
    columns = every_column(train, Categorical(alpha=alpha))
    table = NaiveBayes(columns, class_alpha=class_alpha).fit(train, y, w)
    alone = CategoricalNB(alpha=alpha, class_alpha=class_alpha).fit(codes, y, sample_weight=w)
    as_alone(table, alone, rows, test)


def test_categorical_by_the_models_own_smoothing():
    codes, y = coded(400)
    frame = named(LEVELS[codes], "str")
    table = NaiveBayes(alpha=0.5, class_alpha=0.0).fit(frame, y)
    as_alone(table, CategoricalNB(alpha=0.5).fit(codes, y), frame, codes)


# ---- Bernoulli ----
@CLASS_ALPHA
@pytest.mark.parametrize("alpha", [1e-3, 1.0, 4.0])
@pytest.mark.parametrize("dtype", ["bool", "int8", "float64", "boolean"])
def test_bernoulli(class_alpha, alpha, dtype):
    x = (RNG.random((300, 6)) < [0.1, 0.3, 0.5, 0.5, 0.7, 0.9]).astype(int)
    y = np.where(x[:, 2] + (RNG.random(300) < 0.3) > 1, "yes", "no")
    frame = named(x, dtype)
    columns = every_column(frame, Bernoulli(alpha=alpha))
    table = NaiveBayes(columns, class_alpha=class_alpha).fit(frame, y)
    as_alone(table, BernoulliNB(alpha=alpha, class_alpha=class_alpha).fit(x, y), frame, x)


def test_bernoulli_of_pixels():
    x, y = load_digits(return_X_y=True)
    x = (x[:, (x > 8).any(axis=0) & (x <= 8).any(axis=0)] > 8).astype(np.int8)
    frame = named(x)
    table = NaiveBayes(every_column(frame, Bernoulli()), class_alpha=0.0).fit(frame, y)
    as_alone(table, BernoulliNB().fit(x, y), frame, x)


@pytest.mark.parametrize("dtype", ["bool", "int8", "float64"])
def test_bernoulli_has_two_levels_where_only_one_was_seen(dtype):
    """P(1 | c) = α / (n_c + 2α) of a column that held only 0, in classes of unequal size."""
    x = np.array([[0, 0, 1], [1, 0, 1], [0, 0, 1], [1, 0, 1], [1, 0, 1]])
    y = ["no", "yes", "yes", "yes", "yes"]
    frame, test = named(x, dtype), named(1 - x, dtype)
    table = NaiveBayes(every_column(frame, Bernoulli()), class_alpha=0.0).fit(frame, y)
    as_alone(table, BernoulliNB().fit(x, y), test, 1 - x)
