"""Documents to rows of terms: by a vocabulary of their own, or the terms of others."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes import _kernels
from tallybayes.tokens.compiled_rules import MARKS, compiled_rules
from tallybayes.tokens.counting import (
    SortedTerms,
    count_given,
    count_hashed,
    count_vocabulary,
    given_vocabulary,
)
from tallybayes.tokens.rows import Documents
from tallybayes.tokens.stop_words import named_in_words
from tallybayes.tokens.unicode_tables import Accents, stripped

__all__ = ["Analyzer", "KnownTerms"]

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
            return self._nothing(0)
        if self.n_features is not None:
            pointers, buckets, counts = self._hashed(documents, threads)
            held, places = np.unique(buckets.astype(np.int64), return_inverse=True)
            return held, _rows(pointers, places, counts, len(held))
        if self.rules is None:
            return self._of_python(documents)
        terms, rows = count_vocabulary(
            self.rules, documents, stop_words=self.stop_words, dtype=np.int32, threads=threads
        )
        return terms.array(), _rows(*rows, len(terms))

    def _nothing(self, n: int) -> tuple[Terms, Documents]:
        dtype: Any = np.int64 if self.n_features is not None else np.dtypes.StringDType()
        none = np.zeros(0, dtype=np.int32)
        return np.zeros(0, dtype=dtype), Documents(np.zeros(n + 1, dtype=np.int64), none, none, 0)

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

    def _of_python(self, documents: Sequence[str]) -> tuple[Terms, Documents]:
        counters = [Counter(self._terms(document)) for document in documents]
        names = sorted(set(chain.from_iterable(counters)))
        terms = np.array(names, dtype=np.dtypes.StringDType())
        return terms, _of_counters(counters, {name: i for i, name in enumerate(names)})

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
            return analyzer._nothing(len(documents))[1]
        if analyzer.n_features is not None:
            return self._of_buckets(*analyzer._hashed(documents, threads))
        if analyzer.rules is None:
            return _of_counters([Counter(analyzer._terms(d)) for d in documents], self._place)
        return _rows(*count_given(self._given, documents, dtype=np.int32, threads=threads), n)

    def _of_buckets(
        self, pointers: NDArray[Any], buckets: NDArray[np.int32], counts: NDArray[Any]
    ) -> Documents:
        at = np.minimum(np.searchsorted(self.terms, buckets), len(self.terms) - 1)
        held = self.terms[at] == buckets
        ends = np.concatenate([[0], np.cumsum(held)])
        return _rows(ends[pointers], at[held], counts[held], len(self.terms))


def _rows(
    pointers: NDArray[Any], places: NDArray[Any], counts: NDArray[Any], n_terms: int
) -> Documents:
    terms = places.astype(np.int32, copy=False)
    return Documents(pointers.astype(np.int64), terms, counts, n_terms)


def _of_counters(counters: list[Counter[str]], place: dict[str, int]) -> Documents:
    """Rows of the terms that have a place."""
    rows = [sorted((place[t], n) for t, n in one.items() if t in place) for one in counters]
    ends = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    cells = np.array([*chain.from_iterable(rows)], dtype=np.int32).reshape(-1, 2)
    return _rows(ends, cells[:, 0], np.ascontiguousarray(cells[:, 1]), len(place))
