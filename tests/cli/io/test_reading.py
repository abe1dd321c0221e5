"""The same rows in any format, delimiter and batch give the same model; other files are named."""

import gzip
import io
import json
import sqlite3
import tarfile
import zipfile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tallybayes
from tallybayes.errors import MixedColumnWarning, ZoneWarning
from tallybayes.sources.cells import Misfit, cells, kind_of
from tallybayes.sources.options import MISSING, Spelling

ALL = [
    "comma.csv",
    "semicolon.csv",
    "pipe.txt",
    "tab.tsv",
    "table.parquet",
    "table.arrow",
    "stream.arrow",
    "table.jsonl",
]


def fitted(run, data, *words, name="m.tally", stdin=None):
    run("fit", data, "--target", "buys", "-o", name, "--no-estimate", *words, stdin=stdin)
    return name


@pytest.fixture
def expected(run, files, model):
    assert files.all == sorted(ALL)
    return run("predict", model, "comma.csv", "--proba").out


@pytest.mark.parametrize("name", ALL)
def test_every_format_is_the_same_table(run, expected, model, name):
    assert run("predict", fitted(run, name, name="f.tally"), "comma.csv", "--proba").out == expected
    assert run("predict", model, name, "--proba").out == expected


@pytest.mark.parametrize(
    ("name", "block"),
    [("comma.csv", 300), ("table.jsonl", 1777), ("table.parquet", 300), ("stream.arrow", 1777)],
)
def test_batches_of_any_size_give_the_same_model(run, expected, name, block):
    found = fitted(run, name, "--block", block, name="f.tally")
    assert run("predict", found, name, "--proba", "--block", 500).out == expected


def test_parts_merged_for_cross_validation_are_the_same_model(run, model):
    run("fit", "comma.csv", "--target", "buys", "-o", "cv.tally", "--block", 900)
    columns = [run("show", name, "--json").document["columns"] for name in ("cv.tally", model)]
    assert columns[0] == columns[1]


@pytest.mark.parametrize("name", ["semicolon.csv", "table.jsonl"])
def test_standard_input_and_output(run, expected, tmp_path, name):
    data = (tmp_path / name).read_bytes()
    words = ("fit", "-", "--target", "buys", "-o")
    assert run(*words, "p.tally", "--plain", stdin=data).err == ""
    assert run(*words, "w.tally", stdin=data).err == ""
    assert run("predict", "w.tally", "-", "--proba", "-o", "-", stdin=data).out == expected


def test_gzip(run, expected, tmp_path):
    (tmp_path / "x.csv.gz").write_bytes(gzip.compress((tmp_path / "comma.csv").read_bytes()))
    run("fit", "x.csv.gz", "--target", "buys", "--no-estimate")
    assert run("predict", "x.tally", "x.csv.gz", "--proba").out == expected


def test_encoding_and_byte_order_mark(run, expected, tmp_path):
    text = (tmp_path / "comma.csv").read_text(encoding="utf-8")
    (tmp_path / "gb.csv").write_bytes(text.encode("gb18030"))
    (tmp_path / "bom.csv").write_bytes(text.encode("utf-8-sig"))
    model = fitted(run, "gb.csv", "--encoding", "gb18030", name="gb.tally")
    assert run("predict", model, "bom.csv", "--proba").out == expected
    assert "--encoding" in run("fit", "gb.csv", "--target", "buys", code=1).line


def test_chinese_columns_and_labels(run, tmp_path):
    (tmp_path / "t.csv").write_text("年龄;收入;类别\n青年;高;是\n老年;低;否\n青年;?;是\n", "utf-8")
    found = run("fit", "--plain", "t.csv", "--target", "类别", "--json").document
    assert found["classes"] == {"否": 1.0, "是": 2.0}
    assert run("predict", "t.tally", "t.csv").out == "prediction\n是\n否\n是\n"


def test_null_adds_to_the_usual_texts(run, tmp_path):
    (tmp_path / "t.csv").write_text("x,y\nNA,a\n-,b\nNA,a\n-,b\n7,a\n7,b\n")
    words = ("fit", "--plain", "t.csv", "--target", "y", "--json", "--no-estimate")

    def gaps(*more):
        return run(*words, *more).document["columns"][0]["missing"]

    assert gaps() == pytest.approx(2 / 6)
    assert gaps("--null", "-") == pytest.approx(4 / 6)
    assert gaps("--only-null") == 0.0
    assert gaps("--only-null", "--null", "-") == pytest.approx(2 / 6)
    assert run("predict", "t.tally", "t.csv").out.split()[0] == "prediction"


