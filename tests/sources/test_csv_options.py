"""CSV of any layout and spelling: headers, skipped lines, blanks, signs, dates, and what comes
before.
"""

import io
import json

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tallybayes
from tallybayes import NaiveBayes
from tallybayes.errors import SourceError
from tallybayes.sources.contract import restarted
from tallybayes.sources.csv_files import CsvFile, tabbed
from tallybayes.sources.files import source_of, source_of_paths
from tallybayes.sources.options import Layout
from tallybayes.tables.columns import values_of


def read(source, names=None):
    """The values of each column."""

    def once():
        tables = [part.read() for part in source.parts(names)]
        return {
            name: [value for table in tables for value in values_of(table.columns[name])]
            for name in tables[0].columns
        }

    return restarted(once)


def written(tmp_path, text, name="t.csv"):
    path = tmp_path / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


# ---- laws --------------------------------------------------------------------------------------
FIELDS = st.lists(
    st.lists(
        st.sampled_from(["a", "1", "-2.5", '"a b"', '"a\nb"', "x\\y"]), min_size=2, max_size=2
    ),
    min_size=1,
    max_size=6,
)
RUNS = st.sampled_from([" ", "  ", "\t", " \t ", "     "])


@given(rows=FIELDS, data=st.data(), end=st.sampled_from(["\n", "\r\n"]))
def test_any_run_of_blanks_is_a_tab(rows, data, end):
    edge = st.sampled_from(["", " ", "\t "])
    text = "".join(
        data.draw(edge) + row[0] + data.draw(RUNS) + row[1] + data.draw(edge) + end for row in rows
    )
    assert tabbed(text.encode()).decode() == "".join(f"{a}\t{b}{end}" for a, b in rows)


@given(
    block=st.integers(8, 200),
    skip=st.integers(0, 3),
    header=st.booleans(),
    delimiter=st.sampled_from([",", "\t", "blanks"]),
)
def test_the_layout_and_the_size_of_blocks_do_not_matter(
    tmp_path_factory, block, skip, header, delimiter
):
    rows = [[f"s{i}", str(i / 4), "x" * (i % 5 + 1)] for i in range(30)]
    between = "   " if delimiter == "blanks" else delimiter
    lines = ['# a "comment, without an end'] * skip
    lines += [between.join(("name", "size", "note"))] * header + [between.join(r) for r in rows]
    path = tmp_path_factory.mktemp("laid") / "t.csv"
    path.write_text("\n".join(lines) + "\n")
    layout = Layout(delimiter=delimiter, skip=skip, header=header, names=("name", "size", "note"))
    source = source_of_paths([str(path)], "csv", layout=layout, block=block)
    found = read(source)
    assert found == {
        "name": [row[0] for row in rows],
        "size": [float(row[1]) for row in rows],
        "note": [row[2] for row in rows],
    }
    last = list(source.parts())[-1]
    assert last.place(29) == f"line {skip + header + 30:,}"


# ---- known answers -----------------------------------------------------------------------------
def test_columns_without_a_header_are_numbered(tmp_path):
    path = written(tmp_path, "1,a\n2,b\n")
    assert read(tallybayes.csv(path, header=False)) == {"column1": [1, 2], "column2": ["a", "b"]}
    named = tallybayes.csv(path, header=False, names=["x", "y"])
    assert read(named) == {"x": [1, 2], "y": ["a", "b"]}
    assert read(tallybayes.csv(path, names=["x", "y"])) == {"x": [2], "y": ["b"]}


def test_columns_below_each_other_are_read_by_their_blanks(tmp_path):
    text = '  name      size\n  "A  B"     1.5\n  Cé\t\t-2 \n\n  "D\nD"  3\n'
    path = written(tmp_path, text)
    assert read(tallybayes.csv(path, delimiter="blanks")) == {
        "name": ["A  B", "Cé", "D\nD"],
        "size": [1.5, -2.0, 3.0],
    }


