"""Which analyzers the kernel has."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tallybayes import _kernels
from tallybayes.tokens.unicode_tables import CODE_POINTS, Accents, folding, is_word, marked

__all__ = ["CJK", "CJK_BLOCKS", "MARKS", "UNITS", "WORDS", "compiled_rules"]

TextRules = _kernels.TextRules
"""Rules by which the kernel makes terms of documents."""

WORDS = r"(?u)\b\w\w+\b"
"""Words of two characters and more: scikit-learn's default."""

MARKS = r"(?u)\w+|[^\w\s]"
"""Words, and every mark as a token by itself."""

CJK_BLOCKS = [
    (0x3005, 0x3007),  # iteration mark, closing mark, zero
    (0x3021, 0x3029),  # Hangzhou numerals
    (0x3031, 0x3035),  # kana repeat marks
    (0x3041, 0x30FF),  # hiragana, katakana
    (0x3105, 0x312F),  # bopomofo
    (0x3131, 0x318E),  # Hangul compatibility letters
    (0x31A0, 0x31BF),  # bopomofo extended
    (0x31F0, 0x31FF),  # katakana extension
    (0x3400, 0x4DBF),  # Han, extension A
    (0x4E00, 0x9FFF),  # Han
    (0xA960, 0xA97F),  # Hangul letters, extended A
    (0xAC00, 0xD7FF),  # Hangul
    (0xF900, 0xFAFF),  # Han, compatibility
    (0xFF66, 0xFFDC),  # half-width kana and Hangul
    (0x1AFF0, 0x1B16F),  # kana supplements
    (0x20000, 0x3FFFF),  # Han, extensions B and later
]
_CJK_CLASS = "".join(f"{chr(a)}-{chr(b)}" for a, b in CJK_BLOCKS)

CJK = rf"(?u)[{_CJK_CLASS}]|[^\W{_CJK_CLASS}]+|[^\w\s]"
"""Characters of Han, kana, bopomofo and Hangul by themselves; other words and marks as `MARKS`."""

UNITS = {"word": 0, "char": 1, "char_wb": 2, "cjk": 0}
_IN_WORD, _SINGLE = 1, 2


def _word_bits(pattern: str) -> NDArray[np.uint8]:
    """Which code points are in words, and which are tokens by themselves."""
    word = is_word()
    bits = np.where(word, _IN_WORD, 0).astype(np.uint8)
    if pattern != WORDS:
        bits[~word & (marked() & 4 == 0)] = _SINGLE
    if pattern == CJK:
        for first, last in CJK_BLOCKS:
            bits[first : last + 1] = np.where(bits[first : last + 1] > 0, _SINGLE, 0)
    return bits


@lru_cache(maxsize=32)
def compiled_rules(
    analyzer: str,
    pattern: str | None,
    *,
    lowercase: bool,
    strip_accents: Accents,
    ngram_range: tuple[int, int],
) -> _kernels.TextRules | None:
    """The rules of an analyzer for the kernel, None if it has none such.

    Parameters
    ----------
    analyzer : {'word', 'char', 'char_wb', 'cjk'}
        Words by `pattern`; characters; characters within words; words with characters of scripts
        without spaces by themselves.
    pattern : str or None
        `WORDS` or `MARKS`, for words.
    lowercase : bool
        As ``str.lower``.
    strip_accents : {'ascii', 'unicode'} or None
        As scikit-learn's ``strip_accents_ascii`` and ``strip_accents_unicode``.
    ngram_range : (int, int)
        The shortest and the longest n-grams, from 1 on.

    Returns
    -------
    TextRules or None
        To count with.
    """
    if analyzer not in UNITS or (analyzer == "word" and pattern not in (WORDS, MARKS)):
        return None
    kind = CJK if analyzer == "cjk" else pattern if analyzer == "word" else WORDS
    assert kind is not None
    numbers, strings = folding(lowercase, strip_accents)
    assert len(numbers) == CODE_POINTS
    return _kernels.TextRules(
        marked() | _word_bits(kind),
        numbers,
        strings,
        lowercase,
        strip_accents == "ascii",
        UNITS[analyzer],
        min(ngram_range[0], 2**31),
        min(ngram_range[1], 2**31),
        kind != WORDS,
        kind == WORDS,
    )