def test_null_for_one_column(run, tmp_path):
    rows = [f"{['?', '-', '5'][i % 3]},{['-', '4', '5'][i % 3]},{'ab'[i % 2]}" for i in range(60)]
    (tmp_path / "t.csv").write_text("a,b=c,y\n" + "\n".join(rows) + "\n")
    words = ("fit", "--plain", "t.csv", "-t", "y", "--json", "--no-estimate", "--null")
    found = {c["column"]: c for c in run(*words, "b=c=-").document["columns"]}
    assert (found["a"]["holds"], found["b=c"]["holds"]) == ("strings", "numbers")
    assert found["a"]["missing"] == pytest.approx(1 / 3)
    assert found["b=c"]["missing"] == pytest.approx(1 / 3)
    # the model reads later files the same way
    run("update", "t.tally", "t.csv")
    found = {c["column"]: c for c in run("show", "t.tally", "--json").document["columns"]}
    assert found["b=c"]["missing"] == pytest.approx(1 / 3)
    line = run(*words, "bc=-", code=1).line
    assert "--null names the column 'bc'" in line
    assert "Did you mean 'b=c'?" in line


def test_json_keys_that_do_not_fit_the_model(run, tmp_path):
    lines = [f'{{"age": {i}, "job": "j{i % 3}", "y": "{"ab"[i % 2]}"}}' for i in range(40)]
    (tmp_path / "t.jsonl").write_text("\n".join(lines))
    run("fit", "--plain", "t.jsonl", "-t", "y", "--no-estimate")

    def line(text):
        (tmp_path / "new.jsonl").write_text(text)
        return run("predict", "t.tally", "new.jsonl", code=1).line

    assert "line 2 has none of the keys that are read: it has alter, beruf" in line(
        '{"age": 3, "job": "j1"}\n{"alter": 3, "beruf": "j1"}\n'
    )
    assert "line 1 has none of the keys that are read: it is empty" in line("{}\n")
    assert "no row has the key 'age'" in line('{"Age": 3, "job": "j1"}\n')
    # a key that is lacking is a missing value, and keys of which the model knows nothing are not
    # read
    (tmp_path / "new.jsonl").write_text('{"job": "j1", "more": {"deep": [1]}}\n')
    assert run("predict", "t.tally", "new.jsonl").out.count("\n") == 2


def test_nested_values_that_are_left_out_are_not_read(run, tmp_path):
    lines = [f'{{"x": {i}, "who": {{"n": [{i}]}}, "y": "{"ab"[i % 2]}"}}' for i in range(40)]
    (tmp_path / "t.jsonl").write_text("\n".join(lines))
    words = ("fit", "--plain", "t.jsonl", "-t", "y", "--no-estimate")
    said = run(*words)
    assert "note: column 'who' is left out: its type is object" in said.err
    assert "who" not in said.out
    found = run(*words, "--column", "who=none", "--json").document["columns"]
    assert {c["column"]: c["used"] for c in found} == {"x": True, "who": False}
    run("predict", "t.tally", "t.jsonl")


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_rows_without_a_label_are_left_out_when_asked(run, tmp_path, suffix):
    rows = [
        {"x": i % 7, "job": f"j{i % 3}", "y": None if i % 5 == 2 else "ab"[i % 2]}
        for i in range(100)
    ]

    def write(name, rows):
        path = tmp_path / f"{name}.{suffix}"
        if suffix == "parquet":
            table = pa.Table.from_pylist(rows)
            pq.write_table(table.set_column(2, "y", table["y"].cast(pa.string())), path)
        elif suffix == "jsonl":
            path.write_text("\n".join(json.dumps(row) for row in rows))
        else:
            text = "\n".join(f"{r['x']},{r['job']},{r['y'] or ''}" for r in rows)
            path.write_text("x,job,y\n" + text + "\n")
        return path.name

    some, whole = write("some", rows), write("whole", [row for row in rows if row["y"]])
    words = ("-t", "y", "--block", 300)
    assert "--skip-unlabelled" in run("fit", some, *words, code=1).line
    result = run("fit", some, *words, "--skip-unlabelled", "--json")
    assert "20 rows without a label left out" in result.err
    found, expected = result.document, run("fit", whole, *words, "--json").document
    assert (found["rows"], found["rows_without_label"]) == (80, 20)
    assert expected["rows_without_label"] == 0
    assert found["estimate"]["rows"] == 80
    predicted = [run("predict", f"{m}.tally", whole, "--proba").out for m in ("some", "whole")]
    assert predicted[0] == predicted[1]
    for command, more in (("evaluate", ()), ("update", ("-o", "u.tally")), ("reweight", ())):
        run(command, "some.tally", some, *more, code=1)
        assert "20 rows" in run(command, "some.tally", some, *more, "--skip-unlabelled").err
    assert run("forget", "u.tally", some, "--skip-unlabelled", "--json").document["rows"] == 80
    none = write("none", [{**row, "y": None} for row in rows])
    assert "none of its" in run("fit", none, "-t", "y", "--skip-unlabelled", code=1).line


