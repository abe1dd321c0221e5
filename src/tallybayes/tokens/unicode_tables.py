"""Properties of code points for the kernel, from the running Python.

Word characters, white space and lower case are those of this Python's ``re`` and ``str.lower``,
whatever version of Unicode it has. The tables are made once in a process, when the first text is
counted (docs/decisions/0016-unicode-tables.md).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

__all__ = ["CASED", "CASE_IGNORABLE", "CODE_POINTS", "WHITE_SPACE", "folding", "is_word", "marked"]

CODE_POINTS = 0x110000
WHITE_SPACE, CASE_IGNORABLE, CASED = 4, 8, 16
"""Bits of a code point, as in ``src/kernels/text/unicode.hpp``."""

_PLANES_WITH_CASE = [range(0x20000), range(0xE0000, 0xE1000)]
"""Elsewhere are ideographs and private use, which no rule of case concerns."""

Accents = Literal["ascii", "unicode"] | None


def _string(points: NDArray[np.uint32]) -> str:
    return points.tobytes().decode("utf-32-le", "surrogatepass")


def _points(string: str) -> NDArray[np.uint32]:
    return np.frombuffer(string.encode("utf-32-le", "surrogatepass"), np.uint32)


@cache
def _all() -> str:
    return _string(np.arange(CODE_POINTS, dtype=np.uint32))


def _matching(pattern: str) -> NDArray[np.bool_]:
    found = np.zeros(CODE_POINTS, dtype=bool)
    for run in re.finditer(pattern, _all()):
        found[slice(*run.span())] = True
    return found


@cache
def is_word() -> NDArray[np.bool_]:
    r"""Whether ``re`` takes a code point for ``\w``, shape (0x110000,)."""
    return _matching(r"\w+")


def _final_after(before: str, points: NDArray[np.uint32]) -> NDArray[np.bool_]:
    """Whether a sigma is final after `before` and each of the code points."""
    rows = np.empty((len(points), len(before) + 3), dtype=np.uint32)
    rows[:, : len(before)] = _points(before)
    rows[:, -3], rows[:, -2], rows[:, -1] = points, ord("Σ"), ord("\n")
    rows[points == ord("İ"), -3] = ord("I")  # as much of a letter, and lower case is one character
    lower = _points(_string(rows.ravel()).lower()).reshape(rows.shape)
    return np.asarray(lower[:, -2] == ord("ς"))


@cache
def marked() -> NDArray[np.uint8]:
    """The bits WHITE_SPACE, CASE_IGNORABLE and CASED of each code point, shape (0x110000,)."""
    bits = np.where(_matching(r"\s+"), WHITE_SPACE, 0).astype(np.uint8)
    for plane in _PLANES_WITH_CASE:
        points = np.array(plane, dtype=np.uint32)
        letter = _final_after("", points)
        skipped = _final_after("A", points) & ~letter
        bits[points] |= np.where(letter, CASED, 0).astype(np.uint8)
        bits[points] |= np.where(skipped, CASE_IGNORABLE, 0).astype(np.uint8)
    return bits


def _lowered() -> list[str]:
    """The characters that are others in lower case."""
    lower = _points(_all().replace("İ", "I").lower())
    changed = np.flatnonzero(lower != np.arange(CODE_POINTS))
    return [chr(c) for c in changed if c != ord("İ")] + ["İ"]


def _without_accents(text: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))


def _as_ascii(text: str) -> str:
    return unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode("ascii")


_STRIP: dict[Accents, Callable[[str], str]] = {
    None: str,
    "unicode": _without_accents,
    "ascii": _as_ascii,
}


def stripped(text: str, accents: Accents) -> str:
    """A text without accents."""
    return _STRIP[accents](text)


def _decomposed() -> Iterator[str]:
    """The characters that NFKD takes apart, and combining ones."""
    yield from map(chr, range(0xAC00, 0xD7A4))  # Hangul, which is taken apart by rule
    for plane in (range(0x30000), range(0xE0000, 0xE1000)):
        for c in map(chr, plane):
            if unicodedata.decomposition(c) or unicodedata.combining(c):
                yield c


@cache
def folding(lower: bool, accents: Accents) -> tuple[NDArray[np.uint16], list[bytes]]:
    """What stands for each code point in lower case and without accents.

    Accents go character by character: the canonical order of what NFKD makes concerns combining
    characters only, which are dropped.

    Returns
    -------
    numbers : ndarray of uint16, shape (0x110000,)
        0 for a code point that stays, else the number of its string.
    strings : list of bytes
        The strings in UTF-8; the first is not used.
    """
    numbers = np.zeros(CODE_POINTS, dtype=np.uint16)
    rank: dict[str, int] = {"\0": 0}  # no character but itself becomes NUL
    if accents == "ascii":
        numbers[128:] = rank.setdefault("", len(rank))
    for c in [*(_lowered() if lower else []), *(_decomposed() if accents else [])]:
        if not 0xD800 <= ord(c) < 0xE000:  # surrogates are refused
            text = _STRIP[accents](c.lower() if lower else c)
            if text == c:
                continue
            numbers[ord(c)] = rank.setdefault(text, len(rank))
    return numbers, [text.encode() for text in rank]
