"""LazyNaiveBayes answers as a NaiveBayes that had been fitted at that moment would."""

import datetime

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_iris
from sklearn.metrics import get_scorer

from tallybayes import LazyNaiveBayes, NaiveBayes
from tallybayes.errors import RuledOutWarning, UnseenLevel
from tallybayes.families import Categorical, Dirichlet, Gaussian, Poisson
from tallybayes.families.choice import UNDECLARED

law = settings(max_examples=settings.default.max_examples // 4)  # each asks DuckDB many times

STRINGS = ["a", "b", "", "it's", '"', "c; DROP TABLE t; --", "a\0b", "é", "情况", "?", "$1", "NULL"]
NUMBERS = [0.0, -0.0, 1.5, 1e300, 2.0**53, -7.25, 1e-300]
TYPES = pa.schema(
    [
        ("text", pa.string()),
        ("whole", pa.int64()),
        ("yes", pa.bool_()),
        ("real", pa.float64()),
        ("day", pa.date32()),
        ("size", pa.float64()),
        ("label", pa.string()),
    ]
)
COLUMNS = {
    "text": Categorical(),
    "whole": Categorical(),
    "yes": Categorical(),
    "real": Categorical(),
    "day": Categorical(),
    "size": UNDECLARED,
}


def gaps_or(values):
    return st.none() | st.sampled_from(values)


ROW = st.fixed_dictionaries(
    {
        "text": gaps_or(STRINGS),
        "whole": gaps_or([0, 1, -5, 2**60]),
        "yes": gaps_or([True, False]),
        "real": gaps_or([*NUMBERS, np.nan]),
        "day": gaps_or([datetime.date(2020, 1, 31), datetime.date(1969, 12, 31)]),
        "size": st.none() | st.just(np.nan) | st.floats(-1e6, 1e6).map(lambda x: round(x, 3)),
    }
)
EVIDENCE = st.lists(st.tuples(ROW, st.sampled_from(["n", "y", "?"])), min_size=1, max_size=25)
QUESTION = (
    ROW.map(lambda row: row | {"whole": 17})
    | ROW
    | st.just({"text": None})
    | st.just({"text": "new"})
)


def table_of(rows, labels):
    return pa.Table.from_pylist(
        [row | {"label": label} for row, label in zip(rows, labels, strict=True)], schema=TYPES
    )


def fitted(table, columns=COLUMNS, target="label", **settings):
    """The oracle."""
    x = table.drop_columns([target])
    return NaiveBayes(columns, **settings).fit(x, table.column(target).to_pylist())


def level_counts(model):
    """Counts by column and level, for each class."""
    return {
        (columns.names, level): tally.counts[:, i].tolist()
        for columns, tally in zip(model.tally_.schema.groups, model.tally_.groups, strict=True)
        if columns.kind == "levels"
        for i, level in enumerate(columns.levels[0].tolist())
    }


@pytest.fixture(scope="module")
def db():
    with duckdb.connect() as connection:
        yield connection


# ---- laws ----------------------------------------------------------------------------------------
@law
@given(
    evidence=EVIDENCE,
    questions=st.lists(QUESTION, min_size=1, max_size=5),
    alpha=st.sampled_from([0.0, 0.5, 1.0]),
    class_alpha=st.sampled_from([0.0, 1.0]),
    missing=st.sampled_from(["ignore", "level"]),
    unseen=st.sampled_from(["smooth", "ignore"]),
)
def test_the_answer_is_that_of_a_fitted_model(db, evidence, questions, **settings):
    table = table_of(*zip(*evidence, strict=True))
    db.register("t", table)
    model = fitted(table, **settings)
    lazy = LazyNaiveBayes("t", "label", columns=COLUMNS, connection=db, **settings)
    expected = model.predict_joint_log_proba(questions)
    np.testing.assert_allclose(lazy.predict_joint_log_proba(questions), expected, rtol=1e-9)
    assert lazy.classes_.tolist() == model.classes_.tolist()
    assert lazy.class_count_.tolist() == model.class_count_.tolist()
    known = level_counts(model)
    for key, counts in level_counts(lazy).items():
        assert counts == known[key]  # exact


@law
@given(evidence=EVIDENCE, questions=st.lists(ROW, min_size=1, max_size=4))
def test_contributions_are_those_of_a_fitted_model_and_add_up(db, evidence, questions):
    table = table_of(*zip(*evidence, strict=True))
    db.register("t", table)
    model = fitted(table)
    lazy = LazyNaiveBayes("t", "label", columns=COLUMNS, connection=db)
    found, expected = lazy.explain(questions), model.explain(questions)
    assert found.classes.tolist() == expected.classes.tolist()
    np.testing.assert_allclose(found.base, expected.base)
    for j, name in enumerate(expected.columns):
        told = found.columns.index(name) if name in found.columns else None
        share = 0.0 if told is None else found.contributions[:, :, told]
        each = expected.contributions[:, :, j]
        np.testing.assert_allclose(np.broadcast_to(share, each.shape), each, rtol=1e-9, atol=1e-9)
    total = found.base + found.contributions.sum(axis=2)
    np.testing.assert_allclose(total, lazy.predict_joint_log_proba(questions), rtol=1e-9)


def test_an_answer_is_taken_apart_under_its_condition(db):
    seen = pd.DataFrame({"sky": ["clear", "grey", "grey"], "go": ["yes", "no", "no"]})
    lazy = LazyNaiveBayes(seen, "go")
    told = lazy.explain([{"sky": "grey"}], where="sky = 'grey'")
    assert told.classes.tolist() == ["no"]
    assert told.columns == ["sky"]
    assert told.contributions.shape == (1, 1, 1)
    assert "sky" in str(lazy.explain([{"sky": "grey"}]))


@law
@given(evidence=EVIDENCE, cut=st.integers(0, 25))
def test_rows_appended_count_at_once_and_rows_deleted_no_more(db, evidence, cut):
    rows, labels = zip(*evidence, strict=True)
    table = table_of(rows, labels)
    db.register("all_rows", table)
    db.execute("CREATE OR REPLACE TABLE days AS SELECT * FROM all_rows LIMIT 1")
    lazy = LazyNaiveBayes("days", "label", columns=COLUMNS, connection=db)
    lazy.predict(list(rows))
    db.execute("INSERT INTO days SELECT * FROM all_rows OFFSET 1")
    expected = fitted(table).predict_log_proba(list(rows))
    np.testing.assert_allclose(lazy.predict_log_proba(list(rows)), expected, rtol=1e-9, atol=1e-9)
    kept = [(row, label) for row, label in evidence if row["text"] != "a"]
    if kept:
        db.execute("DELETE FROM days WHERE text = 'a'")
        expected = fitted(table_of(*zip(*kept, strict=True))).predict_log_proba(list(rows))
        got = lazy.predict_log_proba(list(rows))
        np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-9)


@law
@given(evidence=EVIDENCE)
def test_a_batch_answers_as_its_rows_do_one_by_one(db, evidence):
    rows, labels = zip(*evidence, strict=True)
    db.register("t", table_of(rows, labels))
    lazy = LazyNaiveBayes("t", "label", columns=COLUMNS, connection=db)
    together = lazy.predict_proba(list(rows))
    alone = [lazy.predict_proba([row])[0].tolist() for row in rows[:3]]
    assert together[:3].tolist() == alone
    np.testing.assert_allclose(together.sum(axis=1), 1.0, rtol=1e-12)


# ---- sources -------------------------------------------------------------------------------------
IRIS = load_iris(as_frame=True)
FLOWERS = IRIS.data.assign(
    kind=[IRIS.target_names[k] for k in IRIS.target],
    wide=np.where(IRIS.data.iloc[:, 1] > 3.0, "wide", "narrow"),
)
FLOWERS.loc[::7, "wide"] = None
FLOWERS.loc[::11, "petal width (cm)"] = np.nan
ASKED = FLOWERS.drop(columns="kind")
SOURCES = ["pandas", "polars", "pyarrow", "relation", "table", "sql", "parquet", "csv", "csv.gz"]


def source_of(kind, folder):
    """The flowers as a source, and where it is looked up."""
    if kind == "pandas":
        return FLOWERS, None
    if kind == "polars":
        return pl.from_pandas(FLOWERS), None
    if kind == "pyarrow":
        return pa.Table.from_pandas(FLOWERS), None
    db = duckdb.connect()
    db.register("frame", FLOWERS)
    db.execute('CREATE TABLE "the flowers" AS SELECT * FROM frame')
    if kind == "relation":
        return db.table('"the flowers"'), None
    if kind == "table":
        return "the flowers", db
    if kind == "sql":
        return 'SELECT * FROM "the flowers" -- all of them', db
    path = folder / f"it's.{kind}"
    if kind == "parquet":
        FLOWERS.to_parquet(path)
    else:
        FLOWERS.to_csv(path, index=False)
    return (path if kind == "csv" else str(path)), None


