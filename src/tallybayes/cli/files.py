"""Model files and what commands write: what may be there before, one change at a time, loading."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from glob import glob, has_magic
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import typer

from tallybayes.cli.console import line, note, number_of
from tallybayes.cli.interrupts import need_none, replacement_of
from tallybayes.cli.messages import USAGE, Failure
from tallybayes.cli.quick_imports import import_estimators
from tallybayes.errors import ModelFileError, SourceError
from tallybayes.sources import is_model, is_remote, is_url, need_folder, need_model

__all__ = [
    "Output",
    "alone",
    "loaded",
    "note_stale",
    "note_unlabelled",
    "page_beside",
    "saved_page",
]

try:
    import fcntl
except ImportError:  # Windows: two changes at the same time are not noticed there
    fcntl = None  # type: ignore[assignment]


# ---- outputs: what may be there before, and how it is replaced -----------------------------------
# Nothing is written over what a command reads. What would be lost otherwise is replaced with
# --force only, or where somebody at a terminal agrees: another kind of file, predictions, an
# export, and a model whose counts are not those that it was made with.
Kind = Literal["model", "page", "predictions", "export"]

PAGE = b'<meta name="generator" content="tallybayes">'
HEAD_BYTES = 4096  # of a page or model, within which it says what it is


class Output:
    """A file that a command will write, checked before the work begins.

    Parameters
    ----------
    path : str
    kind : {"model", "page", "predictions", "export"}
        What is written.
    reads : collection of str
        What the command reads: files, folders and patterns, "-" for standard input.
    changes : collection of str
        Models of which one may be replaced by what becomes of it.
    force : bool
        Whether a file that would be lost is replaced.
    option : str
        How the path is given.

    Raises
    ------
    Failure
        With the code for usage, where the path is read, or holds what would be lost.
    """

    def __init__(
        self,
        path: str,
        kind: Kind,
        reads: Collection[str] = (),
        changes: Collection[str] = (),
        *,
        force: bool = False,
        option: str = "-o",
    ) -> None:
        self.path, self.kind, self._forced, self._option = path, kind, force, option
        self._in_place = self._is_one_of(changes)
        if self._is_one_of(reads):
            raise Failure(
                f"{option} {path} would overwrite what is read: choose another name", USAGE
            )
        need_folder(path)
        if not os.path.isfile(path) or not os.path.getsize(path):  # as mktemp makes it
            return
        if kind in ("predictions", "export"):
            self._need_consent("exists")
        elif not self._is_ours():
            self._need_consent(f"exists and is not a {kind} of tallybayes")

    def need_apart(self, other: Output) -> None:
        """Raises where another file of the command goes to the same place."""
        if os.path.realpath(self.path) == os.path.realpath(other.path):
            raise Failure(
                f"{self._option} {self.path} is where the {other.kind} goes: choose another name",
                USAGE,
            )

    def need_as_made(self) -> None:
        """Raises where a model would be lost that has other counts than it was made with. Reads the
        file."""
        if self.kind != "model" or self._forced or self._in_place or not os.path.isfile(self.path):
            return
        if not os.path.getsize(self.path):
            return
        try:
            file = loaded(self.path, labels=True)
        except (Failure, ModelFileError, SourceError):
            self._need_consent("is a model that the command line cannot read")
            return
        if file.read_by.made is None:
            self._need_consent(
                "is a model that Python or release wrote, which does not say whether it has "
                "changed since"
            )
        elif file.read_by.made != file.digest():
            rows = f"{file.rows:,.10g} {file.unit}s"
            self._need_consent(f"is a model that has changed since it was made; it holds {rows}")

    @contextmanager
    def alone(self) -> Iterator[Callable[[Any], None]]:
        """Holds the file, so that no other process of ours changes it meanwhile, and gives what
        saves a model there."""
        with alone(self.path):
            self.need_as_made()
            yield self._save

    def _save(self, file: Any) -> None:
        if not self._in_place:
            file.read_by.made = file.digest()
        need_none()
        file.save(self.path, replacement_of(self.path))
        need_none()

    def _is_ours(self) -> bool:
        if self.kind == "model":
            return is_model(self.path)
        with open(self.path, "rb") as file:
            return PAGE in file.read(HEAD_BYTES)

    def _is_one_of(self, given: Iterable[str]) -> bool:
        try:
            here = os.stat(self.path)
        except OSError:  # nothing is there
            return False
        return any(os.path.samestat(here, found) for path in given for found in self._stats(path))

    def _stats(self, given: str) -> Iterable[os.stat_result]:
        """The files that an input stands for and that can be this one."""
        if given == "-":
            try:
                yield os.fstat(0)
            except OSError:
                return
        elif not is_url(given) and not is_remote(given):
            names = [given] if os.path.exists(given) or not has_magic(given) else glob(given)
            for name in names:
                if os.path.isdir(name):
                    yield from self._stats_within(name)
                elif os.path.exists(name):
                    yield os.stat(name)

    def _stats_within(self, folder: str) -> Iterable[os.stat_result]:
        """Files in a folder that is read; a page or model of ours among them is no data."""
        if Path(folder).resolve() in Path(self.path).resolve().parents and not (
            os.path.isfile(self.path) and (is_model(self.path) or self._is_ours())
        ):
            yield os.stat(self.path)

    def _need_consent(self, reason: str) -> None:
        """Raises unless the user agrees that the file is replaced."""
        if self._forced:
            return
        if sys.stdin.isatty() and sys.stderr.isatty():
            if not typer.confirm(f"{self.path} {reason}. Overwrite it?", err=True):
                raise Failure(f"{self.path} is kept as it was")
            self._forced = True
            return
        raise Failure(
            f"{self.path} {reason}: add --force to overwrite it, or choose another name", USAGE
        )


def page_beside(path: str, data: list[str], reads: Collection[str], force: bool) -> Output:
    """The page that a command writes beside other work, checked before that work.

    Parameters
    ----------
    path : str
        Where it goes.
    data : list of str
        What the model is judged on, which is read again.
    reads : collection of str
        Whatever the command reads.
    force : bool
    """
    if "-" in data:
        raise Failure(
            "--report reads the rows a second time, and standard input is read once: give a file",
            USAGE,
        )
    output = Output(path, "page", reads, force=force, option="--report")
    if find_spec("jinja2") is None:
        raise Failure("--report needs Jinja2: pip install 'tallybayes[report]'")
    return output


# ---- locking: one change of a model file at a time; a second process waits, and then sees it -----
# The lock is the kernel's, on the model file itself, so a killed process leaves nothing behind. A
# change replaces the file; a process that waited for the old file looks for the new one.
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


# ---- loading, and notes on what was read --------------------------------------------------------
def loaded(path: str, *, labels: bool = False) -> Any:
    """A model file, opened; `labels` for a command that takes many labels a row.

    Raises
    ------
    Failure, SourceError, ModelFileError, OSError
    """
    need_model(path)
    import_estimators()
    from tallybayes.model_files import open_model

    return open_model(path, labels=labels)


def note_unlabelled(source: Any, unit: str = "row") -> None:
    """Reports how many rows or documents were left out because they have no label."""
    if source.unlabelled:
        rows = number_of(source.unlabelled, unit)
        note(f"note: {source.name}: {rows} without a label left out")


def note_stale(file: Any, path: str) -> None:
    """Reports that something in a model was learned on other counts than it has now."""
    if part := file.stale_part:
        what = "learns it again" if part.startswith("ridge") else "learns again"
        note(
            f"warning: the {part} learned on other counts: tallybayes reweight {path} DATA {what}, "
            f"on {file.unit}s that the model has counted"
        )


def saved_page(report: Any, page: str, model: str, unit: str) -> Any:
    """What a page is that was saved."""
    return line(
        f"{page} shows {model}, judged on {number_of(report.data['headline']['rows'], unit)}"
    )
