"""A classifier whose predictions are decisions: of a model, those of the least expected cost."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, clone

from tallybayes.decisions import CostFigures, Costs, Decided
from tallybayes.estimators import saving
from tallybayes.estimators.meta import MetaClassifier, if_inside_has
from tallybayes.score import Kind
from tallybayes.validation import as_numpy, codes_of, like, read_given

__all__ = ["CostClassifier"]

Array = NDArray[np.float64]


class CostClassifier(ClassifierMixin, MetaClassifier):  # type: ignore[misc]
    r"""Decides by costs: ``predict`` returns the decision of the least expected cost.

    .. math::

        \text{decision}(x) = \arg\min_d \sum_c P(c \mid x) \, \text{cost}(c, d)

    Decisions may be more than the classes, so that "ask a person" is one with a price. Costs are
    not part of what is learned: the same counts decide under other costs by
    ``CostClassifier(…, other)`` or :meth:`decide` of the model.

    Parameters
    ----------
    estimator : classifier
        It predicts probabilities; :meth:`fit` fits a clone.
    costs : data frame, mapping or array-like
        What each decision costs in each class; see :meth:`NaiveBayes.decide`.

    Attributes
    ----------
    estimator_ : classifier
        The fitted model, with everything that it answers.
    classes_ : array (n_classes,)
        Its labels.
    decisions_ : array (n_decisions,)
        The decisions, in the order of the costs.

    See Also
    --------
    NaiveBayes.with_costs : A classifier of this kind of a model that is fitted.

    References
    ----------
    Elkan, C. (2001). The foundations of cost-sensitive learning. IJCAI.

    Examples
    --------
    >>> from tallybayes import CostClassifier, NaiveBayes
    >>> costs = {
    ...     "bad": {"bad": 0, "good": 5, "ask": 1},
    ...     "good": {"bad": 1, "good": 0, "ask": 1},
    ... }
    >>> rows = [{"job": job} for job in ["none", "none", "clerk", "clerk", "clerk"]]
    >>> model = CostClassifier(NaiveBayes(), costs).fit(rows, ["bad", "bad", "good", "good", "bad"])
    >>> model.predict([{"job": "none"}, {"job": "clerk"}]).tolist()
    ['bad', 'bad']
    """

    def __init__(self, estimator: Any, costs: Any) -> None:
        self.estimator = estimator
        self.costs = costs

    def _holding(self, fitted: Any) -> Self:
        """This one with a fitted estimator, for whose classes there are costs."""
        Costs.read(self.costs, fitted.classes_)
        self.estimator_ = fitted
        return self

    @property
    def _inside(self) -> Any:
        return self.__dict__.get("estimator_", self.estimator)

    def __sklearn_is_fitted__(self) -> bool:
        return "estimator_" in self.__dict__

    # ---- learning --------------------------------------------------------------------------------
    def fit(self, X: Any, y: Any, **fit_params: Any) -> Self:
        """Fit a clone of the estimator.

        Parameters
        ----------
        X : rows (n_rows, n_features)
            Rows to learn.
        y : array-like (n_rows,)
            Their labels.
        **fit_params
            Others of the estimator's ``fit``, such as ``sample_weight``.

        Returns
        -------
        self
            The estimator itself.

        Raises
        ------
        ValueError
            For a class without costs, or a decision without a finite cost; and as the estimator.
        """
        return self._holding(clone(self.estimator).fit(X, y, **fit_params))

    @if_inside_has("partial_fit")
    def partial_fit(self, X: Any, y: Any, **fit_params: Any) -> Self:
        """Learn rows in addition.

        Parameters
        ----------
        X : rows (n_rows, n_features)
            Rows to learn.
        y : array-like (n_rows,)
            Their labels.
        **fit_params
            Others of the estimator's ``partial_fit``.

        Returns
        -------
        self
            The estimator itself.

        Raises
        ------
        ValueError
            As :meth:`fit`; what was learned before stays.
        """
        fitted = self.__sklearn_is_fitted__()
        own = copy.copy(self.estimator_) if fitted else clone(self.estimator)
        return self._holding(own.partial_fit(X, y, **fit_params))

    @if_inside_has("forget")
    def forget(self, X: Any, y: Any, **fit_params: Any) -> Self:
        """Remove rows that were learned; see :meth:`NaiveBayes.forget`.

        Parameters
        ----------
        X : rows (n_rows, n_features)
            Rows that were learned.
        y : array-like (n_rows,)
            Their labels.
        **fit_params
            Others of the estimator's ``forget``.

        Returns
        -------
        self
            The estimator itself.
        """
        return self._holding(copy.copy(self._fitted()).forget(X, y, **fit_params))

    # ---- deciding --------------------------------------------------------------------------------
    @property
    def classes_(self) -> NDArray[Any]:
        """Labels of the model, (n_classes,)."""
        found: NDArray[Any] = self._fitted().classes_
        return found

    @property
    def decisions_(self) -> NDArray[Any]:
        """The decisions, in the order of the costs, (n_decisions,)."""
        return self._costs().names

    def _costs(self) -> Costs:
        return Costs.read(self.costs, self._fitted().classes_)

    def decide(self, X: Any) -> Decided:
        """The decision of the least expected cost for each row, and the expected costs.

        Parameters
        ----------
        X : rows (n_rows, n_features)
            Rows to decide about.

        Returns
        -------
        Decided
            ``decision`` (n_rows,), of several of equal cost the first, and ``expected``
            (n_rows, n_decisions).
        """
        return self._costs().decide(as_numpy(self.predict_proba(X)))

    def predict(self, X: Any) -> Any:
        """The decision of the least expected cost for each row.

        Parameters
        ----------
        X : rows (n_rows, n_features)
            Rows to decide about.

        Returns
        -------
        array (n_rows,)
            Decisions; of several of equal cost the first.
        """
        return like(X, self.decide(X).decision)

    def predict_proba(self, X: Any) -> Any:
        """P(c | x), as the model predicts it.

        Parameters
        ----------
        X : rows (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        array (n_rows, n_classes)
            Rows sum to 1.
        """
        return self._fitted().predict_proba(X)

    def predict_log_proba(self, X: Any) -> Any:
        """log P(c | x), in nats.

        Parameters
        ----------
        X : rows (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        array (n_rows, n_classes)
            Log-probabilities.
        """
        return self._fitted().predict_log_proba(X)

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """The mean cost of the decisions, times −1: a larger score is better.

        Parameters
        ----------
        X : rows (n_rows, n_features)
            Rows to decide about.
        y : array-like (n_rows,)
            Their labels.
        sample_weight : array-like (n_rows,), optional
            How much each row counts; 1 by default.

        Returns
        -------
        float
            In the unit of the costs.

        Raises
        ------
        ValueError
            For a label that is missing, or not a class of the model, or weights that are not one
            finite number from 0 on for each row.
        """
        figures, proba = CostFigures(self._costs()), as_numpy(self.predict_proba(X))
        labels, weight, _ = read_given(X, y, sample_weight, None, len(proba), type(self).__name__)
        if weight is not None and weight.min(initial=0.0) < 0.0:
            row = int(np.argmin(weight))
            raise ValueError(
                f"sample_weight[{row}] is {weight[row]:g}: a row counts with a weight from 0 on"
            )
        figures.add(codes_of(labels, self.classes_).astype(np.intp), proba, weight)
        return -figures.cost

    # ---- the model elsewhere ---------------------------------------------------------------------
    @if_inside_has("to_sql")
    def to_sql(
        self,
        table: str | Sequence[str],
        dialect: str = "duckdb",
        *,
        names: Mapping[str, str] | Sequence[str] | None = None,
        types: Mapping[str, Kind] | None = None,
        keep: Sequence[str] = (),
    ) -> str:
        """One SELECT that decides about the rows of a table where they lie.

        Its column ``prediction`` has the decision that :meth:`predict` returns, as text where the
        decisions are not all of one type, and ``p(label)`` the probability of each class.

        Parameters
        ----------
        table : str or sequence of str
            The name of the table, or schema and table.
        dialect : str, default="duckdb"
            Whose SQL; see :meth:`NaiveBayes.to_sql`.
        names : mapping or sequence of str, optional
            What the table calls the model's columns.
        types : mapping, optional
            By column of the model, what the table's column holds.
        keep : sequence of str, optional
            Columns of the table that the result has besides, before the others.

        Returns
        -------
        str
            A statement without a semicolon.

        Raises
        ------
        ImportError
            Where sqlglot is not installed (extra ``sql``).
        ValueError
            For what SQL cannot express, by name.
        """
        statement: str = self._fitted()._select(table, dialect, names, types, keep, self._costs())
        return statement

    report = if_inside_has("report")(saving.report)
    save = if_inside_has("save")(saving.save)
    summary = if_inside_has("summary")(saving.summary)
