"""Counting documents: into a vocabulary of their own, one that is given, or columns by hash."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from tallybayes import _kernels
from tallybayes.tokens.documents import all_at_once, document_batches, refuse

__all__ = [
    "Documents",
    "Frequencies",
    "Rows",
    "SortedTerms",
    "count_given",
    "count_hashed",
    "count_vocabulary",
]


GivenVocabulary = _kernels.GivenVocabulary
"""Terms with their numbers, as the kernel looks them up."""

Rows = tuple[NDArray[Any], NDArray[np.int32], NDArray[Any]]
"""Row pointers, column numbers and counts of a CSR matrix; columns rise within each row."""

Choose = Callable[["Frequencies", int], NDArray[np.bool_]]


DIRECT = frozenset(map(np.dtype, (np.int64, np.int32, np.float64, np.float32)))
"""Types of counts that the kernel writes."""


class Frequencies(NamedTuple):
    """How frequent each term of some documents is.

    Parameters
    ----------
    documents : ndarray of int64, shape (n_terms,)
        The number of documents that hold each term.
    occurrences : ndarray of int64, shape (n_terms,)
        How often each term occurs.
    """

    documents: NDArray[np.int64]
    occurrences: NDArray[np.int64]


@dataclass(frozen=True)
class SortedTerms:
    """The terms of some documents, sorted by code points.

    Parameters
    ----------
    text : ndarray of uint8
        All terms in UTF-8, one after the other.
    end : ndarray of int64, shape (n_terms + 1,)
        Where each begins, and the last ends.
    """

    text: NDArray[np.uint8]
    end: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.end) - 1

    @classmethod
    def of(cls, terms: Iterable[str]) -> SortedTerms:
        """Terms in the order in which they are given."""
        encoded = [term.encode() for term in terms]
        end = np.concatenate([[0], np.cumsum([len(e) for e in encoded], dtype=np.int64)])
        return cls(np.frombuffer(b"".join(encoded), np.uint8), end.astype(np.int64))

    @classmethod
    def of_array(cls, terms: NDArray[Any]) -> SortedTerms:
        """Terms of an array of strings of variable width, in its order."""
        return cls(*_kernels.read_terms(terms))

    def strings(self) -> list[str]:
        """The terms as strings."""
        return _kernels.decode_terms(self.text, self.end)

    def array(self) -> NDArray[Any]:
        """The terms as an array of strings of variable width."""
        found = np.empty(len(self), dtype=np.dtypes.StringDType())
        _kernels.write_terms(self.text, self.end, found)
        return found

    def chosen(self, keep: NDArray[np.bool_]) -> SortedTerms:
        """Some of the terms, in the same order."""
        sizes = np.diff(self.end)
        end = np.concatenate([[0], np.cumsum(sizes[keep])]).astype(np.int64)
        return SortedTerms(self.text[np.repeat(keep, sizes)], end)


def _add_all(documents: Any, add: Callable[[_kernels.TextDocuments], int], before: int = 0) -> int:
    """Hand every batch on; a document that is not UTF-8 is refused by its number."""
    for batch, items in document_batches(documents):
        fault = add(batch)
        if fault >= 0:
            refuse(items[fault], before + fault)
        before += len(batch)
    return before


def _written(
    end: NDArray[np.int64], dtype: DTypeLike, write: Callable[[NDArray[Any], NDArray[Any]], None]
) -> Rows:
    entries = int(end[-1])
    wanted = np.dtype(dtype)
    direct = wanted in DIRECT
    counts = np.empty(entries, dtype=wanted if direct else np.int64)
    indices = np.empty(entries, dtype=np.int32)
    write(indices, counts)
    pointers = end.astype(np.int32) if entries < 2**31 else end
    return pointers, indices, counts if direct else counts.astype(wanted)


def count_vocabulary(
    rules: _kernels.TextRules,
    documents: Any,
    *,
    stop_words: Iterable[str] = (),
    choose: Choose | None = None,
    dtype: DTypeLike = np.int64,
    threads: int = 1,
) -> tuple[SortedTerms, Rows]:
    """Count documents, each term that occurs in a column.

    Parameters
    ----------
    rules : TextRules
        Of :func:`compiled_rules`.
    documents : list, array, column of strings or iterable
        Of str, or bytes in UTF-8.
    stop_words : iterable of str
        Tokens that are left out before n-grams are made.
    choose : callable (frequencies, n_documents) -> mask, optional
        Which terms are kept; all by default.
    dtype : dtype
        Of the counts.
    threads : int
        How many; the result does not depend on it.

    Returns
    -------
    terms : SortedTerms
        One a column.
    rows : Rows
        One a document.

    Raises
    ------
    InvalidDocument, UnicodeDecodeError
        If a document is not text.
    """
    growing = _kernels.GrowingVocabulary(rules, encoded_stop_words(stop_words))
    _add_all(documents, lambda batch: growing.add(batch, threads))
    terms = SortedTerms(*growing.sorted(threads))
    columns = np.arange(len(terms), dtype=np.int32)
    keep = choose(Frequencies(*growing.frequencies()), len(growing)) if choose else None
    if keep is not None and not keep.all():
        columns = np.where(keep, np.cumsum(keep) - 1, -1).astype(np.int32)
        terms = terms.chosen(keep)
    end = growing.row_ends(columns, threads)
    n = len(terms)
    return terms, _written(end, dtype, lambda i, c: growing.write(end, i, c, n, threads))


def encoded_stop_words(words: Iterable[str]) -> list[bytes]:
    """Stop words in UTF-8; one that no document can have is dropped."""
    return [w.encode("utf-8", "surrogatepass") for w in words if isinstance(w, str) and w]


def given_vocabulary(
    rules: _kernels.TextRules, stop_words: Iterable[str], terms: SortedTerms
) -> _kernels.GivenVocabulary:
    """The terms as the kernel looks them up."""
    return _kernels.GivenVocabulary(rules, encoded_stop_words(stop_words), terms.text, terms.end)


def _joined(parts: list[tuple[NDArray[np.int64], Rows]]) -> Rows:
    if len(parts) == 1:
        return parts[0][1]
    counts = np.concatenate([rows[2] for _, rows in parts])
    indices = np.concatenate([rows[1] for _, rows in parts])
    sizes = np.concatenate([np.diff(end) for end, _ in parts])
    pointers = np.concatenate([[0], np.cumsum(sizes)])
    return pointers.astype(np.int32 if len(counts) < 2**31 else np.int64), indices, counts


def _count(
    documents: Any,
    count: Callable[[_kernels.TextDocuments], _kernels.CountedRows],
    dtype: DTypeLike,
    threads: int,
) -> Rows:
    parts: list[tuple[NDArray[np.int64], Rows]] = []

    def add(batch: _kernels.TextDocuments) -> int:
        counted = count(batch)
        if counted.fault < 0:
            end = counted.row_ends()
            parts.append((end, _written(end, dtype, lambda i, c: counted.write(i, c, threads))))
        return counted.fault

    if type(documents) is list:  # often of a single document: read without an iterator
        fault = add(all_at_once(documents))
        if fault >= 0:
            refuse(documents[fault], fault)
        return parts[0][1]
    _add_all(documents, add)
    return _joined(parts) if parts else _written(np.zeros(1, np.int64), dtype, lambda i, c: None)


def count_given(
    vocabulary: _kernels.GivenVocabulary,
    documents: Any,
    *,
    dtype: DTypeLike = np.int64,
    threads: int = 1,
) -> Rows:
    """Count documents by a vocabulary; other terms are left out.

    Parameters
    ----------
    vocabulary : GivenVocabulary
        The terms, one a column.
    documents, dtype, threads
        As for :func:`count_vocabulary`.

    Returns
    -------
    Rows
        One a document.
    """
    return _count(documents, lambda batch: vocabulary.count(batch, threads), dtype, threads)


def count_hashed(
    rules: _kernels.TextRules,
    documents: Any,
    n_features: int,
    *,
    stop_words: Iterable[str] = (),
    dtype: DTypeLike = np.int64,
    threads: int = 1,
) -> Rows:
    """Count documents into `n_features` columns by the hash of each term.

    The hash is that of ``src/kernels/text/unicode.hpp``: 64 bits of the token's UTF-8, combined
    over the tokens of an n-gram. Terms with the same hash share a column. Counts
    are not signed.

    Parameters
    ----------
    rules, documents, stop_words, dtype, threads
        As for :func:`count_vocabulary`.
    n_features : int
        The number of columns.

    Returns
    -------
    Rows
        One a document.
    """
    stop = encoded_stop_words(stop_words)
    return _count(
        documents,
        lambda batch: _kernels.hash_documents(rules, stop, n_features, batch, threads),
        dtype,
        threads,
    )


# ---- documents as rows of terms ------------------------------------------------------------------
Array = NDArray[np.float64]
Index = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Documents:
    """The terms of documents, with tf = log(1 + count).

    Parameters
    ----------
    indptr : int64 array (n_documents + 1,)
    terms : int32 array (n_entries,)
        Ascending within a document. Equal numbers mean equal terms, however documents are ordered.
    counts : int32 or float32 array (n_entries,)
        How often the document has the term.
    n_terms : int
    """

    indptr: NDArray[np.int64]
    terms: NDArray[np.int32]
    counts: NDArray[np.generic]
    n_terms: int

    def __len__(self) -> int:
        return len(self.indptr) - 1

    @property
    def tf(self) -> NDArray[np.float32]:
        """log(1 + count) of each entry, float32 (n_entries,)."""
        found: NDArray[np.float32] = np.log1p(self.counts, dtype=np.float32)
        return found

    def length(self, tf: NDArray[np.float32]) -> Array:
        """The sum of tf of each document, float64 (n_documents,); 1 for an empty one."""
        found = np.add.reduceat(np.append(tf, np.float32(0.0)), self.indptr[:-1], dtype=np.float64)
        return np.where(np.diff(self.indptr) > 0, found, 1.0)

    def take(self, rows: Index) -> Documents:
        """Some documents, in this order."""
        size = np.diff(self.indptr)[rows]
        indptr = np.concatenate([[0], np.cumsum(size)]).astype(np.int64)
        entries = np.repeat(self.indptr[rows] - indptr[:-1], size) + np.arange(indptr[-1])
        return replace(self, indptr=indptr, terms=self.terms[entries], counts=self.counts[entries])

    def among(self, place: NDArray[np.integer], n_terms: int) -> Documents:
        """The same documents as rows of other terms: `place` of each term, −1 for one that is not
        among them. Those of a document keep their order."""
        terms = place[self.terms].astype(np.int32)
        kept = terms >= 0
        indptr = np.concatenate([[0], np.cumsum(kept)])[self.indptr].astype(np.int64)
        return Documents(indptr, terms[kept], self.counts[kept], n_terms)
