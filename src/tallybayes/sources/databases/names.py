"""Names in SQL, and names of databases in messages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import urlsplit

__all__ = ["conjunction", "is_url", "quoted", "quoted_path", "shown", "shown_path"]

PLAIN_NAME = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")
URLS = ("postgresql://", "postgres://")


def quoted(name: str) -> str:
    """A name as an SQL identifier.

    Raises
    ------
    ValueError
        For the character NUL, which ends a statement wherever it stands.
    """
    if "\0" in name:
        raise ValueError(f"{name!r} holds the character NUL, which no name in SQL can: rename it")
    return '"' + name.replace('"', '""') + '"'


def quoted_path(name: str) -> str:
    """The name of a table, in SQL: plain names joined by dots are a table in a schema or database;
    with any other character all of it is one name."""
    return ".".join(map(quoted, name.split(".") if PLAIN_NAME.fullmatch(name) else [name]))


def conjunction(conditions: Sequence[str]) -> str:
    """Conditions that all have to hold, each as somebody wrote it, comments included."""
    return " AND ".join(f"({condition}\n)" for condition in conditions)


def is_url(text: str) -> bool:
    """Tell whether text is the URL of a database.

    Parameters
    ----------
    text : str
        A path or URL.

    Returns
    -------
    bool
        Whether it is one.
    """
    return text.lower().startswith(URLS)


def shown(url: str) -> str:
    """A URL without its password and parameters."""
    parts = urlsplit(url)
    user = f"{parts.username}@" if parts.username else ""
    return f"{parts.scheme}://{user}{parts.netloc.rpartition('@')[2]}{parts.path}"


def shown_path(path: str) -> str:
    """Show a path as it is, and a URL of a database without its password.

    Parameters
    ----------
    path : str
        A path or URL.

    Returns
    -------
    str
        For messages.
    """
    return shown(path) if is_url(path) else path
