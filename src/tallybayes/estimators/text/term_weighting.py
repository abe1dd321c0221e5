"""Rennie et al.'s transforms of counts, as a transformer of scikit-learn."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from tallybayes.models.documents import (
    inverse_document_frequency,
    length_normalized,
    log_frequency,
)

__all__ = ["TermWeighting"]


class TermWeighting(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    r"""Counts of terms to weights: term frequency, inverse document frequency, length.

    The transforms of Rennie et al. (2003) for naive Bayes, steps 1 to 3 of their table 4
    (sections 4.1 to 4.3), each of which can be left out:

    .. math::

        d_{ij} &\leftarrow \log(d_{ij} + 1) && \text{(step 1, tf)} \\
        d_{ij} &\leftarrow d_{ij} \log \frac{\sum_k 1}{\sum_k \delta_{ik}}
            && \text{(step 2, idf)} \\
        d_{ij} &\leftarrow \frac{d_{ij}}{\sqrt{\sum_k (d_{kj})^2}}
            && \text{(step 3, length\_normalize)}

    d_ij is the count of term i in document j, and δ_ik whether document k holds the term. A
    pipeline of :class:`CountVectorizer`, this transformer and :class:`tallybayes.MultinomialNB` or
    :class:`tallybayes.ComplementNB` gives what :class:`TextNB` gives with the same options.

    Parameters
    ----------
    tf : {"log"} or None, default="log"
        Whether counts become log(1 + count).
    idf : bool, default=True
        Whether they are multiplied by log(n / N_t), of the documents of ``fit``. A term of every
        document becomes 0, and so does one that no document of ``fit`` holds.
    length_normalize : bool, default=True
        Whether the values of a document are divided by the root of their sum of squares.

    Attributes
    ----------
    idf_ : float64 array (n_features,)
        log(n / N_t); only with `idf`.
    n_features_in_ : int
    feature_names_in_ : array of str (n_features,)
        Where X had names.

    References
    ----------
    Rennie, J. D. M. et al. (2003). Tackling the poor assumptions of naive Bayes text classifiers.
    ICML.

    Examples
    --------
    >>> from tallybayes.text import TermWeighting
    >>> TermWeighting(tf=None, length_normalize=False).fit_transform([[2, 1], [0, 1]])
    array([[1.38629436, 0.        ],
           [0.        , 0.        ]])
    """

    idf_: NDArray[np.float64]

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "tf": [StrOptions({"log"}), None],
        "idf": ["boolean"],
        "length_normalize": ["boolean"],
    }

    def __init__(
        self,
        *,
        tf: Literal["log"] | None = "log",
        idf: bool = True,
        length_normalize: bool = True,
    ) -> None:
        self.tf = tf
        self.idf = idf
        self.length_normalize = length_normalize

    def fit(self, X: Any, y: Any = None) -> Self:
        """Count the documents that hold each term.

        Parameters
        ----------
        X : array or sparse matrix (n_documents, n_terms)
            Counts, not negative.
        y : object
            Not used.

        Returns
        -------
        self
            The transformer itself.
        """
        self._validate_params()
        x = self._read(X, reset=True)
        if self.idf:
            holding = x.indices[x.data != 0.0]
            frequency = np.bincount(holding, minlength=x.shape[1]).astype(np.float64)
            self.idf_ = inverse_document_frequency(frequency, float(x.shape[0]))
        elif hasattr(self, "idf_"):
            del self.idf_
        return self

    def transform(self, X: Any) -> Any:
        """Weigh the terms of documents.

        Parameters
        ----------
        X : array or sparse matrix (n_documents, n_terms)
            Counts, not negative.

        Returns
        -------
        float64 array, or CSR array or matrix, (n_documents, n_terms)
            Dense where X is dense.

        Raises
        ------
        ValueError
            For a negative count, or one that is not finite.
        """
        check_is_fitted(self, "n_features_in_")
        x = self._read(X, reset=False)
        values: NDArray[np.float64] = log_frequency(x.data) if self.tf == "log" else x.data
        if self.idf:
            values = values * self.idf_[x.indices]
        if self.length_normalize:
            values = length_normalized(x.indptr, values)
        parts = values, x.indices.copy(), x.indptr.copy()
        if not sp.issparse(X):
            return sp.csr_array(parts, shape=x.shape).toarray()
        found = sp.csr_array if isinstance(X, sp.sparray) else sp.csr_matrix
        return found(parts, shape=x.shape)

    def _read(self, X: Any, *, reset: bool) -> Any:
        """Counts as CSR of float64 that is not X's own."""
        x = validate_data(
            self, X, accept_sparse="csr", dtype=np.float64, ensure_non_negative=True, reset=reset
        )
        held = sp.csr_array(x, copy=sp.issparse(x))
        held.sum_duplicates()
        return held

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.transformer_tags.preserves_dtype = []
        tags.requires_fit = True
        return tags
