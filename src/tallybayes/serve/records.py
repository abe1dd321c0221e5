"""What the service writes down: errors, and who changed or saw what is kept."""

from __future__ import annotations

import errno
import logging
import os
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

from tallybayes.errors import LabelConflict, StoreError, UnfinishedForget
from tallybayes.serve.bodies import Refused, as_json
from tallybayes.serve.tokens import Token, Tokens

__all__ = ["Audit", "note"]

log: logging.Logger = logging.getLogger("tallybayes.serve")
audit_log: logging.Logger = logging.getLogger("tallybayes.audit")


def note(what: str, error: BaseException) -> None:
    """Log an error by where it was raised; its message could name values of rows.

    Parameters
    ----------
    what : str
        What failed.
    error : BaseException
        Why.
    """
    frames = "".join(traceback.format_tb(error.__traceback__))
    log.error("%s: %s\n%s", what, type(error).__name__, frames)


class Audit:
    """The log of who learned, forgot, relabelled, reweighted and saw rows: what cannot be written
    there is not done.

    Parameters
    ----------
    path : str or None
        A file, which only its owner may read; None is the logger ``tallybayes.audit``.
    tokens : Tokens
        Whose key hashes ids and subjects.
    on_end : callable ()
        Called when a change has ended, from its thread.

    Raises
    ------
    OSError
        If the file cannot be opened.
    """

    def __init__(self, path: str | None, tokens: Tokens, on_end: Callable[[], Any]) -> None:
        self._tokens, self._on_end = tokens, on_end
        self._file: int | None = None
        if path is not None:
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
            self._file = os.open(path, flags, 0o600)

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    @contextmanager
    def recorded(
        self,
        action: str,
        token: Token,
        *,
        ids: Sequence[Any] | None,
        subjects: Sequence[Any] | None,
    ) -> Iterator[dict[str, Any]]:
        """Write who does what, before and after the block, which does it.

        Parameters
        ----------
        action : str
            "learn", "forget", "relabel", "reweight" or "report".
        token : Token
            Who asks.
        ids, subjects : sequence or None
            Of the rows. The log holds hashes of them by the key of the tokens' file.

        Yields
        ------
        dict
            What the block adds to the log about its outcome.

        Raises
        ------
        Refused
            409 for a label that conflicts, 503 where the store cannot be reached or written, or the
            log cannot be written; 422 for what the store refuses.
        """
        reference, hashed = uuid4().hex[:12], self._tokens.hashed
        who = {"token": token.id, "name": token.name, "request": reference}
        entry: dict[str, Any] = {"action": action, **who}
        if ids is not None:
            entry["ids"] = [hashed(id) for id in ids]
        if subjects is not None:
            entry["subjects"] = [hashed(subject) for subject in subjects]
        try:
            self._write({**entry, "state": "asked"})
        except OSError as error:
            note("the audit log cannot be written", error)
            raise Refused(
                503, "the audit log cannot be written, so nothing was done", Retry_After="5"
            ) from None
        outcome: dict[str, Any] = {}
        state = "failed"
        try:
            yield outcome
            state = "done"
        except LabelConflict as error:
            state = "refused"
            raise Refused(409, str(error)) from None
        except UnfinishedForget as error:
            state = "unfinished"
            raise Refused(503, str(error), Retry_After="1") from None
        except StoreError as error:
            if error.__cause__ is not None:  # an error of the database or the disk
                raise Refused(503, str(error), Retry_After="1") from None
            state = "refused"
            raise Refused(422, str(error)) from None
        except ValueError as error:
            state = "refused"
            raise Refused(422, str(error)) from None
        finally:
            self._on_end()
            try:
                self._write({**who, "action": action, "state": state, **outcome})
            except OSError as error:
                note(f"the audit log lacks the end of request {reference}: {state}", error)

    def _write(self, entry: dict[str, Any]) -> None:
        """Appends a line; those of several workers do not mix, because one call writes it."""
        line = as_json({"time": round(time.time(), 3), **entry}) + b"\n"
        if self._file is None:
            audit_log.info(line.decode().rstrip())
        elif os.write(self._file, line) < len(line):
            raise OSError(errno.ENOSPC, "the line was cut off")
