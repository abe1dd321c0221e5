"""Names and values as short plain text, and as escaped tables of HTML for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

__all__ = ["html_table", "plain"]

LONGEST = 24  # letters of a name in a picture
WIDEST = 60  # letters of a cell
CELL = "text-align:left;padding:2px 12px 2px 0"


def plain(value: Any, most: int = LONGEST) -> str:
    """A name or value in one line of no more than `most` letters and "…": blanks stand in quotes,
    and characters that are not printed, or turn the line around, are written as escapes."""
    text = str(value)[: most + 1]
    if not str(value).strip():
        text = repr(text)
    text = text if len(text) <= most else f"{text[:most]}…"
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def html_table(heads: Sequence[Any], rows: Iterable[Sequence[Any]], after: str = "") -> str:
    """A table as HTML that holds names and values as text only.

    Parameters
    ----------
    heads : sequence
        The names of the columns.
    rows : iterable of sequences
    after : str
        A sentence below the table.
    """
    top = "".join(f'<th scope="col" style="{CELL}">{_text(head)}</th>' for head in heads)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    said = f"<p>{_text(after, 500)}</p>" if after else ""
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>{said}"


def _cell(value: Any) -> str:
    return f'<td style="{CELL}">{_text(value)}</td>'


def _text(value: Any, most: int = WIDEST) -> str:
    """Escaped text; letters that run from right to left turn nothing around them."""
    return f"<bdi>{escape(plain(value, most))}</bdi>" if str(value) else ""
