"""The vocabulary of a vectorizer: strings by column, as a dict when asked for, and compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.feature_extraction import text as peer

from tallybayes.estimators.text.fixed_vocabulary import ordered_terms
from tallybayes.tokens import SortedTerms
from tallybayes.tokens.analyzer import TextRules
from tallybayes.tokens.counting import GivenVocabulary, given_vocabulary

__all__ = ["VocabularyVectorizer"]

try:  # which of scikit-learn's versions and settings has arrays, and which matrices
    from sklearn.utils._sparse import _align_api_if_sparse as _as_sklearn_has_it
except ImportError:  # before 1.8

    def _as_sklearn_has_it(x: Any) -> Any:
        return sp.csr_matrix(x)


class VocabularyVectorizer(peer.CountVectorizer):  # type: ignore[misc]
    """Base class of CountVectorizer: its fitted state. Not for direct use."""

    n_features: int | None

    @property
    def vocabulary_(self) -> dict[str, int]:
        """The column of each term, shape (n_terms,)."""
        if "_vocabulary" not in vars(self):
            if "_terms" not in vars(self):
                raise AttributeError(
                    f"this {type(self).__name__} has no vocabulary_ yet: call fit first"
                )
            self._vocabulary = dict(
                zip(self._terms.strings(), range(len(self._terms)), strict=True)
            )
        return self._vocabulary

    @vocabulary_.setter
    def vocabulary_(self, vocabulary: dict[str, int]) -> None:
        self.__dict__.pop("_terms", None)
        self.__dict__.pop("_compiled", None)
        self._vocabulary = vocabulary

    @vocabulary_.deleter
    def vocabulary_(self) -> None:
        for name in ("_terms", "_compiled", "_vocabulary"):
            self.__dict__.pop(name, None)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """The terms in the order of their columns.

        Parameters
        ----------
        input_features : object
            Not used.

        Returns
        -------
        ndarray of object, shape (n_terms,)
            The terms.
        """
        self._need_vocabulary("get_feature_names_out")
        self._check_known()
        if "_terms" in vars(self):
            return np.array([*self._terms.strings(), None], dtype=object)[:-1]
        names: NDArray[np.object_] = super().get_feature_names_out()
        return names

    def _term_array(self) -> NDArray[Any]:
        """As :meth:`get_feature_names_out`, in NumPy's strings of variable width."""
        known = vars(self).get("_terms")
        if isinstance(known, SortedTerms):
            return known.array()
        names: NDArray[Any] = self.get_feature_names_out().astype(np.dtypes.StringDType())
        return names

    def inverse_transform(self, X: Any) -> list[NDArray[np.str_]]:
        """The terms of each row that has some of them.

        Parameters
        ----------
        X : array or sparse matrix, shape (n_documents, n_terms)
            Counts.

        Returns
        -------
        list of ndarray of str
            The terms of each document.
        """
        self._need_vocabulary("inverse_transform")
        found: list[NDArray[np.str_]] = super().inverse_transform(X)
        return found

    def __sklearn_is_fitted__(self) -> bool:
        return self.n_features is not None or bool({"_terms", "_vocabulary"} & set(vars(self)))

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())
        state.pop("_compiled", None)  # made again from the terms
        return state

    def _check_known(self) -> None:
        if "_terms" not in vars(self):
            self._check_vocabulary()

    def _need_vocabulary(self, asked: str) -> None:
        if self.n_features is not None:
            raise ValueError(
                f"with n_features={self.n_features} terms are hashed and not kept, so that "
                f"{asked} has nothing to name them by: omit n_features to keep a vocabulary"
            )

    def _n_terms(self) -> int:
        return len(self._terms) if "_terms" in vars(self) else len(self._vocabulary)

    def _given(self, rules: TextRules) -> GivenVocabulary:
        """The vocabulary for the kernel, kept until it or the rules change."""
        terms = vars(self).get("_terms") or self._vocabulary
        stop_words = self.get_stop_words() or ()
        key = (id(rules), id(terms), len(terms), frozenset(stop_words))
        if vars(self).get("_compiled", (None,))[0] != key:
            columns = terms if isinstance(terms, SortedTerms) else ordered_terms(terms)
            self._compiled = (key, given_vocabulary(rules, stop_words, columns), rules)
        return self._compiled[1]

    def _matrix(self, rows: Any, columns: int) -> Any:
        pointers, indices, counts = rows
        if self.binary:
            counts.fill(1)
        x = sp.csr_array(
            (counts, indices, pointers), shape=(len(pointers) - 1, columns), copy=False
        )
        x.has_sorted_indices = x.has_canonical_format = True
        return _as_sklearn_has_it(x)
