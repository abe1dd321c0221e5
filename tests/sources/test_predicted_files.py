"""Rows of parts, in any order, are predicted as rows in memory; those without a label are left
out.
"""

import json

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv as pc_csv
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tallybayes
from tallybayes import NaiveBayes, leave_one_out
from tallybayes.errors import SourceError
from tallybayes.families import Poisson
from tallybayes.sources.contract import Part
from tallybayes.sources.reading import PartsRead

ROWS = pa.table(
    {
        "id": ["007", "8", None, "1e3", "a,b", "c"] * 5,
        "x": [1.5, 2.0, None, 4.0, 5.0, 6.0] * 5,
        "sky": ["sun", "rain", "sun", None, 'a "b"', "sun"] * 5,
        "y": ["no", "yes", "no", "yes", "yes"] * 6,
    }
)
MODEL = NaiveBayes({"id": None}).fit(ROWS, "y")
SOURCES = ["parquet", "arrow", "csv", "jsonl", "*.parquet", "*.csv", "lazy", "dataset"]
MADE = ["prediction", "p(no)", "p(yes)"]


def write_csv(rows, path):
    columns = [c.cast(pa.string()) for c in rows.columns]
    pc_csv.write_csv(pa.table(columns, rows.column_names), path)


def write_jsonl(rows, path):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows.to_pylist()))


def write_arrow(rows, path):
    """A file of batches of seven rows."""
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, rows.schema) as out:
        out.write_table(rows, 7)


@pytest.fixture
def source(request, tmp_path):
    """The rows as a source of some kind; patterns are two files, of whose columns the order
    differs."""
    kind = request.param
    if kind.startswith("*"):
        other = ROWS.slice(12).select(["y", "sky", "id", "x"])
        for name, rows in (("1", ROWS.slice(0, 12)), ("2", other)):
            write = write_csv if kind == "*.csv" else pq.write_table
            write(rows, tmp_path / f"{name}{kind[1:]}")
        return str(tmp_path / kind)
    if kind == "lazy":
        return pl.from_arrow(ROWS).lazy()
    path = tmp_path / f"rows.{kind}"
    if kind == "csv":
        write_csv(ROWS, path)
    elif kind == "jsonl":
        write_jsonl(ROWS, path)
    elif kind == "arrow":
        write_arrow(ROWS, path)
    else:
        pq.write_table(ROWS, path, row_group_size=7)
    return ds.dataset(path) if kind == "dataset" else path


@pytest.mark.parametrize("source", SOURCES, indirect=True)
def test_predictions_of_a_source_are_those_of_memory(source):
    assert MODEL.predict(source).tolist() == MODEL.predict(ROWS).tolist()
    np.testing.assert_array_equal(MODEL.predict_proba(source), MODEL.predict_proba(ROWS))
    assert MODEL.score(source, "y") == MODEL.score(ROWS, "y")
    found, expected = leave_one_out(MODEL, source, "y"), leave_one_out(MODEL, ROWS, "y")
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("source", SOURCES, indirect=True)
def test_rows_of_a_source_keep_their_columns_beside_predictions(source):
    predicted = MODEL.predict_rows(source)
    for _ in range(2):  # as often as it is asked for
        found = pa.table(predicted)
        assert found.column_names == ["id", "y", *MADE]
        for name in ("id", "y"):
            assert found[name].to_pylist() == ROWS[name].to_pylist()
        assert found["prediction"].to_pylist() == MODEL.predict(ROWS).tolist()
        probabilities = np.column_stack([found["p(no)"], found["p(yes)"]])
        np.testing.assert_array_equal(probabilities, MODEL.predict_proba(ROWS))
    read = pa.table(MODEL.predict_rows(source, keep=["sky", "x", "id"]))
    assert read.column_names == ["sky", "x", "id", *MADE]
    assert read["sky"].to_pylist() == ROWS["sky"].to_pylist()
    assert read["id"].to_pylist() == ROWS["id"].to_pylist()
    assert read["prediction"].to_pylist() == found["prediction"].to_pylist()
    x = [None if value is None else float(value) for value in read["x"].to_pylist()]
    assert x == ROWS["x"].to_pylist()
    assert pa.table(MODEL.predict_rows(source, keep=[])).column_names == MADE


