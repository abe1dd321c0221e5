"""Naive Bayes for a table: numbers, categories, yes/no and missing values in one model."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_softmax
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from tallybayes.drift import UNLABELLED
from tallybayes.engines.contract import need_columns
from tallybayes.engines.leave_one_out import cells_without
from tallybayes.engines.parts import LookupPart, TakenOut
from tallybayes.errors import NegativeTally, StaleWarning, shown
from tallybayes.estimators.base import LIVE, TallyClassifier, learning
from tallybayes.estimators.one_row import RowByRow, as_row
from tallybayes.estimators.sources import need_name, rows_of, tables_of
from tallybayes.explain.explanation import drawn_posteriors, draws_of, table_evidence
from tallybayes.explain.importances import column_importances, column_tables
from tallybayes.families.categorical import Categorical
from tallybayes.families.priors import Estimate
from tallybayes.models.calibration import Calibration, Method, Temperature, fitted_calibration
from tallybayes.models.class_weights import by_class
from tallybayes.models.declarations import Declared, Reading, declared
from tallybayes.models.rows import Names
from tallybayes.models.table import Chosen, TableModel
from tallybayes.privacy import NoisedTally
from tallybayes.schema import Schema
from tallybayes.score import Unseen
from tallybayes.scoring import posterior
from tallybayes.tables import Table
from tallybayes.tables.columns import values_of
from tallybayes.tally import TableTally
from tallybayes.threads import get_num_threads
from tallybayes.validation import as_numpy, like
from tallybayes.weighted.rows import group_folds

if TYPE_CHECKING:
    from tallybayes import distributions

__all__ = [
    "Criterion",
    "NaiveBayes",
    "collect",
    "weights_to_choose_on",
]

Array = NDArray[np.float64]
Index = NDArray[np.intp]


MAX_DRAWN = 1 << 22  # probabilities that are drawn at once
MIN_PROBABILITY = 1e-290  # the logarithm of a smaller probability is lost in the probability

FOLDS_OF_GROUPS = 10

Criterion = Literal["evidence", "loo_likelihood", "loo_log_loss"]


def _keeps_order(model: TableModel) -> bool:
    """Whether the most probable class is that of the model before calibration."""
    calibration = model.chosen.calibration
    return calibration is None or isinstance(calibration, Temperature)


class NaiveBayes(RowByRow):
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
        learned or forgotten the calibration is stale: predictions warn until :meth:`recalibrate`,
        or until the counts are the same again.
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
    feature_importances_ : float64 array (n_features,)
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
    def from_tally(cls, tally: TableTally | NoisedTally, **parameters: Any) -> Self:
        """A model of counts that were made elsewhere.

        Parameters
        ----------
        tally : TableTally or NoisedTally
            Such as :func:`tallybayes.collect` gives, or :attr:`tally_` of another model, or counts
            that were released with noise, which are read with their noise in mind. It is not
            changed. Of a difference, classes, levels and columns that no row holds any more are
            left out, unless they are declared.
        **parameters
            Of :class:`NaiveBayes`. Those that choose on rows wait for :meth:`recalibrate`.

        Returns
        -------
        NaiveBayes
            A new model, which learns, forgets and merges as any other; of released counts it
            does not forget.

        Raises
        ------
        ValueError
            If the tally is not of a table's columns, or does not have what a declared family needs.
        NegativeTally
            If a count is negative.
        """
        noised = ""
        if isinstance(tally, NoisedTally):
            noised, tally = "; ".join(map(str, tally.guarantees)), tally.read()
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
        held.chosen, held.noised = model._kept(held.chosen), noised
        return model

    def _declared_smoothing(self) -> float:
        alphas = [self.alpha, self.class_alpha if self.class_prior is None else 0.0]
        return max((float(alpha) for alpha in alphas if alpha != "auto"), default=0.0)

    # ---- reading the model -----------------------------------------------------------------------
    @property
    def class_prior_distribution_(self) -> distributions.Categorical:
        """P(y): a :class:`tallybayes.distributions.Categorical` over the labels."""
        from tallybayes.estimators.distributions import class_prior_distribution

        return class_prior_distribution(self)

    @property
    def class_conditional_(self) -> distributions.ClassConditional:
        """p(x | y): a batch of distributions of rows, one a class; see
        :mod:`tallybayes.distributions`."""
        from tallybayes.estimators.distributions import class_conditional

        return class_conditional(self)

    @property
    def joint_(self) -> distributions.Joint:
        """p(x, y) = P(y) p(x | y): a :class:`tallybayes.distributions.Joint`."""
        from tallybayes.estimators.distributions import joint

        return joint(self)

    @property
    def tables_(self) -> dict[str, Any]:
        """What each level, bin or value adds to the score of each class, in nats, as a frame by
        column name. A density is shown at quantiles of its column. Columns that are left out, and
        groups with a full covariance, have none."""
        return column_tables(self._attribute("tables_"))

    @property
    def feature_importances_(self) -> Array:
        """How far each column separates the classes, in nats a row, float64 (n_features,).

        The largest contribution to a class less the smallest (of two classes: the absolute
        log-likelihood ratio), on average over the rows that were learned, each row left out of the
        counts. It is computed from the tally on first use. Copies of a column are each as important
        as either alone.
        """
        model = self._attribute("feature_importances_")
        return model.once("importances", lambda: column_importances(model)).copy()

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

    alpha: float | Literal["auto"]
    criterion: Criterion
    calibrate: Method | None

    # ---- choosing --------------------------------------------------------------------------------
    def _need_no_choice(self) -> None:
        model = self._fitted()
        what = model.reading.declared
        known = {*what.families, *(name for group in what.groups for name in group)}
        free = [name for name in model.names if name not in known]
        if free:
            raise ValueError(
                "method='full' needs a declared family for each column, because what a family is "
                f"chosen by would change with each row: column {free[0]!r} has none. Declare it in "
                "columns=, or use method='scores'"
            )
        for name in ("alpha", "class_alpha", "half_life", "calibrate", "class_weight"):
            value = getattr(self, name)
            if value in ("auto", "balanced") or (
                value is not None and name in ("half_life", "calibrate")
            ):
                raise ValueError(
                    f"method='full' counts each row under each class, and {name}={value!r} would "
                    "be chosen again each time: use method='scores'"
                )

    @property
    def chooses_on_rows(self) -> bool:
        """Whether smoothing or calibration is chosen on rows, by :meth:`recalibrate` or `fit`."""
        return self._on_rows() or self.calibrate is not None

    def _on_rows(self) -> bool:
        """Whether alpha is chosen on rows."""
        return self.alpha == "auto" and self.criterion == "loo_log_loss"

    def _choose(self, x: Table, own: Index, weight: Array | None, groups: Index | None) -> None:
        """Chooses what the parameters request, on rows that were counted with these weights."""
        if not self.chooses_on_rows:
            return
        model = self._fitted()
        what = "alpha='auto' and calibrate= choose"
        weight = weights_to_choose_on(what, model, own, weight)
        if not weight.any():
            return  # nothing to learn from
        alpha = None
        if self._on_rows() and model.reading.scale != 1.0:
            model.reading = model.reading._replace(scale=1.0)
            model.changed()
        without = None if groups is None else self._without_groups(x, own, weight, groups)
        if self._on_rows():
            alpha = (
                alpha_on_rows(model, x, own, weight)
                if without is None
                else without.best_alpha(model.tally.classes.pooled_row_weight)
            )
            model.rescale(alpha)
        calibration = None
        if self.calibrate is not None and without is None:
            calibration = calibration_on_rows(self.calibrate, model, x, own, weight)
        elif self.calibrate is not None and without is not None:
            log_proba = without.log_proba(alpha)
            calibration = fitted_calibration(self.calibrate, log_proba, own, weight)
        model.chosen = Chosen(alpha, calibration)
        model.warned.discard((StaleWarning, None))

    def _without_groups(self, x: Table, own: Index, weight: Array, groups: Index) -> WithoutGroups:
        """The model without the groups of each fold in turn."""
        model = self._fitted()
        classes = model.schema.classes
        given = weight / by_class(model.class_weight, classes)[own]
        fold = group_folds(groups.astype(np.uint64), own.astype(np.int32), FOLDS_OF_GROUPS, 0)
        models = []
        for f in range(FOLDS_OF_GROUPS):
            if len(rows := np.flatnonzero(fold == f)):
                twin = copy.copy(self)
                twin.classes = classes  # a class that no other row has stays known
                twin.forget(x.take(rows), classes[own[rows]], given[rows])
                twin._fitted().chosen = Chosen()
                models.append((rows, twin._fitted()))
        return WithoutGroups(x, own, weight, models)

    def _open_rows(self, x: Any) -> Any:
        if "_model" not in self.__dict__ and self.chooses_on_rows:
            what, instead = "alpha='auto'", ", or set criterion='evidence'"
            if self.calibrate is not None:
                what, instead = f"calibrate={self.calibrate!r}", ""
            raise ValueError(
                f"{what} is chosen on rows, by their leave-one-out predictions, and rows learned "
                f"one by one are not kept: begin with fit or partial_fit{instead}"
            )
        return super()._open_rows(x)

    @learning
    def recalibrate(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Choose smoothing and calibration again, on rows that were learned.

        Parameters
        ----------
        X : table (n_rows, n_columns)
            Rows that the model has learned, all or a fair sample of them.
        y : array-like (n_rows,)
            Their labels.
        sample_weight : array-like (n_rows,), optional
            The weights that they were learned with.
        groups : array-like (n_rows,), optional
            Rows of a group are left out together; see :meth:`fit`.

        Returns
        -------
        self
            The estimator itself.

        Raises
        ------
        ValueError
            If the rows weigh more than the model holds of their class (a NegativeTally), or if
            nothing is chosen on rows: neither ``calibrate`` nor ``alpha="auto"`` with
            ``criterion="loo_log_loss"`` is set.
        """
        if not self.chooses_on_rows:
            raise ValueError(
                "there is nothing to choose on rows: set calibrate='temperature' or 'isotonic', or "
                "alpha='auto'"
            )
        self._choose_again(X, y, sample_weight, groups)
        return self

    @property
    def alpha_(self) -> dict[str, float]:
        """The smoothing of each column that follows the model's alpha, as it is used: in rows of
        weight 1."""
        read = self._attribute("alpha_").columns_read
        return {column.name: column.alpha for column in read if column.alpha is not None}

    @property
    def log_evidence_(self) -> float:
        """log P(labels) + Σ_j log p(column j | labels), parameters integrated out, in nats.

        Of one order of the rows: the product of what each row is predicted with by those before it.
        It compares priors, and families that see the same values: bins give the probability of a
        bin, densities that of a value. Missing values are not predicted, unless they are evidence.
        What a prior takes from the counts (a chosen alpha, a marginal base, an overall mean) stands
        as if it had been known.

        Raises
        ------
        AttributeError
            Where a column has no proper prior: a Gaussian without one, a smoothed density, or no
            smoothing at all.
        """
        return table_evidence(self._attribute("log_evidence_"))

    # ---- predicting ------------------------------------------------------------------------------
    _stale = (
        "calibration or smoothing was not chosen on rows since the counts last changed",
        "call recalibrate(X, y) with rows that were learned",
    )

    def _kept(self, chosen: Chosen) -> Chosen:
        """The choices made on rows that the parameters request; stale where one is lacking."""
        alpha = chosen.alpha if self._on_rows() else None
        calibration = chosen.calibration if self.calibrate is not None else None
        lacking = self._on_rows() and alpha is None
        lacking = lacking or (self.calibrate is not None and calibration is None)
        if lacking:
            return Chosen(alpha, calibration, stale=True)
        kept = replace(chosen, alpha=alpha, calibration=calibration)
        return kept if kept.made else Chosen()

    def _predicted(self, X: Any) -> Any:
        if _keeps_order(self._fitted()):
            self._fresh()
            return super()._predicted(X)
        proba = self._posterior(X, log=True)
        return like(X, np.asarray(self._fitted().schema.classes[proba.argmax(axis=1)]))

    def _posterior(self, X: Any, *, log: bool) -> Array:
        calibration = self._fresh().chosen.calibration
        if calibration is None:
            return super()._posterior(X, log=log)
        log_proba = calibration.apply(super()._posterior(X, log=True))
        return log_proba if log else np.asarray(np.exp(log_proba))

    def _log_proba_without(self, X: Any, y: Any, sample_weight: ArrayLike | None) -> Array:
        log_proba = super()._log_proba_without(X, y, sample_weight)
        calibration = self._fresh().chosen.calibration
        return log_proba if calibration is None else calibration.apply(log_proba)

    def predict_proba_interval(
        self,
        X: Any,
        level: float = 0.9,
        *,
        n_draws: int = 400,
        random_state: Any = 0,
    ) -> tuple[Array, Array]:
        """Credible intervals of P(c | x): how far the rows learned leave it open.

        The class prior and every column's parameters are drawn from their posteriors; the bounds
        are quantiles over draws. A class of few rows has wide intervals; they shrink as 1/√n.

        Parameters
        ----------
        X : table (n_rows, n_columns)
            Rows to predict.
        level : float, default=0.9
            Probability that an interval holds, between 0 and 1.
        n_draws : int, default=400
            The bounds are sampled: by 400 draws the ends of a 90 % interval are placed within
            about ±0.015 of their rank.
        random_state : int, RandomState or None, default=0
            The seed, or the generator, of the draws.

        Returns
        -------
        lower : float64 array (n_rows, n_classes)
            Lower bounds of the probabilities.
        upper : float64 array (n_rows, n_classes)
            Upper bounds of the probabilities.

        Raises
        ------
        ValueError
            For a level outside (0, 1) or fewer than 2 draws.
        """
        if not 0.0 < level < 1.0 or n_draws < 2:
            raise ValueError(
                f"an interval needs a level between 0 and 1 and 2 draws, got {shown(level)} and "
                f"{shown(n_draws)}"
            )
        model = self._fresh()
        x = self._read_rows(X)
        draws = draws_of(model, check_random_state(random_state))
        n_classes = len(model.schema.classes)
        lower, upper = np.empty((2, x.n_rows, n_classes))
        step = max(1, MAX_DRAWN // (n_draws * n_classes))
        for start in range(0, x.n_rows, step):
            rows = slice(start, start + step)
            drawn = drawn_posteriors(model, x.take(rows), draws, n_draws)
            if model.chosen.calibration is not None:
                flat = drawn.reshape(-1, n_classes)
                drawn = model.chosen.calibration.apply(flat).reshape(drawn.shape)
            ends = [0.5 * (1.0 - level), 0.5 * (1.0 + level)]
            lower[rows], upper[rows] = np.quantile(np.exp(drawn), ends, axis=0)
        return lower, upper

    def _as_counted(self) -> bool:
        """Whether nothing but the counts predicts, so that rows take the shortest way."""
        if LIVE in self.__dict__:  # with rows that wait, which make choices stale
            return bool(self._model.chosen == Chosen())
        chosen = self._fitted().chosen
        return chosen.calibration is None and not chosen.stale

    def _for_a_row(self) -> TableModel:
        """:meth:`_fresh`, without the rows that wait where a score follows them."""
        if LIVE not in self.__dict__:
            return self._fresh()
        model = self._model
        assert isinstance(model, TableModel)
        if model.chosen.stale or model.chosen.made:  # rows that wait have been learned
            self._warn_of_stale(model)
        return model

    def predict_one(self, x: Any) -> Any:
        if self._as_counted():
            return super().predict_one(x)
        if not _keeps_order(self._for_a_row()):
            shares = self.predict_proba_one(x)
            return max(shares, key=shares.__getitem__)
        return super().predict_one(x)

    def predict_proba_one(self, x: Any) -> dict[Any, float]:
        if self._as_counted():
            return super().predict_proba_one(x)
        calibration = self._for_a_row().chosen.calibration
        shares = self._shares_of_row(as_row(x))
        if shares is None or (calibration is not None and min(shares) < MIN_PROBABILITY):
            with warnings.catch_warnings():  # given above
                warnings.simplefilter("ignore", StaleWarning)
                return self._proba_by_label(x)
        if calibration is not None:
            with np.errstate(divide="ignore"):
                shares = np.exp(calibration.apply(np.log([shares])))[0].tolist()
        return dict(zip(self._model.schema.classes.tolist(), shares, strict=True))

    def _shares_of_rows(self, rows: Sequence[dict[Any, Any]]) -> list[list[float]]:
        if self._as_counted():
            return super()._shares_of_rows(rows)
        return [list(self.predict_proba_one(row).values()) for row in rows]


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


# ---- smoothing and calibration, tuned on rows by their leave-one-out predictions -----------------
MIN_LOG_ALPHA, MAX_LOG_ALPHA = -4.0, 2.0  # of log10 alpha
MAX_ROWS_FOR_ALPHA = 2048
MAX_ROWS_FOR_CALIBRATION = 1 << 17
MIN_GAIN = 0.5  # nats of effective rows that a tenfold change of alpha has to gain


def some_rows(n: int, max_rows: int) -> Index:
    """At most so many row numbers, spread over all."""
    if n <= max_rows:
        return np.arange(n, dtype=np.intp)
    return np.sort(np.random.default_rng(0).permutation(n)[:max_rows]).astype(np.intp)


def weights_to_choose_on(what: str, model: TableModel, own: Index, weight: Array | None) -> Array:
    """The weights of rows that something is chosen on, 1 unless given; `what` is for messages.

    Raises
    ------
    ValueError
        For a negative weight.
    NegativeTally
        A ValueError: rows weigh more than their class holds, so that not all were learned.
    """
    weight = np.ones(len(own)) if weight is None else weight
    if weight.min(initial=0.0) < 0.0:
        raise ValueError(
            f"{what} on rows of weights from 0 on, got {weight.min().item()!r}: leave out rows "
            "that only take others away"
        )
    held = model.tally.classes.count
    given = np.bincount(own, weight, len(held))
    if (given > held * (1.0 + 1e-9)).any():
        k = int(np.argmax(given - held))
        raise NegativeTally(
            f"the rows of class {model.schema.classes.tolist()[k]!r} weigh {given[k]:g}, more than "
            f"the {held[k]:g} that the model holds of it: choose on rows that were learned, with "
            "the weights that they have by now"
        )
    return weight


def alpha_on_rows(model: TableModel, x: Table, own: Index, weight: Array) -> float:
    """The smoothing of the least leave-one-out log-loss, as a multiple of the one that the model
    is read with, one effective row.

    One alpha for all columns that follow the model's, others as they are. A row's prediction is
    joint over columns and so accounts for columns that repeat each other. A tenfold change has to
    gain half a nat of effective rows, so that a few rows do not move alpha far. A row is left out
    whole, whatever its weight.

    Parameters
    ----------
    model : TableModel
    x : Table
        Rows that were counted.
    own : index array (n_rows,)
        The class of each row.
    weight : float64 array (n_rows,)

    """
    rows = some_rows(x.n_rows, MAX_ROWS_FOR_ALPHA)
    x, own, weight = x.take(rows), own[rows], weight[rows]
    unit = model.tally.classes.pooled_row_weight
    fixed = model.log_prior_without(own, weight).matrix(own)
    moving, out = [], TakenOut(own, weight)
    for part in model.score.parts:
        if part.follows and part.lookup is not None:
            moving.append(part.lookup)
        else:
            fixed += part.scores(x, out)
    if not moving:
        return 1.0
    cells = _SideBySide(moving, x, own, weight, fixed)

    def score(power: float) -> float:
        joint = fixed + cells.scores(10.0**power)
        log_proba = log_softmax(joint, axis=1)[np.arange(len(own)), own]
        gained = float((weight * np.maximum(log_proba, -700.0)).sum()) / unit
        return gained - MIN_GAIN * power**2

    with np.errstate(invalid="ignore"):
        return float(10.0 ** _summit(score))


class WithoutGroups:
    """A model without some of its rows at a time, whole groups of them, and those rows.

    Parameters
    ----------
    x : Table
    own : index array (n_rows,)
        The class of each row.
    weight : float64 array (n_rows,)
    models : list of (index array, TableModel)
        The rows of each fold, and the model without them.
    """

    def __init__(
        self, x: Table, own: Index, weight: Array, models: list[tuple[Index, TableModel]]
    ) -> None:
        self.own: Index = own
        self.weight: Array = weight
        self.models: list[tuple[Index, TableModel]] = models
        self.parts: list[Table] = [x.take(rows) for rows, _ in models]

    def log_proba(self, alpha: float | None) -> Array:
        """log P(c | x) of the rows by models without their groups, (n_rows, n_classes)."""
        found = np.empty((len(self.own), len(self.models[0][1].log_prior)))
        for (rows, model), x in zip(self.models, self.parts, strict=True):
            if alpha is not None:
                model.rescale(alpha / model.reading.scale)
            found[rows] = posterior(model.score, x, model.log_prior, log=True)
        return found

    def best_alpha(self, unit: float) -> float:
        """The smoothing that predicts the rows best; see :func:`alpha_on_rows`."""

        def score(power: float) -> float:
            own = self.log_proba(10.0**power)[np.arange(len(self.own)), self.own]
            return float(self.weight @ np.maximum(own, -700.0)) / unit - MIN_GAIN * power**2

        return float(10.0 ** _summit(score))


class _SideBySide:
    """Columns of cells whose prior is scaled together, each row taken out of its counts."""

    def __init__(
        self, parts: list[LookupPart], x: Table, own: Index, weight: Array, fixed: Array
    ) -> None:
        self.law = parts[0].law.joined([part.law for part in parts])
        self.own, self.weight, self.n_classes = own, weight, fixed.shape[1]
        width = [part.law.log_prob().shape[1] for part in parts]
        start = np.cumsum([0, *width])
        self.nothing = int(start[-1])  # a cell after all others, which adds nothing
        self.cells = np.empty((x.n_rows, len(parts)), dtype=np.intp)
        for j, part in enumerate(parts):
            _, cells = part.cells(x.columns[part.name])[-1]
            if part.kinds is not None:
                fixed += part.kinds.scores(x, TakenOut(own, weight))
            there = (cells >= 0) & (cells < width[j])
            self.cells[:, j] = np.where(there, cells + start[j], self.nothing)

    def scores(self, factor: float) -> Array:
        """log p(x | c), (n_rows, n_classes)."""
        law = self.law.scaled(factor)
        if (self.weight == self.weight[0]).all():
            weight = float(self.weight[0])
            other = np.pad(law.other_without(weight), ((0, 0), (0, 1)))
            mine = np.pad(law.own_without(weight), ((0, 0), (0, 1)))
            joint = np.stack([table[self.cells].sum(axis=1) for table in other], axis=1)
            joint[np.arange(len(self.own)), self.own] = mine[self.own[:, None], self.cells].sum(1)
            return joint
        scores: Array = np.zeros((len(self.own), self.n_classes))
        for column in self.cells.T:
            there = np.flatnonzero(column < self.nothing)
            scores[there] += cells_without(law, column[there], self.own[there], self.weight[there])
        return scores


def _summit(score: Callable[[float], float]) -> float:
    """Where a score of log10 alpha is largest: uphill from 0 in steps of one, then of a half, then
    to the vertex of a parabola."""
    known: dict[float, float] = {}

    def at(power: float) -> float:
        if not MIN_LOG_ALPHA <= power <= MAX_LOG_ALPHA:
            return -np.inf
        if power not in known:
            known[power] = score(power)
        return known[power]

    top = 0.0
    for step in (1.0, 0.5):
        while True:
            best = max((top, top - step, top + step), key=at)
            if best == top:
                break
            top = best
    left, middle, right = at(top - 0.5), at(top), at(top + 0.5)
    bend = left - 2.0 * middle + right
    if not (np.isfinite(bend) and bend < 0.0):
        return top
    return top + 0.5 * float(np.clip(0.5 * (left - right) / bend, -0.5, 0.5))


def calibration_on_rows(
    method: Method, model: TableModel, x: Table, own: Index, weight: Array
) -> Calibration:
    """A calibration of the leave-one-out predictions of these rows; see :func:`alpha_on_rows`.

    A row is left out whole, whatever its weight.
    """
    rows = some_rows(x.n_rows, MAX_ROWS_FOR_CALIBRATION)
    x, own, weight = x.take(rows), own[rows], weight[rows]
    return fitted_calibration(method, model.posterior_without(x, own, weight), own, weight)


# ---- counting without a model: the tally of a table or of a source -------------------------------
def collect(
    source: Any,
    target: str | None = None,
    columns: Any = "auto",
    *,
    sample_weight: str | None = None,
) -> TableTally:
    """Count the rows of a table or of a source.

    Tallies of parts add up to the tally of all, wherever they were counted: ``tally.save(path)``
    and ``TableTally.load(path)`` take them from one machine to another.
    :meth:`NaiveBayes.from_tally` makes a model of one.

    Parameters
    ----------
    source : table or source of rows
        As for :meth:`NaiveBayes.fit`: a data frame; a path, folder, pattern or list of files;
        record batches; a dataset; a lazy frame; a relation of DuckDB; a Spark DataFrame.
    target : str, optional
        The column of labels. Without it all rows are of one class, ``"(unlabelled)"``, and
        :func:`compare` tells what moved.
    columns : "auto", mapping, list of pairs or Schema, default="auto"
        Families by column, as for :class:`NaiveBayes`: they define what is counted. Of a
        :class:`tallybayes.Schema` that was declared or agreed on, its columns are counted as
        levels, with all that it names, and others are left out.
    sample_weight : str, optional
        The column of weights; 1 by default.

    Returns
    -------
    TableTally
        The counts.

    Raises
    ------
    ValueError
        If the source cannot be read (a SourceError), lacks a column, or holds a value that is not
        admitted, such as a level or a class that the schema does not have.

    See Also
    --------
    NaiveBayes.from_tally : A model of a tally.
    compare : What moved between two tallies.

    Examples
    --------
    >>> import pandas as pd
    >>> from tallybayes import NaiveBayes, collect
    >>> monday = pd.DataFrame({"rain": ["yes", "no", "no"], "late": [1, 0, 0]})
    >>> tuesday = pd.DataFrame({"rain": ["yes", "yes"], "late": [1, 0]})
    >>> tally = collect(monday, "late") + collect(tuesday, "late")
    >>> NaiveBayes.from_tally(tally).predict_proba([{"rain": "yes"}]).round(3)
    array([[0.416, 0.584]])
    """
    if isinstance(columns, Schema):
        columns.need_levels("collect")
        families = {
            (group.names or ())[0]: Categorical(levels=(group.levels or ())[0].tolist())
            for group in columns.groups
        }
        return collect(source, target, families, sample_weight=sample_weight).in_schema(columns)
    model = NaiveBayes(columns)
    if target is not None:
        return model.fit(source, target, sample_weight).tally_
    need_name(sample_weight, "sample_weight")
    rows = rows_of(as_numpy(source), get_num_threads())
    if sample_weight is not None:
        need_columns([sample_weight], list(rows.columns()), "column of weights,")
    for table in tables_of(rows, None, ()):
        held, weights = dict(table.columns), None
        if sample_weight is not None:
            weights = np.array(values_of(held.pop(sample_weight)), dtype=np.float64)
        part = Table(held, table.n_rows, True)
        model.partial_fit(part, [UNLABELLED] * table.n_rows, sample_weight=weights)
    return model.tally_
