"""Documents to tokens, and tokens to counts: sparse rows of documents × terms.

``compiled_rules`` says which analyzers the kernel has, ``documents`` reads columns of documents
where they are, and ``counting`` makes a vocabulary, counts by one that is given, or by a hash.
"""

from __future__ import annotations

from tallybayes.tokens.analyzer import CJK, MARKS, WORDS, compiled_rules
from tallybayes.tokens.counting import (
    Frequencies,
    SortedTerms,
    count_given,
    count_hashed,
    count_vocabulary,
)

__all__ = [
    "CJK",
    "MARKS",
    "WORDS",
    "Frequencies",
    "SortedTerms",
    "compiled_rules",
    "count_given",
    "count_hashed",
    "count_vocabulary",
]
