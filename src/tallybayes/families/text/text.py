"""A column of text, read as the terms that its documents hold."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import Any, ClassVar, Literal

from tallybayes.families.contract.column_family import Context
from tallybayes.families.contract.document_family import DocumentFamily
from tallybayes.families.priors.hyperparameters import hold_choice, smoothing_number, whole_number
from tallybayes.families.text.likelihood import TermRatios
from tallybayes.schema import Kind
from tallybayes.tally import TextCounts
from tallybayes.tokens import MARKS, WORDS
from tallybayes.tokens.analyzer import ENGLISH, Analyzer, words_left_out

__all__ = ["Text"]

AnalyzerName = Literal["auto", "word", "char", "char_wb", "cjk"]


@dataclass(frozen=True)
class Text(DocumentFamily):
    """Free text: which terms are more frequent in a class than expected.

    A text of n terms adds as much as √n independent ones: words of a text depend on each other. A
    missing text adds nothing. In a weighted model the text has a learned weight. Plain naive Bayes
    adds the text to the other columns as if all were independent: beside columns that depend on
    each other it can predict worse than by the text alone. There, use WeightedNaiveBayes, or
    ``calibrate="temperature"``.

    Parameters
    ----------
    analyzer : {"auto", "word", "char", "char_wb", "cjk"}
        What n-grams are made of. "auto", like "cjk": characters of Han, kana and Hangul, which are
        written without spaces, and words and marks by `token_pattern` of other scripts.
    ngram_range : (int, int)
        The shortest and the longest n-grams.
    token_pattern : str
        A regular expression of the tokens, for the analyzer "word"; by default words, and every
        mark by itself.
    lowercase : bool
        Whether capitals count as small letters.
    strip_accents : {"ascii", "unicode"}, optional
        Whether accents are dropped.
    stop_words : list of str or "english", optional
        Tokens that are left out; "english" is scikit-learn's list.
    n_features : int, optional
        Buckets by which terms are hashed, so that the tally is bounded and names no term.
    alpha : float
        Smoothing of seen and expected, in documents, above 0.
    """

    kind: ClassVar[Kind] = "terms"
    analyzer: AnalyzerName = "auto"
    ngram_range: Sequence[int] = (1, 2)
    token_pattern: str = MARKS
    lowercase: bool = True
    strip_accents: Literal["ascii", "unicode"] | None = None
    stop_words: Sequence[str] | Literal["english"] | None = None
    n_features: int | None = None
    alpha: float = 0.1

    def __post_init__(self) -> None:
        hold_choice(self, "analyzer", AnalyzerName)
        self._hold_ngrams()
        self._hold_pattern()
        if self.strip_accents is not None:
            hold_choice(self, "strip_accents", Literal["ascii", "unicode"])
        for name in ("lowercase",):
            if not isinstance(getattr(self, name), bool):
                raise TypeError(f"Text takes {name} True or False, got {getattr(self, name)!r}")
        words = self.stop_words
        if words is not None and words != ENGLISH:
            if isinstance(words, str) or not all(isinstance(word, str) for word in words):
                raise TypeError(
                    f"Text takes stop_words as a list of strings or as 'english', got {words!r}: "
                    "give the words themselves for other languages"
                )
            object.__setattr__(self, "stop_words", list(words))
        alpha = smoothing_number("Text", self.alpha)
        if alpha == 0.0:
            raise ValueError("Text takes a finite alpha above 0, in documents, got 0.0")
        object.__setattr__(self, "alpha", alpha)

    def _hold_ngrams(self) -> None:
        rule = "Text takes ngram_range as two whole numbers from 1 on, the smaller first"
        given: Any = self.ngram_range
        if isinstance(given, str) or not hasattr(given, "__len__") or len(given) != 2:
            raise ValueError(f"{rule}, got {given!r}")
        if not all(isinstance(n, Integral) and int(n) >= 1 for n in given) or given[0] > given[1]:
            raise ValueError(f"{rule}, got {given!r}")
        least, most = map(int, given)
        object.__setattr__(self, "ngram_range", (least, most))

    def _hold_pattern(self) -> None:
        pattern: Any = self.token_pattern
        try:
            fits = isinstance(pattern, str) and re.compile(pattern).groups < 2
        except re.error:
            fits = False
        if not fits:
            raise ValueError(
                "Text takes a token_pattern that is a regular expression with at most one group, "
                f"got {pattern!r}"
            )
        if self.analyzer != "word" and pattern != MARKS:
            raise ValueError(
                f"Text(token_pattern=…) is for analyzer='word', and the analyzer is "
                f"{self.analyzer!r}: give analyzer='word', or leave the pattern out"
            )
        if self.n_features is None:
            return
        rule = "Text takes n_features, a number of buckets from 1 on"
        object.__setattr__(self, "n_features", whole_number(rule, self.n_features, 1))
        if self.analyzer == "word" and pattern not in (MARKS, WORDS):
            raise ValueError(
                f"Text(n_features=…) hashes terms of compiled rules, which token_pattern "
                f"{pattern!r} has not: use {MARKS!r} or {WORDS!r}, or leave n_features out"
            )

    @cached_property
    def terms(self) -> Analyzer:
        """How documents become terms."""
        least, most = self.ngram_range
        return Analyzer(
            "cjk" if self.analyzer == "auto" else self.analyzer,
            self.token_pattern,
            (least, most),
            self.lowercase,
            self.strip_accents,
            words_left_out(self.stop_words),
            self.n_features,
        )

    def likelihood(self, counts: TextCounts, context: Context) -> TermRatios:
        return TermRatios(counts, self.alpha)
