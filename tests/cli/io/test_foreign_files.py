"""Files that are not data: what they are, and what to do, in one line."""

from __future__ import annotations

import io
import sqlite3
import tarfile
import zipfile

import pytest


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
