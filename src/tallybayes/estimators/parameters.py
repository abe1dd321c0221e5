"""The parameters of an estimator: their values, and scikit-learn's check of them.

The check reads the signature of the class and tries each constraint, which takes longer than to
count some hundred rows. Plain values cannot change, so what was accepted once is not checked again.
"""

from __future__ import annotations

from typing import Any, ClassVar

from sklearn.base import BaseEstimator

__all__ = ["CheckedParameters"]

PLAIN_TYPES = frozenset((type(None), bool, int, float, str))
MAX_ACCEPTED = 64  # sets of parameters that are remembered of each class

Plain = tuple[tuple[type, ...], tuple[Any, ...]]


class CheckedParameters(BaseEstimator):  # type: ignore[misc]
    """Base of estimators whose parameters are checked when they learn. Not for direct use."""

    _own_parameter_names: ClassVar[list[str]]
    _accepted: ClassVar[frozenset[Plain]]

    def _validate_params(self) -> None:
        plain = self._plain_parameters()
        if plain is None or plain not in type(self).__dict__.get("_accepted", ()):
            super()._validate_params()
            self._remember(plain)

    def _plain_parameters(self) -> Plain | None:
        """The values with their types; None if one of them may change."""
        values = self._parameters()
        types = tuple(map(type, values))
        return (types, values) if PLAIN_TYPES.issuperset(types) else None

    @classmethod
    def _remember(cls, plain: Plain | None) -> None:
        """Keeps what was accepted, for this class alone."""
        if plain is not None:
            accepted: frozenset[Plain] = cls.__dict__.get("_accepted", frozenset())
            kept = accepted if len(accepted) < MAX_ACCEPTED else ()
            # replaced in one step: other threads read the old set or the new one
            cls._accepted = frozenset([*kept, plain])

    def _parameters(self) -> tuple[Any, ...]:
        return tuple([self.__dict__[name] for name in self._parameter_names()])

    @classmethod
    def _parameter_names(cls) -> list[str]:
        names: list[str] | None = cls.__dict__.get("_own_parameter_names")
        if names is None:
            names = cls._own_parameter_names = cls._get_param_names()
        return names
