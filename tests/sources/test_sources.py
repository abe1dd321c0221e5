"""Files, folders, patterns, readers and lazy frames as sources: what is read, what is refused."""

import datetime
import gzip
import json
import math
import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tallybayes
from tallybayes import NaiveBayes, WeightedNaiveBayes, collect
from tallybayes.errors import LeftOutWarning, MixedColumnWarning, SourceError
from tallybayes.families import Categorical, Poisson
from tallybayes.sources.files import is_source, source_of, source_of_paths
from tallybayes.tables import Strings

ROWS = pa.table({"a": ["x", "z", "x", None], "n": [1.0, None, 3.0, 4.0], "y": [1, 0, 1, 1]})
CSV = "a,n,y\nx,1,1\nz,,0\nx,3,1\n,4,1\n"
JSONL = '{"a":"x","n":1,"y":1}\n{"a":"z","y":0}\n{"a":"x","n":3,"y":1}\n{"a":null,"n":4,"y":1}\n'


def collected(source, columns="auto"):
    return tallybayes.collect(source, "y", columns)


@pytest.fixture
def folder(tmp_path):
    """The same rows in every format."""
    pq.write_table(ROWS, tmp_path / "t.parquet")
    path = str(tmp_path / "t.arrow")
    with pa.OSFile(path, "wb") as file, pa.ipc.new_stream(file, ROWS.schema) as writer:
        writer.write_table(ROWS)
    (tmp_path / "t.csv").write_text(CSV)
    (tmp_path / "t.tsv").write_text(CSV.replace(",", "\t"))
    (tmp_path / "t.jsonl").write_text(JSONL)
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(CSV.encode()))
    return tmp_path


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow", "t.csv", "t.tsv", "t.jsonl", "t.csv.gz"])
def test_every_format_gives_the_same_tally(folder, name):
    assert collected(folder / name) == collected(ROWS)


def test_folders_patterns_and_lists_are_their_files_in_order(folder):
    (folder / "_hidden.csv").write_text("nothing")
    (folder / ".crc").mkdir()
    (folder / ".crc" / "t.csv").write_text("nothing")
    (folder / "notes.md").write_text("nothing")
    six = collected(pa.concat_tables([ROWS] * 6))
    assert collected(folder) == six
    assert collected(str(folder / "t.*")) == six
    two = collected(pa.concat_tables([ROWS] * 2))
    assert collected([folder / "t.csv", str(folder / "t.parquet")]) == two


def test_readers_and_iterators_are_read_once(folder):
    expected = collected(ROWS)
    reader = source_of(pa.RecordBatchReader.from_batches(ROWS.schema, ROWS.to_batches()))
    assert collected(reader) == expected
    with pytest.raises(SourceError, match="only once"):
        collected(reader)
    assert collected(batch for batch in ROWS.to_batches(max_chunksize=1)) == expected
    assert collected(iter([ROWS])) == expected


def test_what_is_a_source():
    for source in ("t.csv", ["a.csv", "b.csv"], pl.LazyFrame({"a": [1]}), iter([])):
        assert is_source(source)
    for other in (
        ROWS,
        pl.DataFrame({"a": [1]}),
        ROWS.to_pandas(),
        [{"a": 1}],
        np.eye(2),
        [[1, 2]],
    ):
        assert not is_source(other)
    with pytest.raises(TypeError, match="got a int"):
        source_of(3)


# ---- cells ---------------------------------------------------------------------------------------
def test_labels_of_text_are_what_all_of_them_are(tmp_path):
    for cells, classes in {
        ("1", "0", "10", "2"): [0, 1, 2, 10],
        ("1", "0", "-3"): [-3, 0, 1],
        ("true", "FALSE"): [False, True],
        ("01", "1"): ["01", "1"],
        ("1", "one"): ["1", "one"],
    }.items():
        path = tmp_path / "t.csv"
        path.write_text("x,y\n" + "".join(f"{i},{cell}\n" for i, cell in enumerate(cells)))
        tally = collected(path)
        assert tally.schema.classes.tolist() == classes
        assert tally.classes.count.tolist() == [1.0] * len(classes)
        for k, label in enumerate(classes):  # each keeps its own rows
            own = [i for i, cell in enumerate(cells) if str(label).lower() == cell.lower()]
            moments = tally.groups[0]
            assert moments.s1_hi[k, 0] + tally.schema.groups[0].origin[0] == own[0]


def test_declared_levels_are_as_they_are_written(tmp_path):
    (tmp_path / "t.csv").write_text("zip,y\n01234,a\n1234,b\n")
    declared = collected(tmp_path / "t.csv", {"zip": Categorical()})
    assert declared.schema.groups[0].levels[0].tolist() == ["01234", "1234"]
    read = collected(tmp_path / "t.csv")
    assert [group.kind for group in read.schema.groups] == ["moments", "grid"]


def test_a_column_of_dates_that_holds_something_else_is_read_again(tmp_path):
    rows = [f"2020-01-{1 + i % 28:02},{'ab'[i % 2]}" for i in range(3000)]
    (tmp_path / "t.csv").write_text("\n".join(["day,y", *rows, "never,a"]))
    source = source_of(tmp_path / "t.csv")
    source.block = 1000
    tally = collected(source)
    assert tally.schema.groups[0].kind == "levels"
    assert "never" in tally.schema.groups[0].levels[0].tolist()
    assert tally.classes.count.sum() == 3001


def test_numbers_in_one_file_and_strings_in_another_are_both_counted(tmp_path):
    pq.write_table(pa.table({"x": [1.0, 2.0], "y": [0, 1]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"x": ["u", None], "y": [0, 1]}), tmp_path / "b.parquet")
    with pytest.warns(MixedColumnWarning, match="numbers in 2 rows and strings in 1"):
        tally = collected(tmp_path)
    assert [g.kind for g in tally.schema.groups] == ["moments", "grid", "levels"]


def test_nested_columns_are_left_out_and_said_so(tmp_path):
    table = ROWS.append_column("tags", pa.array([["p"], [], None, ["q", "r"]]))
    pq.write_table(table, tmp_path / "t.parquet")
    with pytest.warns(LeftOutWarning, match=r"'tags' is of the type list<.*>"):
        assert collected(tmp_path) == collected(ROWS)
    with pytest.raises(SourceError, match=r"'tags'.*unpack it or leave it out"):
        next(source_of(tmp_path).parts(["tags", "y"])).read()


def test_nested_keys_of_json_lines_are_left_out_and_said_so(tmp_path):
    lines = [
        '{"a": "x", "tags": ["p"], "n": 1, "deep": null, "y": 1}',
        '{"a": "z", "deep": {"b": 1}, "n": 2.5, "y": 0}',
    ]
    path = tmp_path / "t.jsonl"
    path.write_text("\n".join(lines * 20))
    expected = pa.table({"a": ["x", "z"] * 20, "n": [1.0, 2.5] * 20, "y": [1, 0] * 20})
    source = source_of(path)
    assert source.columns()["tags"].kind is source.columns()["deep"].kind is None
    with pytest.warns(LeftOutWarning, match="'(tags' holds an array|deep' holds an object)"):
        assert collected(path) == collected(expected)
    with pytest.raises(SourceError, match=r"line 1: 'tags' holds \[\"p\"\].*unpack it"):
        next(source_of(path).parts(["tags", "y"])).read()
    with (
        pytest.warns(LeftOutWarning, match="'tags' holds an array"),
        pytest.raises(SourceError, match=r"line 2: 'deep' holds"),
    ):
        tallybayes.collect(path, "deep")


def test_a_nested_value_in_a_later_block_is_an_error(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text('{"a": 1, "y": 0}\n' * 300 + '{"a": [1], "y": 0}\n')
    source = source_of(path)
    source.block = 1024
    with pytest.raises(SourceError, match=r"line 301: 'a' holds \[1\]"):
        collected(source)


# ---- what cannot be read -------------------------------------------------------------------------
def test_what_cannot_be_read_is_named(folder, tmp_path):
    whole = (folder / "t.parquet").read_bytes()
    several = tmp_path / "several"
    several.mkdir()
    pq.write_table(ROWS, several / "1.parquet")
    (several / "2.parquet").write_bytes(whole[:-20])
    with pytest.raises(SourceError, match=r"2\.parquet is a damaged or incomplete Parquet"):
        collected(several)
    (several / "2.parquet").write_bytes(b"PAR1" + b"\0" * 50)
    with pytest.raises(SourceError, match=r"2\.parquet is a damaged"):
        collected(several)
    for source, message in (
        (tmp_path / "none.csv", r"none\.csv: there is no such file"),
        (str(tmp_path / "*.orc"), r"no file matches the pattern '.*\*\.orc'"),
        ("select * from t", r"'select \* from t' is SQL and no file: give tallybayes\.sql"),
        ("WITH u AS (SELECT 1) SELECT 1", "is SQL and no file"),
        ([], "list of paths is empty"),
        (tmp_path / "several" / "empty", "there is no such file"),
        (iter([]), "no record batch"),
        (iter([3]), "gives a int"),
    ):
        with pytest.raises(SourceError, match=message):
            collected(source) if source != [] else source_of_paths([])
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(SourceError, match="folder without data"):
        collected(empty)
    if os.geteuid():
        (folder / "t.csv").chmod(0)
        with pytest.raises(SourceError, match="no permission"):
            collected(folder / "t.csv")


def test_files_of_other_columns_are_refused(tmp_path):
    pq.write_table(ROWS, tmp_path / "a.parquet")
    pq.write_table(ROWS.drop_columns(["a"]), tmp_path / "b.parquet")
    with pytest.raises(SourceError, match=r"b\.parquet lacks 'a', which .*a\.parquet has"):
        collected(tmp_path)
    more = ROWS.append_column("b", pa.array([1, 2, 3, 4]))
    pq.write_table(more, tmp_path / "b.parquet")
    with pytest.raises(SourceError, match=r"b\.parquet has 'b', which .*a\.parquet lacks"):
        collected(tmp_path)


def test_missing_labels_columns_and_rows_are_refused(folder):
    for name in ("t.parquet", "t.csv"):
        with pytest.raises(ValueError, match="'target'"):
            tallybayes.collect(folder / name, "target")
        with pytest.raises(
            ValueError, match=r"1 rows of the evidence have no label|row 3 has no label"
        ):
            tallybayes.collect(folder / name, "a")
    pq.write_table(ROWS.slice(0, 0), folder / "t.parquet")
    with pytest.raises(ValueError, match="no rows"):
        collected(folder / "t.parquet")


def test_a_query_that_fails_says_what_polars_says():
    with pytest.raises(SourceError, match=r"LazyFrame cannot be evaluated.*nothing"):
        collected(pl.LazyFrame({"y": [1]}).select("nothing"))


@pytest.mark.parametrize("content", [CSV, JSONL])
def test_a_pipe_is_a_source_that_is_read_once(tmp_path, content):
    os.mkfifo(tmp_path / "pipe")
    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit((tmp_path / "pipe").write_text, content)
        source = source_of(tmp_path / "pipe")
        assert list(source.columns()) == ["a", "n", "y"]
        assert collected(source) == collected(ROWS)
        assert writing.result() == len(content)
    with pytest.raises(SourceError, match="only once, and has been"):
        collected(source)


@pytest.mark.parametrize("name", ["t.parquet", "t.csv", "t.jsonl", "t.*"])
def test_parts_say_how_far_the_source_is_read(folder, name):
    done = [part.done for part in source_of(folder / name).parts() if part.done is not None]
    assert done == sorted(done)
    assert done[-1] == 1.0


def test_columns_of_text_may_be_left_out_or_kept_from_being_dates(tmp_path):
    (tmp_path / "t.jsonl").write_text('{"a": [1], "d": "2020-01-01", "y": 1}\n' * 2)
    source = source_of_paths([str(tmp_path / "t.jsonl")], left_out=["a"], mixed=["d"])
    assert {name: column.kind for name, column in source.columns().items()} == {
        "a": None,
        "d": "category",
        "y": "float",
    }
    (part,) = source.parts()
    table = part.read()
    assert list(table.columns) == ["d", "y"]
    assert isinstance(table.columns["d"], Strings)


def test_an_error_in_a_row_of_text_names_its_line(tmp_path):
    rows = "".join(f"{i % 3},{'ab'[i % 2]}\n" for i in range(50))
    (tmp_path / "t.csv").write_text(f"x,y\n{rows}\n-4,a\n")
    with pytest.raises(ValueError, match=r"t\.csv, line 53: .*row 50.*-4"):
        NaiveBayes(columns={"x": Poisson()}).fit(tmp_path / "t.csv", "y")


# ---- files of a pattern that differ --------------------------------------------------------------
NUMBERS = {"x": [1.0, 2.0, 3.0], "y": ["a", "b", "b"]}
DIFFERENT = {
    "cut off": (None, r"2\.parquet is a damaged or incomplete Parquet file"),
    "nested": (
        {"x": [[1.0]] * 3},
        r"2\.parquet: column 'x' holds list<.*, and in .*1\.parquet double",
    ),
    "dates": (
        {"x": [datetime.date(2020, 1, 1)] * 3},
        r"2\.parquet, after the rows of .*1\.parquet: column 'x' holds dates",
    ),
    "labels": ({"y": [1, 2, 2]}, r"2\.parquet, after the rows of .*1\.parquet: the label 'y'"),
    "NULL label": ({"y": ["a", None, "b"]}, r"2\.parquet: 1 rows .* no label in .* 'y'"),
    "infinite": ({"x": [1.0, math.inf, 2.0]}, r"2\.parquet: .*row 1, column 'x' holds inf"),
}


@pytest.mark.parametrize(("change", "message"), DIFFERENT.values(), ids=DIFFERENT)
def test_a_file_that_differs_is_named_and_the_model_stays(tmp_path, change, message):
    for name in ("1", "2", "3"):
        pq.write_table(pa.table(NUMBERS), tmp_path / f"{name}.parquet")
    model = NaiveBayes().fit(tmp_path / "*.parquet", "y")
    before, second = model.tally_.copy(), tmp_path / "2.parquet"
    if change is None:
        second.write_bytes(second.read_bytes()[:-9])
    else:
        pq.write_table(pa.table(NUMBERS | change), second)
    for learn in (model.partial_fit, NaiveBayes().fit):
        with pytest.raises(ValueError, match=message):
            learn(tmp_path / "*.parquet", "y")
    assert model.tally_ == before


def test_a_file_that_may_not_be_read_is_named(folder, monkeypatch):
    def refused(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pyarrow.parquet.ParquetFile", refused)
    with pytest.raises(SourceError, match=r"t\.parquet: no permission to read it"):
        NaiveBayes().fit(folder / "t.parquet", "y")


@pytest.mark.parametrize("text", ["inf", "-inf", "Infinity", "1e400"])
@pytest.mark.parametrize("model", [NaiveBayes, WeightedNaiveBayes])
def test_numbers_with_an_infinite_one_are_refused_by_every_class(tmp_path, text, model):
    cells = [text if i == 3 else i for i in range(30)]
    path = tmp_path / "t.csv"
    path.write_text("x,y\n" + "".join(f"{x},{'ab'[i % 2]}\n" for i, x in enumerate(cells)))
    lines = tmp_path / "t.jsonl"
    rows = [{"x": x, "y": "ab"[i % 2]} for i, x in enumerate(cells)]
    lines.write_text("".join(json.dumps(row) + "\n" for row in rows))
    frame = pd.DataFrame(rows)
    refused = r"column 'x' is infinite: give a finite number"
    for learn in (
        lambda: model().fit(path, "y"),
        lambda: model().fit(tallybayes.csv([path, path]), "y"),
        lambda: model().fit(lines, "y"),
        lambda: model().fit(frame, "y"),
        lambda: model().fit(frame[["x"]], frame["y"]),
        lambda: tallybayes.collect(path, "y"),
    ):
        with pytest.raises(ValueError, match=refused):
            learn()
    with pytest.raises(ValueError, match=r"t\.csv, line 5: column 'x' is infinite"):
        model().fit(path, "y")
    with pytest.raises(ValueError, match=r"row 3: column 'x' is infinite"):
        model().fit(frame, "y")


def test_infinity_among_other_strings_is_a_level(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x,y\n" + "".join(f"{x},{'ab'[i % 2]}\n" for i, x in enumerate("123456")))
    with path.open("a") as file:
        file.write("inf,a\nsup,b\n")
    with pytest.warns(MixedColumnWarning, match="'inf', 'sup'"):
        model = NaiveBayes().fit(path, "y")
    assert model.forget(path, "y").class_count_.sum() == 0.0


def test_rows_of_anything_are_read_by_one_function(tmp_path):
    (tmp_path / "a.csv").write_text("x;y\n1,5;p\n2,5;q\n")
    source = tallybayes.rows(tmp_path / "a.csv", decimal=",")
    assert tallybayes.NaiveBayes().fit(source, "y").feature_names_in_.tolist() == ["x"]
    batches = pa.table({"x": [1.0, 2.0], "y": ["p", "q"]}).to_reader()
    assert list(tallybayes.rows(batches).columns()) == ["x", "y"]
    with pytest.raises(ValueError, match="skip is for files, and the rows are of a"):
        tallybayes.rows(pa.table({"x": [1]}).to_reader(), skip=1)
    with pytest.raises(ValueError, match="the list of paths is empty"):
        tallybayes.rows([])


def test_a_model_reads_paths_as_those_of_its_fit_were_read(tmp_path):
    """Numbers with a decimal comma were strings to the model that had learned them."""
    lines = [f"{i / 10:.1f};{'pq'[i % 2]}".replace(".", ",") for i in range(40)]
    (tmp_path / "a.csv").write_text("\n".join(["x;y", *lines]) + "\n")
    rows = tallybayes.rows(tmp_path / "a.csv", decimal=",")
    model = NaiveBayes().fit(rows, "y")
    model.save(tmp_path / "m.tally")
    for known in (model, tallybayes.load(tmp_path / "m.tally")):
        assert (known.read_by_.target, known.read_by_.spelling.decimal) == ("y", ",")
        expected = known.predict_proba(tallybayes.rows(tmp_path / "a.csv", decimal=","))
        np.testing.assert_array_equal(known.predict_proba(tmp_path / "a.csv"), expected)
        assert known.score(tmp_path / "a.csv", "y") == known.score(rows, "y")
    assert tallybayes.open_model(str(tmp_path / "m.tally")).target == "y"


def test_an_error_knows_the_place_the_row_and_the_column(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,p\n2,q\n3,\n")
    with pytest.raises(SourceError) as found:
        NaiveBayes().fit(tmp_path / "a.csv", "y")
    assert (found.value.row, found.value.place) == (2, f"{tmp_path}/a.csv, line 4")
    from tallybayes.model_files import TableFile
    from tallybayes.sources import open_rows

    with pytest.raises(SourceError, match="line 4 has no label in 'y'") as found:
        TableFile.fit(open_rows(str(tmp_path / "a.csv")), "y", {})
    assert (found.value.row, found.value.column) == (2, "y")
    assert found.value.place == f"{tmp_path}/a.csv, line 4"


N = 4000


@pytest.fixture
def damaged(tmp_path):
    """Three files; of the second, `damage` changes bytes of a column in its second row group."""
    rng = np.random.default_rng(3)

    def damage(change, *, column="age", checksums=False):
        for k in range(3):
            y = np.where(rng.random(N) < 0.5, "yes", "no")
            rows = {"job": rng.choice(list("abcd"), N), "age": rng.normal(size=N), "y": y}
            path = tmp_path / f"{k}.parquet"
            options = {"use_dictionary": ["job", "y"], "write_page_checksum": checksums}
            pq.write_table(pa.table(rows), path, row_group_size=N // 2, **options)
        path = tmp_path / "1.parquet"
        group = pq.ParquetFile(path).metadata.row_group(1)
        at = next(c for i in range(3) if (c := group.column(i)).path_in_schema == column)
        content = bytearray(path.read_bytes())
        change(content, at.dictionary_page_offset or at.data_page_offset)
        path.write_bytes(content)
        return tmp_path

    return damage


def no_header(content, start):
    content[start : start + 12] = b"\xff" * 12


def one_bit(content, start):
    content[start + 1000] ^= 4  # in the middle of a page of numbers, which are numbers still


@pytest.mark.parametrize("column", ["job", "age"])
def test_a_page_that_cannot_be_decoded(damaged, column):
    rows = str(damaged(no_header, column=column) / "*.parquet")
    model = NaiveBayes().fit([{"age": 1.0, "job": "a"}], ["yes"])
    before = model.tally_
    where = rf"1\.parquet is a damaged .*: column '{column}' of row group 2 of 2\. Write the file"
    for learn in (lambda: collect(rows, "y"), lambda: model.partial_fit(rows, "y")):
        with pytest.raises(SourceError, match=where):
            learn()
    assert model.tally_ == before


def test_a_column_that_is_left_out_may_be_damaged(damaged):
    rows = str(damaged(no_header) / "*.parquet")
    tally = collect(rows, "y", columns={"age": None})
    assert tally.classes.count.sum() == 3 * N


def test_a_changed_number_is_found_by_the_checksum_of_its_page(damaged):
    rows = str(damaged(one_bit, checksums=True) / "*.parquet")
    with pytest.raises(
        SourceError, match=r"1\.parquet is .*checksum.*: column 'age' of row group 2"
    ):
        collect(rows, "y")
