"""Files before their rows are read: where they are, how they are packed, and what they hold."""

from __future__ import annotations

import bz2
import codecs
import csv
import gzip
import io
import lzma
import os
import re
import select
import signal
import stat
import sys
import zipfile
import zlib
from collections.abc import Callable
from itertools import dropwhile
from pathlib import Path
from typing import Any, Literal, NamedTuple

from tallybayes.errors import SourceError, listed

__all__ = [
    "FORMATS",
    "HEAD_BYTES",
    "MAGIC",
    "MAX_RECORD_BYTES",
    "PACKED",
    "Format",
    "Stream",
    "arff_of",
    "arrow_place",
    "delimiter_of",
    "files_at",
    "folder_of_pattern",
    "format_of",
    "has_data",
    "header_hint",
    "is_arff",
    "is_comment",
    "is_remote",
    "is_workbook",
    "need_header",
    "need_local",
    "need_no_sparse",
    "need_readable",
    "need_text",
    "read_once",
    "suffix_of",
]


# ---- files of formats that are not read: which format it is, and what to do ----------------------
PACKED = {
    b"\x1f\x8b": ("gzip", "gunzip -c"),
    b"\x28\xb5\x2f\xfd": ("zstd", "zstd -dc"),
    b"BZh": ("bzip2", "bzcat"),
    b"\xfd7zXZ\x00": ("xz", "xzcat"),
    b"\x04\x22\x4d\x18": ("lz4", "lz4 -dc"),
}
"""How packed files begin, and what unpacks them; all but lz4 are read."""
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
        Unpacked, where the file is packed.
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


# ---- data elsewhere: addresses and object stores -------------------------------------------------
# Files elsewhere: URLs by fsspec, which is imported when one is given; object stores by Arrow,
# where fsspec lacks a package for them.
BY_ARROW = ("s3", "gs", "gcs", "abfs", "abfss")
SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")
DRIVERS = {
    "s3": "s3fs",
    "s3a": "s3fs",
    "gs": "gcsfs",
    "gcs": "gcsfs",
    "az": "adlfs",
    "abfs": "adlfs",
    "abfss": "adlfs",
    "http": "aiohttp",
    "https": "aiohttp",
    "sftp": "paramiko",
    "ssh": "paramiko",
    "hf": "huggingface_hub",
}


def is_remote(path: str) -> bool:
    """Tell whether a path is a URL.

    Parameters
    ----------
    path : str
        The path.

    Returns
    -------
    bool
        Whether it has a scheme.
    """
    return SCHEME.match(path) is not None


def _filesystem(url: str) -> tuple[Any, str]:
    """The file system of a URL, and the path there.

    Raises
    ------
    SourceError
        If fsspec, or what it needs for such URLs, is not installed, or nothing reads them.
    """
    found = SCHEME.match(url)
    scheme = found[1].lower() if found else ""
    try:
        import fsspec
    except ImportError:
        driver = DRIVERS.get(scheme)
        more = f" {driver}" if driver else ""
        raise SourceError(
            f"{url} is read by fsspec, which is not installed: pip install fsspec{more}"
        ) from None
    try:
        filesystem, path = fsspec.core.url_to_fs(url)
    except ImportError as error:
        found_by_arrow = _arrow_filesystem(url) if scheme in BY_ARROW else None
        if found_by_arrow is not None:
            return found_by_arrow
        driver = DRIVERS.get(scheme)
        advice = f"pip install {driver}" if driver else str(error)
        raise SourceError(
            f"{url} is read by fsspec, which lacks a package for {scheme}:// URLs: {advice}"
        ) from None
    except ValueError as error:
        raise SourceError(f"{url} cannot be read ({error})") from None
    return filesystem, path