@pytest.mark.parametrize(
    ("decimal", "thousands", "cells"),
    [
        (",", ".", ["1.000,50", "-1.234.567", "12", "1,25"]),
        (".", ",", ["1,000.50", "-1,234,567", "12", "1.25"]),
        (".", "'", ["1'000.50", "-1'234'567", "12", "1.25"]),
        (",", "space", ["1 000,50", "-1\u00a0234\u202f567", "12", "1,25"]),
    ],
)
def test_numbers_with_signs_of_thousands(tmp_path, decimal, thousands, cells):
    path = written(tmp_path, "n;y\n" + "".join(f"{cell};a\n" for cell in cells))
    source = tallybayes.csv(path, decimal=decimal, thousands=thousands, delimiter=";")
    assert read(source)["n"] == [1000.5, -1234567.0, 12.0, 1.25]


def test_signs_in_other_places_are_no_signs_of_thousands(tmp_path):
    cells = ["1.00", "1.0000,5", ".100", "1..000", "1.000.00"]
    path = written(tmp_path, "n;y\n" + "".join(f"{cell};a\n" for cell in cells) + "7;a\n")
    source = tallybayes.csv(path, decimal=",", thousands=".", delimiter=";")
    assert read(source)["n"] == [*cells, 7]


@pytest.mark.parametrize(
    "cells",
    [
        ["Jan 01 2020", "December 31, 2021"],
        ["1 January 2020", "31 Dec. 2021"],
        ["01-Jan-2020", "31-DEC-2021"],
        ["Wed, 01 Jan 2020", "Fri, 31 Dec 2021"],
        ["2020-01-01", "31. December 2021"],
        ["01-Jan-20", "31-Dec-21"],
        ["2020/1/1", "2021/12/31"],
        ["2020年1月1日", "2021年12月31日"],
        ["2020.01.01", "2021-12-31"],
        ["2020-1-1", "2021-12-31"],
        ["Wed, 1 Jan 2020 00:00:00 GMT", "Thu, 30 Dec 2021 20:00:00 -0400 (AST)"],
        ["Wed Jan  1 00:00:00 2020", "Fri Dec 31 00:00:00 UTC 2021"],
        ["2020/1/1 12:00 AM", "31-Dec-21 12:00:00 am"],
    ],
)
def test_dates_in_words_are_dates(tmp_path, cells):
    path = written(tmp_path, "d;y\n" + "".join(f"{cell};a\n" for cell in [*cells, "NA"]))
    found = read(tallybayes.csv(path))["d"]
    assert found == ["2020-01-01", "2021-12-31", None]


def test_dates_in_digits_need_their_order(tmp_path):
    path = written(tmp_path, "d,e,y\n31.12.2021,12/31/2021,a\n01.02.2020 10:30,2/1/2020,b\n")
    assert read(tallybayes.csv(path))["d"] == ["31.12.2021", "01.02.2020 10:30"]
    day = read(tallybayes.csv(path, dates="dmy"))
    month = read(tallybayes.csv(path, dates="mdy"))
    assert day["d"] == ["2021-12-31", "2020-02-01T10:30:00"]
    assert day["e"] == ["12/31/2021", "2/1/2020"]
    assert month["e"] == ["2021-12-31", "2020-02-01"]
    assert month["d"] == ["31.12.2021", "01.02.2020 10:30"]


def test_years_of_two_digits_are_those_of_posix(tmp_path):
    path = written(tmp_path, "d,y\n31.12.68,a\n1/1/69,b\n5/6/00,b\n")
    assert read(tallybayes.csv(path, dates="dmy"))["d"] == [
        "2068-12-31",
        "1969-01-01",
        "2000-06-05",
    ]


