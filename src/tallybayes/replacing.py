"""Atomic replacement of a file, which keeps its owner, its mode and its links."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

__all__ = ["need_writable", "replacing"]

Replace = Callable[[str, str], None]

NO_SYNC = (errno.EINVAL, errno.ENOTSUP, errno.EACCES, errno.EBADF)
"""Errors of file systems, or folders, that cannot be synchronised; others are failures."""


def _target(path: str | os.PathLike[str]) -> Path:
    """The file that `path` stands for, with symbolic links followed.

    Raises
    ------
    OSError
        Where no regular file can be, naming what was asked for.
    """
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "this is a folder: name a file in it", str(path))
    if target.exists() and not target.is_file():
        raise OSError(errno.EINVAL, "this is a device or a pipe: name a regular file", str(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(
            errno.ENOENT, "there is no such folder to save in", str(Path(path).parent)
        )
    return target


def _draft_of(target: Path) -> tuple[int, str]:
    return tempfile.mkstemp(prefix=f".{target.name[:200]}.", dir=target.parent)


def need_writable(path: str | os.PathLike[str]) -> None:
    """Raises where a file cannot be written, by trying: the folder may be read-only, or full.

    Raises
    ------
    OSError
        Naming `path`.
    """
    target = _target(path)
    try:
        descriptor, draft = _draft_of(target)
        os.close(descriptor)
        os.unlink(draft)
    except OSError as error:
        error.filename = str(path)
        raise


@contextmanager
def replacing(path: str | os.PathLike[str], replace: Replace | None = None) -> Iterator[IO[bytes]]:
    """A binary file that takes the place of `path` when the block ends without an error.

    The content is written to a draft in the same folder, reaches the disk, and is then renamed, so
    that another process sees the old file or the new one. The folder is synchronised as well. A
    symbolic link stays, and what it points to is replaced; a file that was there hands on its
    owner, where that is allowed, and its mode.

    Parameters
    ----------
    path : path-like
        The file.
    replace : callable, optional
        Renames the draft, ``os.replace`` by default.

    Yields
    ------
    binary file
        To write to.

    Raises
    ------
    OSError
        If the file cannot be written; it names `path`, and the old file is as it was.
    """
    target = _target(path)
    draft = ""
    try:
        descriptor, draft = _draft_of(target)
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        _hand_on(target, draft)
        (replace or os.replace)(draft, str(target))
    except BaseException as error:
        if draft:
            with suppress(FileNotFoundError):
                os.unlink(draft)
        if isinstance(error, OSError) and error.filename in (None, draft):
            error.filename, error.filename2 = str(path), None
        raise
    _synchronise(target.parent)


def _hand_on(target: Path, draft: str) -> None:
    """Gives the draft owner and mode of the file that it replaces, or those of a new file."""
    try:
        was = os.stat(target)
    except FileNotFoundError:
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(draft, 0o666 & ~umask)
        return
    now = os.stat(draft)
    if hasattr(os, "chown") and (now.st_uid, now.st_gid) != (was.st_uid, was.st_gid):
        try:
            os.chown(draft, was.st_uid, was.st_gid)
        except PermissionError:  # only root gives files away; the group may be one of ours
            with suppress(PermissionError):
                os.chown(draft, -1, was.st_gid)
    os.chmod(draft, stat.S_IMODE(was.st_mode))


def _synchronise(folder: Path) -> None:
    """Makes the new name survive a power cut, where the system can."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:  # Windows, or a folder that may be written and not read
        return
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in NO_SYNC:
            raise
    finally:
        os.close(descriptor)
