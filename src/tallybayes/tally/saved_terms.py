"""Terms in a model file: one text in UTF-8 and the end of each term in it, or the numbers of hash
buckets."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes import _kernels
from tallybayes.persistence.checks import Unfit, array, need
from tallybayes.tally.term_arrays import terms_ascend
from tallybayes.tally.terms import TermCounts
from tallybayes.tally.text import TextCounts

__all__ = [
    "MAX_TERM_WEIGHT",
    "MIN_TERM_WEIGHT",
    "plain_terms",
    "restored_terms",
    "restored_text",
    "term_counts",
]

Arrays = dict[str, NDArray[Any]]

MIN_TERM_WEIGHT, MAX_TERM_WEIGHT = 1e-30, 1e30
"""Of counted terms: bins are of the binary logarithm in a byte."""

ROUNDING = 1e-6  # by which more documents may hold a term than there are
TEXT, END, BUCKETS = "terms.text", "terms.end", "terms.buckets"


def plain_terms(terms: NDArray[Any], buckets: bool) -> Arrays:
    """Terms as arrays by name; `buckets`: whether they are numbers of hash buckets."""
    if buckets:
        return {BUCKETS: terms.astype(np.int64) if len(terms) else np.zeros(0, np.int64)}
    text, ends = _kernels.read_terms(terms)
    return {TEXT: text, END: ends[1:]}


def restored_terms(held: Arrays, n_features: int | None) -> NDArray[Any]:
    """The inverse of :func:`plain_terms`; raises Unfit for what is not distinct and in order."""
    for name in (BUCKETS,) if n_features is not None else (TEXT, END):
        need(name in held, f"the file lacks {name}")
    if n_features is not None:
        terms = array("i8", -1, minimum=0, maximum=n_features - 1)(held[BUCKETS], BUCKETS)
    else:
        content = np.ascontiguousarray(array("u1", -1)(held[TEXT], TEXT))
        end = array("i8", -1, minimum=0, maximum=len(content))(held[END], END)
        need(bool((end[1:] >= end[:-1]).all()), f"{END} ascends")
        need(int(end[-1] if len(end) else 0) == len(content), f"{END} ends with the text")
        terms = _decoded(content, np.append(np.int64(0), end))
    need(terms_ascend(terms), "terms are distinct and in order")
    found: NDArray[Any] = terms
    return found


def _decoded(content: NDArray[np.uint8], ends: NDArray[np.int64]) -> NDArray[Any]:
    """Terms from a text."""
    terms = np.empty(len(ends) - 1, dtype=np.dtypes.StringDType())
    try:
        _kernels.write_terms(content, ends, terms)
    except ValueError:
        raise Unfit(f"{TEXT} is UTF-8") from None
    return terms


def term_counts(terms: NDArray[Any], classes: NDArray[Any], held: Arrays, where: str) -> TermCounts:
    """A tally of terms from its arrays, checked.

    Parameters
    ----------
    terms : array (n_terms,)
    classes : array (n_classes,)
        Labels, in order.
    held : dict
        documents, start, classes and counts.
    where : str
        What they are called.
    """
    names = ("documents", "start", "classes", "counts")
    for name in names:
        need(name in held, f"the file lacks {where}.{name}")
    documents, start, of_pair, counts = (held[name] for name in names)
    array("f8", len(classes), minimum=0.0, maximum=MAX_TERM_WEIGHT)(documents, f"{where}.documents")
    array("i8", len(terms) + 1, minimum=0)(start, f"{where}.start")
    array("i4", -1, minimum=0, maximum=len(classes) - 1)(of_pair, f"{where}.classes")
    n_pairs = len(of_pair)
    need(
        start[0] == 0 and start[-1] == n_pairs,
        f"{where}.start goes from 0 to the number of pairs",
    )
    need(bool((start[1:] > start[:-1]).all()), f"{where}.start ascends: each term has a pair")
    rising = of_pair[1:] > of_pair[:-1]
    rising[start[1:-1] - 1] = True  # where another term begins
    need(bool(rising.all()), f"{where}.classes ascend within a term")
    array("f8", n_pairs, minimum=MIN_TERM_WEIGHT, maximum=MAX_TERM_WEIGHT)(
        counts, f"{where}.counts"
    )
    return TermCounts(terms, classes, documents, start, of_pair, counts)


def restored_text(held: Arrays, n_classes: int, where: str) -> TextCounts:
    """The tally of a column of text from its arrays."""
    known = {TEXT, END, BUCKETS, "documents", "start", "classes", "counts"}
    for name in held:
        need(name in known, f"{where} has {name[:100]!r}, which a column of text does not have")
    n_features = None if BUCKETS not in held else 2**31 - 1
    terms = restored_terms(held, n_features)
    counted = term_counts(terms, np.arange(n_classes), held, where)
    most = counted.documents[counted.classes] * (1.0 + ROUNDING)
    need(
        bool((counted.counts <= most).all()), f"{where} has no more documents with a term than all"
    )
    return TextCounts(n_classes, counted * 1.0)
