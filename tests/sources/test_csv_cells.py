"""CSV in blocks of any size: every cell is what it is by itself, and faults name their line."""

import datetime
import math
import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.csv_cells import read_csv_cells
from tallybayes._kernels import last_record_end
from tallybayes.errors import SourceError
from tallybayes.sources.contract import restarted
from tallybayes.sources.csv_files import CsvFile, blocks, dialect_of
from tallybayes.sources.options import Layout, Spelling
from tallybayes.tables import Numbers
from tallybayes.tables.columns import values_of

NUMBERS = ["1", "-2.5", "01234", "1e3", ".5", "+7", "123456789012345678901", "9007199254740993"]
ODD = [
    "1e400",
    "inf",
    "NaN",
    "-",
    "x",
    "0x1A",
    "1_0",
    "1 2",
    "true",
    "FALSE",
    "3.0",
    "1,5",
    "1.000,5",
]
MISSING = ["", "NA", "?", "nan", "null", " NA ", "  "]
DATES = ["2020-01-31", "2021-02-03 04:05:06", "2021-02-03T04:05:06Z", "2021-02-03 04:05+02:00"]
TEXTS = [
    "red",
    " red",
    "ein\nZeilenende",
    'the "gold" one',
    "a;b,c",
    "emoji 🎉",
    "é\u00a0",
    '"',
    "\t",
]


def column(cells):
    return st.lists(st.sampled_from(cells), min_size=1, max_size=24)


COLUMNS = st.lists(
    st.one_of(
        column(NUMBERS),
        column(NUMBERS + MISSING),
        column(DATES[:1] + MISSING),
        column(DATES + MISSING),
        column(TEXTS + MISSING),
        column(NUMBERS + ODD + MISSING + DATES + TEXTS),
        # many of a kind, and one that is not
        st.tuples(column(NUMBERS), column(ODD + TEXTS)).map(lambda c: c[0] * 3 + c[1][:1]),
        st.tuples(column(MISSING), column(DATES)).map(lambda c: c[0] * 2 + c[1]),
        st.tuples(column(DATES), column(NUMBERS + TEXTS)).map(lambda c: c[0] * 2 + c[1][:1]),
    ),
    min_size=1,
    max_size=4,
)


def written(columns, delimiter, end, quoting):
    """The text of columns, the shorter ones repeated; `quoting` says which cells have quotes that
    they do not need."""
    n = max(map(len, columns))
    rows = [[f"c{j}" for j in range(len(columns))]]
    rows += [[cells[i % len(cells)] for cells in columns] for i in range(n)]

    def field(cell, more):
        needed = any(sign in cell for sign in (delimiter, "\n", "\r")) or cell.startswith('"')
        blank = not cell and len(columns) == 1  # a blank line is no row
        return '"' + cell.replace('"', '""') + '"' if needed or blank or more else cell

    lines = []
    for i, row in enumerate(rows):
        fields = [field(cell, quoting and (i * 7 + j) % quoting == 0) for j, cell in enumerate(row)]
        lines.append(delimiter.join(fields))
    return end.join(lines)


def read(source, as_written=()):
    """All cells by column, as the reference has them."""
    tables = restarted(lambda: [part.read() for part in source.parts(None, as_written)])
    found = {}
    for name in source.columns():
        parts = [table.columns[name] for table in tables if table.n_rows]
        dates = any(isinstance(p, Numbers) and p.what == "date" for p in parts)
        cells = [value for part in parts for value in (days(part) if dates else values_of(part))]
        found[name] = ("date" if dates else "cells"), cells
    return found


def days(part):
    if not isinstance(part, Numbers):
        return [None] * part.n_rows
    assert part.what == "date"
    return [None if math.isnan(v) else v for v in part.values.tolist()]


def expected(text, **options):
    found = read_csv_cells(text, **options)
    epoch = datetime.datetime(1970, 1, 1)
    day = datetime.timedelta(days=1)
    return {
        name: (kind, [v if v is None else (v - epoch) / day for v in cells])
        if kind == "date"
        else (kind, cells)
        for name, (kind, cells) in found.items()
    }


def same(found, wanted):
    assert list(found) == list(wanted)
    for name, (kind, cells) in wanted.items():
        assert found[name][0] == kind, name
        assert found[name][1] == (pytest.approx(cells, abs=1e-9) if kind == "date" else cells), name


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("csv") / "t.csv"


@pytest.mark.filterwarnings("ignore::tallybayes.errors.ZoneWarning")
@given(
    COLUMNS,
    st.sampled_from([",", ";", "\t"]),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from([0, 1, 3]),
    st.integers(1, 200),
    st.booleans(),
)
def test_cells_are_what_they_are_by_themselves(path, columns, delimiter, end, quoting, block, last):
    text = written(columns, delimiter, end, quoting) + (end if last else "")
    path.write_bytes(text.encode())
    source = CsvFile(str(path), layout=Layout(delimiter=delimiter), block=block)
    same(read(source), expected(text, delimiter=delimiter))
    declared = {"c0"}
    same(read(source, declared), expected(text, delimiter=delimiter, as_written=declared))


@pytest.mark.filterwarnings("ignore::tallybayes.errors.ZoneWarning")
@given(COLUMNS, st.sampled_from([0, 2]), st.integers(1, 120))
def test_decimal_commas_and_other_encodings(path, columns, quoting, block):
    text = written(columns, ";", "\n", quoting)
    path.write_bytes(text.encode("utf-16"))
    source = CsvFile(
        str(path),
        layout=Layout(delimiter=";", encoding="utf-16"),
        spelling=Spelling(decimal=","),
        block=block,
    )
    same(read(source), expected(text, delimiter=";", decimal=","))


# ---- blocks --------------------------------------------------------------------------------------
def ends(text, delimiter):
    """Where records end, byte by byte."""
    found, quoted, i = 0, False, 0
    while i < len(text):
        sign = text[i : i + 1]
        if quoted:
            if sign == b'"':
                if text[i + 1 : i + 2] == b'"':
                    i += 1
                else:
                    quoted = False
        elif sign == b'"' and (i == 0 or text[i - 1 : i] in (delimiter, b"\n", b"\r")):
            quoted = True
        elif sign == b"\n":
            found = i + 1
        i += 1
    return found


@given(st.lists(st.sampled_from([b'"', b",", b"\n", b"\r", b"a", b";"]), max_size=40).map(b"".join))
def test_records_end_at_newlines_outside_quotes(text):
    for delimiter in (b",", b";"):
        assert last_record_end(text, delimiter) == ends(text, delimiter)


@pytest.mark.parametrize("last", ['"', 'a"', '"a"', '""', '"a""b"', '"a"b"', " "])
@pytest.mark.parametrize("end", ["", "\n", "\r\n", "\n\n"])
def test_the_last_row_ends_with_the_file_unless_a_quote_is_open(path, last, end):
    path.write_bytes(f"a,b\n1,2\n3,{last}{end}".encode())
    if last == '"':
        with pytest.raises(SourceError, match="line 3: a quote opens"):
            read(CsvFile(str(path)))
    else:
        assert len(read(CsvFile(str(path)))["a"][1]) == 2


@given(COLUMNS, st.sampled_from(["\n", "\r\n"]), st.integers(1, 200), st.booleans())
def test_blocks_are_the_text_cut_at_records(columns, end, size, mark):
    text = written(columns, ",", end, 3).encode()

    def more(n):
        nonlocal rest
        data, rest = rest[:n], rest[n:]
        return data

    rest = (b"\xef\xbb\xbf" if mark else b"") + b"\n\r\n" + text
    dialect = dialect_of("t.csv", text, Layout(delimiter=","))
    found = list(blocks("t.csv", more, dialect, size))
    assert b"".join(block.data for block in found) == text
    line = 3
    for i, block in enumerate(found):
        assert block.header == (i == 0)
        assert block.line == line
        line += block.data.count(b"\n")


# ---- what cannot be read -------------------------------------------------------------------------
def refused(path, text, encoding="utf-8"):
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    messages = set()
    for block in (40, 1 << 20):
        with pytest.raises(SourceError) as error:
            read(CsvFile(str(path), block=block, layout=Layout(encoding=encoding)))
        messages.add(str(error.value).replace(str(path), "t.csv"))
    assert len(messages) == 1
    return messages.pop()