@pytest.mark.parametrize("kind", SOURCES)
def test_iris_from_any_source(kind, tmp_path):
    columns = {"wide": Categorical(), float: UNDECLARED}
    model = NaiveBayes(columns).fit(ASKED, FLOWERS["kind"])
    source, connection = source_of(kind, tmp_path)
    lazy = LazyNaiveBayes(source, "kind", connection=connection)
    np.testing.assert_allclose(
        lazy.predict_log_proba(ASKED), model.predict_log_proba(ASKED), rtol=1e-9, atol=1e-9
    )
    assert lazy.predict(ASKED).tolist() == model.predict(ASKED).tolist()
    assert lazy.classes_.tolist() == model.classes_.tolist()


@pytest.mark.parametrize("kind", ["pandas", "table", "relation", "csv"])
def test_a_condition_restricts_the_evidence(kind, tmp_path):
    chosen = FLOWERS[(FLOWERS["wide"] == "narrow") & (FLOWERS["sepal length (cm)"] > 5.5)]
    columns = {"wide": Categorical(), float: UNDECLARED}
    model = NaiveBayes(columns).fit(chosen.drop(columns="kind"), chosen["kind"])
    source, connection = source_of(kind, tmp_path)
    lazy = LazyNaiveBayes(source, "kind", where="wide = 'narrow' -- ", connection=connection)
    got = lazy.predict_proba(ASKED, where='"sepal length (cm)" > 5.5')
    np.testing.assert_allclose(got, model.predict_proba(ASKED), rtol=1e-9, atol=1e-300)
    if kind != "relation":
        lazy = LazyNaiveBayes(source, "kind", where=("wide = ?", ["narrow"]), connection=connection)
        values = lazy.predict_proba(ASKED, where=('"sepal length (cm)" > ?', [5.5]))
        assert values.tolist() == got.tolist()


def test_a_file_and_a_frame_are_read_anew(tmp_path):
    path, frame = tmp_path / "few.csv", pd.DataFrame({"x": ["a", "b"], "y": ["n", "y"]})
    frame.to_csv(path, index=False)
    models = [LazyNaiveBayes(path, "y"), LazyNaiveBayes(frame, "y")]
    for model in models:
        assert model.predict([{"x": "a"}]).tolist() == ["n"]
    frame.loc[0, "y"], frame.loc[1, "y"] = "y", "n"
    frame.to_csv(path, index=False)
    for model in models:
        assert model.predict([{"x": "a"}]).tolist() == ["y"]


