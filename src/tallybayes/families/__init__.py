"""Likelihoods: what each needs counted, and how its parameters follow from the counts."""

from __future__ import annotations

from tallybayes.families.base import Family
from tallybayes.families.bernoulli import Bernoulli
from tallybayes.families.binned import Binned
from tallybayes.families.categorical import Categorical
from tallybayes.families.class_prior import ClassPrior
from tallybayes.families.column_family import LevelFamily, NumberFamily
from tallybayes.families.complement import Complement
from tallybayes.families.gaussian import Gaussian
from tallybayes.families.multinomial import Multinomial
from tallybayes.families.negative_binomial import NegativeBinomial
from tallybayes.families.number_density import NumberDensity
from tallybayes.families.poisson import Poisson
from tallybayes.families.priors import Beta, Dirichlet
from tallybayes.families.priors_of_numbers import Gamma, NormalInverseGamma
from tallybayes.families.priors_of_vectors import NormalInverseWishart
from tallybayes.families.registry import register_family
from tallybayes.families.smooth import Smooth

__all__ = [
    "Bernoulli",
    "Beta",
    "Binned",
    "Categorical",
    "ClassPrior",
    "Complement",
    "Dirichlet",
    "Family",
    "Gamma",
    "Gaussian",
    "LevelFamily",
    "Multinomial",
    "NegativeBinomial",
    "NormalInverseGamma",
    "NormalInverseWishart",
    "NumberDensity",
    "NumberFamily",
    "Poisson",
    "Smooth",
    "register_family",
]
