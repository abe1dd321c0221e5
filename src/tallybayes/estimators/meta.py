"""What classifiers share that hold another one."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, TypeVar, cast

from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils import Tags, get_tags
from sklearn.utils.metaestimators import available_if

from tallybayes.estimators import saving

__all__ = ["MetaClassifier", "if_inside_has"]

Method = TypeVar("Method", bound=Callable[..., Any])


class MetaClassifier(MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Base of the classifiers that hold another one. Not for direct use."""

    save = saving.save

    @property
    @abstractmethod
    def _inside(self) -> Any:
        """The classifier inside: the fitted one, or else that of the parameters."""

    @abstractmethod
    def __sklearn_is_fitted__(self) -> bool:
        """Whether the classifier inside is fitted."""

    def _fitted(self) -> Any:
        """The classifier inside; NotFittedError, which is an AttributeError, before :meth:`fit`."""
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' or "
                "'partial_fit' with rows and their labels first."
            )
        return self._inside

    @property
    def n_features_in_(self) -> int:
        """How many columns the rows have."""
        return int(self._fitted().n_features_in_)

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """The names of the columns, where they have names."""
        names: NDArray[Any] = self._fitted().feature_names_in_
        return names

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self._inside).input_tags
        return tags


def if_inside_has(name: str) -> Callable[[Method], Method]:
    """A method that there is where the classifier inside has one of this name."""

    def has(self: Any) -> bool:
        return hasattr(self._inside, name)

    return cast("Callable[[Method], Method]", available_if(has))