def test_an_open_transaction_is_seen():
    db = duckdb.connect()
    db.execute("CREATE TABLE t (x VARCHAR, y INTEGER)")
    db.execute("INSERT INTO t VALUES ('a', 1)")
    db.execute("BEGIN")
    db.execute("INSERT INTO t VALUES ('a', 2), ('a', 2)")
    lazy = LazyNaiveBayes("t", "y", connection=db)
    assert lazy.predict([{"x": "a"}]).tolist() == [2]
    db.execute("ROLLBACK")
    assert lazy.predict([{"x": "a"}]).tolist() == [1]
    assert lazy.classes_.dtype.kind == "i"


# ---- what is counted -----------------------------------------------------------------------------
class Recorder:
    """A connection that remembers the statements it ran for their rows, and what they returned."""

    def __init__(self, connection):
        self.connection = connection
        self.returned = []

    def sql(self, text, params=None):
        relation = self.connection.sql(text, params=params)
        recorder = self

        class Read:
            columns, types = relation.columns, relation.types

            def fetchall(self):
                recorder.returned.append(relation.fetchall())
                return recorder.returned[-1]

        return Read()


def test_one_statement_a_batch_and_no_row_of_the_source():
    db = duckdb.connect()
    db.execute(
        "CREATE TABLE t AS SELECT 'row' || range AS id, range % 40 AS c, range % 2 AS y, "
        "random() AS x FROM range(10000)"
    )
    recorder = Recorder(db)
    columns = {"c": Categorical(), "id": Categorical()}
    lazy = LazyNaiveBayes("t", "y", columns=columns, connection=recorder)
    questions = [{"c": i % 3, "x": 0.5, "id": f"row{i}"} for i in range(9)]
    lazy.predict_proba(questions)
    (rows,) = recorder.returned
    # classes; 9 ids and all others; 3 levels and all others; numbers of levels; moments
    assert len(rows) <= 2 + 2 * 10 + 2 * 4 + 2 + 2
    strings = {value for row in rows for value in row if isinstance(value, str)}
    assert not strings
    assert lazy.statement_.startswith("WITH evidence")


def test_columns_that_are_not_asked_for_are_not_looked_at():
    db = duckdb.connect()
    db.execute("CREATE TABLE t AS SELECT 'a' AS x, 'no number' AS z, 1 AS y")
    lazy = LazyNaiveBayes("t", "y", columns={"z": Gaussian()}, connection=db)
    assert lazy.predict([{"x": "a"}]).tolist() == [1]
    assert '"z"' not in lazy.statement_
    with pytest.raises(ValueError, match="Could not convert string 'no number'"):
        lazy.predict([{"x": "a", "z": 1.0}])


def test_texts_that_are_all_different_are_left_out_as_an_identifier():
    frame = pd.DataFrame({"id": [f"i{i}" for i in range(60)], "y": [0, 1] * 30})
    with pytest.warns(UserWarning, match="'id' is left out: its 60 strings"):
        got = LazyNaiveBayes(frame, "y").predict_proba([{"id": "i3"}])
    np.testing.assert_allclose(got, [[0.5, 0.5]], rtol=1e-15)
    frame.loc[0, "id"] = "i1"
    lazy = LazyNaiveBayes(frame, "y")
    assert lazy.predict([{"id": "i3"}]).tolist() == [1]


# ---- moments -------------------------------------------------------------------------------------
@pytest.mark.parametrize("outlier", [False, True])
def test_moments_far_from_0(outlier):
    """Sums of squares about 0 would be 0 times noise: 1e18 ± 1e-6 is beyond float64."""
    rng = np.random.default_rng(5)
    x = 1e9 + 1e-3 * rng.normal(size=20_000)
    y = rng.integers(0, 2, len(x))
    x[y == 1] += 2e-3
    if outlier:
        x[0], y[0] = 1e12, 2  # far away, in a class of its own
    asked = pd.DataFrame({"x": 1e9 + np.linspace(-4e-3, 6e-3, 50)})
    family = Gaussian(var_smoothing=0.0)
    lazy = LazyNaiveBayes(pd.DataFrame({"x": x, "y": y}), "y", columns={"x": family})
    got = lazy.predict_joint_log_proba(asked)[:, :2]
    near = [x[y == k] - 1e9 for k in (0, 1)]  # exact
    mean = [(1e9 + part.mean()) - 1e9 for part in near]  # a mean is one float64
    density = [
        stats.norm(m, part.std()).logpdf(asked["x"] - 1e9)
        for m, part in zip(mean, near, strict=True)
    ]
    log_prior = [np.log((len(part) + 1) / (len(x) + 2 + outlier)) for part in near]
    np.testing.assert_allclose(got, np.array(density).T + log_prior, rtol=1e-9)
    if not outlier:
        model = NaiveBayes({"x": family}).fit(pd.DataFrame({"x": x}), y)
        np.testing.assert_allclose(got, model.predict_joint_log_proba(asked), rtol=1e-9)


