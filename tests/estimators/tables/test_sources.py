"""fit(source, "target"): the model of rows that are read part by part is that of the rows as a
frame."""

import json
import warnings

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engines.test_contract import assert_same
from tallybayes import MultinomialNB, NaiveBayes, WeightedNaiveBayes, collect, leave_one_out
from tallybayes.errors import NegativeTally, SourceError, StaleWarning, UnseenLevel
from tallybayes.estimators.sources import tables_of
from tallybayes.families import Categorical, Gaussian, Multinomial, Poisson
from tallybayes.sources.batches import Batches
from tallybayes.tally import TableTally

MODELS = {
    "plain": NaiveBayes,
    "chosen": lambda: NaiveBayes(alpha="auto", calibrate="temperature"),
    "declared": lambda: NaiveBayes({"n": Gaussian(), "k": Categorical(), str: Categorical()}),
    "weighted": lambda: WeightedNaiveBayes(parts=1),
    "balanced": lambda: NaiveBayes(class_weight="balanced"),
    "faded": lambda: NaiveBayes(half_life=100.0),
}


def rows(n=600, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    return pd.DataFrame(
        {
            "a": rng.choice(["x", "z", "été", "q"], n),
            "n": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n) + y),
            "k": rng.integers(0, 5, n) + y,
            "y": y,
            "w": rng.integers(1, 4, n).astype(float),
        }
    )


class Pieces(Batches):
    """Record batches, each of which is a part: they are otherwise joined to larger ones."""

    def parts(self, names=None, as_written=()):
        for piece in self._batches():
            yield from Batches(self.schema, lambda piece=piece: [piece], "pieces", False).parts(
                names
            )


def batches(frame, size=37):
    """A source of small parts."""
    table = pa.Table.from_pandas(frame, preserve_index=False)
    return Pieces(table.schema, lambda: table.to_batches(size), "pieces", False)


@pytest.fixture(scope="module")
def frame():
    return rows()


@pytest.fixture(scope="module")
def folder(frame, tmp_path_factory):
    """The rows in files."""
    path = tmp_path_factory.mktemp("sources")
    frame.to_parquet(path / "t.parquet", row_group_size=50)
    frame.to_csv(path / "t.csv", index=False)
    records = frame.astype(object).where(frame.notna(), None).to_dict("records")
    lines = map(json.dumps, records)
    (path / "t.jsonl").write_text("\n".join(lines))
    return path


def sources(frame, folder):
    """The same rows, as what a user may have."""
    table = pa.Table.from_pandas(frame, preserve_index=False)
    return {
        "frame": lambda: frame,
        "parquet": lambda: folder / "t.parquet",
        "csv": lambda: str(folder / "t.csv"),
        "json lines": lambda: [folder / "t.jsonl"],
        "reader": lambda: pa.RecordBatchReader.from_batches(table.schema, table.to_batches()),
        "iterator": lambda: iter(table.to_batches(max_chunksize=11)),
        "lazy frame": lambda: pl.scan_parquet(folder / "t.parquet"),
        "dataset": lambda: pyarrow.dataset.dataset(table),
        "relation": lambda: duckdb.from_arrow(table),
        "pieces": lambda: batches(frame),
    }


def test_a_model_of_a_source_is_that_of_its_frame(frame, folder):
    x = frame.drop(columns=["y"])
    expected = NaiveBayes().fit(x, frame["y"])
    for name, source in sources(frame, folder).items():
        model = NaiveBayes().fit(source(), "y")
        assert_same(model.tally_, expected.tally_)
        assert model.feature_names_in_.tolist() == x.columns.tolist()
        asked = source() if name != "frame" else x
        np.testing.assert_allclose(
            model.predict_proba(asked), expected.predict_proba(x), rtol=1e-9, atol=1e-12
        )
        assert model.score(source(), "y") == expected.score(x, frame["y"]), name


@pytest.mark.parametrize("kind", MODELS)
def test_what_is_chosen_on_rows_is_the_same(kind, frame, folder):
    x = frame.drop(columns=["y", "w"])
    expected = MODELS[kind]().fit(x, frame["y"])
    small = batches(frame.drop(columns="w"))
    model = MODELS[kind]().fit(small, "y")
    np.testing.assert_allclose(
        model.predict_log_proba(small), expected.predict_log_proba(x), rtol=1e-9, atol=1e-12
    )
    assert np.array_equal(model.predict(small), expected.predict(x))


