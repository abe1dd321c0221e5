"""The distributions of a parameter of one column, before its rows and after them."""

from __future__ import annotations

from typing import NamedTuple

from tallybayes.families.priors.dirichlet import Beta
from tallybayes.families.priors.gamma import Gamma
from tallybayes.families.priors.normal_inverse_gamma import NormalInverseGamma

__all__ = ["ParameterPrior", "PriorAndPosteriors"]

ParameterPrior = Beta | Gamma | NormalInverseGamma


class PriorAndPosteriors(NamedTuple):
    """A parameter of one column.

    A level's probability has a Beta distribution, the marginal of the column's Dirichlet: its mean
    is the Dirichlet's, its mode is not where there are more than two levels. A rate has a Gamma, a
    mean and variance a normal-inverse-gamma distribution.

    Parameters
    ----------
    parameter : str
        What it is.
    prior : Beta, Gamma or NormalInverseGamma
    posteriors : list
        The same of each class, after its rows.
    """

    parameter: str
    prior: ParameterPrior
    posteriors: list[ParameterPrior]
