"""Names and values as short plain text, and as escaped tables of HTML for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from itertools import pairwise
from typing import Any

__all__ = ["html_table", "plain", "shaded", "shaded_pieces"]

MAX_NAME_CHARACTERS = 24  # characters of a name in a picture
MAX_CELL_CHARACTERS = 60  # characters of a cell
MAX_PASSAGE_CHARACTERS = 4_000  # characters of a passage
FOR_COLOUR, AGAINST_COLOUR = "1,115,178", "222,143,5"
"""Blue and orange of seaborn's "colorblind" palette, as in pictures."""

CELL_STYLE = "text-align:left;padding:2px 12px 2px 0"


def plain(value: Any, max_length: int = MAX_NAME_CHARACTERS) -> str:
    """A name or value in one line of at most `max_length` characters and "…". Blanks are quoted;
    characters that are not printed, or turn the line around, are written as escapes."""
    text = str(value)[: max_length + 1]
    if not str(value).strip():
        text = repr(text)
    text = text if len(text) <= max_length else f"{text[:max_length]}…"
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
    top = "".join(f'<th scope="col" style="{CELL_STYLE}">{_text(head)}</th>' for head in heads)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    note = f"<p>{_text(after, 500)}</p>" if after else ""
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>{note}"


def _cell(value: Any) -> str:
    return f'<td style="{CELL_STYLE}">{_text(value)}</td>'


def _text(value: Any, max_length: int = MAX_CELL_CHARACTERS) -> str:
    """Escaped text; characters that run from right to left turn nothing around them."""
    return f"<bdi>{escape(plain(value, max_length))}</bdi>" if str(value) else ""


def shaded(passage: str, spans: Sequence[tuple[int, int, float]]) -> str:
    """A passage as HTML in which spans are shaded: blue where they add, orange where they take
    away, the stronger the more. Where spans overlap their values are added.

    Parameters
    ----------
    passage : str
        Its first 4,000 characters are shown.
    spans : sequence of (begin, end, value)
    """
    pieces = shaded_pieces(passage[:MAX_PASSAGE_CHARACTERS], spans)
    most = max((abs(value) for _, value in pieces), default=0.0)
    html = "".join(_piece(text, value, most) for text, value in pieces)
    more = "…" if len(passage) > MAX_PASSAGE_CHARACTERS else ""
    return f'<p style="white-space:pre-wrap">{html}{more}</p>'


def shaded_pieces(shown: str, spans: Sequence[tuple[int, int, float]]) -> list[tuple[str, float]]:
    """A passage in pieces, each with the sum of the values of the spans that hold it.

    Parameters
    ----------
    shown : str
    spans : sequence of (begin, end, value)
    """
    ends = {min(at, len(shown)) for begin, end, _ in spans for at in (begin, end)}
    pieces = list(pairwise(sorted({0, len(shown), *ends})))
    of_letters = [0.0] * len(shown)
    for begin, end, value in spans:
        for at in range(begin, min(end, len(shown))):
            of_letters[at] += value
    return [(shown[begin:end], of_letters[begin]) for begin, end in pieces]


def _piece(text: str, value: float, largest: float) -> str:
    """A piece of a passage; lines and tabs stay, other characters that are not printed do not."""
    written = "".join(c if c.isprintable() or c in "\n\t" else ascii(c)[1:-1] for c in text)
    if not value or not largest:
        return escape(written)
    colour, share = FOR_COLOUR if value > 0.0 else AGAINST_COLOUR, 0.15 + 0.6 * abs(value) / largest
    style = f"background:rgba({colour},{share:.2f});color:inherit"
    return f'<mark style="{style}" title="{value:+.3f} nats">{escape(written)}</mark>'
