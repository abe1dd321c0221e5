"""What a file may mean other than what was understood is said, with what to do."""

import json

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

import tallybayes


def notes(run, tmp_path, cells, *options):
    """The lines on standard error of a fit on a column x."""
    lines = [f'"{cell}",{i % 3},{"ab"[i % 2]}' for i, cell in enumerate(cells)]
    (tmp_path / "t.csv").write_text("x,z,y\n" + "\n".join(lines) + "\n", "utf-8")
    words = ("fit", "--plain", "t.csv", "--target", "y", "--no-estimate", *options)
    return [line for line in run(*words).err.splitlines() if "not measured" not in line]


NUMBERS = [f"{i}.5" for i in range(30)]


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ([*NUMBERS, *["-"] * 40], "because of '-' among numbers: if that means missing, add --n"),
        ([f"{i},5" for i in range(30)], "numbers with a decimal comma: add --decimal ,"),
        ([f"${i},000.00" for i in range(30)], "numbers with signs, such as '$0,000.00'"),
        ([f"{i} %" for i in range(30)], "numbers with signs, such as '0 %'"),
        ([f"{1 + i}/02/2020" for i in range(30)], "dates, such as '1/02/2020': add --dates dmy"),
        ([f"02/{1 + i}/2020" for i in range(30)], "dates, such as '02/1/2020': add --dates mdy"),
        ([f"{1 + i}.000,5" for i in range(30)], "such as '1.000,5': add --thousands . --decimal ,"),
        ([f"{1 + i}'000.5" for i in range(30)], 'such as "1\'000.5": add --thousands apostrophe'),
    ],
)
def test_texts_that_look_like_something_else_are_named(run, tmp_path, cells, said):
    (line,) = notes(run, tmp_path, cells)
    assert line.startswith("note: column 'x' was read as strings ")
    assert said in line


def test_texts_among_numbers_are_named_with_the_first_line(run, tmp_path):
    cells = [*NUMBERS, "no answer", "1.5", "it's", "no answer"]
    (line,) = notes(run, tmp_path, cells)
    assert "column 'x': line 32 holds 'no answer', and 1 other string comes later" in line
    assert line.endswith("add --null 'x=no answer' --null 'x=it'\\''s'")
    cells[5] = "true"  # which is read as the number 1
    assert "line 32 holds 'no answer'" in notes(run, tmp_path, cells)[0]
    (line,) = notes(run, tmp_path, [*NUMBERS, "a", "b", "c", "d"])
    assert line.endswith("strings are levels beside the numbers")


def test_numbers_too_many_to_be_levels_are_named(run, tmp_path):
    cells = [f"{i}.5" if i % 2 else "abcde"[i % 5] for i in range(9000)] + ["a"]
    (line,) = notes(run, tmp_path, cells)
    assert "column 'x' is mainly strings" in line
    assert line.endswith("--column x=categorical")
    assert notes(run, tmp_path, cells, "--column", "x=categorical") == []


@pytest.mark.parametrize(
    "cells",
    [
        NUMBERS,
        ["cook", "nurse", "driver"] * 10,
        [f"a{i}" for i in range(30)],
        ["1", "2", "more", "few"] * 10,  # levels, of which some are digits
        ["2020-01-31"] * 30,
        ["1.2.3.4", "10.0.0.1"] * 15,
    ],
)
def test_nothing_is_said_of_what_is_as_it_looks(run, tmp_path, cells):
    assert notes(run, tmp_path, cells) == []


def test_nothing_is_said_of_a_column_declared_as_levels(run, tmp_path):
    assert notes(run, tmp_path, [*NUMBERS, "-"], "--column", "x=categorical") == []


def test_the_option_of_a_note_reads_the_column_as_numbers(run, tmp_path):
    """Empty cells stay missing values, whatever --null names."""
    cells = [*NUMBERS, "-", ""]
    assert len(notes(run, tmp_path, cells)) == 1
    assert notes(run, tmp_path, cells, "--null", "-") == []
    column = run("show", "t.tally", "--json").document["columns"][0]
    assert column["holds"] == "numbers"
    assert column["missing"] == pytest.approx(2 / 32)


def test_a_column_without_a_name_is_said_not_to_be_read(run, tmp_path):
    (tmp_path / "t.csv").write_text(",x,y\n0,1,a\n1,2,b\n2,3,a\n")
    result = run("fit", "--plain", "t.csv", "--target", "y")
    assert "note: a column without a name" in result.err


def test_many_numbers_as_classes_are_noted_once(run, tmp_path):
    rows = [f"{i % 7},{i % 40}" for i in range(200)]
    (tmp_path / "t.csv").write_text("x,y\n" + "\n".join(rows) + "\n")
    for words in ([], ["--plain"]):
        lines = run("fit", *words, "t.csv", "--target", "y", "--no-estimate").err.splitlines()
        findings = [line for line in lines if "40 different numbers" in line]
        assert len(findings) == 1
        assert not any("regression" in line for line in lines)


@pytest.fixture
def small(run, tmp_path):
    """Two models, of one.csv and of more.csv."""
    for name, shift in (("one", 0), ("more", 1)):
        rows = [f"{i % 5 + shift},{i % 3},{'ab'[i % 2]}" for i in range(60)]
        (tmp_path / f"{name}.csv").write_text("x,z,y\n" + "\n".join(rows) + "\n")
        run("fit", f"{name}.csv", "-t", "y", "--no-estimate")


