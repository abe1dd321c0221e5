"""Naive Bayes for counts that share a total, such as the words of a document."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Tags

from tallybayes.estimators.arrays.discrete import shares_parameters
from tallybayes.estimators.arrays.feature_sums import SumsClassifier
from tallybayes.estimators.arrays.generative import GenerativeClassifier
from tallybayes.families.multinomial import Multinomial

__all__ = ["MultinomialNB"]


@shares_parameters
class MultinomialNB(SumsClassifier, GenerativeClassifier):
    r"""Multinomial naive Bayes: :mod:`tallybayes.families.multinomial` has the equations.

    .. math::

        \theta_{cj} = \frac{n_{cj} + \alpha_j}{\sum_k (n_{ck} + \alpha_k)}, \qquad
        \log p(x \mid c) = \sum_j x_j \log \theta_{cj} + \text{const}

    Parameters
    ----------
    <alpha>
    <force_alpha>
    <fit_prior>
    <class_prior>
    <class_alpha>
    <class_weight>

    Attributes
    ----------
    classes_, class_count_, class_log_prior_ : arrays (n_classes,)
    feature_count_, feature_log_prob_ : float64 arrays (n_classes, n_features)
    class_weight_ : dict
        By label, what the weights of rows were multiplied by.
    n_features_in_ : int
    feature_names_in_ : array of str (n_features,)
        Where X had names.
    tally_ : TableTally
    class_prior_distribution_, class_conditional_, joint_ : distributions
        P(y), p(x | y) and p(x, y); see :mod:`tallybayes.distributions`.
    probability_tables_ : dict of frames

    See Also
    --------
    BernoulliNB : Presence instead of counts.
    ComplementNB : The complements of the classes, for classes of unequal size.
    tallybayes.families.Multinomial : The same for a group of columns of a table.

    References
    ----------
    McCallum, A. and Nigam, K. (1998). A comparison of event models for naive Bayes text
    classification. AAAI-98 Workshop on Learning for Text Categorization.

    Examples
    --------
    >>> from tallybayes import MultinomialNB
    >>> model = MultinomialNB().fit([[2, 1, 0], [0, 1, 3]], ["tea", "coffee"])
    >>> model.predict([[1, 0, 0]]).tolist()
    ['tea']
    """

    def __init__(
        self,
        *,
        alpha: float | ArrayLike = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: ArrayLike | None = None,
        class_alpha: float = 0.0,
        class_weight: dict[Any, float] | Literal["balanced"] | None = None,
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.class_alpha = class_alpha
        self.class_weight: dict[Any, float] | Literal["balanced"] | None = class_weight

    def _family(self) -> Multinomial:
        return Multinomial(alpha=self._smoothing())

    @property
    def feature_log_prob_(self) -> NDArray[np.float64]:
        """log P(feature | c), in nats, float64 (n_classes, n_features)."""
        return self._attribute("feature_log_prob_").parameters.weights  # type: ignore[union-attr]

    @property
    def probability_tables_(self) -> dict[str, Any]:
        """The class prior, and P(feature | c) with a row a feature, as frames."""
        self._attribute("probability_tables_")
        return {
            "prior": self._prior_table(),
            "features": self._feature_table(np.exp(self.feature_log_prob_)),
        }

    def sample(
        self,
        n: int | None = None,
        y: ArrayLike | None = None,
        random_state: Any = None,
        *,
        length: ArrayLike = 1,
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Draw rows of counts from the model.

        Parameters
        ----------
        n : int, optional
            Rows. May be left out where y has the number.
        y : label or array-like (n,), optional
            The class of each row, or of all of them; drawn from the class prior by default.
        random_state : int, RandomState or None
            The seed, or the generator, of the draws.
        length : int or array-like (n,), default=1
            The total of each row, for example the words of a document.

        Returns
        -------
        X : int64 array (n, n_features)
            The rows.
        y : array (n,)
            Their labels.

        Raises
        ------
        ValueError
            If n, y and length do not fit, or y names an unknown class.
        """
        lengths = np.asarray(length)
        if lengths.dtype.kind not in "iu" or (lengths < 0).any() or lengths.ndim > 1:
            raise ValueError(
                f"length must be whole numbers from 0 on, one or one a row; got {length!r}"
            )
        return self._sample(n, y, random_state, length=lengths.astype(np.int64))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags
