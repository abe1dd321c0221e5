"""NaiveBayes: one classifier for a table; its declarations by column, level and type."""

import datetime
import decimal
import fractions
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import stats
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

from tallybayes import GaussianNB, NaiveBayes, WeightedNaiveBayes, load
from tallybayes.errors import IncompatibleTallies, ModelFileError, NegativeTally, UnseenLevel
from tallybayes.families import (
    Bernoulli,
    Binned,
    Categorical,
    Dirichlet,
    Gaussian,
    Multinomial,
    Poisson,
    Smooth,
)


def people(n=600, seed=0):
    """Numbers, strings, yes/no and missing values, with a label that depends on all of them."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.3, "yes", "no")
    up = y == "yes"
    table = pd.DataFrame(
        {
            "age": rng.normal(40 + 8 * up, 10).round(1),
            "visits": rng.poisson(1 + 2 * up),
            "job": rng.choice(["nurse", "cook", "clerk"], n, p=[0.5, 0.3, 0.2]),
            "smoker": rng.random(n) < 0.2 + 0.4 * up,
            "gain": np.where(rng.random(n) < 0.8, 0.0, rng.exponential(100 * (1 + up))),
        }
    )
    table.loc[rng.random(n) < 0.1, "age"] = np.nan
    table.loc[rng.random(n) < 0.1, "job"] = None
    return table, y


def records(table):
    return [
        {k: None if v is None or v != v else v for k, v in row.items()}
        for row in table.to_dict("records")
    ]


X, Y = people()
TEST, _ = people(200, seed=1)
WHOLE = NaiveBayes().fit(X, Y)
EXPECTED = WHOLE.predict_proba(TEST)

# docs/decisions/0012-effective-rows.md: the same counts, and choices by the rows they came from
CHOICES = {
    f"check_sample_weight_equivalence_on_{kind}_data": "families are chosen by leaving out rows, "
    "and a row of weight 3 is one row"
    for kind in ("dense", "sparse")
}


def test_check_estimator_passes():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # constant columns and identifiers of the checks' data
        check_estimator(NaiveBayes(), expected_failed_checks=CHOICES)


def test_check_estimator_passes_where_nothing_is_chosen():
    declared = {float: Gaussian(), int: Gaussian()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_estimator(NaiveBayes(declared))


def test_rows_that_were_not_learned_are_not_forgotten():
    more, labels = people(100, seed=7)
    model = NaiveBayes().fit(X, Y).partial_fit(more, labels)
    before = model.tally_
    with pytest.raises(NegativeTally, match="more than was counted"):
        model.forget(more.assign(job="astronaut"), labels)
    assert model.tally_ == before


# ---- families ----


@pytest.mark.parametrize("family", [Binned(), Binned(bins=5), Binned(cuts="supervised"), Smooth()])
def test_binned_and_smooth_are_tables_that_sum_to_one(family):
    model = NaiveBayes({"gain": family}).fit(X, Y)
    part = next(p for p in model._fitted().score.parts if p.name == "gain")
    np.testing.assert_allclose(np.exp(part.table[:, 1:]).sum(axis=1), 1.0, rtol=1e-12)
    assert not part.table[:, 0].any()  # a missing value adds nothing


def test_keys_of_columns_may_be_types_and_lists():
    model = NaiveBayes([(float, Gaussian()), (["visits"], Poisson()), ("gain", Binned())])
    families = dict(zip(*model.fit(X, Y).schema_[["column", "family"]].T.to_numpy(), strict=True))
    assert families["age"] == "Gaussian"
    assert families["visits"] == "Poisson"
    assert families["gain"].startswith("binned")
    for wrong, words in [({"nose": None}, "nose"), ({"age": 3}, "family")]:
        with pytest.raises(ValueError, match=words):
            NaiveBayes(wrong).fit(X, Y)


# ---- gaps, unseen, growth ----
def test_gaps_are_left_out_or_are_evidence():
    nothing = pd.DataFrame([dict.fromkeys(X.columns)])
    np.testing.assert_allclose(
        WHOLE.predict_proba(nothing), np.exp(WHOLE.class_log_prior_)[None], rtol=1e-12
    )
    told = X.assign(age=np.where(Y == "yes", np.nan, 30.0))
    level = NaiveBayes(missing="level").fit(told, Y)
    assert level.predict_proba(nothing)[0, 1] > 0.9
    assert NaiveBayes().fit(told, Y).predict_proba(nothing)[0, 1] < 0.5


def test_unseen_levels():
    row = {"job": "astronaut"}
    counts = pd.crosstab(X["job"], Y)
    alpha = 1.0 / (counts.sum() + 3.0)  # α / (n_cj + αN_j)
    prior = np.exp(WHOLE.class_log_prior_)
    expected = prior * alpha[["no", "yes"]].to_numpy()
    got = WHOLE.predict_proba_one(row)
    np.testing.assert_allclose([got["no"], got["yes"]], expected / expected.sum(), rtol=1e-12)
    ignore = NaiveBayes(unseen="ignore").fit(X, Y).predict_proba([row])
    np.testing.assert_allclose(ignore[0], prior, rtol=1e-12)
    error = NaiveBayes(unseen="error").fit(X, Y)
    for call in (lambda: error.predict([row]), lambda: error.predict_one(row)):
        with pytest.raises(UnseenLevel, match="astronaut"):
            call()


def test_classes_and_levels_may_come_later():
    model = NaiveBayes(classes=["never"]).fit(X, Y)
    assert model.classes_.tolist() == ["never", "no", "yes"]
    model.partial_fit(X.iloc[:5].assign(job="pilot"), ["maybe"] * 5)
    assert model.classes_.tolist() == ["maybe", "never", "no", "yes"]
    assert model.class_count_[0] == 5
    assert np.isfinite(model.predict_joint_log_proba(TEST)).all()


@pytest.mark.filterwarnings("ignore::tallybayes.errors.MixedColumnWarning")
def test_numbers_stay_numbers_beside_a_text():
    rows = [{"x": 1}, {"x": 2}, {"x": "two"}, {"x": 2.0}]
    y = ["a", "b", "b", "b"]
    whole = NaiveBayes().fit(rows, y)
    parts = NaiveBayes().fit(rows[:2], y[:2]).partial_fit(rows[2:], y[2:])
    stream = NaiveBayes()
    for row, label in zip(rows, y, strict=True):
        stream.learn_one(row, label)
    for model in (parts, stream):
        assert np.array_equal(model.predict_proba(rows), whole.predict_proba(rows))
        assert model.schema_["holds"].tolist() == ["numbers and strings"]
    many = NaiveBayes().fit(np.random.default_rng(0).normal(size=(9000, 1)), np.arange(9000) % 2)
    many.partial_fit([{"0": "text"}], [0])
    assert many.schema_["holds"].tolist() == ["numbers and strings"]


def test_decay_and_half_life():
    model = NaiveBayes().fit(X, Y).decay(0.5)
    np.testing.assert_allclose(model.class_count_, WHOLE.class_count_ / 2)
    batch = NaiveBayes(half_life=10).fit(X, Y)
    steps = NaiveBayes(half_life=10).partial_fit(X[:123], Y[:123]).partial_fit(X[123:], Y[123:])
    stream = NaiveBayes(half_life=10)
    for row, label in zip(records(X), Y, strict=True):
        stream.learn_one(row, label)
    for other in (steps, stream):
        np.testing.assert_allclose(other.class_count_, batch.class_count_, rtol=1e-9)
    assert batch.class_count_.sum() == pytest.approx(1 / (1 - 0.5**0.1), rel=1e-12)


# ---- explanations ----


# ---- bad tables ----


def test_bernoulli_is_two_levels():
    model = NaiveBayes({"smoker": Bernoulli()}).fit(X, Y)
    assert np.array_equal(model.predict_proba(TEST), EXPECTED)


# ---- declared ------------------------------------------------------------------------------------
def test_levels_are_kept_as_a_tuple():
    given = (
        ["a", "b"],
        ("a", "b"),
        np.array(["a", "b"]),
        pd.Index(["a", "b"]),
        dict.fromkeys("ab"),
    )
    families = [Categorical(levels=levels) for levels in given]
    assert {f.levels for f in families} == {("a", "b")}
    assert len(set(families)) == 1
    assert clone(NaiveBayes({"x": families[0]})).columns == {"x": families[1]}


@pytest.mark.parametrize(
    ("levels", "words"),
    [
        (["a", "a"], "'a' twice"),
        ([1, 1.0], "twice"),
        ([], "empty"),
        ("abc", "a list of the values"),
        (3, "a list of the values"),
        ([None, "a"], "a missing value"),
        ([float("nan"), 1], "a missing value"),
        ([pd.NA, 1], "a missing value"),
        ([[1], [2]], "not a number, string, boolean or date"),
    ],
)
def test_levels_that_cannot_be_declared(levels, words):
    with pytest.raises(ValueError, match=words):
        Categorical(levels=levels)


def test_levels_that_are_one_level_of_a_table():
    with pytest.raises(ValueError, match=r"the level '1' twice.*name each once"):
        NaiveBayes({"x": Categorical(levels=["1", 1])}).fit([{"x": 1}], [0])
    NaiveBayes({"x": Categorical(levels=[True, 1])}).fit([{"x": 1}, {"x": True}], [0, 1])


def test_declared_levels_are_named_as_tables_name_them():
    levels = [1, 2.0, True, "x", 0.5, datetime.date(2020, 1, 2), decimal.Decimal("7.0"), 2**60 + 1]
    names = ["1", "2", "True", "x", "0.5", "2020-01-02", "7", str(2**60 + 1)]
    model = NaiveBayes({"x": Categorical(levels=levels)})
    model.fit([{"x": value} for value in levels], [i % 2 for i in range(8)])
    assert model.tally_.schema.groups[0].levels[0].tolist() == names
    by_name = model.predict_proba([{"x": name} for name in names])
    assert np.array_equal(by_name, model.predict_proba([{"x": value} for value in levels]))
    for value, expected in zip(levels, by_name, strict=True):
        assert list(model.predict_proba_one({"x": value}).values()) == pytest.approx(expected)
    for value in levels:
        model.learn_one({"x": value}, 0)
    assert model.tally_.groups[0].counts.sum(axis=0).tolist() == [2.0] * 8
    with pytest.raises(UnseenLevel):
        model.learn_one({"x": 2**60}, 0)


# ---- odd numbers ---------------------------------------------------------------------------------
NEAR = [2**60, 2**60 + 1, None, 2**60 + 1]


def near_frames():
    yield "dicts", [{"x": v} for v in NEAR]
    yield "pandas", pd.DataFrame({"x": pd.array(NEAR, dtype="Int64")})
    yield "objects", pd.DataFrame({"x": pd.Series(NEAR, dtype=object)})
    yield "polars", pl.DataFrame({"x": NEAR})
    yield "pyarrow", pa.table({"x": NEAR})
    yield "no missing values", pd.DataFrame({"x": np.array([2**60, *[2**60 + 1] * 3])})
    yield "unsigned", pl.DataFrame({"x": [2**63, 2**63 + 1, None, 2**63 + 1]}, {"x": pl.UInt64})


@pytest.mark.parametrize("frame", [x for _, x in near_frames()], ids=[n for n, _ in near_frames()])
def test_large_whole_numbers_stay_apart_as_levels(frame):
    model = NaiveBayes({"x": Categorical()}).fit(frame, [0, 1, 1, 1])
    assert model.schema_["family"].tolist() == ["categorical, 2 levels"]
    assert model.predict(frame).tolist()[:2] == [0, 1]
    first = int(model.tally_.schema.groups[0].levels[0][0])
    assert first in (2**60, 2**63)
    assert [model.predict_one({"x": first}), model.predict_one({"x": first + 1})] == [0, 1]
    model.learn_one({"x": first + 1}, 1)
    assert model.schema_["family"].tolist() == ["categorical, 2 levels"]


def test_large_whole_numbers_among_texts():
    """Numbers do not distinguish them, so that all of them are one level; as levels they differ."""
    rows = [{"x": v} for v in (2**60, 2**60 + 1, "a", "b")]
    levels = NaiveBayes().fit(rows, [0, 1, 1, 0])
    assert levels.schema_["family"].tolist() == ["categorical, 3 levels"]
    for row in (rows[0], {"x": 2**61}, {"x": 7}):
        assert levels.predict_proba_one(row) == levels.predict_proba_one(rows[1])
    declared = NaiveBayes({"x": Categorical()}).fit(rows, [0, 1, 1, 0])
    assert declared.schema_["family"].tolist() == ["categorical, 4 levels"]


TOO_LARGE = [10**400, -(10**400), 10**5000, fractions.Fraction(10**400), decimal.Decimal("sNaN")]


@pytest.mark.parametrize("value", TOO_LARGE, ids=range(len(TOO_LARGE)))
@pytest.mark.parametrize("columns", ["auto", {"x": Categorical()}, {"x": Gaussian()}], ids=str)
def test_what_no_float_holds_is_a_value_error(value, columns):
    words = "too large for float64|signalling NaN"
    frame = pd.DataFrame({"x": pd.Series([value, 1], dtype=object)})
    model = NaiveBayes(columns).fit([{"x": 1}, {"x": 2}], [0, 1])
    for call in (
        lambda: NaiveBayes(columns).fit([{"x": value}, {"x": 1}], [0, 1]),
        lambda: NaiveBayes(columns).fit(frame, [0, 1]),
        lambda: NaiveBayes(columns).learn_one({"x": value}, 0),
        lambda: model.learn_one({"x": value}, 0),
        lambda: model.predict_one({"x": value}),
        lambda: model.predict([{"x": value}]),
        lambda: model.explain_one({"x": value}),
    ):
        with pytest.raises(ValueError, match=words):
            call()
    assert model.class_count_.tolist() == [1.0, 1.0]


def test_the_level_of_a_very_large_number_is_short():
    values = [1e300, 1e100, 2.0**64, 2.0**63, 10**30, "a"]
    expected = ["1e+300", "1e+100", repr(2.0**64), str(2**63), "1e+30", "a"]
    columns = {"x": Categorical()}
    rows = [{"x": v} for v in values]
    stream = NaiveBayes(columns)
    for row in rows:
        stream.learn_one(row, 0)
    numbers = NaiveBayes(columns).fit(
        pd.DataFrame({"x": [1e300, 1e100, 2.0**64, 2.0**63]}), [0] * 4
    )
    for model, n in ((NaiveBayes(columns).fit(rows, [0] * 6), 6), (stream, 6), (numbers, 4)):
        assert sorted(model.tally_.schema.groups[0].levels[0].tolist()) == sorted(expected[:n])


# ---- a class of one row --------------------------------------------------------------------------
def test_a_class_of_one_row_is_possible_elsewhere():
    rng = np.random.default_rng(0)
    x = pd.DataFrame({"x": [*rng.normal(0.0, 1.0, 80), *rng.normal(1.5, 2.0, 80), 1.0]})
    y = ["a"] * 80 + ["b"] * 80 + ["one"]
    model = NaiveBayes().fit(x, y)
    assert model.schema_["family"].tolist() == ["Gaussian"]
    query = pd.DataFrame({"x": [0.0, 1.0, 2.5]})
    found = model.predict_joint_log_proba(query)[:, 2] - model.class_log_prior_[2]
    a, b = x["x"][:80], x["x"][80:160]
    within = np.sqrt((79 * a.var() + 79 * b.var()) / 158)
    of_a = stats.norm(a.mean(), a.std()).pdf(query["x"])
    of_b = stats.norm(b.mean(), b.std()).pdf(query["x"])
    of_one = stats.norm(1.0, within).pdf(query["x"])
    pooled = (80 * of_a + 80 * of_b + of_one) / 161
    expected = np.log((1 * of_one + pooled) / 2)
    np.testing.assert_allclose(found, expected, rtol=1e-8)


# ---- files ---------------------------------------------------------------------------------------
EVERYTHING = {
    int: Gaussian(),
    ("a", "b"): Multinomial(),
    "c": Categorical(prior=Dirichlet(2.0), levels=["x", "y"]),
    "d": Categorical(prior=Dirichlet(3.0, base="marginal")),
    "e": Gaussian(transform="log"),
    "f": Poisson(estimate="posterior"),
    "day": Gaussian(ddof=1),
    "id": None,
}


def drawn(n=120, seed=3):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "a": rng.poisson(2, n),
            "b": rng.poisson(1, n),
            "c": rng.choice(["x", "y"], n),
            "d": rng.choice(list("pqrs"), n),
            "e": rng.lognormal(size=n),
            "f": rng.poisson(3, n),
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 99, n), "D"),
            "whole": rng.integers(0, 50, n),
            "rest": rng.normal(size=n).round(2),
            "id": np.arange(n).astype(str),
        }
    ), rng.choice(["no", "yes"], n)


def test_a_model_of_every_kind_of_column_comes_back_bit_for_bit(tmp_path):
    x, y = drawn()
    query, _ = drawn(50, seed=4)
    model = NaiveBayes(EVERYTHING).fit(x, y)
    model.save(tmp_path / "m.tally")
    loaded = load(tmp_path / "m.tally")
    assert repr(loaded.get_params()) == repr(model.get_params())
    assert loaded.tally_ == model.tally_
    assert [g.dates for g in loaded.tally_.schema.groups] == [
        g.dates for g in model.tally_.schema.groups
    ]
    assert any(g.dates for g in loaded.tally_.schema.groups)
    for call in ("predict_joint_log_proba", "predict_proba"):
        assert getattr(loaded, call)(query).tolist() == getattr(model, call)(query).tolist()
    assert loaded.schema_.equals(model.schema_)
    assert loaded.feature_names_in_.tolist() == list(x.columns)
    for m in (model, loaded):  # and learns on, and merges, in the same way
        m.partial_fit(query, ["yes"] * 50)
    both = loaded + model
    assert both.class_count_.sum() == 340
    assert loaded.predict_proba(query).tolist() == model.predict_proba(query).tolist()
    with pytest.raises(UnseenLevel):
        loaded.learn_one({"c": "z"}, "yes")
    loaded.save(tmp_path / "n.tally")
    again = load(tmp_path / "n.tally")
    assert again.predict_proba(query).tolist() == loaded.predict_proba(query).tolist()


FOUR = list("abab")
VALUES = {
    "whole": [1, 2, 3, 4],
    "real": [1.5, 2.5, 0.5, 4.0],
    "word": ["x", "y", "x", "z"],
    "yes": [True, False, True, True],
    "day": [datetime.date(2020, 1, d) for d in (1, 2, 3, 4)],
    "price": [decimal.Decimal(t) for t in ("1.10", "2.20", "0.30", "4.40")],
}


def families(x, columns):
    model = NaiveBayes(columns).fit(x, FOUR)
    return dict(zip(model.schema_["column"], model.schema_["family"], strict=True))


def is_chosen(x, key, family, words, names):
    """The key gives the family to these columns and to no other."""
    plain = families(x, "auto")
    found = families(x, {key: family})
    for name in plain:
        if name in names:
            assert found[name].startswith(words), (key, name)
        else:
            assert found[name] == plain[name], (key, name)


def frames():
    words = pd.Series(VALUES["word"], dtype="category")
    polars = pl.DataFrame(VALUES).with_columns(pl.col("word").cast(pl.Categorical))
    stamps = pd.DataFrame({**VALUES, "word": words, "day": pd.to_datetime(VALUES["day"])})
    return {"dicts": pl.DataFrame(VALUES).to_dicts(), "pandas": stamps, "polars": polars}


PYTHON = {
    int: (Poisson(), "Poisson", {"whole"}),
    float: (Binned(bins=2), "binned, 2", {"real", "price"}),
    decimal.Decimal: (Binned(bins=2), "binned, 2", {"real", "price"}),
    str: (None, "left out", {"word"}),
    bool: (Bernoulli(), "Bernoulli", {"yes"}),
    datetime.date: (Gaussian(ddof=1), "Gaussian", {"day"}),
}


@pytest.mark.parametrize("key", PYTHON)
@pytest.mark.parametrize("frame", frames())
def test_types_of_python(key, frame):
    is_chosen(frames()[frame], key, *PYTHON[key])


DTYPES = [
    (pd.DataFrame({"x": [1, 2, 3, 4]}), key, True)
    for key in (np.int64, np.dtype("int64"), np.int32, np.dtype("uint8"), pl.Int64, pa.int64())
]
DTYPES += [
    (pd.DataFrame({"x": [1, 2, 3, 4]}), key, False)
    for key in (np.float64, np.dtype("float32"), np.bool_, pl.String, pa.date32(), np.str_)
]
DTYPES += [
    (pd.DataFrame({"x": pd.array([1, None, 3, 4], dtype="Int64")}), pd.Int64Dtype(), True),
    (pd.DataFrame({"x": pd.array([1.5, None, 3, 4], dtype="Float64")}), pd.Float64Dtype(), True),
    (pl.DataFrame({"x": [1, 2, 3, None]}), pl.UInt8, True),
    (pl.DataFrame({"x": [1.5, 2, 3, None]}), pl.Float32, True),
    (pl.DataFrame({"x": VALUES["price"]}), pl.Decimal(10, 2), True),
    (pl.DataFrame({"x": VALUES["day"]}), pl.Date, True),
    (pl.DataFrame({"x": VALUES["day"]}), pl.Datetime("us"), True),
    (pa.table({"x": [1, 2, 3, None]}), pa.int8(), True),
    (pa.table({"x": [1.5, 2, 3, None]}), pa.float64(), True),
    (pa.table({"x": VALUES["price"]}), pa.decimal128(10, 2), True),
    (pa.table({"x": VALUES["day"]}), pa.timestamp("s"), True),
    (pa.table({"x": VALUES["day"]}), pa.int64(), False),
]


@pytest.mark.parametrize(("x", "key", "chosen"), DTYPES, ids=lambda v: str(v)[:30])
def test_dtypes_of_columns_of_numbers(x, key, chosen):
    is_chosen(x, key, Binned(bins=3), "binned, 3", {"x"} if chosen else set())


WORDS = [
    (pd.Series(VALUES["word"]), pd.StringDtype(), True),
    (pd.Series(VALUES["word"], dtype="category"), pd.CategoricalDtype(), True),
    (pd.Series(VALUES["word"], dtype="category"), np.str_, False),
    (pd.Series(VALUES["word"], dtype=object), np.dtype(object), True),
    (pd.Series(VALUES["yes"]), np.bool_, True),
    (pd.Series([True, None, False, True], dtype="boolean"), pd.BooleanDtype(), True),
    (pl.Series(VALUES["word"]), pl.String, True),
    (pl.Series(VALUES["word"], dtype=pl.Categorical), pl.Categorical, True),
    (pl.Series(VALUES["word"], dtype=pl.Enum(["x", "y", "z"])), pl.Enum(["x", "y", "z"]), True),
    (pl.Series(VALUES["yes"]), pl.Boolean, True),
    (pl.Series(VALUES["yes"]), pl.String, False),
    (pa.array(VALUES["word"]), pa.string(), True),
    (pa.array(VALUES["word"]), pa.large_string(), True),
    (pa.array(VALUES["word"]).dictionary_encode(), pa.dictionary(pa.int32(), pa.string()), True),
    (pa.array(VALUES["yes"]), pa.bool_(), True),
]


@pytest.mark.parametrize(("column", "key", "chosen"), WORDS, ids=lambda v: str(v)[:30].split()[0])
def test_dtypes_of_columns_of_levels(column, key, chosen):
    make = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}[
        type(column).__module__.partition(".")[0]
    ]
    is_chosen(make({"x": column}), key, None, "left out", {"x"} if chosen else set())


def test_a_name_overrides_a_type_and_the_last_type_holds():
    x = pd.DataFrame({"a": [1, 2, 3, 4], "b": [4, 3, 2, 1]})
    found = families(x, [(int, Poisson()), (["b"], Gaussian()), (np.int64, Binned(bins=2))])
    assert found == {"a": "binned, 2 bins", "b": "Gaussian"}


@pytest.mark.parametrize("key", [complex, list, np.complex128, pl.List(pl.Int64), pa.binary()])
def test_a_type_that_no_column_has_is_refused(key):
    with pytest.raises(ValueError, match="columns= names the type"):
        NaiveBayes({key: Gaussian()}).fit([{"x": 1}], [0])


def test_types_travel_with_a_file(tmp_path):
    columns = {int: Poisson(), np.float32: Gaussian(), np.dtype("bool"): Bernoulli()}
    columns |= {str: Categorical(alpha=2.0)}
    model = NaiveBayes(columns).fit([{"a": 1, "b": 1.5, "c": None}], ["x"])
    model.save(tmp_path / "m.tally")
    loaded = load(tmp_path / "m.tally")
    assert [np.dtype(k) if k is np.float32 else k for k in columns] == list(loaded.columns)
    loaded.learn_one({"a": 2, "b": 2.5, "c": True, "d": 3}, "y")
    found = dict(zip(loaded.schema_["column"], loaded.schema_["family"], strict=True))
    assert found == {"a": "Poisson", "b": "Gaussian", "c": "Bernoulli", "d": "Poisson"}
    foreign = NaiveBayes({pl.Int64: Poisson()}).fit([{"a": 1}], ["x"])
    with pytest.raises(ModelFileError, match="a model file cannot hold"):
        foreign.save(tmp_path / "n.tally")


NUMBERS = [{"x": i % 5 + 1, "z": i % 3 + 1} for i in range(40)]
STRINGS = [{"x": "ab"[i % 2], "z": 1} for i in range(40)]
FORTY = ["no", "yes"] * 20

GROUP = {("x", "z"): Multinomial()}
FULL = {("x", "z"): Gaussian(covariance="full")}
DIFFER = [
    ({"x": Gaussian()}, NUMBERS, {"x": Categorical()}, NUMBERS),
    ({"x": Gaussian()}, NUMBERS, {"x": Categorical()}, STRINGS),
    ({"x": Gaussian()}, NUMBERS, {"x": Poisson()}, NUMBERS),
    ({"x": Binned()}, NUMBERS, {"x": Smooth()}, NUMBERS),
    ({"x": Gaussian()}, NUMBERS, {"x": None}, NUMBERS),
    ({"x": Gaussian(transform="log")}, NUMBERS, {"x": Gaussian()}, NUMBERS),
    ({"x": Bernoulli()}, STRINGS, {"x": Categorical()}, STRINGS),
    (
        {"x": Categorical(levels=["a", "b"])},
        STRINGS,
        {"x": Categorical(levels=["a", "b", "c"])},
        STRINGS,
    ),
    ({"x": Categorical(levels=["b", "c", "1"])}, [{"x": "c"}] * 40, "auto", STRINGS),
    ({"x": Categorical()}, NUMBERS, "auto", NUMBERS),
    ({"x": Gaussian()}, NUMBERS, "auto", STRINGS),
    ({"x": Poisson()}, NUMBERS, "auto", [{"x": -1}, {"x": 2}] * 20),
    ({"x": None}, NUMBERS, "auto", NUMBERS),
    (GROUP, NUMBERS, "auto", NUMBERS),
    (GROUP, NUMBERS, {"x": Gaussian()}, NUMBERS),
    (GROUP, NUMBERS, FULL, NUMBERS),
    (FULL, NUMBERS, {("z", "x"): Gaussian(covariance="full")}, NUMBERS),
]


@pytest.mark.parametrize("case", DIFFER, ids=range(len(DIFFER)))
def test_models_that_declare_a_column_differently_are_not_merged(case):
    columns, rows, others, other_rows = case
    a = NaiveBayes(columns).fit(rows, FORTY)
    b = NaiveBayes(others).fit(other_rows, FORTY)
    for mine, theirs in ((a, b), (b, a)):
        before = mine.predict_proba(rows if mine is a else other_rows)
        count, schema = mine.tally_.copy(), mine.schema_
        with pytest.raises(IncompatibleTallies, match=r"column '[xz]' is declared as") as told:
            mine.merge(theirs)
        for what in (columns, others):
            family = "no family" if what == "auto" else next(iter(what.values()))
            shown = "left out" if family is None else family if what == "auto" else repr(family)
            assert shown in str(told.value)
        assert mine.tally_ == count
        assert mine.schema_.equals(schema)
        assert np.array_equal(mine.predict_proba(rows if mine is a else other_rows), before)


def test_what_is_read_only_may_differ():
    a = NaiveBayes({"x": Gaussian(ddof=1)}, alpha=2.0).fit(NUMBERS, FORTY)
    a.merge(NaiveBayes({"x": Gaussian()}).fit(NUMBERS, FORTY)).merge(
        NaiveBayes().fit(NUMBERS, FORTY)
    )
    assert a.class_count_.tolist() == [60.0, 60.0]
    assert a.schema_["family"][0] == "Gaussian"
    late = NaiveBayes({"x": Categorical()}).fit(STRINGS, FORTY)
    assert late.merge(NaiveBayes().fit(STRINGS, FORTY)).class_count_.sum() == 80.0
    assert late.merge(NaiveBayes().fit([{"w": 1}], ["no"])).class_count_.sum() == 81.0


def test_weighted_models_and_arrays_too():
    a = WeightedNaiveBayes({"x": Categorical()}).fit(NUMBERS, FORTY)
    b = WeightedNaiveBayes().fit(NUMBERS, FORTY)
    for mine, theirs in ((a, b), (b, a)):
        with pytest.raises(IncompatibleTallies, match="column 'x' is declared as"):
            mine.merge(theirs)
    x = np.random.default_rng(0).normal(size=(40, 3))
    with pytest.raises(IncompatibleTallies):
        GaussianNB().fit(x, FORTY).merge(GaussianNB().fit(x[:, :2], FORTY))


def test_tallies_of_groups_and_of_single_columns_do_not_add():
    group = NaiveBayes(GROUP).fit(NUMBERS, FORTY).tally_
    full = NaiveBayes(FULL).fit(NUMBERS, FORTY).tally_
    single = NaiveBayes().fit(NUMBERS, FORTY).tally_
    for one, other in ((group, single), (single, full), (full, group)):
        with pytest.raises(IncompatibleTallies, match="column 'x' is counted as"):
            one.merged(other)
