"""Packed files, and files elsewhere."""

import bz2
import functools
import gzip
import http.server
import lzma
import re
import socket
import sys
import threading
import zipfile
from pathlib import Path
from typing import ClassVar
from urllib.parse import parse_qs, urlsplit

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tallybayes
from tallybayes.errors import SourceError
from tallybayes.sources.files import source_of

ROWS = pa.table(
    {"a": ["x", "z", "x", None] * 50, "n": [1.0, None, 3.0, 4.0] * 50, "y": [1, 0] * 100}
)
CSV = "a,n,y\n" + "x,1,1\nz,,0\nx,3,1\n,4,0\n" * 50
JSONL = (
    '{"a":"x","n":1,"y":1}\n{"a":"z","y":0}\n{"a":"x","n":3,"y":1}\n{"a":null,"n":4,"y":0}\n' * 50
)


def zstd(data):
    return pa.compress(data, "zstd", asbytes=True)


PACKERS = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress, "zst": zstd}


def collected(source):
    return tallybayes.collect(source, "y")


EXPECTED = collected(ROWS)


# ---- packed files --------------------------------------------------------------------------------
@pytest.mark.parametrize("packing", PACKERS)
def test_packed_files_are_read_by_their_first_bytes(tmp_path, packing):
    pack = PACKERS[packing]
    (tmp_path / f"t.csv.{packing}").write_bytes(pack(CSV.encode()))
    (tmp_path / f"t.JSONL.{packing}").write_bytes(pack(JSONL.encode()))
    (tmp_path / "t").write_bytes(pack(CSV[:8].encode()) + pack(CSV[8:].encode()))
    assert collected(tmp_path / f"t.csv.{packing}") == EXPECTED
    assert collected(tmp_path / f"t.JSONL.{packing}") == EXPECTED
    assert collected(tmp_path / "t") == EXPECTED  # files that are packed one after the other
    assert len(source_of(tmp_path).sources) == 2  # the folder's, whose names say what they are


@pytest.mark.parametrize("packing", PACKERS)
def test_packed_files_that_are_cut_off_are_named(tmp_path, packing):
    rows = "".join(f"{i * 7919 % 1000003},{i % 2}\n" for i in range(40_000))
    whole = PACKERS[packing](("n,y\n" + rows).encode())
    (tmp_path / "t.csv").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(SourceError, match=r"t\.csv is a damaged or incomplete \w+ file"):
        collected(tmp_path / "t.csv")


