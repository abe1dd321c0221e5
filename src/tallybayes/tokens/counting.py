"""Documents of any library, read where they are, and counted as sparse rows of terms."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from tallybayes import _kernels
from tallybayes.errors import InvalidDocument
from tallybayes.tables.columns import is_missing, without_views

__all__ = [
    "Documents",
    "Frequencies",
    "Rows",
    "SortedTerms",
    "all_at_once",
    "as_objects",
    "count_given",
    "count_hashed",
    "count_vocabulary",
    "document_batches",
    "in_one_string",
    "refuse",
]

TextDocuments = _kernels.TextDocuments
"""Documents as the kernel reads them."""

FOR_TOKENS = "Documents that are lists of tokens need analyzer=list, or have their tokens joined"
BATCH_DOCUMENTS = 4096  # documents that an iterator is asked for at a time


def as_objects(values: Any) -> Any:
    """The values of an array or a column as a list of Python's; other iterables as they are."""
    for name in ("to_pylist", "to_list", "tolist"):
        if hasattr(values, name):
            return list(getattr(values, name)())
    return values


def in_one_string(document: Any) -> str:
    """A document as people read it: bytes as UTF-8, tokens with spaces between them."""
    document = document.as_py() if hasattr(document, "as_py") else document
    if isinstance(document, bytes):
        return document.decode("utf-8", "replace")
    return document if isinstance(document, str) else " ".join(map(in_one_string, document))


def _column(documents: Any) -> Any:
    """A column that offers Arrow's buffers; None if there is none."""
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(documents, pandas.Series):
        dtype = documents.dtype
        if isinstance(dtype, pandas.StringDtype) and dtype.storage.startswith("pyarrow"):
            return _column(documents.array.__arrow_array__())
        return None
    polars = sys.modules.get("polars")
    if (
        polars is not None
        and isinstance(documents, polars.Series)
        and documents.dtype in (polars.Categorical, polars.Enum)
    ):
        return documents.cast(polars.String)
    if hasattr(documents, "__arrow_c_stream__"):
        return documents
    if hasattr(documents, "__arrow_c_array__") and "pyarrow" in sys.modules:
        arrow = sys.modules["pyarrow"]
        return arrow.chunked_array([arrow.array(documents)])
    return None


def document_batches(documents: Any) -> Iterator[tuple[_kernels.TextDocuments, Any]]:
    """Documents for the kernel, beside what they came from.

    Parameters
    ----------
    documents : list, array, column of strings or iterable
        Of str or bytes. Arrow's strings and ASCII strings are not copied.

    Yields
    ------
    (TextDocuments, sequence)
        All documents at once, or a few thousand of an iterator.

    Raises
    ------
    InvalidDocument
        If a document is missing, is not text, or has a lone surrogate.
    """
    column = _column(documents)
    if column is not None:
        kind = getattr(column, "type", None)
        if kind is not None and hasattr(kind, "index_type"):  # categories: strings by number
            column = column.cast(kind.value_type)
        elif str(kind).startswith("fixed_size_binary"):
            column = column.cast("binary")
        yield _checked(_read_column(column), column, 0), column
        return
    documents = as_objects(documents)
    if isinstance(documents, tuple):
        documents = list(documents)
    if isinstance(documents, list):
        yield all_at_once(documents), documents
        return
    before = 0
    for batch in _some(documents):
        yield _checked(_kernels.TextDocuments(batch), batch, before), batch
        before += len(batch)


def _read_column(column: Any) -> _kernels.TextDocuments:
    try:
        return _kernels.TextDocuments.from_arrow(without_views(column).__arrow_c_stream__())
    except TypeError as error:
        kind = getattr(column, "dtype", getattr(column, "type", None))
        what = f"a {type(column).__name__}" if kind is None else f"a column of {kind}"
        raise TypeError(
            f"{error}, got {what}: give one column of documents, such as frame['body'], and cast "
            f"what is not a string. {FOR_TOKENS}"
        ) from None


def all_at_once(documents: list[Any]) -> _kernels.TextDocuments:
    """The documents of a list for the kernel.

    Raises
    ------
    InvalidDocument
        If one is missing, is not text, or has a lone surrogate.
    """
    return _checked(_kernels.TextDocuments(documents), documents, 0)


def _some(documents: Iterable[Any]) -> Iterator[list[Any]]:
    iterator = iter(documents)
    while batch := list(islice(iterator, BATCH_DOCUMENTS)):
        yield batch


def _checked(read: _kernels.TextDocuments, items: Any, before: int) -> _kernels.TextDocuments:
    if read.refused >= 0:
        refuse(items[read.refused], before + read.refused)
    return read


def refuse(item: Any, number: int) -> None:
    """Raise what is wrong with a document.

    Raises
    ------
    UnicodeDecodeError
        If it is bytes that are not UTF-8.
    InvalidDocument
        If it is not text.
    """
    if hasattr(item, "as_py"):
        item = item.as_py()
    if isinstance(item, bytes):
        try:
            item.decode("utf-8")
        except UnicodeDecodeError as error:
            error.reason += f", in document {number}: decode it by the encoding that it has"
            raise
    if isinstance(item, str):
        raise InvalidDocument(
            f"document {number} has a lone surrogate, which is not a character and has no UTF-8: "
            "repair it where it was decoded, or drop it by "
            "text.encode('utf-8', 'ignore').decode('utf-8')"
        )
    if isinstance(item, Collection):
        raise InvalidDocument(
            "a document must be a string or bytes, and document "
            f"{number} is {type(item).__name__} {item!r}. {FOR_TOKENS}"
        )
    what = "a missing value" if is_missing(item) else f"{type(item).__name__} {item!r}"
    raise InvalidDocument(
        f"a document must be a string or bytes, and document {number} is {what}: leave the row "
        "out, or give an empty string for it"
    )


# ---- counting documents: into a vocabulary of their own, one that is given, or columns by hash ---
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


def _add_all(documents: Any, add: Callable[[_kernels.TextDocuments], int]) -> None:
    """Hand every batch on; a document that is not UTF-8 is refused by its number."""
    before = 0
    for batch, items in document_batches(documents):
        fault = add(batch)
        if fault >= 0:
            refuse(items[fault], before + fault)
        before += len(batch)


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
