"""The class prior as bars."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tallybayes.families.priors import Beta, ClassPrior, Gamma, NormalInverseGamma, ParameterPrior
from tallybayes.models.table import TableModel
from tallybayes.plots.data import class_conditional_of, column_named, need_fitted
from tallybayes.plots.style import (
    RIGHT,
    legend,
    looks_of,
    name_axis,
    name_ticks,
    need_axes,
    right_if_wide,
)
from tallybayes.score import ImproperPrior
from tallybayes.tally import ClassCounts
from tallybayes.validation import label_array

__all__ = ["PosteriorDisplay", "PriorDisplay"]


MAX_HORIZONTAL_LABELS = 8  # bars over which numbers stand side by side


class PriorDisplay:
    """The probability of each class before anything is known of a row.

    Parameters
    ----------
    classes : array-like (n_classes,)
        The counts of the classes.
    probabilities : array-like (n_classes,)
        Probabilities to draw.

    Attributes
    ----------
    ax_, figure_
        What it was drawn in.
    bars_ : BarContainer
        A bar a class.

    Examples
    --------
    >>> from tallybayes.plots import PriorDisplay
    >>> PriorDisplay.from_predictions(["ham", "spam"]).probabilities.tolist()
    [0.5, 0.5]
    """

    ax_: Any
    figure_: Any

    def __init__(self, *, classes: ArrayLike, probabilities: ArrayLike) -> None:
        self.classes: NDArray[Any] = np.asarray(classes)
        self.probabilities: NDArray[np.float64] = np.asarray(probabilities, dtype=np.float64)

    def plot(self, ax: Any = None, **bar_kw: Any) -> Self:
        """Draw the bars.

        Parameters
        ----------
        ax : axes, optional
            New ones by default.
        **bar_kw
            For ``ax.bar``.

        Returns
        -------
        self
            The display, with ``figure_`` and ``axes_``.
        """
        ax = need_axes(ax)
        looks = looks_of(len(self.classes))
        places = np.arange(len(self.classes))
        self.bars_: Any = ax.bar(
            places, self.probabilities, **{"color": [look.colour for look in looks], **bar_kw}
        )
        many = len(self.classes) > MAX_HORIZONTAL_LABELS
        numbers = [f"{p:.3f}" for p in self.probabilities]
        ax.bar_label(self.bars_, numbers, padding=2, rotation=90 if many else 0)
        ax.margins(y=0.2 if many else 0.12)
        name_ticks(ax, "x", self.classes.tolist())
        name_axis(ax, "x", "class")
        name_axis(ax, "y", "P(class)")
        legend(ax, self.bars_.patches, self.classes.tolist(), title="class", **RIGHT)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **bar_kw: Any) -> Self:
        """The class prior of a fitted classifier, smoothed or given as it may be.

        Parameters
        ----------
        estimator : fitted classifier of this package
            A fitted model.
        ax : axes, optional
            Where to draw; new axes unless given.
        **bar_kw
            For ``ax.bar``.
        """
        prior = np.exp(need_fitted(estimator)._fitted().log_prior)
        return cls(classes=estimator.classes_, probabilities=prior).plot(ax, **bar_kw)

    @classmethod
    def from_predictions(cls, y: ArrayLike, *, ax: Any = None, **bar_kw: Any) -> Self:
        """How often each label occurs, known or predicted: the prior estimated from labels.

        Parameters
        ----------
        y : array-like (n_rows,)
            Class labels.
        ax : axes, optional
            Where to draw; new axes unless given.
        **bar_kw
            For ``ax.bar``.
        """
        classes, counts = np.unique(label_array(y), return_counts=True)
        prior = np.exp(ClassPrior().log(ClassCounts(counts.astype(np.float64))))
        return cls(classes=classes, probabilities=prior).plot(ax, **bar_kw)


# ---- the prior of a parameter, and its posterior after the rows ----------------------------------
Array = NDArray[np.float64]

N_POINTS = 801
N_DEVIATIONS = 4.5  # standard deviations, or scales, on either side of a mean
GREY = "0.45"


class PosteriorDisplay:
    """The prior of a parameter and its posteriors, as densities.

    Parameters
    ----------
    prior : Beta, Gamma or NormalInverseGamma
        For a NormalInverseGamma the density of the mean is drawn.
    posteriors : mapping
        Distributions of the same kind, by what they are called in the legend.
    likelihood : Beta, Gamma or NormalInverseGamma, optional
        The normalised likelihood of the rows: the posterior under a flat prior.
    estimates : mapping, optional
        Numbers to mark, by name.
    parameter : str
        What the parameter is called.

    Attributes
    ----------
    ax_, figure_
        What it was drawn in.
    x_ : float64 array (n_points,)
        Values of the parameter.
    prior_ : Line2D
    likelihood_ : Line2D or None
    posteriors_ : list of Line2D
    estimates_ : list of Line2D
        A vertical line each.
    legend_ : Legend
    """

    ax_: Any
    figure_: Any

    def __init__(
        self,
        *,
        prior: ParameterPrior,
        posteriors: Mapping[Any, ParameterPrior],
        likelihood: ParameterPrior | None = None,
        estimates: Mapping[str, float] | None = None,
        parameter: str = "θ",
    ) -> None:
        every = [prior, *posteriors.values(), *([] if likelihood is None else [likelihood])]
        if len({type(one) for one in every}) > 1 or not isinstance(
            prior, Beta | Gamma | NormalInverseGamma
        ):
            raise TypeError(
                "prior and posteriors are of one kind, Beta, Gamma or NormalInverseGamma, got "
                f"{', '.join(type(one).__name__ for one in every)}"
            )
        self.prior = prior
        self.posteriors: dict[Any, ParameterPrior] = dict(posteriors)
        self.likelihood = likelihood
        self.estimates: dict[str, float] = dict(estimates or {})
        self.parameter = parameter

    def plot(self, ax: Any = None) -> Self:
        """Draw the densities.

        Parameters
        ----------
        ax : axes, optional
            New ones by default.

        Returns
        -------
        self
            The display, with ``figure_`` and ``axes_``.
        """
        ax = need_axes(ax)
        self.x_: Array = _grid(self.prior, list(self.posteriors.values()))
        looks = looks_of(max(1, len(self.posteriors)))

        def curve(belief: ParameterPrior, **style: Any) -> Any:
            return ax.plot(self.x_, _density(belief, self.x_), **style)[0]

        self.prior_: Any = curve(self.prior, color=GREY, linestyle="--")
        self.likelihood_: Any = None
        names: list[Any] = ["prior"]
        keys = [self.prior_]
        if self.likelihood is not None:
            self.likelihood_ = curve(self.likelihood, color=GREY, linestyle=":")
            keys.append(self.likelihood_)
            names.append("likelihood")
        self.posteriors_: list[Any] = [
            curve(belief, color=look.colour, linestyle=look.line, linewidth=2)
            for belief, look in zip(self.posteriors.values(), looks, strict=True)
        ]
        marks = looks_of(1 + len(self.estimates))[1:]
        self.estimates_: list[Any] = [
            ax.axvline(value, color=look.colour, linestyle=look.line, linewidth=1)
            for value, look in zip(self.estimates.values(), marks, strict=True)
        ]
        keys += [*self.posteriors_, *self.estimates_]
        names += [*self.posteriors, *(f"{k} {v:.3g}" for k, v in self.estimates.items())]
        ax.set_ylim(0.0, None)
        name_axis(ax, "x", self.parameter)
        name_axis(ax, "y", "density")
        self.legend_: Any = legend(ax, keys, names, **right_if_wide(names))
        self.ax_, self.figure_ = ax, ax.figure
        return self

    @classmethod
    def from_estimator(
        cls, estimator: Any, column: Any, level: Any = None, *, ax: Any = None
    ) -> Self:
        """A parameter of one column of a table: the probability of a level, the rate of a Poisson,
        the mean of a Gaussian under a prior; a posterior for each class.

        Parameters
        ----------
        estimator : fitted NaiveBayes
            A fitted model.
        column : name
            The name of the column.
        level : object, optional
            For a column of levels: which one.
        ax : axes, optional
            Where to draw; new axes unless given.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        TypeError
            If it is not a NaiveBayes.
        ValueError
            For a column that is not there or has no proper prior, or a level that it does not have.
        """
        conditional = class_conditional_of(estimator)
        model = estimator._fitted()
        if not isinstance(model, TableModel):
            raise TypeError(
                f"posteriors are drawn of a NaiveBayes, got {type(estimator).__name__}; "
                "PosteriorDisplay.from_counts takes a prior and counts"
            )
        name = column_named(conditional.features, column)
        part = next(r.part for r in model.columns_read if r.name == name)
        try:
            parameter, prior, posteriors = part.prior_and_posteriors(level)
        except ImproperPrior as error:
            raise ValueError(
                f"column {name!r} has no proper prior to draw: {error.instead}"
            ) from None
        by_class = dict(zip(conditional.classes.tolist(), posteriors, strict=True))
        return cls(prior=prior, posteriors=by_class, parameter=parameter).plot(ax)

    @classmethod
    def from_counts(
        cls,
        prior: Beta | Gamma,
        counts: Sequence[float],
        *,
        parameter: str = "θ",
        ax: Any = None,
    ) -> Self:
        """The prior, the likelihood and the posterior after some counts, and the estimates:
        maximum likelihood, the posterior's mode where it has one, and its mean.

        Parameters
        ----------
        prior : Beta or Gamma
            The prior distribution.
        counts : sequence of two
            Of a Beta, rows of yes and of no; of a Gamma, events and rows.
        parameter : str
            The parameter's name.
        ax : axes, optional
            Where to draw; new axes unless given.

        Raises
        ------
        TypeError
            For another prior.
        ValueError
            For counts that are not two numbers from 0 on.
        """
        if not isinstance(prior, Beta | Gamma):
            raise TypeError(f"from_counts takes a Beta or a Gamma, got {type(prior).__name__}")
        if len(counts) != 2:
            raise ValueError(
                f"counts are two: yes and no of a Beta, events and rows of a Gamma, got {counts!r}"
            )
        first, second = counts
        posterior = prior.updated(first, second)
        likelihood: ParameterPrior | None = None
        estimates: dict[str, float] = {}
        if isinstance(prior, Beta):
            likelihood = Beta(1.0, 1.0).updated(first, second)
        elif second > 0:
            likelihood = Gamma(1.0 + first, second)
        if second > 0 or (isinstance(prior, Beta) and first > 0):
            assert likelihood is not None
            estimates["MLE"] = likelihood.mode  # type: ignore[union-attr]
        with contextlib.suppress(ValueError):  # it may have none
            estimates["MAP"] = posterior.mode
        estimates["mean"] = posterior.mean
        return cls(
            prior=prior,
            posteriors={"posterior": posterior},
            likelihood=likelihood,
            estimates=estimates,
            parameter=parameter,
        ).plot(ax)


def _density(belief: ParameterPrior, x: Array) -> Array:
    if isinstance(belief, NormalInverseGamma):
        return belief.density_of_mean(x)
    with np.errstate(divide="ignore", over="ignore"):
        height = belief.density(x)
    return np.where(np.isfinite(height), height, np.nan)  # without bound at an end


def _ends(belief: ParameterPrior) -> tuple[float, float]:
    if isinstance(belief, NormalInverseGamma):
        wide = N_DEVIATIONS * float(np.sqrt(belief.scale / (belief.shape * belief.strength)))
        return belief.mean - wide, belief.mean + wide
    assert isinstance(belief, Gamma)
    return 0.0, belief.mean + N_DEVIATIONS * float(np.sqrt(belief.shape)) / belief.rate


def _grid(prior: ParameterPrior, posteriors: Sequence[ParameterPrior]) -> Array:
    """Where the posteriors are, with the prior's mean; from 0 to 1 for probabilities."""
    if isinstance(prior, Beta):
        return np.linspace(0.0, 1.0, N_POINTS)
    ends = [_ends(one) for one in posteriors or [prior]]
    low = min([prior.mean, *(low for low, _ in ends)])
    high = max([prior.mean, *(high for _, high in ends)])
    return np.linspace(low, high, N_POINTS)