def test_zip_archives_of_one_file(tmp_path):
    with zipfile.ZipFile(tmp_path / "t.csv.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.mkdir("data")
        archive.writestr("data/t.csv", CSV)
    assert collected(tmp_path / "t.csv.zip") == EXPECTED
    with zipfile.ZipFile(tmp_path / "t.csv.zip", "a") as archive:
        archive.writestr("u.csv", CSV)
    with pytest.raises(SourceError, match=r"zip archive of 2 files.*data/t\.csv, u\.csv"):
        collected(tmp_path / "t.csv.zip")
    (tmp_path / "t.csv.zip").write_bytes(b"PK\x03\x04" + b"\0" * 100)
    with pytest.raises(SourceError, match="zip archive that cannot be read"):
        collected(tmp_path / "t.csv.zip")


# ---- elsewhere -----------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("elsewhere")
    (path / "t.csv").write_text(CSV)
    (path / "t.csv.gz").write_bytes(gzip.compress(CSV.encode()))
    (path / "t.jsonl").write_text(JSONL)
    pq.write_table(ROWS, path / "t.parquet", row_group_size=64)
    with pa.OSFile(str(path / "t.arrow"), "wb") as file, pa.ipc.new_file(file, ROWS.schema) as out:
        out.write_table(ROWS)
    return path


@pytest.fixture
def memory(folder):
    filesystem = fsspec.filesystem("memory")
    for path in folder.iterdir():
        filesystem.pipe(f"/tally/{path.name}", path.read_bytes())
    filesystem.pipe("/tally/_SUCCESS.csv", b"")
    filesystem.pipe("/none/readme.md", b"")
    yield "memory://tally"
    filesystem.store.clear()


FILES = ["t.csv", "t.csv.gz", "t.jsonl", "t.parquet", "t.arrow"]


@pytest.mark.parametrize("name", FILES)
def test_files_of_fsspec(memory, name):
    assert collected(f"{memory}/{name}") == EXPECTED


def test_folders_and_patterns_of_fsspec(memory):
    five = collected(pa.concat_tables([ROWS] * 5))
    assert collected(memory) == five
    two = collected(pa.concat_tables([ROWS] * 2))
    assert collected(f"{memory}/t.csv*") == two
    for place, message in (
        (f"{memory}/none.csv", r"memory://tally/none\.csv: there is no such file"),
        (f"{memory}/*.orc", r"no file matches the pattern 'memory://tally/\*\.orc'"),
        ("memory://none", "memory://none is a folder without data"),
        ("nowhere://t.csv", r"nowhere://t\.csv cannot be read \(Protocol not known"),
    ):
        with pytest.raises(SourceError, match=message):
            collected(place)


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Files, and ranges of their bytes; one of them is forbidden."""

    ranges: ClassVar[list[str]] = []

    def log_message(self, *_):
        pass

    def end_headers(self):
        self.send_header("Accept-Ranges", "bytes")
        super().end_headers()

    def do_HEAD(self):
        self.send_error(403) if "forbidden" in self.path else super().do_HEAD()

    def do_GET(self):
        asked = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if "forbidden" in self.path:
            self.send_error(403)
        elif asked is None:
            super().do_GET()
        else:
            self.ranges.append(asked[0])
            data = Path(self.translate_path(self.path)).read_bytes()
            first, last = int(asked[1]), min(int(asked[2] or len(data)), len(data) - 1)
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {first}-{last}/{len(data)}")
            self.send_header("Content-Length", str(last + 1 - first))
            self.end_headers()
            self.wfile.write(data[first : last + 1])


@pytest.fixture(scope="module")
def server(folder):
    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.jsonl"])
def test_files_of_a_web_server(server, name):
    assert collected(f"{server}/{name}") == EXPECTED


def test_what_a_web_server_lacks(server):
    with pytest.raises(SourceError, match=r"http://127.*/none\.csv: there is no such file"):
        collected(f"{server}/none.csv")


def test_a_web_server_that_is_not_there_or_refuses_is_not_a_missing_file(server):
    with socket.socket() as taken:  # bound, and nobody listens
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/t.csv"
        with pytest.raises(SourceError, match=r"t\.csv cannot be read \(.*[Cc]onnect"):
            collected(url)
    with pytest.raises(SourceError, match=r"forbidden\.csv cannot be read \(.*403"):
        collected(f"{server}/forbidden.csv")


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow"])
def test_typed_files_of_a_web_server_are_read_by_ranges(server, name):
    Quiet.ranges.clear()
    assert collected(f"{server}/{name}") == EXPECTED
    assert Quiet.ranges


# ---- an object store -----------------------------------------------------------------------------
LISTED = (
    "<Contents><Key>{0}</Key><Size>{1}</Size><LastModified>2020-01-01T00:00:00.000Z"
    "</LastModified><ETag>x</ETag></Contents>"
)


class Store(Quiet):
    """A bucket of a store like S3: the files of the folder under a key, and a listing."""

    def do_HEAD(self):
        self._answer(super().do_HEAD)

    def do_GET(self):
        self._answer(super().do_GET)

    def _answer(self, answer):
        url = urlsplit(self.path)
        asked, key = parse_qs(url.query), url.path.removeprefix("/bucket/")
        if "list-type" in asked:
            self._list(asked.get("prefix", [""])[0])
        elif (Path(self.directory) / key.removeprefix("data/")).is_file():
            self.path = key.removeprefix("data")
            answer()
        else:
            self.send_error(404)

    def _list(self, prefix):
        files = sorted(Path(self.directory).iterdir())
        items = [LISTED.format(f"data/{f.name}", f.stat().st_size) for f in files]
        there = [item for item in items if f"<Key>{prefix}" in item]
        body = (
            "<ListBucketResult><Name>bucket</Name><IsTruncated>false</IsTruncated>"
            f"<KeyCount>{len(there)}</KeyCount>{''.join(there)}</ListBucketResult>"
        ).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def bucket(folder, monkeypatch):
    """The address of the folder in a bucket, which Arrow reads, since s3fs is not there."""
    monkeypatch.setitem(sys.modules, "s3fs", None)
    for name, value in (
        ("AWS_ACCESS_KEY_ID", "key"),
        ("AWS_SECRET_ACCESS_KEY", "secret"),
        ("AWS_REGION", "us-east-1"),
        ("AWS_EC2_METADATA_DISABLED", "true"),
    ):
        monkeypatch.setenv(name, value)
    handler = functools.partial(Store, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{server.server_port}")
        yield "s3://bucket/data"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("name", FILES)
def test_files_of_an_object_store(bucket, name):
    assert collected(f"{bucket}/{name}") == EXPECTED


def test_folders_and_patterns_of_an_object_store(bucket):
    five = collected(pa.concat_tables([ROWS] * 5))
    assert collected(bucket) == five
    two = collected(pa.concat_tables([ROWS] * 2))
    assert collected(f"{bucket}/t.csv*") == two
    with pytest.raises(SourceError, match=r"s3://bucket/data/none\.csv: there is no such file"):
        collected(f"{bucket}/none.csv")


def test_what_has_to_be_installed_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "paramiko", None)
    monkeypatch.setitem(sys.modules, "fsspec.implementations.sftp", None)
    with pytest.raises(SourceError, match=r"a package for sftp:// URLs: pip install paramiko"):
        source_of("sftp://host/t.csv")
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(SourceError, match=r"which is not installed: pip install fsspec s3fs"):
        source_of("s3://bucket/t.csv")