def test_a_nan_is_a_gap_as_null_is():
    db = duckdb.connect()
    db.execute("CREATE TABLE t (x DOUBLE, y INTEGER)")
    db.execute("INSERT INTO t VALUES (1, 0), (3, 0), ('nan', 0), (NULL, 0), (5, 1), (9, 1)")
    lazy = LazyNaiveBayes("t", "y", connection=db)
    got = lazy.predict_proba([{"x": 2.5}])
    model = NaiveBayes({"x": UNDECLARED}).fit(
        pd.DataFrame({"x": [1, 3, np.nan, None, 5, 9]}), [0, 0, 0, 0, 1, 1]
    )
    np.testing.assert_allclose(got, model.predict_proba(pd.DataFrame({"x": [2.5]})), rtol=1e-9)
    (moments,) = lazy.tally_.groups
    assert moments.n.tolist() == [[2.0], [2.0]]


# ---- families ------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "family",
    [
        Categorical(alpha=0.25),
        Categorical(levels=["a", "b", "c", "d"]),
        Categorical(prior=Dirichlet(3.0)),
        Categorical(prior=Dirichlet(3.0, "marginal")),
        Categorical(levels=["c", "a", "b"], prior=Dirichlet(2.0, (0.5, 0.3, 0.2))),
        Categorical(prior=Dirichlet(9.0), estimate="map"),
        Categorical(estimate="mle"),
        Categorical(unseen="ignore"),
    ],
    ids=repr,
)
@pytest.mark.parametrize("missing", ["ignore", "level"])
def test_families_of_levels(family, missing):
    rng = np.random.default_rng(2)
    x = rng.choice(["a", "b", "c", None], 60).tolist()
    frame, y = pd.DataFrame({"x": x}), rng.choice(["n", "y"], 60)
    asked = [{"x": value} for value in ("a", "b", None)]
    asked += [] if family.levels or family.estimate == "mle" else [{"x": "new"}]
    model = NaiveBayes({"x": family}, missing=missing).fit(frame, y)
    lazy = LazyNaiveBayes(frame.assign(y=y), "y", columns={"x": family}, missing=missing)
    if missing == "level" and family.prior is not None and isinstance(family.prior.base, tuple):
        for either in (model, lazy):
            with pytest.raises(
                ValueError, match="3 probabilities for 4 levels"
            ):  # and the missing value
                either.predict(asked)
        return
    expected = model.predict_joint_log_proba(asked)
    np.testing.assert_allclose(lazy.predict_joint_log_proba(asked), expected, rtol=1e-9)


@pytest.mark.parametrize(
    "family",
    [Gaussian(ddof=1.0), Gaussian(estimate="posterior"), Poisson(), Poisson(estimate="posterior")],
    ids=repr,
)
@pytest.mark.parametrize("missing", ["ignore", "level"])
def test_families_of_numbers(family, missing):
    rng = np.random.default_rng(3)
    x = np.where(rng.uniform(size=80) < 0.2, np.nan, rng.poisson(4.0, 80))
    y = rng.integers(0, 3, 80)
    asked = pd.DataFrame({"x": [0.0, 3.0, np.nan, 11.0]})
    model = NaiveBayes({"x": family}, missing=missing).fit(pd.DataFrame({"x": x}), y)
    source = pd.DataFrame({"x": x, "y": y})
    lazy = LazyNaiveBayes(source, "y", columns={"x": family}, missing=missing)
    expected = model.predict_joint_log_proba(asked)
    np.testing.assert_allclose(lazy.predict_joint_log_proba(asked), expected, rtol=1e-9)


