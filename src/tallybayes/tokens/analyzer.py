"""Documents to rows of terms: by a vocabulary of their own, or the terms of others."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from itertools import chain
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tallybayes import _kernels
from tallybayes.tokens.counting import (
    Documents,
    SortedTerms,
    count_given,
    count_hashed,
    count_vocabulary,
    given_vocabulary,
)

__all__ = [
    "CASED",
    "CASE_IGNORABLE",
    "CJK",
    "CJK_BLOCKS",
    "ENGLISH",
    "MARKS",
    "UNITS",
    "WHITE_SPACE",
    "WORDS",
    "Analyzer",
    "KnownTerms",
    "compiled_rules",
    "folding",
    "is_word",
    "makes_terms_in_python",
    "marked",
    "no_documents",
    "rows_of_terms",
    "words_left_out",
]


# ---- tokens to leave out of documents: a list, or scikit-learn's list of English words -----------
ENGLISH = "english"


def words_left_out(given: Iterable[str] | None) -> tuple[str, ...]:
    """The tokens that are left out, distinct and sorted.

    Parameters
    ----------
    given : iterable of str, "english" or None
        "english" stands for the list of scikit-learn.
    """
    if given == ENGLISH:
        # loads scikit-learn's text module, which only models with this list need
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

        given = ENGLISH_STOP_WORDS
    return tuple(sorted(set(given or ())))


def named_in_words(words: tuple[str, ...]) -> str:
    """Which tokens are left out, in readable form: long lists are named where they have one.

    Parameters
    ----------
    words : tuple of str
        As :func:`words_left_out` returns them.
    """
    if len(words) > 100 and words == words_left_out(ENGLISH):
        return f"the {len(words)} English stop words of scikit-learn"
    return ", ".join(words)


# ---- properties of code points for the kernel, from the running Python ---------------------------
# Word characters, white space and lower case are those of this Python's ``re`` and ``str.lower``,
# whatever version of Unicode it has. The tables are made once in a process, when the first text is
# counted (docs/decisions/0016-unicode-tables.md).
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


# ---- which analyzers the kernel has --------------------------------------------------------------
def makes_terms_in_python(vectorizer: Any) -> bool:
    """Whether a parameter of a CountVectorizer is a function that takes part in making terms."""
    functions = [vectorizer.analyzer, vectorizer.strip_accents, vectorizer.preprocessor]
    if vectorizer.analyzer in ("word", "cjk"):
        functions.append(vectorizer.tokenizer)
    return any(map(callable, functions))


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


# ---- documents to terms --------------------------------------------------------------------------
Terms = NDArray[Any]
"""Distinct and sorted: strings of variable width, or int64 numbers of hash buckets."""


@dataclass(frozen=True)
class Analyzer:
    """How documents become terms.

    Parameters
    ----------
    analyzer : {"word", "cjk", "char", "char_wb"}
    token_pattern : str
        Of the tokens, for words. Patterns other than two have no compiled rules, and Python's `re`
        finds their tokens.
    ngram_range : (int, int)
    lowercase : bool
    strip_accents : {"ascii", "unicode"} or None
    stop_words : tuple of str
    n_features : int, optional
        Buckets by which terms are hashed, in place of a vocabulary.
    """

    analyzer: str = "cjk"
    token_pattern: str = MARKS
    ngram_range: tuple[int, int] = (1, 1)
    lowercase: bool = True
    strip_accents: Accents = None
    stop_words: tuple[str, ...] = ()
    n_features: int | None = None

    @cached_property
    def rules(self) -> _kernels.TextRules | None:
        """The kernel's rules; None where Python finds the tokens."""
        return compiled_rules(
            self.analyzer,
            self.token_pattern,
            lowercase=self.lowercase,
            strip_accents=self.strip_accents,
            ngram_range=self.ngram_range,
        )

    @property
    def in_words(self) -> str:
        """What is counted: tallies of other terms do not add."""
        low, high = self.ngram_range
        n = f"{low}" if low == high else f"{low} to {high}"
        what = repr(self.token_pattern) if self.analyzer == "word" else self.analyzer
        found = [f"{n}-grams of {what}", "in lower case" * self.lowercase]
        found.append(f"without accents ({self.strip_accents})" * (self.strip_accents is not None))
        found.append(f"without {named_in_words(self.stop_words)}" * bool(self.stop_words))
        found.append(f"in {self.n_features} buckets" * (self.n_features is not None))
        return ", ".join(filter(None, found))

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    def counted(self, documents: Sequence[str], threads: int = 1) -> tuple[Terms, Documents]:
        """The terms of some documents, distinct and sorted, and the documents as rows of them.

        Parameters
        ----------
        documents : sequence of str
        threads : int
            How many; the result does not depend on it.
        """
        if not len(documents):
            dtype: Any = np.int64 if self.n_features is not None else np.dtypes.StringDType()
            return np.zeros(0, dtype=dtype), no_documents(0)
        if self.n_features is not None:
            pointers, buckets, counts = self._hashed(documents, threads)
            held, places = np.unique(buckets.astype(np.int64), return_inverse=True)
            return held, rows_of_terms(pointers, places, counts, len(held))
        if self.rules is None:
            counters = [Counter(self._terms(document)) for document in documents]
            names = sorted(set(chain.from_iterable(counters)))
            held = np.array(names, dtype=np.dtypes.StringDType())
            return held, _of_counters(counters, {name: i for i, name in enumerate(names)})
        terms, rows = count_vocabulary(
            self.rules, documents, stop_words=self.stop_words, dtype=np.int32, threads=threads
        )
        return terms.array(), rows_of_terms(*rows, len(terms))

    def _hashed(self, documents: Sequence[str], threads: int) -> Any:
        assert self.rules is not None
        assert self.n_features is not None
        return count_hashed(
            self.rules,
            documents,
            self.n_features,
            stop_words=self.stop_words,
            dtype=np.int32,
            threads=threads,
        )

    def _terms(self, document: str) -> Iterator[str]:
        """The terms of a document, by Python."""
        document = document.lower() if self.lowercase else document
        document = stripped(document, self.strip_accents)
        stop = frozenset(self.stop_words)
        tokens = [t for t in re.findall(self.token_pattern, document) if t not in stop]
        least, most = self.ngram_range
        for n in range(least, min(most, len(tokens)) + 1):
            for i in range(len(tokens) - n + 1):
                yield " ".join(tokens[i : i + n])


