"""How a page splits documents into terms: the rules, with this Python's tables of characters."""

from __future__ import annotations

import unicodedata
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.estimators.text.term_rules import makes_terms_in_python
from tallybayes.reporting.form.encoding import whole
from tallybayes.tokens import MARKS, WORDS
from tallybayes.tokens.analyzer import CJK_BLOCKS, WHITE_SPACE, is_word, marked

__all__ = ["splitting_of"]

PATTERNS = {WORDS: "words", MARKS: "marks"}


def splitting_of(vectorizer: Any) -> dict[str, Any] | None:
    """The rules of a CountVectorizer as JSON; None where the page has no such rules: a function, or
    another pattern.

    Parameters
    ----------
    vectorizer : CountVectorizer
    """
    unit, pattern = vectorizer.analyzer, "marks"
    if makes_terms_in_python(vectorizer) or unit not in ("word", "char", "char_wb", "cjk"):
        return None
    if unit == "word":
        if vectorizer.token_pattern not in PATTERNS:
            return None
        pattern = PATTERNS[vectorizer.token_pattern]
    accents = vectorizer.strip_accents
    return {
        "unit": unit,
        "pattern": pattern,
        "lowercase": bool(vectorizer.lowercase),
        "accents": accents,
        "stop": sorted(vectorizer.get_stop_words() or ()) if unit in ("word", "cjk") else [],
        "ngrams": [int(n) for n in vectorizer.ngram_range],
        "word": _ranges(is_word()),
        "space": _ranges((marked() & WHITE_SPACE) > 0),
        "alone": [list(block) for block in CJK_BLOCKS] if unit == "cjk" else [],
        "combining": _ranges(_combining()) if accents == "unicode" else None,
    }


def _ranges(there: NDArray[np.bool_]) -> dict[str, Any]:
    """Where runs of code points begin and end, each as the distance from the one before."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], there, [False]]).astype(np.int8)))
    return whole(np.diff(np.concatenate([[0], edges])))


@cache
def _combining() -> NDArray[np.bool_]:
    """The code points that are dropped with accents."""
    return np.array([unicodedata.combining(chr(c)) > 0 for c in range(0x110000)])