def test_columns_of_typed_files_stay_as_they_are(tmp_path):
    tags = pa.array([["p"], [], None] * 10)
    rows = ROWS.append_column("tags", tags).append_column("n", pa.array(range(30), pa.int8()))
    pq.write_table(rows.slice(0, 15), tmp_path / "1.parquet")
    wider = rows.slice(15).set_column(5, "n", pa.array(range(15, 30), pa.int64()))
    pq.write_table(wider, tmp_path / "2.parquet")
    predicted = MODEL.predict_rows(tmp_path, keep=["tags", "n"])
    assert predicted.schema.types[:2] == [pa.list_(pa.string()), pa.int8()]
    found = pa.table(predicted)
    assert found["tags"].to_pylist() == tags.to_pylist()
    assert found["n"].to_pylist() == list(range(30))
    large = rows.slice(15).set_column(5, "n", pa.array([1000] * 15))
    pq.write_table(large, tmp_path / "2.parquet")
    with pytest.raises(SourceError, match=r"2\.parquet: column 'n' .* int64.*int8.*keep="):
        list(MODEL.predict_rows(tmp_path, keep=["n"]).record_batches())


def test_text_and_typed_files_are_not_predicted_together(tmp_path):
    write_csv(ROWS, tmp_path / "1.csv")
    pq.write_table(ROWS, tmp_path / "2.parquet")
    with pytest.raises(SourceError, match=r"some are text.*each kind by itself"):
        MODEL.predict_rows(tmp_path)


def test_a_row_that_is_not_admitted_is_named_with_its_place(tmp_path):
    model = NaiveBayes({"n": Poisson()}).fit(pa.table({"n": [1, 2], "y": [0, 1]}), "y")
    bad = pa.table({"n": [*range(49), -4], "y": [0, 1] * 25})
    for kind, write in (("parquet", pq.write_table), ("arrow", write_arrow)):
        write(pa.table({"n": [1], "y": [0]}), tmp_path / f"1.{kind}")
        write(bad, tmp_path / f"2.{kind}")
        with pytest.raises(ValueError, match=rf"2\.{kind}: .*row 49.*'n'.*-4"):
            list(model.predict_rows(str(tmp_path / f"*.{kind}")).record_batches())
    write_csv(bad, tmp_path / "bad.csv")
    with pytest.raises(ValueError, match=r"bad\.csv, line 51: .*row 49.*'n'.*-4"):
        list(model.predict_rows(tmp_path / "bad.csv").record_batches())
    with pytest.raises(SourceError, match="no such file"):
        model.predict_rows(tmp_path / "none.csv")


def test_a_column_that_is_not_of_dates_after_all_is_an_error(tmp_path):
    rows = pa.table({"day": [f"2020-01-{d:02}" for d in range(1, 29)], "y": ["a", "b"] * 14})
    write_csv(rows, tmp_path / "t.csv")
    model = NaiveBayes().fit(tmp_path / "t.csv", "y")
    lines = [f"2020-01-{1 + i % 28:02},a" for i in range(3000)]
    (tmp_path / "u.csv").write_text("\n".join(["day,y", *lines, "never,a"]))
    source = tallybayes.csv(tmp_path / "u.csv")
    source.block = 1000
    with pytest.raises(SourceError, match=r"line 3,002: column 'day' holds 'never'.*Categorical"):
        list(model.predict_rows(source).record_batches())