@pytest.mark.parametrize(
    ("cells", "seconds"),
    [
        (["07:30", "23:59", "0:05"], [27000, 86340, 300]),
        (["07:30:15", "23:59:59.25", "00:00:00"], [27015, 86399.25, 0]),
        (["12:00 AM", "1:05 PM", "12:30 p.m."], [0, 47100, 45000]),
    ],
)
@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_times_of_day_are_seconds(tmp_path, cells, seconds, form):
    cells = [*cells, "NA"]
    if form == "csv":
        text = "d;y\n" + "".join(f"{cell};a\n" for cell in cells)
    else:
        text = "".join(json.dumps({"d": cell, "y": "a"}) + "\n" for cell in cells)
    source = source_of(written(tmp_path, text, f"t.{form}"))
    assert read(source)["d"] == [*seconds, None]


@pytest.mark.parametrize(
    "other", ["24:00", "7:60", "13:00 PM", "0:10 AM", "x", "1:2", "07:30:15:00"]
)
def test_what_is_no_time_makes_a_column_of_strings(tmp_path, other):
    for cells in ([other, "07:30"], ["07:30"] * 100 + [other]):
        path = written(tmp_path, "d,y\n" + "".join(f"{cell},a\n" for cell in cells))
        assert read(source_of_paths([str(path)], block=64))["d"] == cells


def test_what_is_no_date_is_a_string(tmp_path):
    cells = ["Jan 01 2020", "Foo 01 2020", "31 June 2020", "May 2020"]
    path = written(tmp_path, "d,y\n" + "".join(f"{cell},a\n" for cell in cells))
    assert read(tallybayes.csv(path))["d"] == cells


def test_the_model_is_that_of_the_rows_as_a_frame(tmp_path):
    frame = pd.DataFrame({"n": [1000.5, 2.0, 3.0, 4000.0], "y": ["a", "b", "b", "a"]})
    text = "#\nn;y\n1.000,50;a\n2;b\n3;b\n4.000;a\n"
    source = tallybayes.csv(written(tmp_path, text), skip=1, decimal=",", thousands=".")
    assert NaiveBayes().fit(source, "y") == NaiveBayes().fit(frame, "y")


# ---- bad input ---------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"delimiter": ";;"}, "delimiter ';;' is not one ASCII character, tab or blanks"),
        ({"encoding": "utf-99"}, "encoding 'utf-99' is not known"),
        ({"skip": -1}, "skip -1 is not a number of lines"),
        ({"names": ["a", "a"]}, "names has 'a' twice"),
        ({"names": ["a", " "]}, "names has ' '"),
        ({"decimal": "x"}, "decimal 'x' is neither . nor ,"),
        ({"thousands": "x"}, "thousands 'x' is not one of"),
        ({"thousands": "."}, "thousands '.' is the decimal sign"),
        ({"dates": "ydm"}, "dates 'ydm' is not one of ymd, dmy, mdy"),
        ({"decimal": ",", "delimiter": ","}, "cannot be distinguished"),
    ],
)
def test_options_that_cannot_be(options, message):
    with pytest.raises(ValueError, match=message):
        tallybayes.csv("t.csv", **options)


def test_names_and_fields_are_as_many(tmp_path):
    path = written(tmp_path, "1,a\n2,b\n")
    with pytest.raises(SourceError, match=r"3 names are given, and the first row has 2 field"):
        tallybayes.csv(path, header=False, names=["x", "y", "z"])
    with pytest.raises(SourceError, match=r"1 names are given, and the header has 2 field"):
        tallybayes.csv(path, names=["x"])
    with pytest.raises(SourceError, match="nothing below the 9 lines"):
        tallybayes.csv(path, skip=9)
    uneven = written(tmp_path, "#\n1 a\n2 b c\n", "u.txt")
    source = tallybayes.csv(uneven, skip=1, header=False, delimiter="blanks")
    with pytest.raises(SourceError, match=r"line 3 has 3 field.*the first row has 2.*blanks"):
        read(source)


def test_a_layout_is_refused_where_it_has_no_effect(tmp_path):
    path = written(tmp_path, '{"a": 1, "y": "b"}\n', "t.jsonl")
    for layout in (Layout(delimiter=";"), Layout(encoding="latin-1"), Layout(skip=1)):
        with pytest.raises(SourceError, match=r"t\.jsonl is JSON lines, and .* is for CSV"):
            source_of_paths([str(path)], layout=layout)


def test_blanks_are_pointed_out(tmp_path):
    path = written(tmp_path, "a   y\n1   b\n2   c\n")
    with pytest.raises(ValueError, match="Are its columns parted by blanks"):
        NaiveBayes().fit(path, "y")


def test_a_blank_text_stays_what_it_is():
    assert tabbed(b"") == b""
    assert tabbed(b" \n\t\n") == b"\n\n"
    assert io.BytesIO(tabbed(b"5'10\" tall  x\n")).read() == b"5'10\"\ttall\tx\n"


# ---- long records --------------------------------------------------------------------------------
@pytest.mark.parametrize("quote", ["", '"'])
@pytest.mark.parametrize(("options", "before"), [({}, ""), ({"skip": 2}, f"{'x' * 70_000}\nb\n")])
def test_a_header_may_be_of_any_length(tmp_path, options, before, quote):
    names = [f"gene{i}" + "x" * 1000 for i in range(150)]  # 150 kB, more than is looked at first
    header = ",".join(f"{quote}{name}{quote}" for name in [*names, "y"])
    rows = "".join(",".join("1" * 150) + f",{y}\n" for y in "abab")
    for name, encoding in (("t.csv", "utf-8"), ("u.csv", "utf-16")):
        path = written(tmp_path, (before + header + "\n" + rows).encode(encoding), name)
        source = tallybayes.csv(path, encoding=encoding, **options)
        assert source.header == [*names, "y"]
        assert tallybayes.collect(source, "y").classes.count.tolist() == [2, 2]


def test_a_name_beyond_the_first_look_is_found_twice(tmp_path):
    names = [f"gene{i}" + "x" * 1000 for i in range(150)]
    path = written(tmp_path, ",".join([*names, names[-1]]) + "\n" + ",".join("1" * 151))
    with pytest.raises(SourceError, match="two columns are named 'gene149x"):
        tallybayes.csv(path)


ROWS = ["a,b,y", *(f"{i},{i % 3},{'uv'[i % 2]}" for i in range(30))]


def written_lines(tmp_path, lines, name="t.csv"):
    path = tmp_path / name
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("sign", ["#", "%", "//", "|"])
@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("text", [" made by x", " made by x, on 2024-01-31", " a; b, c; and d"])
def test_comments_before_the_header_name_the_option(tmp_path, sign, n, text):
    comments = [f"{sign}{text}"] * n
    path = written_lines(tmp_path, [*comments, *ROWS])
    with pytest.raises(SourceError, match=rf"before the header: --skip {n} reads"):
        tallybayes.csv(path)
    expected = tallybayes.collect(written_lines(tmp_path, ROWS, "plain.csv"), "y")
    assert tallybayes.collect(tallybayes.csv(path, skip=n), "y") == expected
    path = written_lines(tmp_path, ["", *comments, *ROWS])
    with pytest.raises(SourceError, match=rf"--skip {n + 1} reads"):
        tallybayes.csv(path)
    assert tallybayes.collect(tallybayes.csv(path, skip=n + 1), "y") == expected


def test_the_line_of_excel_names_the_option(tmp_path):
    rows = [row.replace(",", ";") for row in ROWS]
    path = written_lines(tmp_path, ["sep=;", *rows])
    with pytest.raises(SourceError, match=r"the line 'sep=;', before the header: --skip 1"):
        tallybayes.csv(path)
    assert tallybayes.csv(path, skip=1).header == ["a", "b", "y"]


