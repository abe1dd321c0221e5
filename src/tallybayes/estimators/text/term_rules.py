"""The kernel's rules for a vectorizer's parameters, if the kernel supports them."""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import Any

from tallybayes.tokens import MARKS, WORDS, compiled_rules
from tallybayes.tokens.analyzer import TextRules, makes_terms_in_python

__all__ = [
    "need_hashing",
    "need_ngrams",
    "rules_of",
    "warn_of_capitals",
]


def rules_of(vectorizer: Any) -> TextRules | None:
    """The kernel's rules for the parameters of a CountVectorizer; None where Python makes the
    terms."""
    if makes_terms_in_python(vectorizer):
        return None
    shortest, longest = vectorizer.ngram_range
    return compiled_rules(
        vectorizer.analyzer,
        vectorizer.token_pattern,
        lowercase=bool(vectorizer.lowercase),
        strip_accents=vectorizer.strip_accents or None,
        ngram_range=(int(shortest), int(longest)),
    )


def need_hashing(vectorizer: Any, rules: TextRules | None) -> None:
    """Raise where the parameters of a CountVectorizer do not let terms be hashed.

    Raises
    ------
    ValueError
        For parameters that need a vocabulary, or terms that Python makes.
    """
    n = vectorizer.n_features
    given = {"vocabulary": vectorizer.vocabulary, "max_features": vectorizer.max_features}
    clash = [name for name, value in given.items() if value is not None]
    clash += ["min_df"] * (vectorizer.min_df != 1) + ["max_df"] * (vectorizer.max_df != 1.0)
    if clash:
        raise ValueError(
            f"n_features={n} hashes terms without counting them first, so that {clash[0]} has no "
            "meaning: omit one of the two"
        )
    if rules is None:
        raise ValueError(
            f"n_features={n} needs an analyzer that is compiled: hashing has no Python path. Omit "
            f"preprocessor and tokenizer, and use token_pattern {WORDS!r} or {MARKS!r}, or the "
            "analyzer 'char', 'char_wb' or 'cjk'"
        )


def need_ngrams(ngram_range: Any) -> None:
    """Raise unless two whole numbers give the shortest and the longest n-grams.

    Raises
    ------
    ValueError
        For one number or three, or for n-grams that cannot be.
    TypeError
        For a number that is not whole.
    """
    if len(ngram_range) != 2:
        raise ValueError(
            f"Invalid value for ngram_range={ngram_range}: give two numbers, the shortest and the "
            "longest n-grams, such as (1, 2)"
        )
    shortest, longest = ngram_range
    if not (isinstance(shortest, Integral) and isinstance(longest, Integral)):
        raise TypeError(
            f"Invalid value for ngram_range={ngram_range}: the shortest and the longest n-grams "
            "are whole numbers, such as (1, 2)"
        )
    if not 1 <= int(shortest) <= int(longest):
        raise ValueError(
            f"Invalid value for ngram_range={ngram_range}: n-grams have from 1 token on, and the "
            "lower boundary must not be larger than the upper boundary"
        )


def warn_of_capitals(vectorizer: Any) -> None:
    """Warn of terms with capitals in a given vocabulary, which documents in lower case lack."""
    if vectorizer.lowercase and any(any(map(str.isupper, t)) for t in vectorizer.vocabulary_):
        warnings.warn(
            "Upper case characters found in vocabulary while 'lowercase' is True. These entries "
            "will not be matched with any documents",
            stacklevel=4,
        )
