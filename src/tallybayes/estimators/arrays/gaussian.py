"""Naive Bayes for real numbers."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils import Tags
from sklearn.utils._param_validation import Interval, StrOptions

from tallybayes.estimators.arrays.base import ArrayClassifier
from tallybayes.estimators.arrays.generative import GenerativeClassifier
from tallybayes.families.gaussian import Gaussian, MeanVariance
from tallybayes.models.array import ArrayModel
from tallybayes.schema import Columns
from tallybayes.tally.moments import origin_of
from tallybayes.validation import like, model_array

__all__ = ["GaussianNB"]

Array = NDArray[Any]


class GaussianNB(GenerativeClassifier):
    r"""Gaussian naive Bayes: :mod:`tallybayes.families.gaussian` has the equations.

    The tally holds moments; smoothing is applied when it is read. So any split of the rows into
    batches, in any order, gives the same model.

    .. math::

        p(x_j \mid c) = \mathcal{N}(x_j; \mu_{cj}, \sigma_{cj}^2 + \varepsilon)

    Parameters
    ----------
    priors : array-like (n_classes,) or dict, optional
        A class prior that no count changes, in the order of the classes or by label; it sums to 1.
    var_smoothing : float, default=1e-9
        Share of a variance that is added to every variance.
    var_smoothing_of : {"largest", "feature"}, default="largest"
        Which variance: the largest of all columns, as in scikit-learn, or each column's own, which
        keeps a column of tiny scale informative beside one of huge scale.
    class_alpha : float, default=0.0
        Smoothing of the estimated class prior: (count + class_alpha) / (m + K·class_alpha).
    class_weight : dict, "balanced" or None, optional
        What the weight of a row is multiplied by, by label, wherever rows are learned, forgotten or
        left out; a label that is missing weighs 1. "balanced" gives the classes equal weight, by
        the rows of :meth:`fit`: Σw / (n_classes · Σw of the class), as scikit-learn does. An
        estimated class prior follows the weights.

    Attributes
    ----------
    classes_, class_count_, class_prior_ : arrays (n_classes,)
    theta_, var_ : arrays (n_classes, n_features)
        Means, and variances as used: smoothed.
    epsilon_ : float, or array (n_features,) with ``var_smoothing_of="feature"``
        What was added to the variances. From the weighted variance of all rows, where scikit-learn
        takes the unweighted one of the last batch.
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
    NaiveBayes : Whole tables, with the family of each column chosen.
    tallybayes.families.Gaussian : The family, with priors, transforms and correlated groups.

    References
    ----------
    John, G. H. and Langley, P. (1995). Estimating continuous distributions in Bayesian classifiers.
    UAI.
    Chan, T. F., Golub, G. H. and LeVeque, R. J. (1983). Algorithms for computing the sample
    variance. The American Statistician 37.

    Examples
    --------
    >>> from tallybayes import GaussianNB
    >>> model = GaussianNB().fit([[1.0], [1.2], [3.0], [3.1]], ["low", "low", "high", "high"])
    >>> model.predict([[2.9]]).tolist()
    ['high']
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ArrayClassifier._parameter_constraints,
        "priors": ["array-like", dict, None],
        "var_smoothing": [Interval(Real, 0, None, closed="left")],
        "var_smoothing_of": [StrOptions({"largest", "feature"})],
    }
    _prior_parameter = "priors"

    def __init__(
        self,
        *,
        priors: ArrayLike | None = None,
        var_smoothing: float = 1e-9,
        var_smoothing_of: Literal["largest", "feature"] = "largest",
        class_alpha: float = 0.0,
        class_weight: dict[Any, float] | Literal["balanced"] | None = None,
    ) -> None:
        self.priors = priors
        self.var_smoothing = var_smoothing
        self.var_smoothing_of = var_smoothing_of
        self.class_alpha = class_alpha
        self.class_weight: dict[Any, float] | Literal["balanced"] | None = class_weight

    def _family(self) -> Gaussian:
        return Gaussian(float(self.var_smoothing), self.var_smoothing_of)

    def _columns(self, x: Any) -> Columns:
        origin = np.zeros(x.shape[1]) if sparse.issparse(x) else origin_of(x)
        return Columns(
            kind="moments", n_features=x.shape[1], names=self._feature_names(), origin=origin
        )

    def _first_rows(self, x: Any) -> Any:
        self.__dict__.pop("_library", None)
        library = model_array(x)
        if library is not None:
            self.__dict__["_library"] = library
        return super()._first_rows(x)

    def _count_afresh(
        self,
        classes: NDArray[Any],
        x: Any,
        codes: NDArray[np.int32],
        weights: Array | None,
        groups: NDArray[np.intp] | None = None,
    ) -> ArrayModel:
        model = super()._count_afresh(classes, x, codes, weights)
        model.warn_of_tiny()
        return model

    def _as_fitted(self, values: NDArray[np.float64]) -> Any:
        """A fitted attribute in the type of training rows, and in their array library."""
        values = values.astype(self._dtype)
        library = self.__dict__.get("_library")
        return values if library is None else like(library, values)

    def _as_output(self, scores: NDArray[np.float64], x: Any) -> Array:
        if x.dtype.char == "f" and self._fitted().dtype == np.float32:
            with np.errstate(over="ignore"):  # below the range of float32 it is −inf
                return scores.astype(np.float32)
        return scores

    @property
    def _dtype(self) -> np.dtype[Any]:
        dtype = self._fitted().dtype
        return np.dtype(np.float32 if dtype == np.float32 else np.float64)

    def _estimates(self) -> MeanVariance:
        model = self._fitted()
        model.need_classes()
        found: MeanVariance = model.once(
            "estimates", lambda: model.family.mean_variance(model.group)
        )
        return found

    @property
    def theta_(self) -> Any:
        """Mean of each feature in each class, (n_classes, n_features)."""
        self._attribute("theta_")
        return self._as_fitted(self._estimates().mean)

    @property
    def var_(self) -> Any:
        """Variance of each feature in each class, smoothed, (n_classes, n_features)."""
        self._attribute("var_")
        return self._as_fitted(self._estimates().variance)

    @property
    def epsilon_(self) -> Any:
        """What was added to the variances."""
        self._attribute("epsilon_")
        return self._estimates().epsilon.astype(self._dtype)[()]

    @property
    def class_prior_(self) -> Any:
        """P(c), (n_classes,)."""
        model = self._attribute("class_prior_")
        if model.prior.given is not None:
            return self._as_fitted(model.prior.given)
        return self._as_fitted(np.exp(model.log_prior))

    @property
    def class_count_(self) -> Any:
        """Rows, or weight, of each class, (n_classes,): float64, or as X where X is an array of
        another library and scikit-learn's array API dispatch is on."""
        count = self._attribute("class_count_").tally.classes.count
        return count.copy() if self.__dict__.get("_library") is None else self._as_fitted(count)

    @property
    def probability_tables_(self) -> dict[str, Any]:
        """The class prior, and mean and variance with a row a feature, as frames."""
        self._attribute("probability_tables_")
        mean, variance, _ = self._estimates()
        return {
            "prior": self._prior_table(),
            "mean": self._feature_table(mean),
            "variance": self._feature_table(variance),
        }

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
