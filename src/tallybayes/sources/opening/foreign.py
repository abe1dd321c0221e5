"""Files of formats that are not read: which format it is, and what to do."""

from __future__ import annotations

import re
from pathlib import Path

from tallybayes.errors import SourceError

__all__ = [
    "PACKED",
    "WORKBOOKS",
    "header_hint",
    "is_workbook",
    "need_local",
    "need_readable",
]

PACKED = {
    b"\x28\xb5\x2f\xfd": ("zstd", "zstd -dc"),
    b"BZh": ("bzip2", "bzcat"),
    b"\xfd7zXZ\x00": ("xz", "xzcat"),
    b"\x04\x22\x4d\x18": ("lz4", "lz4 -dc"),
}
WORKBOOKS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
OLE = b"\xd0\xcf\x11\xe0"
"""How files of Office before 2007 begin, and those with a password."""
OTHERS = {
    b"%PDF": "a PDF document: copy its table into a CSV file",
    OLE: "a document of Office: save its table as CSV",
    b"SQLite format 3\x00": (
        "a SQLite database: sqlite3 -csv -header {path} 'SELECT * FROM …' | tallybayes … -"
    ),
    b"\x89HDF": "an HDF5 file: write its table as Parquet or CSV",
    b"ORC": "an ORC file: write it as Parquet or CSV",
    b"Obj\x01": "an Avro file: write it as Parquet or CSV",
    b"FEA1": "a file of Feather version 1: write it again with a current pyarrow",
    b"\x93NUMPY": "a NumPy array: write it as CSV or Parquet with column names",
    b"\x89PNG": "an image",
    b"\xff\xd8\xff": "an image",
    b"\x80\x04\x95": "a Python pickle: write its table as CSV or Parquet",
    b"\x7fELF": "a program",
}


def need_local(path: str) -> None:
    """Raises for a URL, which is read where fsspec is installed."""
    found = re.match(r"([A-Za-z][A-Za-z0-9+.-]*)://", path)
    if found:
        read = "curl -sL" if found[1].lower() in ("http", "https", "ftp") else "fetch"
        what = f"{read} '{path}' | tallybayes … -" if read != "fetch" else "download it first"
        raise SourceError(f"{path}: URLs are read by fsspec, which is not installed: {what}")


def need_readable(path: str, head: bytes) -> None:
    """Raises for a file whose first bytes say that it is of a kind that is not read.

    Parameters
    ----------
    path : str
    head : bytes
        Unpacked, where the file is gzip.
    """
    for magic, (name, tool) in PACKED.items():
        if head.startswith(magic):
            raise SourceError(f"{path} is {name}-compressed: {tool} {path} | tallybayes … -")
    if head.startswith(b"PK\x03\x04"):
        if is_workbook(path, head):
            raise SourceError(f"{path} is an Excel workbook, and no format is given for it")
        raise SourceError(
            f"{path} is a zip archive: unzip -p {path} NAME | tallybayes … -; or unpack it, and "
            "give a folder of documents"
        )
    if head[8:12] == b"DUCK":
        raise SourceError(
            f"{path} is a DuckDB database: duckdb -csv {path} 'FROM …' | tallybayes … -"
        )
    if head[257:262] == b"ustar":
        raise SourceError(
            f"{path} is a tar archive: tar -xOf {path} NAME | tallybayes … -; or "
            "unpack it, and give a folder of documents"
        )
    for magic, what in OTHERS.items():
        if head.startswith(magic):
            raise SourceError(f"{path} is {what.format(path=path)}")
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")[:64].lower()
    if start.startswith((b"<!doctype html", b"<html")):
        raise SourceError(f"{path} is an HTML page, not the data: download the file it links to")
    if start.startswith(b"<?xml"):
        raise SourceError(f"{path} is XML: convert it to CSV or JSON lines")


def is_workbook(path: str, head: bytes) -> bool:
    """Whether a file that begins so is a workbook of Excel or OpenDocument."""
    suffixes = [suffix.lower() for suffix in Path(path).suffixes[-2:]]
    named = any(suffix in WORKBOOKS for suffix in suffixes)
    if head.startswith(b"PK\x03\x04"):
        inside = (b"xl/", b"[Content_Types].xml", b"opendocument.spreadsheet")
        return named or any(name in head for name in inside)
    return named and head.startswith(OLE)


NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def header_hint(names: list[str]) -> str:
    """Return a hint that the header is missing, where column names are unordered numbers, or that
    a delimiter was not found."""
    if len(names) == 1 and re.search(r"\S[ \t]+\S", names[0]):
        return (
            " Are its columns parted by blanks? --delimiter blanks reads them (in Python, "
            "tallybayes.csv(path, delimiter='blanks'))"
        )
    numbers = [name for name in names if NUMBER.fullmatch(name)]
    if not numbers:
        return ""
    whole = sorted(int(name) for name in numbers if name.isdecimal())
    if len(whole) == len(numbers) > 1 and whole == list(range(whole[0], whole[-1] + 1)):
        return ""  # columns are numbered, or years
    return (
        " The first line looks like data. Is the header missing? --names A,B,… --no-header names "
        "the columns"
    )
