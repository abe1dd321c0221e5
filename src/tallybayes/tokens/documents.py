"""Documents from lists, arrays and columns of any frame library, read where they are."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Iterator
from itertools import islice
from typing import Any

from tallybayes import _kernels
from tallybayes.errors import InvalidDocument
from tallybayes.tables.columns import is_missing, without_views

__all__ = [
    "all_at_once",
    "as_objects",
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
