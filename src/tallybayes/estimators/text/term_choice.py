"""Which terms are kept: min_df, max_df and max_features, as in scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from tallybayes.tokens import Frequencies

__all__ = ["choice_of", "chosen_terms", "need_no_choice", "need_terms"]

Choose = Callable[[Frequencies, int], NDArray[np.bool_]]


def need_terms(n_terms: int) -> None:
    """Raise ValueError for an empty vocabulary."""
    if not n_terms:
        raise ValueError(
            "empty vocabulary; perhaps the documents only contain stop words. Give documents with "
            "tokens, or a token_pattern that finds some in them"
        )


def choice_of(vectorizer: Any) -> Choose | None:
    """How a CountVectorizer chooses among terms; None if its parameters leave no term out."""
    names = ("min_df", "max_df", "max_features", "binary", "dtype")
    given = {name: getattr(vectorizer, name) for name in names}
    from_one = isinstance(given["min_df"], Integral) and given["min_df"] <= 1
    up_to_all = not isinstance(given["max_df"], Integral) and given["max_df"] == 1.0
    if from_one and up_to_all and given["max_features"] is None:
        return None
    return partial(chosen_terms, **given)


def chosen_terms(
    frequencies: Frequencies,
    n_documents: int,
    *,
    min_df: float,
    max_df: float,
    max_features: int | None,
    binary: bool,
    dtype: DTypeLike,
) -> NDArray[np.bool_]:
    """A mask of the terms, shape (n_terms,).

    Raises
    ------
    ValueError
        If there are no terms, or the limits drop all of them.
    """
    need_terms(len(frequencies.documents))
    most = _documents(max_df, n_documents)
    least = _documents(min_df, n_documents)
    if most < least:
        raise ValueError(
            f"max_df corresponds to < documents than min_df: max_df={max_df} is {most:g} of "
            f"{n_documents} documents and min_df={min_df} is {least:g}; raise max_df or lower "
            "min_df"
        )
    keep = (frequencies.documents <= most) & (frequencies.documents >= least)
    if max_features is not None and keep.sum() > max_features:
        frequency = frequencies.documents if binary else frequencies.occurrences
        totals = frequency[keep].astype(np.ones(1, dtype).sum().dtype)
        kept = np.flatnonzero(keep)[(-totals).argsort()[:max_features]]  # ties as scikit-learn
        keep = np.zeros(len(frequency), dtype=bool)
        keep[kept] = True
    if not keep.any():
        raise ValueError(
            "After pruning, no terms remain. Try a lower min_df or a higher max_df: min_df="
            f"{min_df} and max_df={max_df} keep terms in {least:g} to {most:g} of {n_documents} "
            "documents"
        )
    return keep


def need_no_choice(vectorizer: Any) -> None:
    """Raise ValueError where the parameters of a CountVectorizer choose among terms."""
    chosen = {
        "min_df": vectorizer.min_df != 1,
        "max_df": vectorizer.max_df != 1.0,
        "max_features": vectorizer.max_features is not None,
    }
    for name, given in chosen.items():
        if given:
            raise ValueError(
                f"{name}={getattr(vectorizer, name)!r} chooses among the terms of all documents, "
                f"which partial_fit does not see together: omit {name}, or use fit"
            )


def _documents(share: float, n: int) -> float:
    return float(share) if isinstance(share, Integral) else share * n
