"""Naive Bayes for yes/no features."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils._param_validation import Interval

from tallybayes.engines.arrays import raise_not_binary
from tallybayes.estimators.arrays.discrete import shares_parameters
from tallybayes.estimators.arrays.feature_sums import SumsClassifier
from tallybayes.estimators.arrays.generative import GenerativeClassifier
from tallybayes.families.bernoulli import Bernoulli
from tallybayes.schema import Columns

__all__ = ["BernoulliNB"]


@shares_parameters
class BernoulliNB(SumsClassifier, GenerativeClassifier):
    r"""Bernoulli naive Bayes: :mod:`tallybayes.families.bernoulli` has the equations.

    .. math::

        P(x_j = 1 \mid c) = \frac{n_{cj} + \alpha_j}{n_c + 2 \alpha_j}

    Parameters
    ----------
    <alpha>
    <force_alpha>
    binarize : float or None, default=0.0
        x counts as present where x > binarize. None: X holds 0 and 1 only.
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
    CategoricalNB : Columns of more than two levels.
    MultinomialNB : Counts instead of presence.
    NaiveBayes : Whole tables, yes/no columns among them.

    References
    ----------
    McCallum, A. and Nigam, K. (1998). A comparison of event models for naive Bayes text
    classification. AAAI-98 Workshop on Learning for Text Categorization.

    Examples
    --------
    >>> from tallybayes import BernoulliNB
    >>> model = BernoulliNB().fit([[1, 1], [1, 0], [0, 1]], [1, 1, 0])
    >>> model.predict([[1, 0]]).tolist()
    [1]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SumsClassifier._parameter_constraints,
        "binarize": [None, Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        *,
        alpha: float | ArrayLike = 1.0,
        force_alpha: bool = True,
        binarize: float | None = 0.0,
        fit_prior: bool = True,
        class_prior: ArrayLike | None = None,
        class_alpha: float = 0.0,
        class_weight: dict[Any, float] | Literal["balanced"] | None = None,
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.binarize = binarize
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.class_alpha = class_alpha
        self.class_weight: dict[Any, float] | Literal["balanced"] | None = class_weight

    def _threshold(self) -> float:
        # without binarize X holds 0 and 1, and any threshold between them gives the same
        return 0.5 if self.binarize is None else float(self.binarize)

    def _family(self) -> Bernoulli:
        return Bernoulli(alpha=self._smoothing(), threshold=self._threshold())

    def _columns(self, x: Any) -> Columns:
        return Columns(
            kind="sums",
            n_features=x.shape[1],
            names=self._feature_names(),
            threshold=self._threshold(),
        )

    def _read_rows(self, x: Any, *, first: bool = False, learning: bool = False) -> Any:
        x = super()._read_rows(x, first=first, learning=learning)
        if self.binarize is None:
            values = x.data if sparse.issparse(x) else x
            if ((values != 0) & (values != 1)).any():
                raise_not_binary(x, self._columns(x), self._name)
        return x

    @property
    def feature_log_prob_(self) -> NDArray[np.float64]:
        """log P(x_j = 1 | c), in nats, float64 (n_classes, n_features)."""
        model = self._attribute("feature_log_prob_")
        log_prob: NDArray[np.float64] = model.once(
            "feature_log_prob",
            lambda: model.family.log_probabilities(model.group, model.tally.classes),
        )
        log_prob.flags.writeable = False
        return log_prob

    @property
    def probability_tables_(self) -> dict[str, Any]:
        """The class prior, and P(x_j = 1 | c) with a row a feature, as frames."""
        self._attribute("probability_tables_")
        return {
            "prior": self._prior_table(),
            "features": self._feature_table(np.exp(self.feature_log_prob_)),
        }
