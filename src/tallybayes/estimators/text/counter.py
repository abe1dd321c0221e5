"""How documents of a text classifier become rows of terms."""

from __future__ import annotations

import re
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from tallybayes.estimators.text.count_vectorizer import CountVectorizer
from tallybayes.models.documents import Spelling, spelling_of
from tallybayes.tally import TermCounts
from tallybayes.tally.terms import term_array
from tallybayes.weighted.documents.rows import Documents

__all__ = ["DocumentCounter", "chosen_analyzer"]

WITHOUT_SPACES = re.compile("[\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
LOOKED_AT, CHARACTERS, SHARE = 200, 10_000, 0.3


def chosen_analyzer(documents: Any) -> str:
    """ "char" if more than three tenths of the characters of the documents that are not white space
    are Han, kana or Hangul, else "word".

    Of 200 documents at equal distances the first 10,000 characters are looked at.

    Parameters
    ----------
    documents : sequence of str
    """
    step = max(1, len(documents) // LOOKED_AT)
    found = characters = 0
    for i in range(0, len(documents), step):
        document = documents[i]
        document = document.as_py() if hasattr(document, "as_py") else document
        if isinstance(document, bytes):
            document = document[:CHARACTERS].decode("utf-8", "ignore")
        if isinstance(document, str):
            document = document[:CHARACTERS]
            found += len(WITHOUT_SPACES.findall(document))
            characters += len(re.sub(r"\s", "", document))
    return "char" if found > SHARE * max(1, characters) else "word"


class DocumentCounter:
    """Counts documents, by a vocabulary that grows.

    Parameters
    ----------
    options : dict
        Of :class:`CountVectorizer`.
    """

    def __init__(self, options: dict[str, Any]) -> None:
        self.options = {**options, "dtype": np.int32}
        self._given: tuple[NDArray[Any], CountVectorizer] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {"options": self.options, "_given": None}

    @property
    def spelling(self) -> Spelling:
        """What the order of an n-gram is read from."""
        return spelling_of(self.options["analyzer"], self.options["n_features"])

    def counted(self, documents: Any) -> tuple[NDArray[Any], Documents]:
        """The terms of some documents, distinct and sorted, and the documents as rows of them."""
        counter = CountVectorizer(**self.options)
        try:
            x = counter.fit_transform(documents)
        except ValueError as error:
            if "empty vocabulary" not in str(error):
                raise
            n = len(documents)
            nothing = np.zeros(0, dtype=np.int32)
            return term_array([]), Documents(np.zeros(n + 1, np.int64), nothing, nothing, 0)
        if self.options["n_features"] is not None:
            held, places = np.unique(x.indices, return_inverse=True)
            return term_array(held), _rows(x, places, len(held))
        terms = term_array(counter.get_feature_names_out())
        self._given = (terms, counter)  # which counts by these terms from now on
        return terms, _rows(x, x.indices, x.shape[1])

    def rows(self, documents: Any, tally: TermCounts) -> Documents:
        """Documents as rows of the terms of a tally; other terms are left out."""
        if not tally.n_terms:
            n = len(documents)
            nothing = np.zeros(0, dtype=np.int32)
            return Documents(np.zeros(n + 1, np.int64), nothing, nothing, 0)
        if self.options["n_features"] is not None:
            x = CountVectorizer(**self.options).transform(documents)
            places = tally.places(x.indices.astype(np.int64))
            x.data[places < 0] = 0
            x.indices = np.maximum(places, 0).astype(np.int32)
            x = type(x)((x.data, x.indices, x.indptr), shape=(x.shape[0], tally.n_terms))
            x.eliminate_zeros()
        else:
            x = self._vectorizer(tally.terms).transform(documents)
        return _rows(x, x.indices, tally.n_terms)

    def _vectorizer(self, terms: NDArray[Any]) -> CountVectorizer:
        """The vectorizer of a vocabulary, kept for the next call."""
        if self._given is None or self._given[0] is not terms:
            counter = CountVectorizer(**self.options)
            counter.vocabulary_ = dict(zip(terms.tolist(), range(len(terms)), strict=True))
            self._given = (terms, counter)
        return self._given[1]


def _rows(x: Any, places: NDArray[np.integer], n_terms: int) -> Documents:
    counts = cast("NDArray[np.generic]", x.data)
    return Documents(x.indptr.astype(np.int64), places.astype(np.int32), counts, n_terms)