def test_weights_are_a_column(frame, folder):
    x = frame.drop(columns=["y", "w"])
    expected = NaiveBayes(calibrate="temperature").fit(x, frame["y"], frame["w"])
    model = NaiveBayes(calibrate="temperature").fit(folder / "t.parquet", "y", sample_weight="w")
    assert_same(model.tally_, expected.tally_)
    np.testing.assert_allclose(
        model.predict_proba(x), expected.predict_proba(x), rtol=1e-9, atol=1e-12
    )
    weighted = model.score(folder / "t.parquet", "y", sample_weight="w")
    assert weighted == pytest.approx(expected.score(x, frame["y"], frame["w"]), rel=1e-12)
    weighted = model.score(folder / "t.csv", "y", sample_weight="w")  # weights of text are numbers
    assert weighted == pytest.approx(expected.score(x, frame["y"], frame["w"]), rel=1e-12)
    with pytest.raises(ValueError, match="the name of a column where y is"):
        NaiveBayes().fit(folder / "t.parquet", "y", sample_weight=frame["w"])


def test_rows_are_added_and_forgotten_from_sources(frame, folder):
    x, y = frame.drop(columns="y"), frame["y"]
    more = rows(200, seed=1)
    model = NaiveBayes().fit(x, y)
    both = NaiveBayes().fit(pd.concat([frame, more]), "y")
    model.partial_fit(batches(more), "y")
    assert_same(model.tally_, both.tally_)
    model.forget(batches(more), "y")
    np.testing.assert_allclose(
        model.predict_proba(x), NaiveBayes().fit(x, y).predict_proba(x), rtol=1e-9, atol=1e-12
    )
    assert model.class_count_.tolist() == NaiveBayes().fit(x, y).class_count_.tolist()
    before = model.tally_
    with pytest.raises(NegativeTally):
        model.forget(pd.concat([frame, frame]), "y")
    assert model.tally_ == before
    first = NaiveBayes().partial_fit(folder / "t.csv", "y", classes=[0, 1, 2, 9])
    assert first.classes_.tolist() == [0, 1, 2, 9]


def test_of_many_rows_a_sample_is_looked_at(monkeypatch, frame):
    monkeypatch.setattr(WeightedNaiveBayes, "sample_size", 150)
    source = batches(frame)
    model = WeightedNaiveBayes(parts=1).fit(source, "y")
    assert model.class_count_.sum() == len(frame)  # all are counted
    whole = WeightedNaiveBayes(parts=1).fit(frame.drop(columns="y"), frame["y"])
    assert not np.array_equal(model.predict_proba(source), whole.predict_proba(source))
    assert model.score(source, "y") > 0.5
    other = WeightedNaiveBayes(parts=1).fit(batches(frame, 100), "y")  # parts do not matter
    assert np.array_equal(model.predict_proba(source), other.predict_proba(source))


@settings(max_examples=15, deadline=None)
@given(
    size=st.integers(1, 60),
    labels=st.lists(st.sampled_from("ab"), min_size=2, max_size=60),
    seed=st.integers(0, 99),
)
def test_how_the_rows_are_parted_does_not_matter(size, labels, seed):
    rng = np.random.default_rng(seed)
    n = len(labels)
    frame = pd.DataFrame(
        {
            "u": rng.choice(np.array(["p", "q", None], dtype=object), n),
            "v": rng.choice([0.0, 1.5, np.nan, 1e9], n),
            "y": labels,
        }
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # constants, few rows
        expected = NaiveBayes().fit(frame.drop(columns="y"), frame["y"])
        model = NaiveBayes().fit(batches(frame, size), "y")
        mine = model.predict_log_proba(frame.drop(columns="y"))
    theirs = expected.predict_log_proba(frame.drop(columns="y"))
    np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-9)


def test_declared_columns_are_read_as_they_are_declared(folder, tmp_path):
    (tmp_path / "zip.csv").write_text("zip,n,y\n" + "01234,3,a\n1234,4,b\n" * 20)
    declared = {"zip": Categorical(), "n": Poisson()}
    model = NaiveBayes(declared).fit(tmp_path / "zip.csv", "y")
    assert model.predict(tmp_path / "zip.csv").tolist() == ["a", "b"] * 20
    assert model.schema_["family"].tolist() == ["categorical, 2 levels", "Poisson"]
    words = NaiveBayes({("n", "k"): Multinomial()}).fit(
        pl.LazyFrame({"n": [1, 0] * 9, "k": [0, 2] * 9, "y": [0, 1] * 9}), "y"
    )
    assert words.predict(pl.LazyFrame({"n": [3], "k": [0]})).tolist() == [0]


