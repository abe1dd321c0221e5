"""Likelihoods: what each needs counted, and how its parameters follow from the counts."""

from __future__ import annotations

from tallybayes.families.bernoulli import Bernoulli
from tallybayes.families.binned import Binned
from tallybayes.families.categorical import Categorical
from tallybayes.families.class_prior import ClassPrior
from tallybayes.families.contract import Family, LevelFamily, NumberDensity, NumberFamily
from tallybayes.families.gaussian import Gaussian
from tallybayes.families.multinomial import Complement, Multinomial
from tallybayes.families.negative_binomial import NegativeBinomial
from tallybayes.families.poisson import Poisson
from tallybayes.families.priors import (
    Beta,
    Dirichlet,
    Gamma,
    NormalInverseGamma,
    NormalInverseWishart,
)
from tallybayes.families.registry import register_family
from tallybayes.families.smooth import Smooth
from tallybayes.families.text import Text

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
    "Text",
    "register_family",
]