def _arrow_filesystem(url: str) -> tuple[Any, str] | None:
    """The same by Arrow, with the interface of fsspec; None where Arrow was built without it.

    Raises
    ------
    SourceError
        If the store cannot be reached.
    """
    try:
        from fsspec.implementations.arrow import ArrowFSWrapper
        from pyarrow.fs import FileSystem

        filesystem, path = FileSystem.from_uri(url)
    except (ImportError, NotImplementedError, ValueError):
        return None
    except OSError as error:
        raise _explained(url, error) from None
    return ArrowFSWrapper(filesystem), path


def _of_arrow(filesystem: Any) -> Any:
    """The file system of Arrow below that of fsspec, or None."""
    pyarrow_fs = sys.modules.get("pyarrow.fs")
    inner = getattr(filesystem, "fs", None)
    known = pyarrow_fs is not None and isinstance(inner, pyarrow_fs.FileSystem)
    return inner if known else None


def _explained(url: str, error: Exception) -> SourceError:
    """An error of a driver. That of HTTP says that a file is not there, whatever has happened, and
    names what has as its cause."""
    while isinstance(error, FileNotFoundError):
        cause = error.__cause__
        if not isinstance(cause, Exception) or getattr(cause, "status", None) in (404, 410):
            return SourceError(f"{url}: there is no such file")
        error = cause
    if isinstance(error, PermissionError):
        return SourceError(f"{url}: no permission to read it")
    return SourceError(f"{url} cannot be read ({type(error).__name__}: {error})")


def opened(url: str) -> Any:
    """The bytes at a URL, as a file.

    Raises
    ------
    SourceError
        If it cannot be read.
    """
    filesystem, path = _filesystem(url)
    inner = _of_arrow(filesystem)
    try:
        if inner is not None:
            return inner.open_input_file(path)
        return filesystem.open(path, "rb")
    except Exception as error:  # every driver has errors of its own
        raise _explained(url, error) from None


def files_at(url: str) -> tuple[list[str], str | None, bool]:
    """The files that a URL stands for, sorted; the folder below which they are found, where it is
    one or a pattern; and whether it is a folder. Hidden files, and those whose names begin with an
    underscore, are left out of a folder.

    Raises
    ------
    SourceError
        If it cannot be looked up, or is a pattern that no file matches.
    """
    filesystem, path = _filesystem(url)
    try:
        if url.startswith("http"):  # which has no folders; its addresses may hold "?"
            return [url], None, False
        if filesystem.isdir(path):
            hidden = re.compile(r"(^|/)([._]|~\$)")
            found = filesystem.find(path)
            found = [name for name in found if not hidden.search(name.removeprefix(path))]
            return _urls(url, filesystem, found), _urls(url, filesystem, [path])[0], True
        if not re.search(r"[*?\[]", path) or filesystem.exists(path):
            return [url], None, False
        each = filesystem.glob(path, detail=True).items()
        found = _urls(url, filesystem, [name for name, at in each if at["type"] != "directory"])
        folder = _urls(url, filesystem, [folder_of_pattern(path)])[0]
    except Exception as error:
        raise _explained(url, error) from None
    if not found:
        raise SourceError(f"no file matches the pattern {url!r}")
    return found, folder, False


def folder_of_pattern(pattern: str) -> str:
    """The folder below which all files are that a pattern matches."""
    return re.split(r"[*?\[]", pattern, maxsplit=1)[0].rpartition("/")[0]


def _urls(url: str, filesystem: Any, names: list[str]) -> list[str]:
    """The addresses of files, sorted."""
    if _of_arrow(filesystem) is None:
        return sorted(map(filesystem.unstrip_protocol, names))
    return sorted(f"{url.partition('://')[0]}://{name}" for name in names)


def arrow_place(path: str) -> tuple[str, Any]:
    """A path for pyarrow, and its file system; None: this machine's."""
    if not is_remote(path):
        return path, None
    from pyarrow.fs import FSSpecHandler, PyFileSystem

    filesystem, within = _filesystem(path)
    inner = _of_arrow(filesystem)
    return within, PyFileSystem(FSSpecHandler(filesystem)) if inner is None else inner


# ---- packed files: gzip, zstd, bzip2, xz, and zip archives of one file ---------------------------
PACKINGS = {magic: name for magic, (name, _) in PACKED.items() if name != "lz4"}
ZIP = b"PK\x03\x04"
MAGIC = (*PACKINGS, ZIP)
"""How packed files begin."""

SUFFIXES = (".gz", ".zst", ".bz2", ".xz", ".zip")
DAMAGE = (OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile)
"""What reading a packed file raises where it is damaged."""


def unpacked(packing: str, file: Any) -> Any:
    """The bytes of a packed file, as a file."""
    if packing == "gzip":
        return gzip.GzipFile(fileobj=file)
    if packing == "bzip2":
        return bz2.BZ2File(file)
    if packing == "xz":
        return lzma.LZMAFile(file)
    import pyarrow as pa  # slow to import

    return pa.CompressedInputStream(pa.PythonFile(file, mode="r"), "zstd")


def unzipped(name: str, file: Any) -> Any:
    """The only file in a zip archive; None where the archive is an office document.

    Raises
    ------
    SourceError
        If the archive is damaged, or does not hold one file.
    """
    try:
        archive = zipfile.ZipFile(file)
        within = [member for member in archive.namelist() if not member.endswith("/")]
        if "[Content_Types].xml" in within or "mimetype" in within:
            return None
        if len(within) != 1:
            raise SourceError(
                f"{name} is a zip archive of {len(within)} files, and one is read: unpack it, and "
                f"give a folder or a pattern{' for ' if within else ''}{listed(within, 3)}"
            )
        return archive.open(within[0])
    except (*DAMAGE, RuntimeError, NotImplementedError) as error:  # the latter: a password
        raise SourceError(f"{name} is a zip archive that cannot be read ({error})") from None


def suffix_of(name: str) -> str:
    """The suffix that says the format, in lower case, whatever the file is packed with."""
    path = Path(name)
    return (path.with_suffix("") if path.suffix.lower() in SUFFIXES else path).suffix.lower()


# ---- bytes of a file or of standard input: its first bytes, decompression, and progress ----------
HEAD_BYTES = 1 << 16  # bytes that are looked at to find format and delimiter
MAX_RECORD_BYTES = 1 << 26  # bytes that a record may have


def read_once(path: str) -> bool:
    """Tell whether a path can be read only once, as standard input and pipes.

    Parameters
    ----------
    path : str
        The path; "-" is standard input.

    Returns
    -------
    bool
        Whether it can.
    """
    try:
        return path == "-" or stat.S_ISFIFO(os.stat(path).st_mode)
    except OSError:  # which opening it explains
        return False


class _Bytes(io.RawIOBase):
    """A file that is read by `read`."""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self.read(len(buffer)) or b""
        buffer[: len(data)] = data
        return len(data)