def test_columns_that_are_left_out_may_hold_anything(frame):
    table = pa.Table.from_pandas(frame, preserve_index=False)
    tags = pa.array([["p"]] * len(frame))
    source = pyarrow.dataset.dataset(table.append_column("tags", tags))
    model = NaiveBayes({"tags": None, "w": None}).fit(source, "y")
    expected = NaiveBayes().fit(frame[["a", "n", "k"]], frame["y"])
    assert_same(model.tally_, expected.tally_)
    with pytest.raises(ValueError, match=r"no column that columns= names: 'tag'"):
        NaiveBayes({"tag": None}).fit(source, "y")


# ---- what is refused -----------------------------------------------------------------------------
def test_errors_name_file_column_and_row(frame, folder, tmp_path):
    bad = frame.copy()
    bad.loc[420, "k"] = -1
    bad.to_parquet(tmp_path / "bad.parquet", row_group_size=100)
    model = NaiveBayes({"k": Poisson()}).fit(frame, "y")
    before = model.tally_
    with pytest.raises(ValueError, match=r"bad\.parquet: row 420, column 'k' holds -1"):
        model.fit(tmp_path / "bad.parquet", "y")
    with pytest.raises(ValueError, match=r"bad\.parquet: row 420, column 'k' holds -1"):
        model.fit([folder / "t.parquet", tmp_path / "bad.parquet"], "y")
    assert model.tally_ == before
    levels = NaiveBayes({"a": Categorical(levels=["x", "z", "q"])})
    with pytest.raises(UnseenLevel, match="'été', which is not among"):
        levels.fit(folder / "t.parquet", "y")
    with pytest.raises(ValueError, match=r"has no column 'label', the target"):
        NaiveBayes().fit(folder / "t.csv", "label")
    with pytest.raises(ValueError, match=r"a set of 2 files has no column 'label', the target"):
        NaiveBayes().fit([folder / "t.csv", folder / "t.csv"], "label")
    with pytest.raises(ValueError, match=r"has no column 'v', the weight"):
        NaiveBayes().fit(folder / "t.csv", "y", "v")
    with pytest.raises(ValueError, match=r"rows .* have no label"):
        NaiveBayes().fit(folder / "t.parquet", "n")
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        NaiveBayes().fit(frame.dropna(), "n")
    with pytest.raises(ValueError, match="X has no column names"):
        NaiveBayes().fit(np.eye(3), "y")
    with pytest.raises(SourceError, match="there is no such file"):
        NaiveBayes().fit(folder / "none.parquet", "y")


def test_predicting_takes_the_columns_that_the_model_has(frame, folder, tmp_path):
    model = NaiveBayes().fit(frame, "y")
    expected = model.predict(frame)
    frame[["w", "k", "n", "a"]].to_parquet(tmp_path / "other_order.parquet")
    assert np.array_equal(model.predict(tmp_path / "other_order.parquet"), expected)
    frame[["w", "k", "n"]].to_parquet(tmp_path / "fewer.parquet")
    with pytest.raises(SourceError, match=r"lacks the column\(s\) \['a'\]"):
        model.predict(tmp_path / "fewer.parquet")
    frame[:0].to_parquet(tmp_path / "none.parquet")
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        model.predict(tmp_path / "none.parquet")
    frame[:0].to_parquet(tmp_path / "labelled.parquet")
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        model.score(tmp_path / "labelled.parquet", "y")
    with pytest.raises(ValueError, match="no rows"):
        NaiveBayes().fit(tmp_path / "none.parquet", "y")
    unnamed = NaiveBayes().fit(np.eye(4), [0, 1, 0, 1])
    with pytest.raises(ValueError, match="trained on columns without names"):
        unnamed.predict(folder / "t.parquet")