def test_a_level_that_is_ruled_out_everywhere_gets_the_prior_and_a_warning():
    frame = pd.DataFrame({"x": ["a", "a", "b"], "y": [0, 1, 1]})
    lazy = LazyNaiveBayes(frame, "y", alpha=0.0, class_alpha=0.0)
    with pytest.warns(RuledOutWarning):
        got = lazy.predict_proba([{"x": "new"}])
    np.testing.assert_allclose(got, [[1 / 3, 2 / 3]], rtol=1e-15)
    with pytest.raises(UnseenLevel, match="'new'"):
        LazyNaiveBayes(frame, "y", unseen="error").predict([{"x": "new"}])


def test_a_given_class_prior():
    frame = pd.DataFrame({"x": ["a", "a", "b"], "y": [0, 1, 1]})
    lazy = LazyNaiveBayes(frame, "y", class_alpha=0.0, class_prior=[0.9, 0.1])
    model = NaiveBayes(class_alpha=0.0, class_prior=[0.9, 0.1]).fit(frame[["x"]], frame["y"])
    got, expected = (m.predict_proba([{"x": "b"}]) for m in (lazy, model))
    np.testing.assert_allclose(got, expected, rtol=1e-12)


def test_an_array_has_the_columns_of_the_source_in_their_order():
    lazy = LazyNaiveBayes(FLOWERS.drop(columns="wide"), "kind")
    by_name = FLOWERS.drop(columns=["wide", "kind"])
    assert lazy.predict_proba(by_name.to_numpy()).tolist() == lazy.predict_proba(by_name).tolist()
    with pytest.raises(ValueError, match="array of 2 columns, but the source has 4"):
        lazy.predict([[1.0, 2.0]])


@pytest.mark.parametrize("class_weight", ["balanced", {"a": 3.0, "b": 0.5}, {"a": 2.0}])
@pytest.mark.parametrize("missing", ["ignore", "level"])
def test_class_weights_are_those_of_a_fitted_model(class_weight, missing):
    rng = np.random.default_rng(0)
    y = np.where(rng.random(80) < 0.2, "a", "b")
    x = pd.DataFrame({"n": rng.normal(y == "a"), "t": rng.choice(list("uvw"), 80)})
    x.loc[rng.random(80) < 0.1, "t"] = None
    options = {"class_weight": class_weight, "missing": missing}
    columns = {"n": UNDECLARED, "t": Categorical()}
    lazy = LazyNaiveBayes(x.assign(y=y), "y", columns=columns, **options)
    fitted = NaiveBayes(columns, **options).fit(x, y)
    for rows in (x[:10], [{"t": "new"}, {"n": 0.5}, {}]):
        np.testing.assert_allclose(lazy.predict_proba(rows), fitted.predict_proba(rows), rtol=1e-9)
    np.testing.assert_allclose(lazy.class_count_, fitted.class_count_)
    assert lazy.get_params()["class_weight"] is class_weight


def test_class_weights_follow_the_rows_that_are_evidence():
    frame = pd.DataFrame({"x": list("uuvvvv"), "k": [1, 1, 1, 2, 2, 2], "y": list("abbabb")})
    lazy = LazyNaiveBayes(frame, "y", class_weight="balanced")
    lazy.predict([{"x": "u"}])
    assert lazy.class_count_.tolist() == [3.0, 3.0]
    lazy.predict([{"x": "u"}], where="k = 1")
    assert lazy.class_count_.tolist() == [1.5, 1.5]


