"""Tokens to leave out of documents: a list, or scikit-learn's list of English words."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["ENGLISH", "named_in_words", "words_left_out"]

ENGLISH = "english"


def words_left_out(given: Iterable[str] | None) -> tuple[str, ...]:
    """The tokens that are left out, distinct and sorted.

    Parameters
    ----------
    given : iterable of str, "english" or None
        "english" stands for the list of scikit-learn.
    """
    words = _english() if given == ENGLISH else given or ()
    return tuple(sorted(set(words)))


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


def _english() -> frozenset[str]:
    # loads scikit-learn's text module, which only models with this list need
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    return frozenset(ENGLISH_STOP_WORDS)
