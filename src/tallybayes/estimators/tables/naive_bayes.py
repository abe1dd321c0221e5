"""Naive Bayes for a table: numbers, categories, yes/no and missing values in one model."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from tallybayes.errors import NegativeTally
from tallybayes.estimators.base import TallyClassifier
from tallybayes.estimators.distribution_attributes import AsDistributions
from tallybayes.estimators.tables.calibrated import Calibrated, Criterion
from tallybayes.explain.importances import column_importances, column_tables
from tallybayes.families.priors import Estimate
from tallybayes.models.calibration import Method
from tallybayes.models.declarations import Declared, Reading, declared
from tallybayes.models.rows import Names
from tallybayes.parameters import Unseen
from tallybayes.tally import TableTally

__all__ = ["NaiveBayes"]

Array = NDArray[np.float64]


class NaiveBayes(Calibrated, AsDistributions):
    r"""Naive Bayes for a table, straight from the data frame.

    Strings, categories and booleans are levels. Numbers and dates are counted as moments and on a
    grid of their own bits; their family (Gaussian with or without atoms, counts, bins or a smoothed
    density) is chosen by leave-one-out when the tally is read. The log-ratios of a column without a
    declared family are bounded by about the logarithm of the number of rows. Missing values are
    left out of the product. The model does not depend on the order and the batches of the rows.

    .. math::

        \log P(c \mid x) = \log P(c) + \sum_j \log p(x_j \mid c) + \text{const}

    Parameters
    ----------
    columns : "auto", mapping or list of pairs, default="auto"
        Families by column, for example ``{"age": Gaussian(), "job": Categorical(), "id": None}``;
        None leaves a column out. A key may be a type (bool, int, float, str, datetime.date, or a
        dtype), a tuple of names for a group, ``("w1", "w2"): Multinomial()`` or
        ``("alcohol", "hue"): Gaussian(covariance="full")``, and in a list of pairs a list of names.
        A column's type is that of the first rows in which it has a value. For other columns the
        family is chosen: numbers have the family that predicts best by leave-one-out, strings are
        levels, and prose is read as ``Text()``. A column is prose if it has at least 50 strings,
        nearly all of them different, and most are sentences with words that recur (at least 6 words
        that begin with small letters, or 10 Han, kana or Hangul characters). `schema_` shows the
        choice, and ``Categorical()`` keeps levels.
    classes : array-like, optional
        Classes that may occur; others may still come.
    alpha : float or "auto", default=1.0
        Smoothing of counts. In columns with a declared family it is in rows of weight 1. In other
        columns it is in effective rows (see `sample_weight` of :meth:`fit`) if these weigh more
        than 1: a row of weight 1,000 then counts as one row. Bins are always smoothed in effective
        rows. "auto" chooses alpha by `criterion`; a common factor of the weights does not matter.
    class_alpha : float or "auto", default=1.0
        Smoothing of the class prior: (count + class_alpha) / (m + K·class_alpha); "auto": of the
        largest evidence.
    class_prior : array-like (n_classes,) or dict, optional
        A fixed class prior, in the order of the classes or by label; it sums to 1. Classes that a
        dict names are declared. class_alpha has to be 0 or its default, because the prior is not
        estimated.
    missing : {"ignore", "level"}, default="ignore"
        Missing values are left out of the product, or are a level. In a group they are always left
        out.
    unseen : {"smooth", "ignore", "error"}, default="smooth"
        What predicting does with a level that training did not have: give it the probability
        α / (n_cj + α·N_j), leave the column out of the product, or raise.
    estimate : {"mean", "map", "mle", "posterior"}, default="mean"
        How columns without a declared family are estimated: by the posterior mean of their
        parameters, the mode, maximum likelihood (without smoothing), or with the parameters
        integrated out.
    criterion : {"loo_log_loss", "loo_likelihood", "evidence"}, default="loo_log_loss"
        What ``alpha="auto"`` optimises. "loo_log_loss" is the leave-one-out log-loss of the rows of
        `fit` or of the first `partial_fit`, with one alpha for all columns. The leave-one-out
        likelihood and the evidence are computed for each column from the tally alone, and are the
        same after any merge.
    calibrate : {None, "temperature", "isotonic"}, default=None
        Corrects the probabilities by the leave-one-out predictions of the same rows. When more is
        learned or forgotten the calibration is stale: predictions warn until :meth:`recalibrate`.
    half_life : float, optional
        Number of rows after which older rows have half their weight. The order of rows then
        matters.
    class_weight : dict, "balanced" or None, optional
        Weights of rows by label; see :class:`GaussianNB`.

    Attributes
    ----------
    classes_, class_count_ : arrays (n_classes,)
    schema_ : frame
        What was decided about each column, and why.
    class_weight_ : dict
        By label, the factor of the weights of rows.
    n_features_in_ : int
    feature_names_in_ : array of str (n_features,)
        If the names of X are strings; for dicts, their keys.
    tally_ : TableTally
    tables_ : dict
        By column name: a frame with the contribution of each level, bin or value to each class, in
        nats.
    feature_importances_ : float64 array (n_features_in_,)
        How far each column separates the classes, in nats a row, by exact leave-one-out.
    alpha_ : dict
        The smoothing of each column that uses the model's alpha, in rows of weight 1.
    log_evidence_ : float
        log P of everything that was counted, in nats, if every column has a proper prior.
    class_prior_distribution_, class_conditional_, joint_ : distributions
        P(y), p(x | y) and p(x, y); see :mod:`tallybayes.distributions`.

    See Also
    --------
    WeightedNaiveBayes : Weights for columns that depend on each other, and pairs of columns.
    LazyNaiveBayes : The same model without training, counted in DuckDB.

    References
    ----------
    Mitchell, T. M. (1997). Machine Learning, section 6.9. McGraw-Hill.

    Examples
    --------
    >>> from tallybayes import NaiveBayes
    >>> rows = [
    ...     {"outlook": "sunny", "humidity": 85},
    ...     {"outlook": "rain", "humidity": 70},
    ...     {"outlook": "overcast", "humidity": None},
    ... ]
    >>> model = NaiveBayes().fit(rows, ["no", "yes", "yes"])
    >>> model.predict([{"outlook": "overcast"}]).tolist()
    ['yes']
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **TallyClassifier._parameter_constraints,
        "columns": [StrOptions({"auto"}), dict, list],
        "classes": ["array-like", None],
        "alpha": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
        "class_alpha": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
        "estimate": [StrOptions({"mean", "map", "mle", "posterior"})],
        "criterion": [StrOptions({"loo_log_loss", "loo_likelihood", "evidence"})],
        "calibrate": [StrOptions({"temperature", "isotonic"}), None],
        "class_prior": ["array-like", dict, None],
        "half_life": [None, Interval(Real, 0, None, closed="neither")],
        "missing": [StrOptions({"ignore", "level"})],
        "unseen": [StrOptions({"smooth", "ignore", "error"})],
    }

    def __init__(
        self,
        columns: Any = "auto",
        *,
        classes: ArrayLike | None = None,
        alpha: float | Literal["auto"] = 1.0,
        class_alpha: float | Literal["auto"] = 1.0,
        class_prior: ArrayLike | None = None,
        missing: Literal["ignore", "level"] = "ignore",
        unseen: Unseen = "smooth",
        estimate: Estimate = "mean",
        criterion: Criterion = "loo_log_loss",
        calibrate: Method | None = None,
        half_life: float | None = None,
        class_weight: dict[Any, float] | Literal["balanced"] | None = None,
    ) -> None:
        self.columns = columns
        self.classes = classes
        self.alpha: float | Literal["auto"] = alpha
        self.class_alpha = class_alpha
        self.class_prior = class_prior
        self.missing = missing
        self.unseen = unseen
        self.estimate = estimate
        self.criterion: Criterion = criterion
        self.calibrate: Method | None = calibrate
        self.half_life = half_life
        self.class_weight: dict[Any, float] | Literal["balanced"] | None = class_weight

    @classmethod
    def from_tally(cls, tally: TableTally, **parameters: Any) -> Self:
        """A model of counts that were made elsewhere.

        Parameters
        ----------
        tally : TableTally
            Such as :func:`tallybayes.collect` gives, or :attr:`tally_` of another model. It is not
            changed. Of a difference, classes, levels and columns that no row holds any more are
            left out, unless they are declared.
        **parameters
            Of :class:`NaiveBayes`. Those that choose on rows wait for :meth:`recalibrate`.

        Returns
        -------
        NaiveBayes
            A new model, which learns, forgets and merges as any other.

        Raises
        ------
        ValueError
            If the tally is not of a table's columns, or does not have what a declared family needs.
        NegativeTally
            If a count is negative.
        """
        if not isinstance(tally, TableTally) or not tally.schema.by_name:
            raise ValueError(
                "from_tally takes the TableTally of a table's columns by name, such as "
                f"tallybayes.collect gives; got {tally!r}"
            )
        model = cls(**parameters)
        model._validate_params()
        counted = _without_nothing(tally.copy())
        names = counted.schema.names_of_groups
        gone = set(tally.schema.names_of_groups) - set(names)
        names = [n for n in dict.fromkeys((*tally.schema.column_names, *names)) if n not in gone]
        seen = Names(names, frozenset(names))
        held = model._hold(counted, seen, declared(model.columns), has_names=True)
        held.chosen = model._kept(held.chosen)
        return model

    def _declared_smoothing(self) -> float:
        alphas = [self.alpha, self.class_alpha if self.class_prior is None else 0.0]
        return max((float(alpha) for alpha in alphas if alpha != "auto"), default=0.0)

    # ---- reading the model -----------------------------------------------------------------------
    @property
    def tables_(self) -> dict[str, Any]:
        """What each level, bin or value adds to the score of each class, in nats, as a frame by
        column name. A density is shown at quantiles of its column. Columns that are left out, and
        groups with a full covariance, have none."""
        return column_tables(self._attribute("tables_"))

    @property
    def feature_importances_(self) -> Array:
        """How far each column separates the classes, in nats a row, float64 (n_features_in_,).

        The largest contribution to a class less the smallest (of two classes: the absolute
        log-likelihood ratio), on average over the rows that were learned, each row left out of the
        counts. It is computed from the tally on first use. Copies of a column are each as important
        as either alone.
        """
        model = self._attribute("feature_importances_")
        found: Array = model.once("importances", lambda: column_importances(model)).copy()
        return found

    # ---- reading the tally -----------------------------------------------------------------------
    def _reading(self, what: Declared) -> Reading:
        alpha: Any = self.criterion if self.alpha == "auto" else float(self.alpha)
        if self.estimate == "mle":
            if self.alpha not in (0.0, 1.0):  # 1.0 is the default
                raise ValueError(
                    f"estimate='mle' does not smooth, but alpha={self.alpha!r}: give one of the two"
                )
            alpha = 0.0
        scale = 1.0
        if alpha == "loo_log_loss":
            model = self.__dict__.get("_model")
            scale = 1.0 if model is None else model.reading.scale
        return Reading(what, alpha, self.estimate, self.unseen, self.missing, scale)


def _without_nothing(tally: TableTally) -> TableTally:
    """A tally without what no row holds.

    Raises
    ------
    NegativeTally
    """
    try:
        tally.need_non_negative("from_tally")
    except NegativeTally as error:
        column = "" if error.column is None else f", column {error.column!r}"
        raise NegativeTally(
            "from_tally takes counts of rows, and this difference of tallies has a negative one "
            f"(class {error.label!r}{column}): subtract only what is part of the sum",
            label=error.label,
            column=error.column,
        ) from None
    return tally.held(None) if tally.classes.count.any() else tally
