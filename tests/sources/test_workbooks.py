"""Workbooks are read as the same table saved as CSV."""

import gzip
import shutil
import sys
from datetime import date, datetime, time, timedelta

import openpyxl
import pytest

import tallybayes
from tallybayes import LazyNaiveBayes, NaiveBayes
from tallybayes.errors import SourceError
from tallybayes.sources.files import files_of, source_of_paths
from tallybayes.sources.options import Layout

HEADER = ["n", "price", "word", "sold", "day", "seen", "at", "code", 2020, "y"]
ROWS = [
    [
        i % 7,
        None if i % 9 == 4 else i / 8,
        ["a", 'q"\tr', "Zoë\nnew", " b "][i % 4],
        i % 3 == 0,
        date(2020, 1, 1 + i % 28),
        datetime(2020, 1, 1, 7, i),
        time(7, i),
        f"{i % 5:03}",
        1e20 if i else "#N/A",
        "uv"[i % 2],
    ]
    for i in range(40)
]


def book_of(path, sheets, at=(0, 0)):
    """A workbook: the rows of each sheet by its name; `at` is where each table begins."""
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for i, row in enumerate(rows, at[0] + 1):
            for j, value in enumerate(row, at[1] + 1):
                if value is not None:
                    cell = sheet.cell(i, j, value)
                    if isinstance(value, str) and value.startswith("#"):
                        cell.data_type = "e"
    book.save(path)
    return path


@pytest.fixture
def book(tmp_path):
    return book_of(tmp_path / "t.xlsx", {"sales": [HEADER, *ROWS]})


@pytest.fixture
def as_csv(tmp_path):
    import csv

    def text(value):
        if isinstance(value, bool):
            return str(value).upper()
        return "" if value is None else str(value)

    path = tmp_path / "t.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([list(map(text, row)) for row in [HEADER, *ROWS]])
    return path


def fitted(source):
    return NaiveBayes().fit(source, "y").tally_


def test_a_workbook_is_read_as_csv(book, as_csv, tmp_path):
    expected = fitted(as_csv)
    assert fitted(book) == expected
    kinds = {name: column.kind for name, column in tallybayes.files(book).columns().items()}
    assert kinds == {n: c.kind for n, c in tallybayes.files(as_csv).columns().items()}
    packed = tmp_path / "t.xlsx.gz"
    packed.write_bytes(gzip.compress(book.read_bytes()))
    assert fitted(packed) == expected
    assert fitted(f"file://{book}") == expected
    model = NaiveBayes().fit(as_csv, "y")
    assert model.predict(book).tolist() == model.predict(as_csv).tolist()
    rows = [dict(zip(map(str, HEADER), row, strict=True)) for row in ROWS[:3]]
    rows = [{"n": row["n"], "word": row["word"]} for row in rows]
    lazy = [LazyNaiveBayes(path, "y").predict(rows).tolist() for path in (book, as_csv)]
    assert lazy[0] == lazy[1]


def test_a_folder_of_workbooks_with_keys(book, as_csv, tmp_path):
    for suffix, path in (("xlsx", book), ("csv", as_csv)):
        for year in (2020, 2021):
            folder = tmp_path / suffix / f"year={year}"
            folder.mkdir(parents=True)
            shutil.copy(path, folder / f"t.{suffix}")
            (folder / f"~$t.{suffix}").write_bytes(b"a lock")
    assert fitted(tmp_path / "xlsx") == fitted(tmp_path / "csv")


def test_a_table_may_begin_anywhere_and_ends_with_its_values(tmp_path, as_csv):
    rows = [[*row, None, None] for row in [HEADER, *ROWS]]
    rows += [[None] * 12, ["", None, ""]]
    path = book_of(tmp_path / "t.xlsx", {"empty": [], "sales": rows}, at=(2, 3))
    assert fitted(path) == fitted(as_csv)