def test_errors_below_rows_without_a_label_name_the_line(run, tmp_path):
    (tmp_path / "t.csv").write_text("x,y\n" + "1,a\n2,b\n" * 20)
    run("fit", "t.csv", "-t", "y", "--plain", "--column", "x=poisson", "--no-estimate")
    (tmp_path / "new.csv").write_text("x,y\n1,a\n2,\n3,b\n-4,a\n")
    line = run("update", "t.tally", "new.csv", "--skip-unlabelled", code=1).line
    assert "line 5" in line


def test_a_column_of_dates_with_a_text_is_texts(run, tmp_path):
    """It is looked at again, which a pipe cannot be."""
    dates = [f"2020-01-{1 + i % 28:02}" for i in range(300)]
    lines = ["since,y", *(f"{cell},{'ab'[i % 2]}" for i, cell in enumerate([*dates, "never"]))]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    words = ("--plain", "-t", "y", "--block", 400, "-o", "t.tally")
    result = run("fit", "t.csv", *words)
    assert "column 'since' is not read as dates: line 302 holds 'never'" in result.err
    (found,) = run("show", "t.tally", "--json").document["columns"]
    assert found["family"] == "categorical, 29 levels"
    (tmp_path / "t.tally").unlink()
    data = (tmp_path / "t.csv").read_bytes()
    assert "--column since=categorical" in run("fit", "-", *words, stdin=data, code=1).line
    assert not (tmp_path / "t.tally").exists()
    run("fit", "-", *words, "--column", "since=categorical", stdin=data)


def test_a_key_that_comes_late_is_a_column(run, tmp_path):
    lines = ['{"a": 1, "y": "u"}', '{"a": 2, "y": "v"}'] * 40 + ['{"a": 1, "b": "late", "y": "u"}']
    (tmp_path / "t.jsonl").write_text("\n".join(lines))
    found = run("fit", "t.jsonl", "--target", "y", "--block", 200, "--json").document
    assert [c["column"] for c in found["columns"]] == ["a", "b"]
    assert found["rows"] == 81


def test_numbers_and_texts_of_json_lines_in_equal_parts_are_levels(run, tmp_path):
    (tmp_path / "t.jsonl").write_text('{"a": 1, "y": true}\n\n{"a": "x", "y": false}\n')
    words = ("fit", "--plain", "t.jsonl", "--target", "y", "--json")
    found = run(*words).document
    assert found["columns"][0]["family"] == "categorical, 2 levels"
    assert set(found["classes"]) == {"True", "False"}


def test_a_column_without_a_name_is_not_read(run, tmp_path):
    (tmp_path / "pandas.csv").write_text(",x,y\n0,1,a\n1,2,b\n")
    found = run("fit", "pandas.csv", "--target", "y", "--json").document
    assert [c["column"] for c in found["columns"]] == ["x"]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found(run, tmp_path, delimiter):
    rows = [["a b", "y"], ["1.5", "u,v"], ["2", "w;x"], ["3", "u|v"], ["4", "w\tx"]]
    quoted = [delimiter.join(f'"{cell}"' for cell in row) for row in rows]
    (tmp_path / "t.csv").write_text("\n".join(quoted))
    found = run("fit", "t.csv", "--target", "y", "--json", "--no-estimate").document
    assert found["rows"] == 4
    assert found["columns"][0]["holds"] == "numbers"