def test_a_file_whose_dates_turn_out_to_be_strings_is_predicted(tmp_path):
    rows = [f"2020-01-{1 + i % 28:02},{i % 3},{'ab'[i % 2]}" for i in range(90_000)]
    (tmp_path / "days.csv").write_text("\n".join(["day,n,y", *rows]))
    (tmp_path / "odd.csv").write_text("\n".join(["day,n,y", *rows, "never,1,a"]))
    model = NaiveBayes({"day": Categorical()}).fit(tmp_path / "odd.csv", "y")
    assert len(model.predict(tmp_path / "odd.csv")) == 90_001
    assert 0.0 < model.score(tmp_path / "odd.csv", "y") <= 1.0
    dated = NaiveBayes().fit(tmp_path / "days.csv", "y")
    with pytest.raises(ValueError, match="'never', but the model has learned it as dates"):
        dated.predict(tmp_path / "odd.csv")


def test_no_more_than_a_few_parts_are_held_at_a_time(frame):
    table, given, taken = pa.Table.from_pandas(frame), [], 0

    def pieces():
        for piece in table.to_batches(max_chunksize=10):
            given.append(piece)
            yield piece

    for _ in tables_of(Pieces(table.schema, pieces, "pieces", False), None, ()):
        taken += 1
        assert len(given) <= taken + 8
    assert taken == 60


# ---- tallies without a model ---------------------------------------------------------------------
@pytest.mark.parametrize("way", ["as it is", "a file", "a model's file", "collected", "merged"])
def test_a_model_of_a_tally_has_the_columns_without_a_value_too(way, tmp_path):
    rows = pd.DataFrame(
        {"none": [None] * 3, "a": [1.0, 2.0, 4.0], "nan": [np.nan] * 3, "t": ["x", "y", None]}
    )
    y = ["u", "v", "u"]
    expected = NaiveBayes().fit(rows, y)
    tally = expected.tally_
    if way == "a file":
        tally.save(tmp_path / "t.tally")
        tally = TableTally.load(tmp_path / "t.tally")
    elif way == "a model's file":
        expected.save(tmp_path / "m.tally")
        tally = TableTally.load(tmp_path / "m.tally")
    elif way == "collected":
        tally = collect(rows.assign(y=y), "y")
    elif way == "merged":
        tally = collect(rows[["none", "a"]], y).merged(collect(rows[["nan", "t"]], y))
    model = NaiveBayes.from_tally(tally)
    if way == "merged":
        assert set(model.feature_names_in_) == set(rows)
        return
    assert model.feature_names_in_.tolist() == list(rows)
    assert model.partial_fit(rows, y).feature_names_in_.tolist() == list(rows)
    # of a difference, what no row holds any more is gone
    less = expected.tally_ - NaiveBayes().fit(rows[:2].assign(a=None), y[:2]).tally_.aligned(
        expected.tally_.schema
    )
    assert "t" not in NaiveBayes.from_tally(less).feature_names_in_.tolist()


def test_tallies_of_parts_add_up_to_that_of_all(frame, folder):
    halves = frame[:250], frame[250:]
    whole = collect(folder / "t.parquet", "y")
    first, second = (collect(half, "y") for half in halves)
    assert_same(first + second, whole)
    assert_same(collect(frame, "y") - second, first)
    model = NaiveBayes.from_tally(first + second)
    expected = NaiveBayes().fit(frame, "y")
    np.testing.assert_allclose(
        model.predict_log_proba(frame), expected.predict_log_proba(frame), rtol=1e-9, atol=1e-12
    )
    model.forget(halves[1], "y")
    assert model.class_count_.sum() == 250
    assert (first + second).classes.count.sum() == len(frame)  # what was given is as it was


def test_tallies_of_other_classes_levels_and_columns_add():
    monday = pd.DataFrame({"rain": ["yes", "no", "no"], "late": [1, 0, 0]})
    tuesday = pd.DataFrame({"snow": [0.5, 2.0], "late": [2, 0]})
    tally = collect(monday, "late") + collect(tuesday, "late")
    assert tally.schema.classes.tolist() == [0, 1, 2]
    assert tally.classes.count.tolist() == [3.0, 1.0, 1.0]
    assert (tally - collect(monday, "late")).classes.count.tolist() == [1.0, 0.0, 1.0]
    weighted = collect(monday.assign(w=[2.0, 1.0, 1.0]), "late", sample_weight="w")
    assert weighted.classes.count.tolist() == [2.0, 2.0]


