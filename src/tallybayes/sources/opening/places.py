"""Files elsewhere: URLs by fsspec, which is imported when one is given; object stores by Arrow,
where fsspec lacks a package for them."""

from __future__ import annotations

import io
import re
import sys
from typing import Any

from tallybayes.errors import SourceError

__all__ = ["arrow_place", "files_at", "folder_of_pattern", "is_remote", "opened"]

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
    """Whether a path is a URL."""
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


class _ArrowBytes(io.RawIOBase):
    """A file of Arrow with its `size`."""

    def __init__(self, file: Any) -> None:
        self._file, self.size = file, file.size()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._file.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return int(self._file.seek(offset, whence))

    def tell(self) -> int:
        return int(self._file.tell())

    def close(self) -> None:
        self._file.close()
        super().close()


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
            return _ArrowBytes(inner.open_input_file(path))
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
            found = [name for name in filesystem.find(path) if not _is_hidden(name, path)]
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


def _is_hidden(name: str, folder: str) -> bool:
    return any(part.startswith((".", "_", "~$")) for part in name.removeprefix(folder).split("/"))


def arrow_place(path: str) -> tuple[str, Any]:
    """A path for pyarrow, and its file system; None: this machine's."""
    if not is_remote(path):
        return path, None
    from pyarrow.fs import FSSpecHandler, PyFileSystem

    filesystem, within = _filesystem(path)
    inner = _of_arrow(filesystem)
    return within, PyFileSystem(FSSpecHandler(filesystem)) if inner is None else inner