def test_errors_name_the_row_of_the_sheet(tmp_path):
    rows = [["word", "x", "y"], *[["a\nb", i, "uv"[i % 2]] for i in range(9)], ["c", 1, None]]
    path = book_of(tmp_path / "t.xlsx", {"s": rows}, at=(3, 1))
    with pytest.raises(ValueError, match="line 14 of the sheet: row 9 has no label"):
        fitted(path)


def test_numbers_dates_and_spans(tmp_path):
    rows = [
        ["long", "part", "span", "text", "y"],
        [123456789012, 0.1, timedelta(hours=30), "1,5", "u"],
        [2, 1 / 3, timedelta(seconds=90.5), "2,5", "v"],
    ]
    path = book_of(tmp_path / "t.xlsx", {"s": rows})
    found = next(tallybayes.files(path, decimal=",").parts()).read().columns
    assert found["long"].values.tolist() == [123456789012.0, 2.0]
    assert found["part"].values.tolist() == [0.1, 1 / 3]
    assert found["span"].values.tolist() == [108000.0, 90.5]
    assert found["text"].values.tolist() == [1.5, 2.5]


def test_the_sheet_is_named_where_several_may_be_meant(tmp_path, as_csv):
    sheets = {"notes": [["see", "below"]], "sales": [HEADER, *ROWS]}
    path = book_of(tmp_path / "t.xlsx", sheets)
    with pytest.raises(SourceError, match="has the sheets 'notes', 'sales': name one by --sheet"):
        fitted(path)
    assert fitted(tallybayes.files(path, sheet="sales")) == fitted(as_csv)
    with pytest.raises(SourceError, match="no sheet 'Sales'; its sheets are 'notes', 'sales'"):
        tallybayes.files(path, sheet="Sales")
    with pytest.raises(SourceError, match=r"t\.csv is CSV, and sheet is for Excel"):
        tallybayes.files(as_csv, sheet="sales")
    book = openpyxl.load_workbook(path)
    book["notes"].sheet_state = "hidden"
    book.save(path)
    assert fitted(path) == fitted(as_csv)


def test_a_title_is_pointed_out_and_skipped(tmp_path, as_csv):
    rows = [["Sales of 2020"], [], HEADER, *ROWS]
    path = book_of(tmp_path / "t.xlsx", {"s": rows}, at=(1, 0))
    with pytest.raises(
        SourceError, match="begins with 'Sales of 2020', before the header: --skip 3"
    ):
        fitted(path)
    assert fitted(tallybayes.files(path, skip=3)) == fitted(as_csv)
    names = [f"c{i}" for i in range(len(HEADER) - 1)] + ["y"]
    plain = book_of(tmp_path / "p.xlsx", {"s": ROWS})
    source = tallybayes.files(plain, header=False, names=names)
    assert list(source.columns()) == names


def test_what_is_no_workbook_is_said(tmp_path, monkeypatch):
    empty = book_of(tmp_path / "e.xlsx", {"s": []})
    with pytest.raises(SourceError, match="the sheet has no values"):
        tallybayes.files(empty)
    whole = book_of(tmp_path / "t.xlsx", {"s": [["x", "y"], [1, 2]]})
    with pytest.raises(SourceError, match="delimiter is for CSV"):
        source_of_paths([str(whole)], layout=Layout(delimiter=";"))
    secret = tmp_path / "s.xlsx"
    secret.write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600))
    with pytest.raises(SourceError, match=r"cannot be read as an Excel workbook .*password"):
        tallybayes.files(secret)
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    with pytest.raises(SourceError, match=r"pip install 'tallybayes\[excel\]'"):
        tallybayes.files(whole)


def test_folders_hold_workbooks(book, tmp_path):
    assert files_of(str(tmp_path)) == [str(book)]


def test_doctor_reads_a_workbook(tmp_path):
    rows = [["price", "y"], *[[f"{i},5", "uv"[i % 2]] for i in range(30)]]
    path = book_of(tmp_path / "t.xlsx", {"s": rows})
    found = tallybayes.doctor(path, "y")
    assert "--decimal ," in found.command
    assert f"tallybayes.files({str(path)!r}, decimal=',')" in found.call
    assert found.sound
