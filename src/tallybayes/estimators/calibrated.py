"""A table classifier whose smoothing and calibration are chosen on rows by leave-one-out."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from tallybayes.errors import StaleWarning, warn_user
from tallybayes.estimators.calibration import Method
from tallybayes.estimators.intervals import drawn_posteriors
from tallybayes.estimators.labels import codes_of, read_labels
from tallybayes.estimators.row_choices import alpha_on_rows, calibration_on_rows
from tallybayes.estimators.rows import read_weights
from tallybayes.estimators.streaming import RowByRow
from tallybayes.estimators.table_model import Chosen, TableModel
from tallybayes.tables import Table

__all__ = ["Calibrated", "Criterion"]

DRAWN = 1 << 22  # probabilities that are drawn at once

Array = NDArray[np.float64]
Criterion = Literal["evidence", "loo_likelihood", "loo_log_loss"]


class Calibrated(RowByRow):
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

    def _choose(self, x: Table, own: NDArray[np.intp], weight: Array | None) -> None:
        """Chooses what is asked for, on rows that were counted."""
        if not self.chooses_on_rows:
            return
        model = self._fitted()
        weight = np.ones(len(own)) if weight is None else weight
        alpha = None
        if self._on_rows():
            if model.reading.scale != 1.0:
                model.reading = model.reading._replace(scale=1.0)
                model.changed()
            alpha = alpha_on_rows(model, x, own, weight)
            model.rescale(alpha)
        calibration = None
        if self.calibrate is not None:
            calibration = calibration_on_rows(self.calibrate, model, x, own, weight)
        model.chosen = Chosen(alpha, calibration)

    def _open_rows(self, x: Any) -> Any:
        if "_model" not in self.__dict__ and self.chooses_on_rows:
            what = f"calibrate={self.calibrate!r}" if self.calibrate else "alpha='auto'"
            raise ValueError(
                f"{what} is chosen on rows, by their leave-one-out predictions, and rows learned "
                "one by one are not kept: begin with fit or partial_fit, or set "
                "criterion='evidence'"
            )
        return super()._open_rows(x)

    def recalibrate(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Chooses smoothing and calibration again, on rows that were learned.

        Parameters
        ----------
        X : table (n_rows, n_columns)
            Rows that the model has learned, all or a fair sample of them.
        y : array-like (n_rows,)
        sample_weight : array-like (n_rows,), optional
            The weights that they were learned with.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If nothing is chosen on rows: neither ``calibrate`` nor ``alpha="auto"`` with
            ``criterion="loo_log_loss"`` is set.
        """
        if not self.chooses_on_rows:
            raise ValueError(
                "there is nothing to choose on rows: set calibrate='temperature' or 'isotonic', or "
                "alpha='auto'"
            )
        with self._unchanged_on_error():
            self._validate_params()
            old = self._fitted()
            model = old.with_tally(old.tally)
            self._model = model
            x = self._read_rows(X)
            labels = read_labels(y, x, self._name)
            own = codes_of(labels, model.schema.classes).astype(np.intp)
            self._choose(x, own, read_weights(sample_weight, x))
        return self

    @property
    def alpha_(self) -> dict[str, float]:
        """The smoothing of each column that is smoothed by the model's alpha, in rows."""
        model = self._attribute("alpha_")
        alpha = model.reading.alpha
        found = {}
        for reading in model.columns_read:
            if reading.alpha is not None:
                found[reading.name] = reading.alpha
            elif not isinstance(alpha, str) and getattr(reading.part, "follows", False):
                found[reading.name] = alpha * model.reading.scale
        return found

    # ---- predicting ------------------------------------------------------------------------------
    def _fresh(self) -> TableModel:
        """The model, with a warning where what was chosen on rows is older than the counts."""
        model = self._fitted()
        if model.chosen.stale:
            warn_user(
                "calibration or smoothing was chosen on rows before the counts last changed: call "
                "recalibrate(X, y) with rows that were learned",
                StaleWarning,
            )
        return model

    def predict(self, X: Any) -> NDArray[Any]:
        model = self._fresh()
        if model.chosen.calibration is None:
            return super().predict(X)
        return np.asarray(model.schema.classes[self._posterior(X, log=True).argmax(axis=1)])

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
        level : float, default=0.9
            Probability that an interval holds, between 0 and 1.
        n_draws : int, default=400
            The bounds are sampled: by 400 draws the ends of a 90 % interval are placed within
            about ±0.015 of their rank.
        random_state : int, RandomState or None, default=0

        Returns
        -------
        lower, upper : float64 arrays (n_rows, n_classes)

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
        rng = check_random_state(random_state)
        n_classes = len(model.schema.classes)
        lower, upper = np.empty((2, x.n_rows, n_classes))
        step = max(1, DRAWN // (n_draws * n_classes))
        state = rng.get_state()
        for start in range(0, x.n_rows, step):
            rows = slice(start, start + step)
            rng.set_state(state)
            draws = drawn_posteriors(model, x.take(rows), rng, n_draws)
            if model.chosen.calibration is not None:
                flat = draws.reshape(-1, n_classes)
                draws = model.chosen.calibration.apply(flat).reshape(draws.shape)
            ends = [0.5 * (1.0 - level), 0.5 * (1.0 + level)]
            lower[rows], upper[rows] = np.quantile(np.exp(draws), ends, axis=0)
        return lower, upper

    def predict_one(self, x: Any) -> Any:
        calibration = self._fresh().chosen.calibration
        if calibration is None:
            return super().predict_one(x)
        shares = self.predict_proba_one(x)
        return max(shares, key=shares.__getitem__)

    def predict_proba_one(self, x: Any) -> dict[Any, float]:
        shares = super().predict_proba_one(x)
        calibration = self._fresh().chosen.calibration
        if calibration is None:
            return shares
        with np.errstate(divide="ignore"):
            log_proba = np.log(np.array([list(shares.values())]))
        return dict(zip(shares, np.exp(calibration.apply(log_proba))[0].tolist(), strict=True))