class Stream(_Bytes):
    """A file's bytes, unpacked where they are packed; bytes that were looked at are not lost.

    Parameters
    ----------
    path : str
        "-" is standard input, which can be read once, as pipes can. A URL is read by fsspec.
    """

    def __init__(self, path: str) -> None:
        self.size: int | None = None
        self._pending: bytes
        self._raw: Any = None  # where nothing can be opened there is nothing to close
        self._file: Any = None
        if path == "-":
            self._raw = _piped(sys.stdin.fileno) or io.BytesIO(sys.stdin.buffer.read())
        elif read_once(path):
            pipe = open(path, "rb", buffering=0)  # noqa: SIM115  # closed with what reads it
            self._raw = _piped(pipe.fileno, pipe) or pipe
        elif is_remote(path):
            self._raw = opened(path)
            size = getattr(self._raw, "size", None)  # which Arrow has as a method
            self.size = size() if callable(size) else size
        else:
            self._raw = open(path, "rb")  # noqa: SIM115  # closed by close()
            self.size = os.fstat(self._raw.fileno()).st_size or None
        self._file = self._raw  # which may become packed
        self._pending = self._raw.read(HEAD_BYTES)
        self._read = len(self._pending)
        self._packing = next((n for m, n in PACKINGS.items() if self._pending.startswith(m)), None)
        self._name = "standard input" if path == "-" else path
        if self._packing is not None:
            self._raw = unpacked(self._packing, _Joined(self._pending, self._raw, self))
        elif self._pending.startswith(ZIP) and self.size:
            self._raw.seek(0)
            within = unzipped(self._name, self._raw)
            if within is None:
                self._raw.seek(len(self._pending))
            else:
                self._raw, self._packing, self.size = within, "zip", None
        if self._packing is not None:
            self._pending = b""
            try:
                self._pending = self.read(HEAD_BYTES)
            except BaseException:
                self.close()
                raise

    @property
    def head(self) -> bytes:
        """The first bytes, which are not read yet."""
        return self._pending

    def look(self, is_enough: Callable[[bytes], bool]) -> bytes:
        """The first bytes, more of them until they are enough, the input ends, or a record would be
        too long."""
        while not is_enough(self._pending) and len(self._pending) < MAX_RECORD_BYTES:
            before = self._pending
            self._pending = self.read(2 * max(len(before), HEAD_BYTES))
            if len(self._pending) == len(before):
                break
        return self._pending

    @property
    def done(self) -> float | None:
        """The share that has been read."""
        return min(1.0, self._read / self.size) if self.size else None

    def read(self, size: int = -1) -> bytes:
        pending, self._pending = self._pending, b""
        if 0 <= size < len(pending):
            self._pending = pending[size:]
            return pending[:size]
        try:
            more: bytes = self._raw.read(size - len(pending) if size >= 0 else -1)
        except DAMAGE as error:
            if self._packing is None:
                raise
            raise SourceError(
                f"{self._name} is a damaged or incomplete {self._packing} file ({error})"
            ) from None
        if self._packing is None:
            self._read += len(more)
        return pending + more

    def close(self) -> None:
        for file in (self._raw, self._file):
            if file is not None:
                file.close()
        super().close()


class _Pipe(_Bytes):
    """Standard input or another pipe, whose reading ends at Ctrl-C even where another thread waits
    for it.

    The thread that reads for Arrow gets no signals, and the main thread, which gets them, waits for
    that one; so Ctrl-C ends the input, and then the main thread raises KeyboardInterrupt.
    """

    def __init__(self, descriptor: int, file: Any = None) -> None:
        self._descriptor, self._file = descriptor, file
        self._woken, self._wake = os.pipe()
        os.set_blocking(self._wake, False)
        self._before = signal.set_wakeup_fd(self._wake)

    def read(self, size: int = -1) -> bytes:
        found: list[bytes] = []
        have = 0
        while size < 0 or have < size:
            ready, _, _ = select.select([self._descriptor, self._woken], [], [])
            if self._woken in ready:
                return b""
            data = os.read(self._descriptor, HEAD_BYTES if size < 0 else min(size - have, 1 << 20))
            if not data:
                break
            found.append(data)
            have += len(data)
        return b"".join(found)

    def close(self) -> None:
        if not self.closed:
            signal.set_wakeup_fd(self._before)
            os.close(self._wake)
            os.close(self._woken)
            if self._file is not None:
                self._file.close()
        super().close()


def _piped(descriptor: Callable[[], int], file: Any = None) -> _Pipe | None:
    """None where there is no descriptor, or this is not the main thread."""
    try:
        return _Pipe(descriptor(), file)
    except (OSError, ValueError):
        return None


class _Joined(_Bytes):
    """Bytes that were read, then the rest of a file; counts for `whose`."""

    def __init__(self, pending: bytes, raw: Any, whose: Stream) -> None:
        self._pending, self._raw, self._whose = pending, raw, whose

    def read(self, size: int = -1) -> bytes:
        end = len(self._pending) if size < 0 else size
        data, self._pending = self._pending[:end], self._pending[end:]
        if not data or size < 0:
            more = self._raw.read(size)
            self._whose._read += len(more)
            data += more
        return data


# ---- lines before the header ---------------------------------------------------------------------
# What comes before the rows of a text file: comments, Excel's separator line, the declarations of
# ARFF; and files that are sparse.
COMMENT = ("#", "%", "//", "|")  # a bar in adult.test of UCI
SEPARATOR = re.compile(r"sep=.?", re.IGNORECASE)  # of Excel
LIBSVM = re.compile(r"[+-]?[\w.]+([ \t]+\d+:[+-]?[\d.]+([eE][+-]?\d+)?)+[ \t]*(#.*)?")
ARFF = re.compile(r"(\s*(%[^\n]*)?\n)*\s*@relation\b", re.IGNORECASE)
DATA = re.compile(r"^\s*@data\b[^\n]*\n?", re.IGNORECASE | re.MULTILINE)
ATTRIBUTE = re.compile(
    r"^\s*@attribute\s+('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|\S+)\s*(\S.*?)?\s*$",
    re.IGNORECASE | re.MULTILINE,
)
MAX_LOOKED_AT = 200  # lines


class Arff(NamedTuple):
    """The declarations of an ARFF file.

    Parameters
    ----------
    names : list of str
    levels : list of str
        The attributes that are nominal, or strings: their values are levels as they are written.
    n_lines : int
        How many lines come before the rows.
    """

    names: list[str]
    levels: list[str]
    n_lines: int


def is_arff(text: str) -> bool:
    """Whether a text begins as ARFF does."""
    return ARFF.match(text) is not None


def has_data(text: str) -> bool:
    """Whether a text of ARFF goes as far as a row."""
    found = DATA.search(text)
    rows = text[found.end() :].splitlines(keepends=True) if found else []
    return any(row.strip() and row[0] != "%" and row.endswith("\n") for row in rows)


def is_comment(line: str) -> bool:
    """Whether a line is a comment, or Excel's line of the separator."""
    return line.startswith(COMMENT) or SEPARATOR.fullmatch(line.rstrip("\r\n")) is not None


def arff_of(path: str, text: str) -> Arff:
    """The declarations at the beginning of a text.

    Raises
    ------
    SourceError
        If there are no rows after them, or the rows are sparse.
    """
    found = DATA.search(text)
    attributes = ATTRIBUTE.findall(text[: found.start()] if found else text)
    if found is None or not attributes:
        raise SourceError(f"{path} is an ARFF file without @attribute lines, or without @data")
    rows = (line.strip() for line in text[found.end() :].splitlines())
    if next((row for row in rows if row and not row.startswith("%")), "").startswith("{"):
        raise SourceError(
            f"{path} is a sparse ARFF file, which is not read: save it dense (in Weka, the filter "
            "SparseToNonSparse)"
        )
    names = []
    for name, _ in attributes:
        quoted = len(name) > 1 and name[0] in "'\"" and name[-1] == name[0]
        names.append(re.sub(r"\\(.)", r"\1", name[1:-1] if quoted else name).strip())
    kinds = [kind.lower() for _, kind in attributes]
    levels = [n for n, k in zip(names, kinds, strict=True) if k.startswith(("{", "string"))]
    return Arff(names, levels, text[: found.end()].count("\n"))


def need_no_sparse(path: str, text: str) -> None:
    """Raises for rows that name the numbers of their columns, as those of libsvm do."""
    lines = [line for line in text.splitlines()[:MAX_LOOKED_AT] if line.strip()]
    if lines and all(LIBSVM.fullmatch(line) for line in lines[: max(1, len(lines) - 1)]):
        raise SourceError(
            f"{path} is a libsvm file: its rows are sparse, with numbers for names. "
            "sklearn.datasets.load_svmlight_file reads it, and MultinomialNB, BernoulliNB or "
            "ComplementNB take its matrix"
        )