def test_cells_of_text_stay_as_they_are_written(tmp_path):
    cells = ["1.10", "NA", " a", "true", None, "007"]
    path = tmp_path / "t.csv"
    lines = [f"{cell or ''},{i},{'uv'[i % 2]}" for i, cell in enumerate(cells)]
    path.write_text("\n".join(["id,x,y", *lines]))
    for columns in ({"id": None}, {}):
        model = NaiveBayes(columns).fit(path, "y")
        kept = pa.table(model.predict_rows(path, keep=["id", "x"]))
        assert kept["id"].to_pylist() == cells
        assert kept["x"].to_pylist() == [str(i) for i in range(6)]
        assert kept["prediction"].to_pylist() == model.predict(path).tolist()


@given(st.permutations(range(6)), st.lists(st.integers(0, 9), min_size=6, max_size=6))
def test_rows_are_counted_once_in_whatever_order_parts_are_read(order, sizes):
    read, found = PartsRead("a.csv"), 0
    for _ in sizes:
        read.add(Part(lambda: None, "a.csv"))
    for i in order:
        read.parts[i].has(sizes[i])
        found += sizes[i]
        assert read.n_rows == read.n_rows == found
    assert [read.first_row(i) for i in range(6)] == [sum(sizes[:i]) for i in range(6)]


COLOURS = ["red", "red", None, "white", "red", "white"]
KINDS = ["rose", None, "rose", "lily", "NA", "lily"]
NUMBERS = [1, None, 1, 2, None, 2]


def csv_file(folder, labels):
    path = folder / "t.csv"
    rows = zip(COLOURS, labels, strict=True)
    lines = [",".join("" if cell is None else str(cell) for cell in row) for row in rows]
    path.write_text("\n".join(["colour,kind", *lines]) + "\n")
    return path


def arrow_table(labels):
    given = [None if label == "NA" else label for label in labels]
    return pa.table({"colour": COLOURS, "kind": given})


def parquet_file(folder, labels):
    pq.write_table(arrow_table(labels), folder / "t.parquet", row_group_size=2)
    return folder / "t.parquet"


def reader(_folder, labels):
    return arrow_table(labels).to_reader(max_chunksize=2)


@pytest.mark.parametrize("labels", [KINDS, NUMBERS])
@pytest.mark.parametrize("source", [csv_file, parquet_file, reader])
def test_the_tally_is_that_of_the_rows_with_a_label(tmp_path, source, labels):
    rows = tallybayes.labelled(source(tmp_path, labels), "kind")
    there = [i for i in range(6) if i not in (1, 4)]
    model = NaiveBayes().fit(rows, "kind")
    twin = NaiveBayes().fit([{"colour": COLOURS[i]} for i in there], [labels[i] for i in there])
    assert model.class_count_.tolist() == [2.0, 2.0]
    assert model.classes_.tolist() == twin.classes_.tolist()
    assert model.tables_["colour"].to_numpy().tolist() == twin.tables_["colour"].to_numpy().tolist()


def test_rows_are_called_by_their_lines(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x,kind\n1,a\n2,\n3,b\ninf,a\n")
    with pytest.raises(ValueError, match=r"line 5.*'x' is infinite"):
        NaiveBayes().fit(tallybayes.labelled(path, "kind"), "kind")


def test_it_gives_what_the_command_line_gives(tmp_path):
    path = csv_file(tmp_path, ["rose", None, "rose", "lily", None, "lily"])
    diagnosis = tallybayes.doctor(str(path), "kind")
    assert "--skip-unlabelled" in diagnosis.command
    scope = {}
    exec(diagnosis.call, scope)  # the text that is printed
    assert scope["model"].class_count_.tolist() == [2.0, 2.0]


def test_what_cannot_be_read_so_is_refused(tmp_path):
    with pytest.raises(TypeError, match="drop the rows where the label is missing"):
        tallybayes.labelled([{"a": 1}], "a")
    with pytest.raises(SourceError, match="no column 'k', it has colour, kind"):
        tallybayes.labelled(csv_file(tmp_path, KINDS), "k")
    with pytest.raises(ValueError, match="no rows"):
        NaiveBayes().fit(tallybayes.labelled(csv_file(tmp_path, [None] * 6), "kind"), "kind")
