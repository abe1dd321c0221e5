"""A vocabulary that is given, for the kernel."""

from __future__ import annotations

from collections.abc import Mapping
from operator import itemgetter

from tallybayes.tokens import SortedTerms

__all__ = ["ordered_terms"]


def ordered_terms(vocabulary: Mapping[str, int]) -> SortedTerms:
    """The terms in the order of their columns.

    A term that no document can hold, such as a number, is kept as an empty string, which matches
    nothing.
    """
    names = [term for term, _ in sorted(vocabulary.items(), key=itemgetter(1))]
    return SortedTerms.of(n if isinstance(n, str) and _has_utf8(n) else "" for n in names)


def _has_utf8(term: str) -> bool:
    try:
        term.encode()
    except UnicodeEncodeError:
        return False
    return True
