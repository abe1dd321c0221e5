"""Documents and labels as people give them: what is refused before anything is counted."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from tallybayes.estimators.labels import read_labels

__all__ = ["decoded", "labels_of", "need_documents", "need_several"]


def labels_of(y: Any, n_documents: int, whose: str) -> NDArray[Any]:
    """y as an array with one label a document.

    Raises
    ------
    ValueError
        As :func:`~tallybayes.estimators.labels.read_labels` does.
    """
    return read_labels(y, _Shape(n_documents), whose)


def need_documents(documents: Any) -> None:
    """Raise unless X is a non-empty sequence of documents."""
    if isinstance(documents, str | bytes):
        raise ValueError(
            "X is a single string, and documents are several: give a list, such as [document]"
        )
    if not hasattr(documents, "__len__"):
        raise TypeError(
            f"X must be a list, an array or a column of documents, got {type(documents).__name__}: "
            "make a list of it"
        )
    if getattr(documents, "ndim", 1) != 1:
        raise ValueError(
            f"X must be one document a row, got the shape {documents.shape}: give one column, such "
            "as frame['body']"
        )
    if not len(documents):
        raise ValueError("X holds no documents (minimum of 1 is required): give at least one")


def need_several(documents: Any) -> None:
    """Raise where a single string is given for the documents of a vectorizer."""
    if isinstance(documents, str | bytes):
        raise ValueError(
            "Iterable over raw text documents expected, string object received: put a single "
            "document into a list"
        )


def decoded(vectorizer: Any, documents: Any) -> Any:
    """Documents as the kernel reads them: files are read, and bytes of other encodings, as the
    parameters of a CountVectorizer say."""
    utf8 = vectorizer.encoding.lower().replace("_", "-") in ("utf-8", "utf8")
    if vectorizer.input != "content":
        return map(vectorizer.decode, documents)
    if utf8 and vectorizer.decode_error == "strict":
        return documents
    if hasattr(documents, "__arrow_c_stream__") or hasattr(documents, "__arrow_c_array__"):
        return documents
    return map(vectorizer.decode, documents)


class _Shape:
    """What labels are compared with: so many rows."""

    def __init__(self, n: int) -> None:
        self.shape = (n,)
