"""Methods of a fitted weighted model: predictions, weights, tables and figures."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from tallybayes.engines.contract import raise_infinite
from tallybayes.errors import StaleWarning, warn_user
from tallybayes.estimators.reported import draw_waterfall
from tallybayes.estimators.tables.base import TableClassifier
from tallybayes.explain.explanation import Explanation, explanation_of
from tallybayes.explain.importances import summary_of, term_frame
from tallybayes.models.weighted import WeightedModel
from tallybayes.models.weighting import Weighting
from tallybayes.tables import Numbers
from tallybayes.tables.columns import frame
from tallybayes.validation import like

__all__ = ["WeightedAnswers"]

Array = NDArray[np.float64]


class WeightedAnswers(TableClassifier):
    """Base of a classifier with learned weights. Not for direct use."""

    def _weighted(self) -> WeightedModel:
        return cast("WeightedModel", self._fitted())

    def _weighting(self, name: str) -> Weighting:
        model = self._attribute(name)
        if model.chosen.weighting is None:
            raise AttributeError(
                f"{self._name} has no {name} yet: weights are learned on rows of two classes or "
                "more, by fit, the first partial_fit, or reweight"
            )
        return model.chosen.weighting

    # ---- predicting ------------------------------------------------------------------------------
    def _read_rows(self, x: Any, *, learning: bool = False) -> Any:
        rows = super()._read_rows(x, learning=learning)
        if not learning:  # those that are counted are looked at there
            for name, column in rows.columns.items():
                if isinstance(column, Numbers) and np.isinf(column.values).any():
                    raise_infinite(name, column.values)
        return rows

    def _fresh(self) -> None:
        """A warning where weights are older than the counts."""
        model = self._weighted()
        if model.chosen.stale:
            warn_user(
                StaleWarning(
                    "weights and pairs were learned before the counts last changed",
                    "call reweight(X, y) with rows that were learned",
                ),
                StaleWarning,
                warned=model.warned,
            )

    def _predicted(self, X: Any) -> Any:
        model = self._weighted()
        if not model.prior_share:
            self._fresh()
            return super()._predicted(X)
        best = self._posterior(X, log=False).argmax(axis=1)
        return like(X, model.schema.classes[best])

    def _posterior(self, X: Any, *, log: bool) -> Array:
        self._fresh()
        model = self._weighted()
        if not model.prior_share:
            return super()._posterior(X, log=log)
        proba = model.predicted(super()._posterior(X, log=False))
        with np.errstate(divide="ignore"):  # a class prior may rule a class out
            return np.log(proba, out=proba) if log else proba

    def predict_joint_log_proba(self, X: Any) -> Any:
        self._fresh()
        return super().predict_joint_log_proba(X)

    # ---- reading the model -----------------------------------------------------------------------
    @property
    def weights_(self) -> Any:
        """The weight of each term, as a frame: term, weight, what it adds in nats, and for more
        than two classes the weight in each class.

        The weight is that of the term's table. Corrections of cells and smooth functions add to it,
        so that a term of weight 0 may add something: "adds" is how far the term as a whole moves
        the scores of the classes apart, on average over the rows that weights were learned on.
        """
        weighting = self._weighting("weights_")
        by_class = weighting.learned.weights.by_class()
        held: dict[str, Any] = {
            "term": weighting.names,
            "weight": weighting.learned.weights.terms.copy(),
        }
        text = weighting.text
        if text is not None:
            held["term"] = [*weighting.names, *text.names]
            held["weight"] = np.append(text.cells * held["weight"], text.weights)
            more = np.tile(text.weights, (len(by_class), 1))
            by_class = np.concatenate([text.cells * by_class, more], axis=1)
        held["adds"] = np.array(list(weighting.adds.values()))
        if len(weighting.classes) > 2:
            for label, weight in zip(weighting.classes.tolist(), by_class, strict=True):
                name = str(label)
                held[f"{name} (class)" if name in ("term", "weight", "adds") else name] = (
                    weight.copy()
                )
        return frame(held)

    @property
    def interactions_(self) -> list[tuple[str, str]]:
        """The pairs of columns that have a table of their own, in the order they were taken."""
        return self._weighting("interactions_").pairs

    @property
    def tables_(self) -> dict[Any, Any]:
        """What each cell of a term adds to each class, in nats, as a frame by column name or pair
        of names."""
        weighting = self._weighting("tables_")
        now = self._weighted().now
        assert now is not None
        names = [*((column.name,) for column in now.columns), *weighting.pairs]
        labels = [str(label) for label in self.classes_.tolist()]
        return {
            (name if len(name) == 2 else name[0]): term_frame(now.score, t, name, labels)
            for t, name in enumerate(names)
        }

    @property
    def feature_importances_(self) -> Array:
        """What each column adds with its pairs, in nats a row, float64 (n_features_in_,).

        What it adds by itself (see :attr:`weights_`), and half of what each of its pairs adds. A
        column that is left out is 0.
        """
        weighting = self._weighting("feature_importances_")
        adds = weighting.adds
        found = {name: adds.get(name, 0.0) for name in self._weighted().names}
        for pair in weighting.pairs:
            for name in pair:
                found[name] += 0.5 * adds[" × ".join(pair)]
        return np.array(list(found.values()))

    @property
    def offsets_(self) -> Array:
        """log P(k) + b_k, float64 (n_classes,), in nats."""
        self._weighting("offsets_")
        offset: Array = self._weighted().score.offset.copy()
        return offset

    @property
    def log_loss_(self) -> float:
        """The log-loss of rows that weights were learned on, each predicted by what is learned
        without it, in nats a row."""
        return self._weighting("log_loss_").figures.log_loss

    @property
    def log_loss_se_(self) -> float:
        """The standard error of :attr:`log_loss_`."""
        return self._standard_error("log_loss_se_")

    @property
    def accuracy_se_(self) -> float:
        """The standard error of :attr:`accuracy_`."""
        return self._standard_error("accuracy_se_")

    def _standard_error(self, name: str) -> float:
        figures = self._weighting(name).figures
        found = figures.log_loss_se if name == "log_loss_se_" else figures.accuracy_se
        if found is None:
            raise AttributeError(
                f"the file of this model is older than {name}: reweight(X, y) measures it again"
            )
        return found

    @property
    def log_loss_increase_(self) -> float:
        """The log-loss of a pruned model minus that of the model it was made of, in nats a row.

        Both by leave-one-out: each row is predicted by the others. Only models that
        :meth:`simplify` made have it.
        """
        increase = self._weighting("log_loss_increase_").figures.log_loss_increase
        if increase is None:
            raise AttributeError(
                "log_loss_increase_ is of a model that simplify(X, y, max_terms) made"
            )
        return increase

    @property
    def price_(self) -> float:
        """The former name of :attr:`log_loss_increase_`, kept for one version."""
        return self.log_loss_increase_

    @property
    def accuracy_(self) -> float:
        """The accuracy on rows that weights were learned on, each predicted by what is learned
        without it."""
        return self._weighting("accuracy_").figures.accuracy

    def explain(self, X: Any) -> Explanation:
        """What each term adds to the score of each class.

        Parameters
        ----------
        X : table (n_rows, n_columns)
            Rows to explain.

        Returns
        -------
        Explanation
            Its columns are the terms: columns, then pairs as "a × b".
            ``base + contributions.sum(axis=2)`` is :meth:`predict_joint_log_proba`.
        """
        self._fresh()
        return explanation_of(self._weighted(), self._read_rows(X), draw_waterfall)

    def summary(self, max_display: int = 10) -> str:
        """The model in words: how good it is, what it goes by, and what it leaves out.

        Parameters
        ----------
        max_display : int, default=10
            How many terms are named.

        Returns
        -------
        str
            Some lines of text.
        """
        weighting = self._weighting("summary")
        now = self._weighted().now
        assert now is not None
        return summary_of(weighting, now, self.classes_, self._fitted().chosen.stale, max_display)
