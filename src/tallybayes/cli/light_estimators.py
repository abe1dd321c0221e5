"""What the classifiers of tables need of scikit-learn when the command line uses them.

scikit-learn takes longer to import than a small fit takes. Its base classes and constraints of
parameters are needed to define a classifier; the ones here do as much, and what they cannot do they
leave to scikit-learn. See :mod:`tallybayes.cli.quick_imports`.
"""

from __future__ import annotations

import copy
import inspect
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

__all__ = ["LIGHT"]


@dataclass(frozen=True)
class Interval:
    """scikit-learn's constraint for numbers of a type between bounds."""

    type: type
    left: float | None
    right: float | None
    closed: str

    def admits(self, value: Any) -> bool:
        """Whether a value is a number of the interval."""
        if not isinstance(value, self.type):
            return False
        number: Any = value
        low, high = self.closed in ("left", "both"), self.closed in ("right", "both")
        left = -math.inf if self.left is None else self.left
        right = math.inf if self.right is None else self.right
        above = bool(number > left or (low and number == left))
        return above and bool(number < right or (high and number == right))

    def original(self) -> Any:
        """The same of scikit-learn."""
        from sklearn.utils._param_validation import Interval as Original

        return Original(self.type, self.left, self.right, closed=self.closed)


@dataclass(frozen=True)
class StrOptions:
    """scikit-learn's constraint for strings."""

    options: set[str]

    def admits(self, value: Any) -> bool:
        """Whether a value is one of the strings."""
        return isinstance(value, str) and value in self.options

    def original(self) -> Any:
        """The same of scikit-learn."""
        from sklearn.utils._param_validation import StrOptions as Original

        return Original(self.options)


def _admits(constraint: Any, value: Any) -> bool:
    """Whether a value is known to fit; False leaves it to scikit-learn."""
    if isinstance(constraint, Interval | StrOptions):
        return constraint.admits(value)
    if constraint == "boolean":
        return isinstance(value, bool)
    if constraint == "array-like":
        return isinstance(value, np.ndarray) and value.ndim > 0
    if isinstance(constraint, type):
        return isinstance(value, constraint)
    return constraint is None and value is None


class BaseEstimator:
    """scikit-learn's base class: parameters by name."""

    _parameter_constraints: ClassVar[Mapping[str, list[Any]]] = {}

    @classmethod
    def _get_param_names(cls) -> list[str]:
        parameters = inspect.signature(cls.__init__).parameters
        return sorted(name for name in parameters if name != "self")

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters; none of them is an estimator."""
        return {name: getattr(self, name) for name in self._get_param_names()}

    def set_params(self, **given: Any) -> Self:
        """Sets parameters."""
        names = self._get_param_names()
        for name, value in given.items():
            if name not in names:
                raise ValueError(f"{type(self).__name__} has no parameter {name!r}: {names}")
            setattr(self, name, value)
        return self

    def _validate_params(self) -> None:
        """Raises for a parameter that its constraints do not admit, in scikit-learn's words."""
        given = self.get_params()
        constraints = self._parameter_constraints
        if all(
            any(_admits(one, given[name]) for one in known)
            for name, known in constraints.items()
            if name in given
        ):
            return
        from sklearn.utils._param_validation import validate_parameter_constraints

        originals = {
            name: [c.original() if isinstance(c, Interval | StrOptions) else c for c in known]
            for name, known in constraints.items()
        }
        validate_parameter_constraints(originals, given, caller_name=type(self).__name__)

    def __sklearn_tags__(self) -> Any:
        from sklearn.base import BaseEstimator as Original

        return Original.__sklearn_tags__(self)


class ClassifierMixin:
    """scikit-learn's mark of classifiers."""

    _estimator_type = "classifier"


class NotFittedError(ValueError, AttributeError):
    """scikit-learn's error of an estimator that has not learned."""


def clone(estimator: Any) -> Any:
    """An estimator with the same parameters that has not learned."""
    return type(estimator)(**copy.deepcopy(estimator.get_params(deep=False)))


LIGHT: dict[str, dict[str, Any]] = {
    "sklearn.base": {
        "BaseEstimator": BaseEstimator,
        "ClassifierMixin": ClassifierMixin,
        "clone": clone,
    },
    "sklearn.exceptions": {"NotFittedError": NotFittedError},
    "sklearn.utils._param_validation": {"Interval": Interval, "StrOptions": StrOptions},
}
"""What stands in for names of scikit-learn, by module."""