def test_a_model_merged_with_itself_is_pointed_out(run, small, tmp_path):
    (tmp_path / "copy.tally").write_bytes((tmp_path / "one.tally").read_bytes())
    words = ("-o", "both.tally")
    assert "one.tally is given twice" in run("merge", "one.tally", "one.tally", *words).err
    assert "copy.tally is a copy of one" in run("merge", "one.tally", "copy.tally", *words).err
    err = run("merge", "one.tally", "more.tally", *words).err
    assert "twice" not in err
    assert len(err.splitlines()) == 1
    assert "weights and pairs were learned on other counts: tallybayes reweight both.tally" in err
    run("reweight", "both.tally", "one.csv")
    assert (
        run("merge", "both.tally", "one.tally", "-o", "c.tally", "--json").document["rows"] == 180
    )


def test_a_new_class_is_pointed_out(run, small, tmp_path):
    (tmp_path / "new.csv").write_text("x,z,y\n1,2,A\n2,1,a\n3,0,A\n")
    err = run("update", "one.tally", "new.csv", "-o", "n.tally").err
    assert "warning: the class is new to the model: 'A' (2 rows)" in err
    assert "is new" not in run("update", "one.tally", "more.csv", "-o", "n.tally").err


# ---- more of what strings look like --------------------------------------------------------------
@pytest.mark.parametrize(
    ("cells", "said"),
    [
        (["1,651", "971", "12,300", "88", "2,045"] * 6, "add --thousands ,"),
        (["1.650,88", "971,50", "88,00"] * 10, "add --thousands . --decimal ,"),
        (["1 650,88", "971,50", "88,00"] * 10, "add --thousands space --decimal ,"),
        (["1\u202f650,88", "971,50", "88,00"] * 10, "add --thousands space --decimal ,"),
        (["1’650.88", "971.50", "88.00"] * 10, "add --thousands apostrophe"),
        (["1.650,88 €", "971,50 €"] * 15, "numbers with signs, such as '1.650,88 €'"),
        (["5 kg", "7.5 kg"] * 15, "numbers with a unit, such as '5 kg'"),
        (["(5.0)", "7.5"] * 15, "negative ones stand in brackets, such as '(5.0)'"),
        (["１２", "１３"] * 15, "digits of another script, such as '１２'"),
        (["2021-11", "2021-12"] * 15, "months, such as '2021-11': write the first day"),
        (["31.12.20", "1.2.21"] * 15, "add --dates dmy"),
        (["01067", "04109", "80331"] * 10, "leading zeros, such as '01067', which numbers lose"),
        (["1.651", "971", "12.300", "88"] * 8, "if so, add --thousands . --decimal ,"),
    ],
)
def test_what_numbers_and_strings_look_like(run, tmp_path, cells, said):
    lines = notes(run, tmp_path, cells)
    assert any("column 'x'" in line and said in line for line in lines), lines


@pytest.mark.parametrize(
    "cells",
    [
        ["0.971", "1.651", "5"] * 10,  # numbers of three decimals
        ["5A", "7B", "1st", "2nd"] * 8,
        ["007", "1.5"] * 15,
        ["0", "10", "100"] * 10,
    ],
)
def test_nothing_is_said_of_other_numbers(run, tmp_path, cells):
    assert notes(run, tmp_path, cells) == []


def test_the_option_of_a_note_gives_the_plain_numbers(run, tmp_path):
    values = [1650.88, 971.5, 12300.25, 88.0, 2045.75, 560.5]

    def german(value):
        return f"{value:,.2f}".replace(",", "_").replace(".", ",").replace("_", ".")

    cells = values * 5
    notes(run, tmp_path, cells)
    expected = tallybayes.load(tmp_path / "t.tally").tally_
    for sign, option in ((".", "."), (" ", "space"), ("\u202f", "space"), ("’", "apostrophe")):
        written = [german(value).replace(".", sign) for value in cells]
        (line,) = notes(run, tmp_path, written)
        options = line.partition("add ")[2].split()
        assert options == ["--thousands", option, "--decimal", ","]
        assert notes(run, tmp_path, written, *options) == []
        assert tallybayes.load(tmp_path / "t.tally").tally_ == expected


def test_columns_without_a_sign_between_groups_end_no_fit(run, tmp_path):
    """They look like numbers, and are strings for another reason."""
    rows = [f"{1 + i % 3}.5;{i},5;{'ab'[i % 2]}" for i in range(20)]
    (tmp_path / "t.csv").write_text("\n".join(["version;price;y", *rows]))
    words = ("fit", "t.csv", "-t", "y", "--no-estimate", "--plain", "--decimal", ",")
    assert (
        "'version' was read as strings and looks like numbers with a decimal point"
        in run(*words).err
    )
    codes = pa.array([1, 2, 3, 1, 2] * 4).dictionary_encode()
    feather.write_feather(pa.table({"code": codes, "y": ["a", "b"] * 10}), tmp_path / "c.arrow")
    assert "code" not in run("fit", "c.arrow", "-t", "y", "--no-estimate", "--plain").err


def test_leading_zeros_of_strings_in_other_formats_are_noted(run, tmp_path):
    rows = [{"plz": ["01067", "04109", "80331"][i % 3], "y": "ab"[i % 2]} for i in range(30)]
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "t.parquet")
    for name in ("t.jsonl", "t.parquet"):
        err = run("fit", name, "-t", "y", "--no-estimate", "--plain").err
        assert "column 'plz' has leading zeros, such as '01067'" in err
        words = ("fit", name, "-t", "y", "--no-estimate", "--plain", "--column", "plz=categorical")
        assert "leading zeros" not in run(*words).err
