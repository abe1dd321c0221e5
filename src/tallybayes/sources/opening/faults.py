"""Errors of Arrow as errors that name the file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from tallybayes.errors import SourceError

__all__ = ["explained"]


@contextmanager
def explained(name: str, format: str) -> Iterator[None]:
    """Errors of Arrow, and of the system, become SourceError.

    Parameters
    ----------
    name : str
        The file or source.
    format : str
        What it is read as.
    """
    try:
        yield
    except FileNotFoundError:
        raise SourceError(f"{name}: there is no such file") from None
    except PermissionError:
        raise SourceError(f"{name}: no permission to read it") from None
    except OSError as error:
        if not isinstance(error, pa.ArrowException) and error.errno is not None:
            raise SourceError(f"{name}: {error.strerror}") from None
        raise _damaged(name, format, error) from None
    except pa.ArrowException as error:
        raise _damaged(name, format, error) from None


def _damaged(name: str, format: str, error: Exception) -> SourceError:
    reason = " ".join(str(error).split())  # on one line
    return SourceError(f"{name} is a damaged or incomplete {format} file ({reason})")