def test_utf_16_is_named_with_the_option_that_reads_it(run, tmp_path):
    (tmp_path / "t.csv").write_text("x,y\n1,a\n2,b\n", "utf-16")
    words = ("fit", "--plain", "t.csv", "--target", "y")
    assert "--encoding utf-16" in run(*words, code=1).line
    assert run(*words, "--encoding", "utf-16", "--json").document["rows"] == 2.0


def test_lines_that_end_in_cr_alone_are_explained(run, tmp_path):
    (tmp_path / "t.csv").write_bytes(b"x,y\r1,a\r2,b\r")
    assert "CR alone" in run("fit", "t.csv", "--target", "y", code=1).line


def test_an_infinite_number_may_be_declared_a_gap(run, tmp_path):
    (tmp_path / "t.csv").write_text("x,y\n1,a\ninf,b\n3,a\n4,b\n")
    words = ("fit", "--plain", "t.csv", "--target", "y", "--json")
    assert "line 3: column 'x' is infinite" in run(*words, code=1).line
    (column,) = run(*words, "--null", "inf").document["columns"]
    assert (column["holds"], column["missing"]) == ("numbers", 0.25)


@pytest.mark.parametrize(
    ("zoned", "utc"),
    [
        ("2020-01-31T10:00:00Z", "2020-01-31T10:00:00"),
        ("2020-01-31T10:00:00.25Z", "2020-01-31T10:00:00.25"),
        ("2020-01-31 10:00+02:00", "2020-01-31 08:00"),
        ("2020-01-31T23:30:00-0130", "2020-02-01T01:00:00"),
        ("2020-01-31T10:00:00+02", "2020-01-31T08:00:00"),
    ],
)
def test_points_in_time_with_a_zone_are_dates_in_utc(zoned, utc):
    """Whatever else is in the column, so that it does not matter how rows are batched."""
    column = pa.array([zoned, None, "2021-05-06", "2021-05-06 07:08:09"])
    same = pa.array([utc, None, "2021-05-06", "2021-05-06 07:08:09"])
    assert kind_of(column, Spelling()) == "date"
    with pytest.warns(ZoneWarning, match="column 'x' holds times with a time zone and times"):
        found = cells(column, "date", "x", Spelling())
    assert found.type.tz == "UTC"
    assert found.cast(pa.timestamp("us")).equals(cells(same, "date", "x", Spelling()))


@pytest.mark.parametrize("text", ["10:00Z", "x 10:00:00Z", "2020-13-01T10:00:00Z", "12:30+02:00"])
def test_what_only_ends_like_a_point_in_time_is_text(text):
    assert kind_of(pa.array(["2020-01-31", text]), Spelling()) == "number or text"
    with pytest.raises(Misfit) as caught:
        cells(pa.array(["2020-01-31T10:00:00Z", text]), "date", "x", Spelling())
    assert (caught.value.row, caught.value.value) == (1, text)


def test_whole_numbers_beyond_floats_stay_apart(run, tmp_path):
    """Labels and levels of 64 bits, which float64 would merge."""
    big = [2**63 + 5, 2**64 - 1]
    ids = pa.array([big[i % 2] for i in range(60)], pa.uint64())
    label = pa.array([big[i // 3 % 2] for i in range(60)], pa.uint64())
    pq.write_table(pa.table({"id": ids, "x": range(60), "y": label}), tmp_path / "t.parquet")
    words = ("fit", "t.parquet", "-t", "y", "--plain", "--column", "id=categorical")
    found = run(*words, "--json", "--no-estimate").document
    assert found["classes"] == {str(value): 30.0 for value in big}
    assert found["columns"][0]["family"] == "categorical, 2 levels"
    lines = ["id,x,y", *(f"{big[i % 2]},{i},{big[i // 3 % 2]}" for i in range(60))]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    one, other = (run("predict", "t.tally", f"t.{kind}", "--proba") for kind in ("csv", "parquet"))
    assert one.out == other.out


# ---- missing values ------------------------------------------------------------------------------
@pytest.mark.parametrize("text", [text for text in MISSING if text])
def test_a_missing_value_is_one_among_numbers_and_among_strings(run, tmp_path, text):
    cells = [text if i % 5 == 0 else i for i in range(40)]
    lines = [f"{x},{'p' if x != text else x},{'ab'[i % 2]}" for i, x in enumerate(cells)]
    (tmp_path / "t.csv").write_text("\n".join(["n,s,y", *lines]))
    words = ("fit", "t.csv", "-t", "y", "--plain", "--no-estimate", "--json")
    for column in run(*words).document["columns"]:
        assert column["missing"] == pytest.approx(0.2)
        assert column["holds"] in ("numbers", "strings")
    tally = tallybayes.collect(tmp_path / "t.csv", "y")
    assert tallybayes.load(tmp_path / "t.tally").tally_ == tally
    as_text = tallybayes.csv(tmp_path / "t.csv", missing=[""])
    run(*words[:-1], "--only-null")
    with pytest.warns(MixedColumnWarning):
        tally = tallybayes.collect(as_text, "y")
    assert tallybayes.load(tmp_path / "t.tally").tally_ == tally
    assert tally != tallybayes.collect(tmp_path / "t.csv", "y")


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_a_label_that_is_a_spelling_of_missing_is_named(run, tmp_path, form):
    rows = [{"x": i, "region": ["EU", "NA", "AS"][i % 3]} for i in range(60)]
    frame = pa.Table.from_pylist(rows)
    path = tmp_path / f"t.{form}"
    if form == "csv":
        path.write_text("x,region\n" + "".join(f"{r['x']},{r['region']}\n" for r in rows))
    elif form == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        pq.write_table(frame, path)
    words = ("fit", path.name, "-t", "region", "--plain", "--no-estimate")
    error = run(*words, code=1).line
    assert "no label in 'region' but 'NA'" in error
    assert "--only-null" in error
    run(*words, "--only-null")
    assert tallybayes.load(tmp_path / "t.tally").classes_.tolist() == ["AS", "EU", "NA"]
    if form != "parquet":
        with pytest.raises(ValueError, match=r"row 1 has no label in 'region'.*missing=\[''\]"):
            tallybayes.collect(path, "region")


def test_a_label_that_is_empty_is_no_spelling(run, tmp_path):
    (tmp_path / "t.csv").write_text("x,y\n1,a\n2,\n")
    assert "--only-null" not in run("fit", "t.csv", "-t", "y", code=1).line
    piped = run("fit", "-", "-t", "y", "-o", "t.tally", stdin=b"x,y\n1,a\n2,NA\n", code=1).line
    assert "--only-null" in piped


def test_times_of_day_are_read_as_they_were_learned(run, tmp_path):
    def written(name, cells):
        lines = [f"{at},{'day' if '06' <= at[:2] < '18' else 'night'}" for at in cells]
        (tmp_path / name).write_text("\n".join(["at,y", *lines]))

    written("t.csv", [f"{i % 24:02}:{7 * i % 60:02}" for i in range(80)])
    words = ("fit", "t.csv", "-t", "y", "--plain", "--no-estimate")
    run(*words)
    assert tallybayes.load(tmp_path / "t.tally").score(tmp_path / "t.csv", "y") > 0.9
    run("evaluate", "t.tally", "t.csv")
    run("update", "t.tally", "t.csv", "-o", "u.tally")
    assert tallybayes.load(tmp_path / "u.tally").class_count_.sum() == 160
    run("forget", "u.tally", "t.csv")
    assert tallybayes.load(tmp_path / "u.tally") == tallybayes.load(tmp_path / "t.tally")
    model = tallybayes.load(tmp_path / "t.tally")
    assert model.predict([{"at": "12:30"}, {"at": 45000.0}]).tolist() == ["day", "day"]
    written("n.csv", ["07:30"] * 3 + ["noon"])
    assert "line 5: column 'at' holds 'noon'" in run("evaluate", "t.tally", "n.csv", code=1).line
    written("m.csv", ["07:30"] * 60 + ["noon"])
    outcome = run("fit", "m.csv", "-t", "y", "--plain", "--no-estimate", "--block", "64")
    assert "'at' is not read as times: line 62 holds 'noon'" in outcome.err


def zipped(*names: str) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as file:
        for name in names:
            file.writestr(name, "x,y\n1,a\n")
    return data.getvalue()


def tar() -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as file:
        info = tarfile.TarInfo("t.csv")
        info.size = 4
        file.addfile(info, io.BytesIO(b"x,y\n"))
    return data.getvalue()


def database(folder) -> bytes:
    path = folder / "made.db"
    with sqlite3.connect(path) as connection:
        connection.execute("create table t (x, y)")
    connection.close()
    return path.read_bytes()


FOREIGN = {
    "t.csv.zst": (b"\x28\xb5\x2f\xfd\x04\x00", ["a damaged or incomplete zstd file"]),
    "t.csv.bz2": (b"BZh91AY&SY", ["a damaged or incomplete bzip2 file"]),
    "t.csv.xz": (b"\xfd7zXZ\x00\x00\x04", ["a damaged or incomplete xz file"]),
    "t.xlsx": (zipped("[Content_Types].xml", "xl/workbook.xml"), ["Excel workbook", "as CSV"]),
    "t.xls": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", ["Excel workbook", "as CSV"]),
    "t.zip": (zipped("t.csv", "u.csv"), ["a zip archive of 2 files", "t.csv, u.csv"]),
    "t.tar.gz": (tar(), ["a tar archive: tar -xOf t.tar.gz"]),
    "t.pdf": (b"%PDF-1.7\n", ["a PDF document"]),
    "t.db": (None, ["a SQLite database: sqlite3 -csv -header t.db"]),
    "t.html": (b"\n<!DOCTYPE html><html>", ["an HTML page"]),
    "t.xml": (b"\xef\xbb\xbf<?xml version='1.0'?>", ["XML"]),
    "t.png": (b"\x89PNG\r\n\x1a\n", ["an image"]),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_what_a_file_is_and_what_to_do(run, tmp_path, name):
    data, parts = FOREIGN[name]
    (tmp_path / name).write_bytes(database(tmp_path) if data is None else data)
    line = run("fit", name, "-t", "y", code=1).line
    for part in parts:
        assert part in line


def test_an_address_is_not_read_without_fsspec(run, monkeypatch):
    monkeypatch.setattr("tallybayes.sources.places.find_spec", lambda name: None)
    words = ("-t", "y", "-o", "m.tally")
    line = run("fit", "https://example.org/t.csv", *words, code=1).line
    assert "fsspec, which is not installed: curl -sL 'https://example.org/t.csv' | tally" in line
    assert "download it" in run("fit", "s3://a/t.parquet", *words, code=1).line


def test_an_address_is_read_where_fsspec_is(run, tmp_path):
    (tmp_path / "t.csv").write_text("x,y\n" + "1.5,a\n2.5,b\n" * 9)
    words = ("-t", "y", "--plain", "--no-estimate", "--json")
    assert "add -o MODEL" in run("fit", f"file://{tmp_path}/t.csv", *words, code=2).line
    found = run("fit", f"file://{tmp_path}/t.csv", *words, "-o", "m.tally").document
    assert found["rows"] == 18
    here = run("predict", "m.tally", "t.csv").out
    assert run("predict", "m.tally", f"file://{tmp_path}/t.csv").out == here
    line = run("predict", "m.tally", f"file://{tmp_path}/none.csv", code=1).line
    assert "none.csv: there is no such file" in line


@pytest.mark.parametrize(
    ("header", "is_data"),
    [
        ("39,State-gov,77516,<=50K", True),
        ("5.1,3.5,1.4,setosa", True),
        ("1,1,0,22,A/5", True),
        ("0,1,2,3", False),
        ("2019,2020,2021,name", False),
        ("age,job,pay,income", False),
    ],
)
def test_a_header_that_is_missing(run, tmp_path, header, is_data):
    (tmp_path / "t.csv").write_text(f"{header}\n1,b,3,d\n2,b,4,e\n")
    line = run("fit", "t.csv", "-t", "target", code=1).line
    assert ("The first line looks like data. Is the header missing?" in line) == is_data


def test_a_header_that_is_missing_for_a_model(run, tmp_path):
    (tmp_path / "t.csv").write_text("x,y\n" + "1.5,a\n2.5,b\n" * 9)
    run("fit", "t.csv", "-t", "y", "--plain", "--no-estimate")
    (tmp_path / "new.csv").write_text("1.5\n2.5\n")
    assert "Is the header missing?" in run("predict", "t.tally", "new.csv", code=1).line
