"""Naive Bayes for arrays: Gaussian, categorical, Bernoulli, multinomial and complement."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils import Tags
from sklearn.utils._param_validation import Interval, StrOptions

from tallybayes.engines.arrays import raise_not_binary
from tallybayes.estimators.array_base import (
    ArrayClassifier,
    DiscreteClassifier,
    GenerativeClassifier,
    encode,
    feature_count,
    shares_parameters,
)
from tallybayes.families.bernoulli import Bernoulli
from tallybayes.families.categorical import Categorical
from tallybayes.families.gaussian import Gaussian, MeanVariance
from tallybayes.families.multinomial import Complement, Multinomial
from tallybayes.models.array import ArrayModel, declared_levels
from tallybayes.schema import Columns
from tallybayes.score import Formula, Unseen
from tallybayes.tally.numbers import origin_of
from tallybayes.validation import like, model_array

__all__ = ["BernoulliNB", "CategoricalNB", "ComplementNB", "GaussianNB", "MultinomialNB"]

Array = NDArray[np.float64]
AnyArray = NDArray[Any]


# ---- Gaussian: real numbers ----------------------------------------------------------------------
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
        weights: AnyArray | None,
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

    def _as_output(self, scores: NDArray[np.float64], x: Any) -> AnyArray:
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


# ---- categorical ---------------------------------------------------------------------------------
def truncated(x: Any) -> Any:
    """Finite floats without their fractions, as int64; NaN and infinity are left to be refused."""
    values = x.data if sparse.issparse(x) else x
    if values.dtype.kind != "f" or not np.isfinite(values).all():
        return x
    if not sparse.issparse(x):
        return np.minimum(x, 2.0**53).astype(np.int64)
    x = x.copy()
    x.data = np.minimum(x.data, 2.0**53).astype(np.int64)
    return x


@shares_parameters
class CategoricalNB(DiscreteClassifier, GenerativeClassifier):
    r"""Categorical naive Bayes: :mod:`tallybayes.families.categorical` has the equations.

    Columns hold level codes, whole numbers from 0 on, or, with ``levels=``, any values.

    .. math::

        P(x_j = a \mid c) = \frac{n_{cja} + \alpha}{n_{cj} + \alpha N_j}

    Parameters
    ----------
    alpha : float, default=1.0
        Additive smoothing; 0 is none.
    <force_alpha>
    <fit_prior>
    <class_prior>
    min_categories : int or array-like of int (n_features,), optional
        The least number of levels of every column, or of each. More are found in the data.
    levels : sequence of array-likes (n_features,), optional
        The values that each column can take, in the order of ``category_count_``; X then holds such
        values. A value in training that is not declared is an error.
    unseen : {"smooth", "ignore", "error"}, default="smooth"
        What predicting does with a level that training did not have: give it the probability
        α / (n_cj + α·N_j), leave the column out of the product, or raise.
    non_integer : {"error", "truncate"}, default="error"
        What happens to codes that are not whole numbers. scikit-learn truncates them, silently;
        ``"truncate"`` does the same.
    <class_alpha>
    <class_weight>

    Attributes
    ----------
    classes_, class_count_, class_log_prior_ : arrays (n_classes,)
    category_count_, feature_log_prob_ : lists of float64 arrays (n_classes, n_levels of the column)
    n_categories_ : int64 array (n_features,)
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
    BernoulliNB : Columns of two levels, as 0 and 1.
    NaiveBayes : Whole tables, with strings as levels.

    References
    ----------
    Mitchell, T. M. (1997). Machine Learning, section 6.9. McGraw-Hill.

    Examples
    --------
    >>> from tallybayes import CategoricalNB
    >>> model = CategoricalNB(levels=[["sun", "rain"], ["calm", "wind"]])
    >>> model = model.fit([["sun", "calm"], ["rain", "wind"]], ["out", "in"])
    >>> model.predict([["sun", "wind"], ["rain", "wind"]]).tolist()
    ['in', 'in']
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **DiscreteClassifier._parameter_constraints,
        "alpha": [Interval(Real, 0, None, closed="left")],
        "min_categories": [None, "array-like", Interval(Integral, 1, None, closed="left")],
        "levels": ["array-like", None, list, tuple],
        "unseen": [StrOptions({"smooth", "ignore", "error"})],
        "non_integer": [StrOptions({"error", "truncate"})],
    }

    def __init__(
        self,
        *,
        alpha: float = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: ArrayLike | None = None,
        min_categories: int | ArrayLike | None = None,
        levels: Any = None,
        unseen: Unseen = "smooth",
        non_integer: Literal["error", "truncate"] = "error",
        class_alpha: float = 0.0,
        class_weight: dict[Any, float] | Literal["balanced"] | None = None,
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.min_categories = min_categories
        self.levels = levels
        self.unseen = unseen
        self.non_integer = non_integer
        self.class_alpha = class_alpha
        self.class_weight: dict[Any, float] | Literal["balanced"] | None = class_weight

    def _family(self) -> Categorical:
        alpha = self._smoothing()
        assert isinstance(alpha, float)
        return Categorical(alpha=alpha, unseen=self.unseen)

    def _n_declared_levels(self, n_features: int) -> NDArray[np.int64]:
        d = n_features
        least = np.zeros(d, dtype=np.int64)
        if self.levels is not None:
            levels = declared_levels(self.levels, d)
            least = np.array([len(values) for values in levels], dtype=np.int64)
        if self.min_categories is not None:
            given = np.asarray(self.min_categories)
            if given.dtype.kind not in "iu":
                raise ValueError(
                    f"'min_categories' should have integral type. Got {given.dtype} instead."
                )
            if given.ndim and given.shape != (d,):
                raise ValueError(
                    f"'min_categories' should have shape ({d},) when an array-like is provided. "
                    f"Got {given.shape} instead."
                )
            if (given < 1).any():
                raise ValueError(f"'min_categories' should be at least 1, got {given.min()}.")
            least = np.maximum(least, given)
        return least

    def _columns(self, x: Any) -> Columns:
        d = x.shape[1]
        return Columns(
            kind="levels",
            n_features=d,
            names=self._feature_names(),
            n_levels=self._n_declared_levels(d),
            levels=None if self.levels is None else declared_levels(self.levels, d),
        )

    def _read_rows(self, x: Any, *, first: bool = False, learning: bool = False) -> Any:
        if self.levels is None:
            x = super()._read_rows(x, first=first, learning=learning)
            return truncated(x) if self.non_integer == "truncate" else x
        refuse = learning or self.unseen == "error"
        model = self.__dict__.get("_model")
        levels = self.levels if first or model is None else model.columns.levels
        return encode(self, x, levels, reset=first, refuse_unknown=refuse)

    def _formula(self) -> Formula:
        formula = super()._formula()
        return formula.truncating() if self.non_integer == "truncate" else formula

    @property
    def category_count_(self) -> list[Array]:
        """The count of each level in each class, a float64 array (n_classes, n_levels) a column."""
        tally = self._attribute("category_count_").group
        return [tally.column(j).copy() for j in range(tally.n_features)]

    @property
    def n_categories_(self) -> NDArray[np.int64]:
        """Levels of each column, int64 (n_features,)."""
        n_levels: NDArray[np.int64] = self._attribute("n_categories_").group.n_levels
        return n_levels

    @property
    def feature_log_prob_(self) -> list[Array]:
        """log P(level | c), in nats, a float64 array (n_classes, n_levels) a column."""
        model = self._attribute("feature_log_prob_")
        table = model.once("levels", lambda: model.family.log_probabilities(model.group))
        table.flags.writeable = False
        start = model.group.start
        return [table[:, start[j] : start[j + 1]] for j in range(len(start) - 1)]

    @property
    def probability_tables_(self) -> dict[str, Any]:
        """The lookup table: the class prior, and P(level | c) of each column, as frames."""
        model = self._attribute("probability_tables_")
        tables = {"prior": self._prior_table()}
        for j, (label, log_prob) in enumerate(
            zip(self._feature_labels(), self.feature_log_prob_, strict=True)
        ):
            declared = model.columns.levels
            levels = np.arange(log_prob.shape[1]) if declared is None else declared[j]
            name = "prior (feature)" if str(label) == "prior" else str(label)
            tables[name] = self._class_table("level", levels, np.exp(log_prob))
        return tables

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.positive_only = True
        return tags


# ---- Bernoulli: yes/no features ------------------------------------------------------------------
@shares_parameters
class BernoulliNB(DiscreteClassifier, GenerativeClassifier):
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
        **DiscreteClassifier._parameter_constraints,
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
    def feature_count_(self) -> NDArray[np.float64]:
        """Feature sums, float64 (n_classes, n_features)."""
        return feature_count(self)

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


# ---- multinomial: counts that share a total, such as the words of a document ---------------------
@shares_parameters
class MultinomialNB(DiscreteClassifier, GenerativeClassifier):
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
    def feature_count_(self) -> NDArray[np.float64]:
        """Feature sums, float64 (n_classes, n_features)."""
        return feature_count(self)

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
        return self._sample(n, y, random_state, lengths.astype(np.int64))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags


# ---- complement: documents whose classes are of very different sizes -----------------------------
@shares_parameters
class ComplementNB(DiscreteClassifier):
    r"""Complement naive Bayes: :mod:`tallybayes.families.multinomial` has the equations.

    Its scores are weights, not a likelihood. The class prior does not enter them, and there is
    neither ``score_samples`` nor ``sample``.

    .. math::

        w_{cj} = -\log \frac{\alpha_j + \sum_{b \neq c} n_{bj}}
                            {\sum_k (\alpha_k + \sum_{b \neq c} n_{bk})}, \qquad
        \text{score}_c = \sum_j x_j w_{cj}

    Parameters
    ----------
    <alpha>
    <force_alpha>
    fit_prior : bool, default=True
        Whether ``class_log_prior_`` is estimated. No score depends on it.
    class_prior : array-like (n_classes,) or dict, optional
        A class prior that no count changes, in the order of the classes or by label. No score
        depends on it.
    norm : bool, default=False
        Divide each class's weights by their sum (Rennie et al., 2003, table 4).
    class_alpha : float, default=0.0
        Smoothing of the estimated class prior.
    class_weight : dict, "balanced" or None, optional
        Weights of rows by label; see :class:`GaussianNB`. They change what the complements hold;
        the class prior, which follows them, enters no score.

    Attributes
    ----------
    classes_, class_count_, class_log_prior_ : arrays (n_classes,)
    feature_all_ : float64 array (n_features,)
    feature_count_, feature_log_prob_ : float64 arrays (n_classes, n_features)
        ``feature_log_prob_`` holds the weights of the complements.
    class_weight_ : dict
        By label, what the weights of rows were multiplied by.
    n_features_in_ : int
    feature_names_in_ : array of str (n_features,)
        Where X had names.
    tally_ : TableTally
    probability_tables_ : dict of frames

    See Also
    --------
    MultinomialNB : A likelihood of the same counts.

    References
    ----------
    Rennie, J. D. M. et al. (2003). Tackling the poor assumptions of naive Bayes text classifiers.
    ICML.

    Examples
    --------
    >>> from tallybayes import ComplementNB
    >>> model = ComplementNB().fit([[2, 1, 0], [0, 1, 3]], ["tea", "coffee"])
    >>> model.predict([[1, 0, 0]]).tolist()
    ['tea']
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **DiscreteClassifier._parameter_constraints,
        "norm": ["boolean"],
    }

    def __init__(
        self,
        *,
        alpha: float | ArrayLike = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: ArrayLike | None = None,
        norm: bool = False,
        class_alpha: float = 0.0,
        class_weight: dict[Any, float] | Literal["balanced"] | None = None,
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.norm = norm
        self.class_alpha = class_alpha
        self.class_weight: dict[Any, float] | Literal["balanced"] | None = class_weight

    def __getattr__(self, name: str) -> Any:
        if name in ("class_conditional_", "class_prior_distribution_", "joint_"):
            raise AttributeError(
                f"ComplementNB has no attribute {name!r}: its scores are weights of what other "
                "classes hold, no likelihood p(x | c), so that there is no joint distribution to "
                "restore. MultinomialNB has one for the same counts."
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _family(self) -> Complement:
        return Complement(alpha=self._smoothing(), norm=self.norm)

    @property
    def feature_count_(self) -> NDArray[np.float64]:
        """Feature sums, float64 (n_classes, n_features)."""
        return feature_count(self)

    @property
    def feature_all_(self) -> NDArray[np.float64]:
        """Feature sums of all classes, float64 (n_features,)."""
        sums: NDArray[np.float64] = self._attribute("feature_all_").group.sums
        total: NDArray[np.float64] = sums.sum(axis=0)
        return total

    @property
    def feature_log_prob_(self) -> NDArray[np.float64]:
        """Weights −log P(feature | not c), in nats, float64 (n_classes, n_features)."""
        return self._attribute("feature_log_prob_").parameters.weights  # type: ignore[union-attr]

    @property
    def probability_tables_(self) -> dict[str, Any]:
        """The class prior, and the weights with a row a feature, as frames."""
        self._attribute("probability_tables_")
        return {
            "prior": self._prior_table(),
            "weights": self._feature_table(self.feature_log_prob_),
        }

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags
