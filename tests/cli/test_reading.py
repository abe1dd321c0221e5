"""The same rows in any format, delimiter and batch give the same model."""

from __future__ import annotations

import gzip

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tallybayes.cli.reading.cells import Misfit, Spelling, cells, kind_of

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
def expected(run, files):
    assert files.all == sorted(ALL)
    return run("predict", fitted(run, "comma.csv"), "comma.csv", "--proba").out


@pytest.mark.parametrize("name", ALL)
def test_every_format_is_the_same_table(run, expected, name):
    assert run("predict", fitted(run, name), "comma.csv", "--proba").out == expected
    assert run("predict", fitted(run, "comma.csv"), name, "--proba").out == expected


@pytest.mark.parametrize("name", ["comma.csv", "table.jsonl", "table.parquet", "stream.arrow"])
@pytest.mark.parametrize("block", [300, 1777])
def test_batches_of_any_size_give_the_same_model(run, expected, name, block):
    model = fitted(run, name, "--block", block)
    assert run("predict", model, name, "--proba", "--block", 500).out == expected


def test_parts_merged_for_cross_validation_are_the_same_model(run, expected, tmp_path):
    run("fit", "comma.csv", "--target", "buys", "-o", "cv.tally", "--block", 900)
    assert (
        run("show", "cv.tally", "--json").document["columns"]
        == (run("show", fitted(run, "comma.csv"), "--json").document["columns"])
    )


@pytest.mark.parametrize("name", ["semicolon.csv", "table.jsonl"])
def test_standard_input_and_output(run, expected, tmp_path, name):
    data = (tmp_path / name).read_bytes()
    words = ("fit", "-", "--target", "buys", "-o")
    assert run(*words, "p.tally", "--plain", stdin=data).err == ""
    assert run(*words, "m.tally", stdin=data).err == ""
    assert run("predict", "m.tally", "-", "--proba", "-o", "-", stdin=data).out == expected


def test_gzip(run, expected, tmp_path):
    (tmp_path / "x.csv.gz").write_bytes(gzip.compress((tmp_path / "comma.csv").read_bytes()))
    run("fit", "x.csv.gz", "--target", "buys", "--no-estimate")
    assert run("predict", "x.tally", "x.csv.gz", "--proba").out == expected


def test_encoding_and_byte_order_mark(run, expected, tmp_path):
    text = (tmp_path / "comma.csv").read_text(encoding="utf-8")
    (tmp_path / "gb.csv").write_bytes(text.encode("gb18030"))
    (tmp_path / "bom.csv").write_bytes(text.encode("utf-8-sig"))
    model = fitted(run, "gb.csv", "--encoding", "gb18030")
    assert run("predict", model, "bom.csv", "--proba").out == expected
    assert "--encoding" in run("fit", "gb.csv", "--target", "buys", code=1).line


def test_chinese_columns_and_labels(run, tmp_path):
    (tmp_path / "t.csv").write_text("年龄;收入;类别\n青年;高;是\n老年;低;否\n青年;?;是\n", "utf-8")
    found = run("fit", "--plain", "t.csv", "--target", "类别", "--json").document
    assert found["classes"] == {"否": 1.0, "是": 2.0}
    assert run("predict", "t.tally", "t.csv").out == "prediction\n是\n否\n是\n"


def test_a_list_of_gaps_replaces_the_usual_one(run, tmp_path):
    (tmp_path / "t.csv").write_text("x,y\nNA,a\n-,b\nNA,a\n-,b\n")
    words = ("fit", "--plain", "t.csv", "--target", "y", "--json", "--no-estimate")
    (column,) = run(*words).document["columns"]
    assert column["gaps"] == 0.5
    (column,) = run(*words, "--null", "-", "--null", "").document["columns"]
    assert column["family"] == "categorical, 1 levels"
    run(*words, "--null", "nothing")
    shares = run("show", "t.tally", "--json").document
    assert shares["columns"][0]["gaps"] == 0.0
    assert run("predict", "t.tally", "t.csv").out.split() == ["prediction", *"abab"]


def widening(tmp_path, name="w.csv"):
    lines = ["code,late,y", *(f"{i % 5},,{'ab'[i % 2]}" for i in range(300)), "x9,2.5,a", "3,4,b"]
    (tmp_path / name).write_text("\n".join(lines) + "\n")
    return name


def test_a_later_text_makes_the_whole_column_text(run, tmp_path):
    name = widening(tmp_path)
    result = run("fit", "--plain", name, "--target", "y", "--block", 400)
    assert "column 'code' is read as text: line 302 holds 'x9'" in result.err
    found = {c["column"]: c for c in run("show", "w.tally", "--json").document["columns"]}
    assert found["code"]["family"] == "categorical, 6 levels"
    assert found["code"]["gaps"] == 0.0
    assert found["late"]["holds"] == "numbers"


def test_standard_input_cannot_be_read_again(run, tmp_path):
    data = (tmp_path / widening(tmp_path)).read_bytes()
    words = ("fit", "-", "--target", "y", "-o", "w.tally", "--block", 400)
    assert "--column code=categorical" in run(*words, stdin=data, code=1).line
    assert not (tmp_path / "w.tally").exists()
    run(*words, "--column", "code=categorical", stdin=data)


def test_a_key_that_comes_late_is_a_column(run, tmp_path):
    lines = ['{"a": 1, "y": "u"}', '{"a": 2, "y": "v"}'] * 40 + ['{"a": 1, "b": "late", "y": "u"}']
    (tmp_path / "t.jsonl").write_text("\n".join(lines))
    found = run("fit", "t.jsonl", "--target", "y", "--block", 200, "--json").document
    assert [c["column"] for c in found["columns"]] == ["a", "b"]
    assert found["rows"] == 81


def test_mixed_json_values_are_texts(run, tmp_path):
    (tmp_path / "t.jsonl").write_text('{"a": 1, "y": true}\n\n{"a": "x", "y": false}\n')
    found = run("fit", "--plain", "t.jsonl", "--target", "y", "--json").document
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
    assert "add --encoding utf-16" in run(*words, code=1).line
    assert run(*words, "--encoding", "utf-16", "--json").document["rows"] == 2.0


def test_lines_that_end_in_cr_alone_are_explained(run, tmp_path):
    (tmp_path / "t.csv").write_bytes(b"x,y\r1,a\r2,b\r")
    assert "CR alone" in run("fit", "t.csv", "--target", "y", code=1).line


def test_an_infinite_number_may_be_declared_a_gap(run, tmp_path):
    (tmp_path / "t.csv").write_text("x,y\n1,a\ninf,b\n3,a\n4,b\n")
    words = ("fit", "--plain", "t.csv", "--target", "y", "--json")
    assert "line 3: column 'x' is infinite" in run(*words, code=1).line
    (column,) = run(*words, "--null", "inf").document["columns"]
    assert (column["holds"], column["gaps"]) == ("numbers", 0.25)


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
    assert cells(column, "date", "x", Spelling()).equals(cells(same, "date", "x", Spelling()))


@pytest.mark.parametrize("text", ["10:00Z", "x 10:00:00Z", "2020-13-01T10:00:00Z", "12:30+02:00"])
def test_what_only_ends_like_a_point_in_time_is_text(text):
    assert kind_of(pa.array(["2020-01-31", text]), Spelling()) == "text"
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
