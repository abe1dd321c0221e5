"""Naive Bayes for categories."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils import Tags
from sklearn.utils._param_validation import Interval, StrOptions

from tallybayes.estimators.arrays.discrete import DiscreteClassifier, shares_parameters
from tallybayes.estimators.arrays.generative import GenerativeClassifier
from tallybayes.estimators.declared_levels import declared_levels, encode
from tallybayes.families.categorical import Categorical
from tallybayes.parameters import Formula, Unseen
from tallybayes.schema import Columns

__all__ = ["CategoricalNB"]

Array = NDArray[np.float64]


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

    def _sample(
        self, n: int | None, y: Any, random_state: Any, **size: Any
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        codes, labels = super()._sample(n, y, random_state, **size)
        declared = self._fitted().columns.levels
        if declared is None:
            return codes, labels
        x = np.empty(codes.shape, dtype=object)
        for j, values in enumerate(declared):
            x[:, j] = np.array(values.tolist(), dtype=object)[codes[:, j]]
        return x, labels

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.positive_only = True
        return tags
