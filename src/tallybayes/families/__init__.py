"""Likelihoods: what each needs counted, and how its parameters follow from the counts."""

from __future__ import annotations

from tallybayes.families.class_prior import ClassPrior
from tallybayes.families.contract.column_family import LevelFamily, NumberFamily
from tallybayes.families.contract.density import NumberDensity
from tallybayes.families.contract.family import Family
from tallybayes.families.counts.complement import Complement
from tallybayes.families.counts.multinomial import Multinomial
from tallybayes.families.counts.negative_binomial import NegativeBinomial
from tallybayes.families.counts.poisson import Poisson
from tallybayes.families.lookup.bernoulli import Bernoulli
from tallybayes.families.lookup.binned import Binned
from tallybayes.families.lookup.categorical import Categorical
from tallybayes.families.numeric.gaussian import Gaussian
from tallybayes.families.numeric.kernel_density import Smooth
from tallybayes.families.priors.dirichlet import Beta, Dirichlet
from tallybayes.families.priors.gamma import Gamma
from tallybayes.families.priors.normal_inverse_gamma import NormalInverseGamma
from tallybayes.families.priors.normal_inverse_wishart import NormalInverseWishart
from tallybayes.families.registry import register_family
from tallybayes.families.text.text import Text

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