def lines_before_header(text: str, delimiter: str) -> int:
    """How many lines of comments, or for Excel, come before the header of CSV.

    A header may begin with a sign of comments, as #chrom does: it has as many fields as the line
    after it.
    """
    lines = text.splitlines()[:MAX_LOOKED_AT]
    n = 0
    for line in lines:
        if line.strip() and not is_comment(line):
            break
        n += 1
    if not n or n == len(lines) or SEPARATOR.fullmatch(lines[0]):
        return n if n < len(lines) else 0
    last, below = (
        len(next(csv.reader([line], delimiter=delimiter))) for line in lines[n - 1 : n + 1]
    )
    return n - 1 if last == below else n


def need_header(path: str, text: str, delimiter: str, skip: int) -> None:
    """Raises where comments, or a line for Excel, come before the header, with the option that
    skips them."""
    n = lines_before_header(text, delimiter)
    if n:
        first = text.splitlines()[0][:40]
        what = f"{n} lines, of which the first is" if n > 1 else "the line"
        raise SourceError(
            f"{path} begins with {what} {first!r}, before the header: --skip {skip + n} reads what "
            f"is below (in Python, tallybayes.csv(path, skip={skip + n}))"
        )


# ---- which format a file has, and which delimiter ------------------------------------------------
Format = Literal["csv", "jsonl", "parquet", "arrow", "excel"]
FORMATS: dict[str, Format] = {
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "csv",
    ".arff": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    **dict.fromkeys(WORKBOOKS, "excel"),
}
DELIMITERS = ",;\t|"
JSON_ARRAY = re.compile(rb"\[\s*\{")


def format_of(path: str, head: bytes) -> Format:
    """The format, by the first bytes and then by the suffix."""
    if is_workbook(path, head):
        return "excel"
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith((b"ARROW1", b"\xff\xff\xff\xff")):
        return "arrow"
    start = head.removeprefix(codecs.BOM_UTF8).lstrip()
    if start.startswith(b"{") or JSON_ARRAY.match(start):
        return "jsonl"
    by_suffix = FORMATS.get(suffix_of(path), "csv")
    if by_suffix in ("parquet", "arrow", "excel"):
        raise SourceError(
            f"{path} is not a file of {by_suffix}, although its name says so, or it is damaged"
        )
    return by_suffix


def need_text(path: str, head: bytes) -> None:
    """Raises for an empty file and for one that is not text."""
    if not head.strip():
        raise SourceError(
            f"{path} is empty: it needs a header line with the column names, and rows"
        )
    if b'"tallybayes"' in head[:4096] and b"\x00" in head[:8]:
        raise SourceError(
            f"{path} is a tallybayes model, but data is expected here: swap the arguments?"
        )
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise SourceError(
            f"{path} is UTF-16 text: name its encoding (--encoding utf-16 on the command line)"
        )
    if b"\x00" in head:
        raise SourceError(
            f"{path} is a binary file of an unknown kind: data is CSV, JSON lines, Parquet or "
            "Arrow (or text in another encoding: name that one)"
        )


def delimiter_of(text: str) -> str:
    """The delimiter that gives the first lines the same number of fields, and the most of them."""
    lines = text.splitlines(keepends=True)
    if len(lines) > 1:
        lines.pop()  # perhaps cut off
    lines = list(dropwhile(is_comment, lines)) or lines
    best, best_score = ",", (0.0, 0)
    for delimiter in DELIMITERS:
        try:
            sizes = [len(r) for r in csv.reader(io.StringIO("".join(lines)), delimiter=delimiter)]
        except csv.Error:
            continue
        sizes = [size for size in sizes if size][:200]
        if not sizes or sizes[0] < 2:
            continue
        alike = sum(size == sizes[0] for size in sizes) / len(sizes)
        if (alike, sizes[0]) > best_score:
            best, best_score = delimiter, (alike, sizes[0])
    return best
