"""One change of a model file at a time: a second process waits, and then sees the change.

The lock is the kernel's, on the model file itself, so a killed process leaves nothing behind. A
change replaces the file; a process that waited for the old file looks for the new one.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager

from tallybayes.cli.terminal.console import note

try:
    import fcntl
except ImportError:  # Windows: two changes at the same time are not noticed there
    fcntl = None  # type: ignore[assignment]

__all__ = ["alone"]

NO_LOCKS = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EBADF)  # some network drives


@contextmanager
def alone(path: str) -> Iterator[None]:
    """Holds the model file so that no other process of ours changes it meanwhile.

    A file that is not there yet has nothing to lose and is not locked.
    """
    descriptor = None if fcntl is None else _locked(path)
    try:
        yield
    finally:
        if descriptor is not None:
            os.close(descriptor)  # which gives the lock free, as the end of the process does


def _locked(path: str) -> int | None:
    while True:
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        try:
            _take(descriptor, path)
            if os.path.samestat(os.fstat(descriptor), os.stat(path)):
                return descriptor
        except FileNotFoundError:
            os.close(descriptor)
            return None
        except OSError as error:
            if error.errno not in NO_LOCKS:
                os.close(descriptor)
                raise
            note(f"warning: {path} cannot be locked here: do not change it twice at a time")
            return descriptor
        except BaseException:  # Ctrl-C while waiting
            os.close(descriptor)
            raise
        os.close(descriptor)  # it was replaced while we waited


def _take(descriptor: int, path: str) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        note(f"{path} is being changed by another tallybayes: waiting for it (Ctrl-C gives up)")
        fcntl.flock(descriptor, fcntl.LOCK_EX)
