"""A table classifier whose smoothing and calibration are chosen on rows by leave-one-out."""

from __future__ import annotations

import copy
import warnings
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from tallybayes.errors import StaleWarning, warn_user
from tallybayes.estimators.locked_learning import LIVE, learning
from tallybayes.estimators.tables.base import TableClassifier
from tallybayes.estimators.tables.hyperparameters import (
    WithoutGroups,
    alpha_on_rows,
    calibration_on_rows,
    weights_to_choose_on,
)
from tallybayes.estimators.tables.one_row import as_row
from tallybayes.explain.explanation import drawn_posteriors, draws_of, table_evidence
from tallybayes.models.calibration import Method, Temperature, fitted_calibration
from tallybayes.models.class_weights import by_class
from tallybayes.models.table import Chosen, TableModel
from tallybayes.tables import Table
from tallybayes.validation import like
from tallybayes.weighted.rows import group_folds

__all__ = ["Calibrated", "Criterion"]

MAX_DRAWN = 1 << 22  # probabilities that are drawn at once
MIN_PROBABILITY = 1e-290  # the logarithm of a smaller probability is lost in the probability

FOLDS_OF_GROUPS = 10

Array = NDArray[np.float64]
Index = NDArray[np.intp]
Criterion = Literal["evidence", "loo_likelihood", "loo_log_loss"]


class Calibrated(TableClassifier):
    """Base of a table classifier with choices made on rows. Not for direct use."""

    alpha: float | Literal["auto"]
    criterion: Criterion
    calibrate: Method | None

    # ---- choosing --------------------------------------------------------------------------------
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
    def _fresh(self) -> TableModel:
        """The model, with a warning where what was chosen on rows is older than the counts."""
        model = self._fitted()
        _warn_if_stale(model.chosen, model)
        return model

    def _kept(self, chosen: Chosen) -> Chosen:
        """The choices made on rows that the parameters request; stale where one is lacking."""
        alpha = chosen.alpha if self._on_rows() else None
        calibration = chosen.calibration if self.calibrate is not None else None
        lacking = self._on_rows() and alpha is None
        lacking = lacking or (self.calibrate is not None and calibration is None)
        made = alpha is not None or calibration is not None
        return Chosen(alpha, calibration, lacking or (made and chosen.stale))

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
                f"an interval needs a level between 0 and 1 and 2 draws, got {level!r} and "
                f"{n_draws!r}"
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
        _warn_if_stale(model.chosen.after_change(), model)
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


def _keeps_order(model: TableModel) -> bool:
    """Whether the most probable class is that of the model before calibration."""
    calibration = model.chosen.calibration
    return calibration is None or isinstance(calibration, Temperature)


def _warn_if_stale(chosen: Chosen, model: TableModel) -> None:
    """Warns where what was chosen on rows is older than the counts."""
    if chosen.stale:
        warn_user(
            StaleWarning(
                "calibration or smoothing was not chosen on rows since the counts last changed",
                "call recalibrate(X, y) with rows that were learned",
            ),
            StaleWarning,
            warned=model.warned,
        )
