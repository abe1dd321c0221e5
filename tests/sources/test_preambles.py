"""What comes before the rows: comments, Excel's separator, the declarations of ARFF; sparse
files."""

from __future__ import annotations

import pandas as pd
import pytest

import tallybayes
from tallybayes.errors import SourceError
from tallybayes.sources.csv_files import CsvFile

ROWS = ["a,b,y", *(f"{i},{i % 3},{'uv'[i % 2]}" for i in range(30))]


def written(tmp_path, lines, name="t.csv"):
    path = tmp_path / name
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("sign", ["#", "%", "//", "|"])
@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("text", [" made by x", " made by x, on 2024-01-31", " a; b, c; and d"])
def test_comments_before_the_header_name_the_option(tmp_path, sign, n, text):
    comments = [f"{sign}{text}"] * n
    path = written(tmp_path, [*comments, *ROWS])
    with pytest.raises(SourceError, match=rf"before the header: --skip {n} reads"):
        tallybayes.csv(path)
    expected = tallybayes.collect(written(tmp_path, ROWS, "plain.csv"), "y")
    assert tallybayes.collect(tallybayes.csv(path, skip=n), "y") == expected
    path = written(tmp_path, ["", *comments, *ROWS])
    with pytest.raises(SourceError, match=rf"--skip {n + 1} reads"):
        tallybayes.csv(path)
    assert tallybayes.collect(tallybayes.csv(path, skip=n + 1), "y") == expected


def test_the_line_of_excel_names_the_option(tmp_path):
    rows = [row.replace(",", ";") for row in ROWS]
    path = written(tmp_path, ["sep=;", *rows])
    with pytest.raises(SourceError, match=r"the line 'sep=;', before the header: --skip 1"):
        tallybayes.csv(path)
    assert tallybayes.csv(path, skip=1).header == ["a", "b", "y"]


def test_a_header_may_begin_with_a_sign_of_comments(tmp_path):
    assert tallybayes.csv(written(tmp_path, ["#a,b,y", *ROWS[1:]])).header == ["#a", "b", "y"]
    path = written(tmp_path, ["# made by x", "#a,b,y", *ROWS[1:]])
    with pytest.raises(SourceError, match=r"--skip 1 reads"):
        tallybayes.csv(path)
    assert tallybayes.csv(path, skip=1).header == ["#a", "b", "y"]


@pytest.mark.parametrize("space", ["\u2028", "\x0b", "\x1c"])
def test_lines_that_are_skipped_end_where_those_of_a_file_do(tmp_path, space):
    path = written(tmp_path, [f"made{space}by x", *ROWS])
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
    path = written(tmp_path, ARFF.splitlines(), "t.arff")
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
    path = written(tmp_path, [*head, *rows], "t.arff")
    [part] = tallybayes.csv(path).parts()
    levels = ["it's, here", "x, y", 'say "no"', "don't", "50%"]
    assert part.read().columns["s"].levels == levels


def test_faults_of_arff_name_their_line(tmp_path):
    path = written(tmp_path, [*ARFF.splitlines(), "sunny,8,yes"], "t.arff")
    with pytest.raises(SourceError, match=r"line 19 has 3 field\(s\), but the first row has 4"):
        tallybayes.collect(path, "play")
    path = written(tmp_path, [*ARFF.splitlines(), "sunny,8,2,?"], "t.arff")
    with pytest.raises(ValueError, match=r"t\.arff, line 19: row 4 has no label"):
        tallybayes.collect(path, "play")


def test_sparse_files_say_what_reads_them(tmp_path):
    head = ARFF.splitlines()[:11]
    with pytest.raises(SourceError, match="sparse ARFF file"):
        tallybayes.csv(written(tmp_path, [*head, "{0 sunny, 1 5.5}"], "s.arff"))
    path = written(tmp_path, ["+1 1:0.5 7:1", "-1 3:2e-3", "+1 1:1 # x"])
    with pytest.raises(SourceError, match=r"libsvm file.*load_svmlight_file"):
        tallybayes.csv(path)
