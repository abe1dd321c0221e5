"""Base of the classifiers of arrays and of tables: labels, weights, class priors, copies."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Mapping
from numbers import Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from tallybayes.errors import IncompatibleTallies
from tallybayes.estimators.locked_learning import LOCK
from tallybayes.estimators.parameters import CheckedParameters
from tallybayes.estimators.predicting import Predicting
from tallybayes.explain.warnings import warn_of_light_rows
from tallybayes.families.class_prior import ClassPrior
from tallybayes.leaving_out import posterior_without
from tallybayes.models.base import Model, same
from tallybayes.models.class_weights import (
    ClassWeights,
    changed,
    learnable,
    resolved,
    weighted,
)
from tallybayes.validation import (
    codes_of,
    labels_and_codes,
    read_groups,
    read_labels,
    read_weights,
    warn_of_other_order,
)

__all__ = ["TallyClassifier", "class_prior_of"]

Array = NDArray[np.float64]


def class_prior_of(
    given: Any,
    classes: NDArray[Any],
    alpha: Any,
    uniform: bool,
    name: str,
    *,
    default: float = 0.0,
) -> ClassPrior:
    """The class prior that an estimator's parameters describe.

    Parameters
    ----------
    given : array-like (n_classes,), mapping of labels to probabilities, or None
        A prior that overrides the counts.
    classes : array (n_classes,)
    alpha : float or "auto"
        class_alpha, equation (12).
    uniform : bool
        Every class alike, whatever the counts.
    name : str
        The parameter that gives the prior.
    default : float
        What class_alpha is unless it is set; that does not contradict a given prior.

    Raises
    ------
    ValueError
        If the prior does not fit, or is requested in two ways.
    """
    n_classes = len(classes)
    if given is None and not uniform:
        return ClassPrior(alpha=None if alpha == "auto" else alpha)
    if alpha not in (0.0, default):
        other = f"{name}=" if given is not None else "fit_prior=False"
        raise ValueError(
            f"class_alpha={alpha!r} smooths a prior that is estimated from counts, but {other} "
            "says not to estimate it: give one of the two"
        )
    if given is None:
        return ClassPrior(given=np.full(n_classes, 1.0 / max(n_classes, 1)))
    if isinstance(given, Mapping):
        given = _in_order(given, classes, name)
    prior = np.array(given, dtype=np.float64)  # the user's may change
    if prior.shape != (n_classes,):
        raise ValueError(
            f"Number of priors must match number of classes. {name} has the shape {prior.shape}, "
            f"and there are {n_classes} classes: give one probability a class, in sorted order."
        )
    if not (prior >= 0.0).all():
        k = int(np.flatnonzero(~(prior >= 0.0))[0])
        raise ValueError(f"Priors must be non-negative. {name}[{k}] is {prior[k].item()!r}.")
    if not np.isclose(prior.sum(), 1.0):
        raise ValueError(
            f"The sum of the priors should be 1. {name} sums to {prior.sum().item()!r}: divide it "
            "by its sum."
        )
    return ClassPrior(given=prior)


def _in_order(given: Mapping[Any, float], classes: NDArray[Any], name: str) -> list[float]:
    """The probabilities of a prior by label, in the order of the classes."""
    labels = classes.tolist()
    if set(given) != set(labels):
        raise ValueError(
            f"{name} names the classes {sorted(map(str, given))}, the model has "
            f"{list(map(str, labels))}: give one probability to each"
        )
    return [given[label] for label in labels]


class TallyClassifier(CheckedParameters, Predicting):
    """Base class of the naive Bayes classifiers. Not for direct use."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "class_alpha": [Interval(Real, 0, None, closed="left")],
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }
    _prior_parameter: ClassVar[str] = "class_prior"
    _default_class_alpha: ClassVar[float] = 0.0

    class_weight: dict[Any, float] | Literal["balanced"] | None

    # ---- what a subclass defines -----------------------------------------------------------------
    @abstractmethod
    def _first_rows(self, x: Any) -> Any:
        """X as the kernels read it, for a model that begins with these rows."""

    @abstractmethod
    def _count_afresh(
        self,
        classes: NDArray[Any],
        x: Any,
        codes: NDArray[np.int32],
        weights: Array | None,
        groups: NDArray[np.intp] | None = None,
    ) -> Model:
        """Starts a model with rows: it counts them, and chooses what is chosen on rows, of which
        those of a group are left out together."""

    @abstractmethod
    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Counts the rows of X in place of those before."""

    @abstractmethod
    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Counts the rows of X in addition."""

    @abstractmethod
    def forget(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Takes rows away that were counted before."""

    @abstractmethod
    def _merge(self, theirs: Any, other: Any) -> Self:
        """Adds another model's counts; `other` was read before, since its lock is another."""

    def _class_prior(self, classes: NDArray[Any]) -> ClassPrior:
        given = getattr(self, self._prior_parameter)
        uniform = not getattr(self, "fit_prior", True)
        name, default = self._prior_parameter, self._default_class_alpha
        return class_prior_of(given, classes, self.class_alpha, uniform, name, default=default)

    def _declared_smoothing(self) -> float:
        """The largest alpha that is stated in rows of weight 1, 0 where none is."""
        return 0.0

    def _declared_classes(self) -> list[Any]:
        """Labels that may occur, whatever the rows hold."""
        return []

    # ---- state -----------------------------------------------------------------------------------
    def __sklearn_is_fitted__(self) -> bool:
        return "_model" in self.__dict__

    def __copy__(self) -> Self:
        """A shallow copy shares the tally; whichever changes it first takes a copy of its own."""
        twin = type(self).__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin.__dict__.pop(LOCK, None)
        if "_model" in self.__dict__:
            twin._model = self._model.sharing()
        return twin

    def __getstate__(self) -> Any:
        state = dict(super().__getstate__())
        state.pop(LOCK, None)
        return state

    # ---- learning --------------------------------------------------------------------------------
    def _fit_rows(
        self, X: Any, y: Any, sample_weight: ArrayLike | None, groups: Any = None
    ) -> Self:
        """Counts the rows of X in place of those before; see `fit` of a subclass."""
        self._validate_params()
        x = self._first_rows(X)
        warn_of_other_order(X, y, sample_weight, groups)
        y = read_labels(y, x, self._name)
        given = read_weights(sample_weight, x)
        together = read_groups(groups, x)
        classes, codes = labels_and_codes(y)
        class_weight: ClassWeights = {}
        if self.class_weight is not None:
            count = np.bincount(codes, given, len(classes)).astype(np.float64)
            class_weight = resolved(self.class_weight, classes, count, self._declared_classes())
        weights = weighted(given, class_weight, classes, codes)
        model = self._count_afresh(classes, x, codes, weights, together)
        model.class_weight = class_weight
        if weights is not None:  # they may all be 0
            model.prior.need_rows(model.tally.classes)
            if (smoothing := self._declared_smoothing()) > 0.0:
                warn_of_light_rows(model.tally.classes, smoothing, model.warned)
        return self

    def _class_weight_to_learn(self) -> ClassWeights:
        """By label, what the weights of rows that are learned now are multiplied by.

        Raises
        ------
        ValueError
            Where that is not what the rows before were counted with.
        """
        return learnable(self.class_weight, self._class_weight_held())

    def _class_weight_held(self) -> ClassWeights | None:
        """By label, what the weights of the rows that are held were multiplied by; None where there
        are no rows."""
        model = self.__dict__.get("_model")
        if model is None or not model.tally.classes.count.any():
            return None
        return model.class_weight  # type: ignore[no-any-return]

    def _weights(
        self, sample_weight: Any, x: Any, classes: NDArray[Any], codes: NDArray[Any]
    ) -> Array | None:
        """What rows of the labels ``classes[codes]`` are, or were, counted with: sample_weight
        times the class weights that the model holds. None for weight 1."""
        weights = read_weights(sample_weight, x)
        return weighted(weights, self._fitted().class_weight, classes, codes)

    def merge(self, other: TallyClassifier) -> Self:
        """Add the rows that another model has counted, in place.

        Classes are joined by label; columns and levels of tables by name, levels of arrays by code.
        Moments are moved to this model's origin. Hyperparameters stay this model's.

        Parameters
        ----------
        other : fitted estimator of the same class
            A model of other rows.

        Returns
        -------
        self
            The estimator itself.

        Raises
        ------
        IncompatibleTallies
            A ValueError: the two do not count or declare the same columns, or have counted with
            different class weights. Both are then as they were.
        """
        self._fitted()
        if not isinstance(other, type(self)):
            raise IncompatibleTallies(
                f"a {self._name} cannot take in a {type(other).__name__}: merge models of one kind"
            )
        return self._merge(other._fitted(), other)

    def __add__(self, other: Self) -> Self:
        """A new model of the rows of both; see :meth:`merge`."""
        if not isinstance(other, TallyClassifier):
            return NotImplemented
        return copy.copy(self).merge(other)

    def __radd__(self, other: Any) -> Self:
        """``0 + model`` is a copy of the model, so that ``sum(models)`` merges them."""
        if type(other) is not int or other != 0:
            return NotImplemented
        return copy.copy(self)

    def __eq__(self, other: object) -> bool:
        """Whether two models are of one class and hold the same parameters, schema and counts, and
        whatever was chosen or learned on rows beside them. Two that are not fitted are compared by
        their parameters."""
        if not isinstance(other, TallyClassifier):
            return NotImplemented
        if self is other:
            return True
        if type(self) is not type(other) or not same(
            self.get_params(deep=False), other.get_params(deep=False)
        ):
            return False
        fitted = self.__sklearn_is_fitted__()
        if fitted != other.__sklearn_is_fitted__():
            return False
        return not fitted or self._fitted().equals(other._fitted())

    def __hash__(self) -> int:
        """Of the class alone: a model may be a key, and stays one when it learns."""
        return hash(type(self))

    def with_class_prior(self, p: ArrayLike | Mapping[Any, float]) -> Self:
        """The same counts under another class prior, as a new model.

        For training data whose classes were not drawn in their true proportions.

        Parameters
        ----------
        p : array-like (n_classes,) or mapping
            Probabilities that sum to 1, in the order of ``classes_`` or by label.

        Returns
        -------
        TallyClassifier
            A new model; this one is unchanged.

        Raises
        ------
        ValueError
            If p does not give one probability to each class.
        """
        model = self._fitted()
        classes = model.schema.classes
        if p is None:
            raise ValueError("with_class_prior needs the prior: one probability for each class")
        if isinstance(p, Mapping):
            p = _in_order(p, classes, "the prior")
        prior = class_prior_of(p, classes, 0.0, False, self._prior_parameter)
        twin = copy.copy(self)
        twin.set_params(**{self._prior_parameter: prior.given, "class_alpha": 0.0})
        twin._model.prior = prior
        twin._model.taken = twin._parameters()
        return twin

    def with_class_weight(
        self, class_weight: Mapping[Any, float] | Literal["balanced"] | None
    ) -> Self:
        """The same rows under other class weights, as a new model.

        A tally is scaled class by class, so that this is what fitting with these weights counts, to
        rounding. So rows that come in batches can be balanced at the end. What was chosen on rows
        is stale.

        Parameters
        ----------
        class_weight : mapping, "balanced" or None
            As the parameter; "balanced" by the rows that are counted now.

        Returns
        -------
        TallyClassifier
            A new model; this one is unchanged. Its parameter ``class_weight`` is a dict of the
            weights, with which it learns more rows.

        Raises
        ------
        ValueError
            For a weight that is not a weight, labels that are not classes, or a class that was
            counted with weight 0, whose rows are lost.
        """
        model = self._fitted()
        classes = model.schema.classes
        count = model.tally.classes.count
        change = changed(model.class_weight, class_weight, classes, count)
        twin = copy.copy(self)
        of_classes = zip(classes.tolist(), change.by_class.tolist(), strict=True)
        twin.set_params(class_weight=dict(of_classes))
        twin._model = twin._model.with_tally(model.tally.weighted(change.factor))
        twin._model.class_weight = change.weights
        return twin

    # ---- leaving out -----------------------------------------------------------------------------
    def _log_proba_without(self, X: Any, y: Any, sample_weight: ArrayLike | None) -> Array:
        """log P(c | x) of rows that were learned, each by all others; see
        :func:`tallybayes.leave_one_out`."""
        model = self._fitted()
        x = self._read_rows(X)
        warn_of_other_order(X, y, sample_weight)
        labels = read_labels(y, x, self._name)
        own = codes_of(labels, model.schema.classes).astype(np.int64)
        weights = self._weights(sample_weight, x, model.schema.classes, own)
        weight = np.ones(len(own)) if weights is None else weights
        likelihood = model.likelihood_without(x, own, weight)
        prior = model.log_prior_without(own, weight)
        fallback = None
        if not model.prior_enters:
            fallback = model.prior.log_without(model.tally.classes, own, weight)
        found = posterior_without(likelihood, own, prior, fallback)
        return model.predicted_without(found, own, weight)

    def _expect_values_of(self, model: TallyClassifier) -> None:
        """Makes this model, from which rows were removed, answer for values that only those rows
        had and `model` still has. An array may hold any number, so there is nothing to do here."""

    def _choose_without(
        self, X: Any, y: Any, sample_weight: ArrayLike | None, groups: Any = None
    ) -> Self:
        """This model, after rows were removed: what was chosen on rows is chosen again, on these
        rows that it still counts. Here nothing is chosen on rows."""
        return self