def test_a_header_may_begin_with_a_sign_of_comments(tmp_path):
    assert tallybayes.csv(written_lines(tmp_path, ["#a,b,y", *ROWS[1:]])).header == ["#a", "b", "y"]
    path = written_lines(tmp_path, ["# made by x", "#a,b,y", *ROWS[1:]])
    with pytest.raises(SourceError, match=r"--skip 1 reads"):
        tallybayes.csv(path)
    assert tallybayes.csv(path, skip=1).header == ["#a", "b", "y"]


@pytest.mark.parametrize("space", ["\u2028", "\x0b", "\x1c"])
def test_lines_that_are_skipped_end_where_those_of_a_file_do(tmp_path, space):
    path = written_lines(tmp_path, [f"made{space}by x", *ROWS])
    source = tallybayes.csv(path, skip=1)
    assert source.header == ["a", "b", "y"]
    assert tallybayes.collect(source, "y").classes.count.sum() == 30


# ---- ARFF ----------------------------------------------------------------------------------------
ARFF = """% a comment, "of two" lines

%
@RELATION weather

@attribute outlook {sunny, 'light rain'}
@attribute 'wind, in km/h' REAL
@attribute code {1, 2}
@ATTRIBUTE play {yes,no}

@DATA
% the first rows
sunny, 5.5, 1, yes
'light rain',?,2,no
%
'light rain', 7.25, 1 , 'no'
sunny,8,2,yes
%
"""


def test_arff_is_read_as_it_is_declared(tmp_path):
    path = written_lines(tmp_path, ARFF.splitlines(), "t.arff")
    frame = pd.DataFrame(
        {
            "outlook": ["sunny", "light rain", "light rain", "sunny"],
            "wind, in km/h": [5.5, None, 7.25, 8.0],
            "code": ["1", "2", "1", "2"],
            "play": ["yes", "no", "no", "yes"],
        }
    )
    expected = tallybayes.collect(frame, "play")
    for block in (1, 1 << 20):
        source = CsvFile(str(path), block=block)
        assert source.header == ["outlook", "wind, in km/h", "code", "play"]
        assert tallybayes.collect(source, "play") == expected
    assert tallybayes.collect(tmp_path, "play") == expected  # by its suffix, in a folder


def test_quotes_of_arff_are_those_of_csv(tmp_path):
    head = ["@relation r", "@attribute s string", "@attribute y {a,b}", "@data"]
    rows = [r"'it\'s, here',a", '"x, y",b', r"'say \"no\"',a", "don't,b", "'50%',a"]
    path = written_lines(tmp_path, [*head, *rows], "t.arff")
    [part] = tallybayes.csv(path).parts()
    levels = ["it's, here", "x, y", 'say "no"', "don't", "50%"]
    assert part.read().columns["s"].levels == levels


def test_faults_of_arff_name_their_line(tmp_path):
    path = written_lines(tmp_path, [*ARFF.splitlines(), "sunny,8,yes"], "t.arff")
    with pytest.raises(SourceError, match=r"line 19 has 3 field\(s\), but the first row has 4"):
        tallybayes.collect(path, "play")
    path = written_lines(tmp_path, [*ARFF.splitlines(), "sunny,8,2,?"], "t.arff")
    with pytest.raises(ValueError, match=r"t\.arff, line 19: row 4 has no label"):
        tallybayes.collect(path, "play")


def test_sparse_files_say_what_reads_them(tmp_path):
    head = ARFF.splitlines()[:11]
    with pytest.raises(SourceError, match="sparse ARFF file"):
        tallybayes.csv(written_lines(tmp_path, [*head, "{0 sunny, 1 5.5}"], "s.arff"))
    path = written_lines(tmp_path, ["+1 1:0.5 7:1", "-1 3:2e-3", "+1 1:1 # x"])
    with pytest.raises(SourceError, match=r"libsvm file.*load_svmlight_file"):
        tallybayes.csv(path)
