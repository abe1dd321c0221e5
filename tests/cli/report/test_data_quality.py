"""What a file may mean other than what was understood is said, with what to do."""

import pytest


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
        ([f"{i}.000,5" for i in range(30)], "such as '0.000,5': add --thousands . --decimal ,"),
        ([f"{i}'000.5" for i in range(30)], 'such as "0\'000.5": add --thousands apostrophe'),
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