def test_faults_name_their_line(path):
    rows = [f'{i},"a\nb",x' for i in range(20)]
    assert refused(path, "\n".join(["a,b,c", *rows, "20,y"])).startswith(
        "t.csv, line 42 has 2 field(s), but the header has 3 (delimiter ','): correct it"
    )
    assert refused(path, "\n\n" + "\r\n".join(["a,b,c", *rows, "", "20,y,z,w", *rows])).startswith(
        "t.csv, line 45 has 4 field(s), but the header has 3"
    )
    open_quote = refused(path, "\n".join(["a,b,c", *rows, '20,"y,z', *rows[:3]]))
    assert "line 42 has" in open_quote
    assert "is a quote not closed?" in open_quote
    for end in ("", "\n", "\r\n"):  # the fields are as many as the header's
        for after in ("", "\n21,y,z\n22,y,z"):
            message = refused(path, "\n".join(["a,b,c", *rows, f'20,y,"z{after}{end}']))
            assert message.startswith("t.csv, line 42: a quote opens a field of this row")
    latin = "\n".join(["a,b", *["1,x"] * 30, "2,é"]).encode("latin-1")
    assert refused(path, latin).startswith("t.csv is not utf-8 text: name its encoding")
    chinese = "日期,天气,气温\n1,2,3\n".encode("gb18030")  # names that all become \ufffd\ufffd
    assert refused(path, chinese).startswith("t.csv is not utf-8 text: name its encoding")
    assert refused(path, "a,b\n1,2\n\n3,x\udc80".encode("utf-8", "surrogateescape"), "ascii")
    assert refused(path, "a,b\n\n\n") == "t.csv has no rows below the header"


def test_a_record_without_end_is_refused(monkeypatch):
    monkeypatch.setattr("tallybayes.sources.csv_files.MAX_RECORD_BYTES", 1000)
    text = b'a,b\n1,2\n3,"' + b"x" * 5000
    dialect = dialect_of("t.csv", text[:8], Layout(delimiter=","))
    parts = iter([text[i : i + 100] for i in range(0, len(text), 100)])
    with pytest.raises(
        SourceError, match=r"line 3: a quoted field does not end, or a row is longer"
    ):
        list(blocks("t.csv", lambda _: next(parts, b""), dialect, 100))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
@pytest.mark.parametrize("later", ["2020-01-31", "never"])
def test_pipes_are_read_once(tmp_path, later):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    text = "day,n,y\n" + "2020-01-30,1,a\n" * 40 + f"{later},2,b\n"
    writer = threading.Thread(target=pipe.write_text, args=(text,))
    writer.start()
    source = CsvFile(str(pipe), block=100)
    writer.join()
    assert list(source.columns()) == ["day", "n", "y"]
    if later == "never":
        with pytest.raises(
            SourceError, match=r"line 42: column 'day' holds 'never'.*read only once"
        ):
            [part.read() for part in source.parts()]
        return
    tables = [part.read() for part in source.parts()]
    assert np.concatenate([t.columns["n"].values for t in tables]).tolist() == [1.0] * 40 + [2.0]
    with pytest.raises(SourceError, match="only once"):
        next(source.parts())


def test_missing_values_by_column(path):
    path.write_text("a,b,d\n" + "-999,-999,2020-01-01\n" * 5 + "1,2,never\n")
    source = CsvFile(
        str(path), block=20, spelling=Spelling(missing_of={"a": ("-999",), "d": ("never",)})
    )
    found = read(source)
    assert found["a"] == ("cells", [None] * 5 + [1.0])
    assert found["b"] == ("cells", [-999.0] * 5 + [2.0])
    assert found["d"][0] == "date"
    assert found["d"][1][4:] == [18262.0, None]


def test_names_may_go_over_lines(path):
    path.write_text('\n"a\nb" ,,"c, d"\n1,2,3\n4,5,6\n')
    for block in (1, 1000):
        source = CsvFile(str(path), block=block)
        assert read(source) == {"a\nb": ("cells", [1.0, 4.0]), "c, d": ("cells", [3.0, 6.0])}


LIMITED = """
import resource
from tallybayes import NaiveBayes
NaiveBayes().fit([{"n": 1.0, "s": "a"}, {"n": 2.0, "s": "b"}], ["x", "y"])
used = next(int(line.split()[1]) << 10 for line in open("/proc/self/status") if "VmData" in line)
resource.setrlimit(resource.RLIMIT_DATA, (used + (320 << 20),) * 2)
print(NaiveBayes().fit("-", "y").class_count_.tolist())
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="memory is read as Linux says")
def test_a_text_larger_than_memory_is_counted():
    rows = "".join(f'{i % 97}.5,"level {i % 50}",{"ab"[i % 2]}{" " * 4000}\n' for i in range(2000))
    with subprocess.Popen(
        [sys.executable, "-c", LIMITED],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"TALLYBAYES_NUM_THREADS": "2"},  # each holds a part
    ) as child:
        child.stdin.write("n,s,y\n")
        for _ in range(50):  # 400 MB
            child.stdin.write(rows)
        out, _ = child.communicate()
    assert out == "[50000.0, 50000.0]\n"
