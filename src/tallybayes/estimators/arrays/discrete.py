"""Parameters of the four discrete classifiers, and the checks of alpha."""

from __future__ import annotations

import inspect
from numbers import Real
from textwrap import dedent
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Tags
from sklearn.utils._param_validation import Interval

from tallybayes.errors import SmoothingWarning, warn_user
from tallybayes.estimators.arrays.base import ArrayClassifier

__all__ = ["DiscreteClassifier", "shares_parameters"]

Array = NDArray[np.float64]

MIN_ALPHA = 1e-10  # what alpha is raised to with force_alpha=False


PARAMETERS = {
    "alpha": """
    alpha : float or array-like (n_features,), default=1.0
        Additive smoothing; 0 is none.
""",
    "force_alpha": """
    force_alpha : bool, default=True
        If False, an alpha below 1e-10 is raised to 1e-10, with a warning.
""",
    "fit_prior": """
    fit_prior : bool, default=True
        Whether the class prior is estimated; otherwise every class is alike.
""",
    "class_prior": """
    class_prior : array-like (n_classes,) or dict, optional
        A class prior that no count changes, in the order of the classes or by label; it sums to 1.
""",
    "class_alpha": """
    class_alpha : float, default=0.0
        Smoothing of the estimated class prior: (count + class_alpha) / (m + K·class_alpha).
""",
    "class_weight": """
    class_weight : dict, "balanced" or None, optional
        Weights of rows by label; see :class:`GaussianNB`.
""",
}
"""The documentation of the parameters that the discrete classifiers share, by name."""

Classifier = TypeVar("Classifier", bound=type)


def shares_parameters(cls: Classifier) -> Classifier:
    """Put the shared descriptions in place of lines such as ``<alpha>`` of a class's docstring."""
    if cls.__doc__:  # python -OO has none
        described = inspect.cleandoc(cls.__doc__)  # from Python 3.13 on it is indented no more
        for name, text in PARAMETERS.items():
            described = described.replace(f"<{name}>\n", dedent(text).lstrip("\n"))
        cls.__doc__ = described + "\n"
    return cls


class DiscreteClassifier(ArrayClassifier):
    """Base class of the classifiers with additive smoothing. Not for direct use."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ArrayClassifier._parameter_constraints,
        "alpha": [Interval(Real, 0, None, closed="left"), "array-like"],
        "fit_prior": ["boolean"],
        "class_prior": ["array-like", dict, None],
        "force_alpha": ["boolean"],
    }

    def _smoothing(self) -> float | Array:
        """alpha as a number or float64 array (n_features,), raised to 1e-10 if requested."""
        alpha: Any = self.alpha
        if not isinstance(alpha, Real):
            alpha = np.array(alpha, dtype=np.float64)  # the user's may change
            if alpha.shape != (self.n_features_in_,):
                raise ValueError(
                    "When alpha is an array, it should contains `n_features`. Got the shape "
                    f"{alpha.shape} for {self.n_features_in_} features: give one value a feature."
                )
            if not (alpha >= 0.0).all() or not np.isfinite(alpha).all():
                j = int(np.flatnonzero(~((alpha >= 0.0) & np.isfinite(alpha)))[0])
                raise ValueError(
                    "All values in alpha must be greater than 0. "
                    f"alpha[{j}] is {alpha[j].item()!r}; 0 is allowed and means no smoothing."
                )
        elif not np.isfinite(float(alpha)):
            raise ValueError(f"alpha must be finite, got {alpha!r}")
        if not self.force_alpha and np.min(alpha) < MIN_ALPHA:
            warn_user(
                f"alpha too small will result in numeric errors, setting alpha = {MIN_ALPHA:.1e}. "
                "Use `force_alpha=True` to keep alpha unchanged.",
                SmoothingWarning,
            )
            alpha = np.maximum(alpha, MIN_ALPHA)
        return alpha if isinstance(alpha, np.ndarray) and alpha.ndim else float(alpha)

    def _declared_smoothing(self) -> float:
        return float(np.max(self.alpha))

    @property
    def class_log_prior_(self) -> Array:
        """log P(c), in nats, float64 (n_classes,)."""
        return self._attribute("class_log_prior_").log_prior.copy()

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.poor_score = True
        return tags
