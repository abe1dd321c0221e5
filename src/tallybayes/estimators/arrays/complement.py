"""Complement naive Bayes, for documents whose classes are of very different sizes."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Tags

from tallybayes.estimators.arrays.discrete import shares_parameters
from tallybayes.estimators.arrays.feature_sums import SumsClassifier
from tallybayes.families.multinomial import Complement

__all__ = ["ComplementNB"]


@shares_parameters
class ComplementNB(SumsClassifier):
    r"""Complement naive Bayes: :mod:`tallybayes.families.multinomial` has the equations.

    Its scores are weights, not a likelihood. The class prior does not enter them, and there is
    neither ``score_samples`` nor ``sample``.

    .. math::

        w_{cj} = -\log \frac{\alpha_j + \sum_{b \neq c} n_{bj}}
                            {\sum_k (\alpha_k + \sum_{b \neq c} n_{bk})}, \qquad
        \text{score}_c = \sum_j x_j w_{cj}

    Parameters
    ----------
    <alpha>
    <force_alpha>
    fit_prior : bool, default=True
        Whether ``class_log_prior_`` is estimated. No score depends on it.
    class_prior : array-like (n_classes,) or dict, optional
        A class prior that no count changes, in the order of the classes or by label. No score
        depends on it.
    norm : bool, default=False
        Divide each class's weights by their sum (Rennie et al., 2003, table 4).
    class_alpha : float, default=0.0
        Smoothing of the estimated class prior.
    class_weight : dict, "balanced" or None, optional
        Weights of rows by label; see :class:`GaussianNB`. They change what the complements hold;
        the class prior, which follows them, enters no score.

    Attributes
    ----------
    classes_, class_count_, class_log_prior_ : arrays (n_classes,)
    feature_all_ : float64 array (n_features,)
    feature_count_, feature_log_prob_ : float64 arrays (n_classes, n_features)
        ``feature_log_prob_`` holds the weights of the complements.
    class_weight_ : dict
        By label, what the weights of rows were multiplied by.
    n_features_in_ : int
    feature_names_in_ : array of str (n_features,)
        Where X had names.
    tally_ : TableTally
    probability_tables_ : dict of frames

    See Also
    --------
    MultinomialNB : A likelihood of the same counts.

    References
    ----------
    Rennie, J. D. M. et al. (2003). Tackling the poor assumptions of naive Bayes text classifiers.
    ICML.

    Examples
    --------
    >>> from tallybayes import ComplementNB
    >>> model = ComplementNB().fit([[2, 1, 0], [0, 1, 3]], ["tea", "coffee"])
    >>> model.predict([[1, 0, 0]]).tolist()
    ['tea']
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SumsClassifier._parameter_constraints,
        "norm": ["boolean"],
    }

    def __init__(
        self,
        *,
        alpha: float | ArrayLike = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: ArrayLike | None = None,
        norm: bool = False,
        class_alpha: float = 0.0,
        class_weight: dict[Any, float] | Literal["balanced"] | None = None,
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.norm = norm
        self.class_alpha = class_alpha
        self.class_weight: dict[Any, float] | Literal["balanced"] | None = class_weight

    def __getattr__(self, name: str) -> Any:
        if name in ("class_conditional_", "class_prior_distribution_", "joint_"):
            raise AttributeError(
                f"ComplementNB has no attribute {name!r}: its scores are weights of what other "
                "classes hold, no likelihood p(x | c), so that there is no joint distribution to "
                "restore. MultinomialNB has one for the same counts."
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _family(self) -> Complement:
        return Complement(alpha=self._smoothing(), norm=self.norm)

    @property
    def feature_all_(self) -> NDArray[np.float64]:
        """Feature sums of all classes, float64 (n_features,)."""
        sums: NDArray[np.float64] = self._attribute("feature_all_").group.sums
        total: NDArray[np.float64] = sums.sum(axis=0)
        return total

    @property
    def feature_log_prob_(self) -> NDArray[np.float64]:
        """Weights −log P(feature | not c), in nats, float64 (n_classes, n_features)."""
        return self._attribute("feature_log_prob_").parameters.weights  # type: ignore[union-attr]

    @property
    def probability_tables_(self) -> dict[str, Any]:
        """The class prior, and the weights with a row a feature, as frames."""
        self._attribute("probability_tables_")
        return {
            "prior": self._prior_table(),
            "weights": self._feature_table(self.feature_log_prob_),
        }

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags
