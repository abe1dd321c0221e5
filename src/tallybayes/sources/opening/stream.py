"""Bytes of a file or of standard input: its first bytes, decompression, and progress."""

from __future__ import annotations

import io
import os
import select
import signal
import stat
import sys
from collections.abc import Callable
from typing import Any

from tallybayes.errors import SourceError
from tallybayes.sources.opening.places import is_remote, opened
from tallybayes.sources.opening.unpacking import DAMAGE, ZIP, packing_of, unpacked, unzipped

__all__ = ["HEAD_BYTES", "MAX_RECORD_BYTES", "Stream", "beginning", "read_once"]

HEAD_BYTES = 1 << 16  # bytes that are looked at to find format and delimiter
MAX_RECORD_BYTES = 1 << 26  # bytes that a record may have


def read_once(path: str) -> bool:
    """Whether an input is gone when it has been read: standard input ("-") and pipes."""
    try:
        return path == "-" or stat.S_ISFIFO(os.stat(path).st_mode)
    except OSError:  # which opening it explains
        return False


class Stream(io.RawIOBase):
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
            self.size = getattr(self._raw, "size", None)
        else:
            self._raw = open(path, "rb")  # noqa: SIM115  # closed by close()
            self.size = os.fstat(self._raw.fileno()).st_size or None
        self._file = self._raw  # which may become packed
        self._pending = self._raw.read(HEAD_BYTES)
        self._read = len(self._pending)
        self._packing = packing_of(self._pending)
        self._name = "standard input" if path == "-" else path
        if self._packing is not None:
            self._raw = unpacked(self._packing, _Joined(self._pending, self._raw, self))
        elif self._pending.startswith(ZIP) and self.size:
            self._unzip()
        if self._packing is not None:
            self._pending = b""
            try:
                self._pending = self.read(HEAD_BYTES)
            except BaseException:
                self.close()
                raise

    def _unzip(self) -> None:
        self._raw.seek(0)
        within = unzipped(self._name, self._raw)
        if within is None:
            self._raw.seek(len(self._pending))
            return
        self._raw, self._packing, self.size = within, "zip", None

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

    def readable(self) -> bool:
        return True

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

    def readinto(self, buffer: Any) -> int:
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        for file in (self._raw, self._file):
            if file is not None:
                file.close()
        super().close()


class _Pipe(io.RawIOBase):
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

    def readable(self) -> bool:
        return True

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

    def readinto(self, buffer: Any) -> int:
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

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


class _Joined(io.RawIOBase):
    """Bytes that were read, then the rest of a file; counts for `whose`."""

    def __init__(self, pending: bytes, raw: Any, whose: Stream) -> None:
        self._pending, self._raw, self._whose = pending, raw, whose

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data, self._pending = self._pending[: len(buffer)], self._pending[len(buffer) :]
        if not data:
            data = self._raw.read(len(buffer))
            self._whose._read += len(data)
        buffer[: len(data)] = data
        return len(data)


def beginning(path: str) -> bytes:
    """The first bytes of a file, as they are on the disk."""
    with open(path, "rb") as file:
        return file.read(16)