class KnownTerms:
    """Counts documents by terms that are known; others are left out.

    Parameters
    ----------
    analyzer : Analyzer
    terms : array (n_terms,)
        Distinct and sorted.
    """

    analyzer: Analyzer
    terms: Terms

    def __init__(self, analyzer: Analyzer, terms: Terms) -> None:
        self.analyzer, self.terms = analyzer, terms

    @cached_property
    def _given(self) -> _kernels.GivenVocabulary:
        assert self.analyzer.rules is not None
        known = SortedTerms.of_array(self.terms)
        return given_vocabulary(self.analyzer.rules, self.analyzer.stop_words, known)

    @cached_property
    def _place(self) -> dict[str, int]:
        return {term: i for i, term in enumerate(self.terms.tolist())}

    def rows(self, documents: Sequence[str], threads: int = 1) -> Documents:
        """Documents as rows of the terms.

        Parameters
        ----------
        documents : sequence of str
        threads : int
            How many; the result does not depend on it.
        """
        analyzer, n = self.analyzer, len(self.terms)
        if not n or not len(documents):
            return no_documents(len(documents))
        if analyzer.n_features is not None:
            return self._of_buckets(*analyzer._hashed(documents, threads))
        if analyzer.rules is None:
            return _of_counters([Counter(analyzer._terms(d)) for d in documents], self._place)
        return rows_of_terms(
            *count_given(self._given, documents, dtype=np.int32, threads=threads), n
        )

    def _of_buckets(
        self, pointers: NDArray[Any], buckets: NDArray[np.int32], counts: NDArray[Any]
    ) -> Documents:
        at = np.minimum(np.searchsorted(self.terms, buckets), len(self.terms) - 1)
        held = self.terms[at] == buckets
        ends = np.concatenate([[0], np.cumsum(held)])
        return rows_of_terms(ends[pointers], at[held], counts[held], len(self.terms))


def no_documents(n: int) -> Documents:
    """Documents without a term."""
    none = np.zeros(0, dtype=np.int32)
    return Documents(np.zeros(n + 1, dtype=np.int64), none, none, 0)


def rows_of_terms(
    pointers: NDArray[Any], places: NDArray[Any], counts: NDArray[Any], n_terms: int
) -> Documents:
    """Documents from the parts of a CSR matrix."""
    terms = places.astype(np.int32, copy=False)
    return Documents(pointers.astype(np.int64), terms, counts, n_terms)


def _of_counters(counters: list[Counter[str]], place: dict[str, int]) -> Documents:
    """Rows of the terms that have a place."""
    rows = [sorted((place[t], n) for t, n in one.items() if t in place) for one in counters]
    ends = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    cells = np.array([*chain.from_iterable(rows)], dtype=np.int32).reshape(-1, 2)
    return rows_of_terms(ends, cells[:, 0], np.ascontiguousarray(cells[:, 1]), len(place))
