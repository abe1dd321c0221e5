"""How documents of a text classifier become rows of terms."""

from __future__ import annotations

import re
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from tallybayes.estimators.text.count_vectorizer import CountVectorizer
from tallybayes.estimators.text.term_rules import rules_of
from tallybayes.models.weighted_documents import Spelling, spelling_of
from tallybayes.tally import TermCounts
from tallybayes.tally.live_terms import MIN_HALF_LIFE, LiveTermCounts
from tallybayes.tally.terms import term_array
from tallybayes.threads import get_num_threads
from tallybayes.tokens import count_given, count_hashed
from tallybayes.tokens.analyzer import TextRules
from tallybayes.tokens.counting import Documents, GivenVocabulary

__all__ = ["DocumentCounter", "chosen_analyzer"]

WITHOUT_SPACES = re.compile("[\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
SAMPLED_DOCUMENTS, SAMPLED_CHARACTERS, MIN_SHARE = 200, 10_000, 0.3


def chosen_analyzer(documents: Any) -> str:
    """ "char" if more than three tenths of the characters of the documents that are not white space
    are Han, kana or Hangul, else "word".

    It looks at the first 10,000 characters of 200 documents, taken at equal distances.

    Parameters
    ----------
    documents : sized iterable of str
        Of a column of pandas, whatever its index, the rows in their order.
    """
    step = max(1, len(documents) // SAMPLED_DOCUMENTS)
    if hasattr(documents, "iloc"):
        documents, step = documents.iloc[::step].tolist(), 1
    elif not hasattr(documents, "__getitem__"):  # such as the values of a dict
        documents = list(documents)
    found = characters = 0
    for i in range(0, len(documents), step):
        document = documents[i]
        document = document.as_py() if hasattr(document, "as_py") else document
        if isinstance(document, bytes):
            document = document[:SAMPLED_CHARACTERS].decode("utf-8", "ignore")
        if isinstance(document, str):
            document = document[:SAMPLED_CHARACTERS]
            found += len(WITHOUT_SPACES.findall(document))
            characters += len(re.sub(r"\s", "", document))
    return "char" if found > MIN_SHARE * max(1, characters) else "word"


class DocumentCounter:
    """Counts documents, by a vocabulary that grows.

    Parameters
    ----------
    options : dict
        Of :class:`CountVectorizer`.
    """

    def __init__(self, options: dict[str, Any]) -> None:
        self.options: dict[str, Any] = {**options, "dtype": np.int32}
        self._known: _Known | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {"options": self.options, "_known": None}

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
        terms = counter._term_array()
        self._known = _Known(terms, counter, self._rules)  # counts by these terms from now on
        return terms, _rows(x, x.indices, x.shape[1])

    def live_counts(
        self, labels: NDArray[Any], half_life: float | None = None
    ) -> LiveTermCounts | None:
        """An empty tally of such documents that can be changed in place; None where Python makes
        the terms, or they fade too fast."""
        rules = self._rules
        if rules is None or (half_life is not None and half_life < MIN_HALF_LIFE):
            return None
        return LiveTermCounts(
            rules, self._stop_words, self.options["n_features"], labels, half_life=half_life
        )

    def rows(self, documents: Any, tally: TermCounts) -> Documents:
        """Documents as rows of the terms of a tally; other terms are left out."""
        if not tally.n_terms:
            n = len(documents)
            nothing = np.zeros(0, dtype=np.int32)
            return Documents(np.zeros(n + 1, np.int64), nothing, nothing, 0)
        if self.options["n_features"] is not None:
            return self._hashed(documents, tally)
        known = self._known
        if known is None or known.terms is not tally.terms:
            counter = CountVectorizer(**self.options)
            counter.vocabulary_ = dict(zip(tally.terms.tolist(), range(tally.n_terms), strict=True))
            known = self._known = _Known(tally.terms, counter, self._rules)
        if known.compiled is None:
            x = known.counter.transform(documents)
            return _rows(x, x.indices, tally.n_terms)
        pointers, terms, counts = count_given(
            known.compiled, documents, dtype=np.int32, threads=get_num_threads()
        )
        return Documents(pointers.astype(np.int64), terms, counts, tally.n_terms)

    @cached_property
    def _rules(self) -> TextRules | None:
        """The kernel's rules; None where Python makes the terms."""
        return rules_of(self._vectorizer)

    @cached_property
    def _vectorizer(self) -> CountVectorizer:
        """What the options say; it learns no vocabulary."""
        return CountVectorizer(**self.options)

    def _hashed(self, documents: Any, tally: TermCounts) -> Documents:
        rules = self._rules
        if rules is None:  # which the vectorizer refuses
            self._vectorizer.transform(documents)
        assert rules is not None
        pointers, buckets, counts = count_hashed(
            rules,
            documents,
            int(self.options["n_features"]),
            stop_words=self._stop_words,
            dtype=np.int32,
            threads=get_num_threads(),
        )
        places = tally.places(buckets.astype(np.int64))
        held = places >= 0
        ends = np.zeros(len(held) + 1, dtype=np.int64)
        np.cumsum(held, out=ends[1:])
        terms = places[held].astype(np.int32)
        return Documents(ends[pointers], terms, counts[held], tally.n_terms)

    @cached_property
    def _stop_words(self) -> Any:
        return self._vectorizer.get_stop_words() or ()


class _Known:
    """The terms of a tally, as documents are counted by them.

    Parameters
    ----------
    terms : array (n_terms,)
    counter : CountVectorizer
        With these terms.
    rules : TextRules or None
        None where Python makes the terms.
    """

    def __init__(
        self, terms: NDArray[Any], counter: CountVectorizer, rules: TextRules | None
    ) -> None:
        self.terms, self.counter, self._rules = terms, counter, rules

    @cached_property
    def compiled(self) -> GivenVocabulary | None:
        """The terms as the kernel looks them up."""
        return None if self._rules is None else self.counter._given(self._rules)


def _rows(x: Any, places: NDArray[np.integer], n_terms: int) -> Documents:
    counts = cast("NDArray[np.generic]", x.data)
    terms = places.astype(np.int32, copy=False)  # as they are: the matrix is let go
    return Documents(x.indptr.astype(np.int64), terms, counts, n_terms)