@pytest.mark.parametrize("wrong", ["equal", {"a": -1.0}, {"a": "x"}, 2.0])
def test_what_is_no_class_weight_is_refused_at_once(wrong):
    with pytest.raises(ValueError, match="class_weight"):
        LazyNaiveBayes(pd.DataFrame({"x": ["u"], "y": ["a"]}), "y", class_weight=wrong)


def test_a_label_that_no_row_has_is_refused():
    lazy = LazyNaiveBayes(pd.DataFrame({"x": ["u"], "y": ["a"]}), "y", class_weight={"c": 2.0})
    with pytest.raises(ValueError, match="names 'c', which no row has"):
        lazy.predict([{"x": "u"}])


ROWS = pd.DataFrame({"x": list("aabbab") * 5, "z": list("uvuvvv") * 5})
Y = np.array(list("ppqqpp") * 5)
SOURCE = ROWS.assign(y=Y)


def test_score_is_the_share_of_right_labels():
    model = LazyNaiveBayes(SOURCE, "y")
    right = model.predict(ROWS) == Y
    assert model.score(ROWS, Y) == right.mean()
    weight = np.arange(1.0, len(Y) + 1)
    assert model.score(ROWS, Y, sample_weight=weight) == np.average(right, weights=weight)
    few = model.score(ROWS, Y, where="x = 'a'")
    assert few == (model.predict(ROWS, where="x = 'a'") == Y).mean() != model.score(ROWS, Y)
    assert get_scorer("accuracy")(model, ROWS, Y) == model.score(ROWS, Y)


def test_parameters_come_back_as_given_and_can_be_set():
    model = LazyNaiveBayes(SOURCE, "y", alpha=2)
    given = model.get_params()
    assert given["source"] is SOURCE
    assert (given["target"], given["alpha"], given["columns"]) == ("y", 2, None)
    changed = model.set_params(alpha=0.5, columns={"z": None})
    assert changed is model
    expected = NaiveBayes(alpha=0.5, columns={"z": None}).fit(ROWS, Y)
    np.testing.assert_allclose(model.predict_proba(ROWS), expected.predict_proba(ROWS), rtol=1e-12)
    model.set_params(source=SOURCE[:6])
    assert model.predict(ROWS).shape == (30,)
    assert model.class_count_.sum() == 6.0


@pytest.mark.parametrize(
    ("bad", "error"),
    [
        ({"alpha": -1.0}, ValueError),
        ({"target": 3}, TypeError),
        ({"source": 3}, TypeError),
        ({"columns": {"x": "gauss"}}, (TypeError, ValueError)),
        ({"colour": 1}, ValueError),
    ],
)
def test_after_refused_parameters_the_others_stay(bad, error):
    model = LazyNaiveBayes(SOURCE, "y")
    with pytest.raises(error):
        model.set_params(missing="level", **bad)
    assert model.missing == "ignore"
    assert (
        model.predict(ROWS[:1]).tolist() == LazyNaiveBayes(SOURCE, "y").predict(ROWS[:1]).tolist()
    )


def test_a_clone_asks_the_same_source_by_the_same_connection():
    connection = duckdb.connect()
    connection.register("source_frame", SOURCE)
    connection.sql("CREATE TABLE days AS SELECT * FROM source_frame")
    model = LazyNaiveBayes("days", "y", connection=connection, where=("x = ?", ["a"]))
    twin = clone(model)
    assert twin is not model
    assert twin.connection is connection
    assert {k: v for k, v in twin.get_params().items() if v is not model.get_params()[k]} == {}
    np.testing.assert_array_equal(twin.predict_proba(ROWS), model.predict_proba(ROWS))
    assert clone(LazyNaiveBayes(SOURCE, "y")).source is SOURCE


def test_it_is_a_classifier_that_needs_no_fit():
    model = LazyNaiveBayes(SOURCE, "y")
    assert is_classifier(model)
    assert repr(model) == "LazyNaiveBayes(DataFrame, 'y')"
    assert not hasattr(model, "fit")