def test_a_day_that_was_subtracted_was_never_there():
    """Its levels, classes and columns are not in the model of the others."""
    monday = pd.DataFrame(
        {"rain": ["yes", "no", "no", "yes"], "n": [1, 2, 3, 5], "y": list("abab")}
    )
    tuesday = pd.DataFrame({"rain": ["hail", "no", "snow"], "n": [4, 9, 9], "y": list("bca")})
    tuesday["wind"] = ["N", "S", "N"]
    first, second = (collect(day, "y") for day in (monday, tuesday))
    model, expected = NaiveBayes.from_tally(first + second - second), NaiveBayes.from_tally(first)
    assert model.classes_.tolist() == expected.classes_.tolist()
    asked = monday.drop(columns="y")
    np.testing.assert_allclose(
        model.predict_proba(asked), expected.predict_proba(asked), rtol=0, atol=1e-12
    )
    kept = NaiveBayes.from_tally(first + second - second, classes=["a", "b", "c"])
    assert kept.classes_.tolist() == ["a", "b", "c"]


def test_a_tally_with_negative_counts_is_no_model():
    monday = pd.DataFrame({"rain": ["yes", "no"], "y": ["a", "b"]})
    tuesday = pd.DataFrame({"rain": ["no", "no"], "y": ["a", "b"]})
    first, second = (collect(day, "y") for day in (monday, tuesday))
    with pytest.raises(NegativeTally, match=r"negative one \(class 'a', column 'rain'\)"):
        NaiveBayes.from_tally(first - second)
    with pytest.raises(NegativeTally, match=r"negative one \(class 'a'\)"):
        NaiveBayes.from_tally(first - second - second)


def test_a_model_of_a_tally_is_read_as_its_parameters_say(frame):
    families = {"n": Gaussian(), "k": Categorical()}
    tally = collect(frame, "y", families)
    model = NaiveBayes.from_tally(tally, columns=families, alpha=0.5)
    expected = NaiveBayes(families, alpha=0.5).fit(frame, "y")
    assert np.array_equal(model.predict_proba(frame), expected.predict_proba(frame))
    waiting = NaiveBayes.from_tally(tally, columns=families, calibrate="temperature")
    with pytest.warns(StaleWarning, match="recalibrate"):
        waiting.predict_proba(frame)
    with pytest.raises(ValueError, match="from_tally takes the TableTally of a table's columns"):
        NaiveBayes.from_tally(MultinomialNB().fit([[1, 2], [3, 4]], [0, 1]).tally_)
    with pytest.raises(ValueError, match="alpha"):
        NaiveBayes.from_tally(tally, alpha=-1.0)


# ---- leave-one-out -------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", MODELS)
def test_rows_of_a_source_are_left_out_one_by_one(kind, frame, folder):
    x = frame.drop(columns=["y", "w"])
    model = MODELS[kind]().fit(x, frame["y"])
    expected = leave_one_out(model, x, frame["y"])
    for name in ("parquet", "csv", "reader", "relation"):
        found = leave_one_out(model, sources(frame, folder)[name](), "y")
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_rows_are_left_out_with_their_weights(frame, folder):
    x = frame.drop(columns=["y", "w"])
    model = NaiveBayes().fit(x, frame["y"], frame["w"])
    np.testing.assert_allclose(
        leave_one_out(model, folder / "t.parquet", "y", "w"),
        leave_one_out(model, x, frame["y"], frame["w"]),
        rtol=1e-9,
        atol=1e-12,
    )
    with pytest.raises(ValueError, match="the name of a column where y is"):
        leave_one_out(model, folder / "t.parquet", "y", frame["w"])
    with pytest.raises(ValueError, match="no column 'nope'"):
        leave_one_out(model, folder / "t.parquet", "nope")
    empty = pa.Table.from_pandas(frame.head(0), preserve_index=False)
    with pytest.raises(ValueError, match="no rows"):
        leave_one_out(model, pyarrow.dataset.dataset(empty), "y")


def test_columns_called_like_attributes_of_a_source_are_columns():
    rows = pd.DataFrame({"sources": [1.0, 2.0, 3.0], "spelling": list("aba"), "y": list("pqp")})
    model = NaiveBayes().fit(rows, "y")
    assert list(model.feature_names_in_) == ["sources", "spelling"]
    assert model.tally_ == NaiveBayes().fit(rows[["sources", "spelling"]], rows["y"]).tally_
