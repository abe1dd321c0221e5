"""Likelihoods: what each needs counted, and how its parameters follow from the counts.

Names are loaded on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

_HOME = {
    "Bernoulli": "tallybayes.families.bernoulli",
    "Beta": "tallybayes.families.priors",
    "Binned": "tallybayes.families.binned",
    "Categorical": "tallybayes.families.categorical",
    "ClassPrior": "tallybayes.families.priors",
    "Complement": "tallybayes.families.multinomial",
    "Dirichlet": "tallybayes.families.priors",
    "Family": "tallybayes.families.contract",
    "Gamma": "tallybayes.families.priors",
    "Gaussian": "tallybayes.families.gaussian",
    "LevelFamily": "tallybayes.families.contract",
    "Multinomial": "tallybayes.families.multinomial",
    "NegativeBinomial": "tallybayes.families.negative_binomial",
    "NormalInverseGamma": "tallybayes.families.priors",
    "NormalInverseWishart": "tallybayes.families.priors",
    "NumberDensity": "tallybayes.families.contract",
    "NumberFamily": "tallybayes.families.contract",
    "NumberLaw": "tallybayes.score",
    "Poisson": "tallybayes.families.poisson",
    "Smooth": "tallybayes.families.binned",
    "Text": "tallybayes.families.text",
    "family_names": "tallybayes.families.registry",
    "family_of_text": "tallybayes.families.named",
    "register_family": "tallybayes.families.registry",
}

__all__ = sorted(_HOME)

if TYPE_CHECKING:
    from tallybayes.families.bernoulli import Bernoulli as Bernoulli
    from tallybayes.families.binned import Binned as Binned
    from tallybayes.families.binned import Smooth as Smooth
    from tallybayes.families.categorical import Categorical as Categorical
    from tallybayes.families.contract import Family as Family
    from tallybayes.families.contract import LevelFamily as LevelFamily
    from tallybayes.families.contract import NumberDensity as NumberDensity
    from tallybayes.families.contract import NumberFamily as NumberFamily
    from tallybayes.families.gaussian import Gaussian as Gaussian
    from tallybayes.families.multinomial import Complement as Complement
    from tallybayes.families.multinomial import Multinomial as Multinomial
    from tallybayes.families.named import family_of_text as family_of_text
    from tallybayes.families.negative_binomial import NegativeBinomial as NegativeBinomial
    from tallybayes.families.poisson import Poisson as Poisson
    from tallybayes.families.priors import Beta as Beta
    from tallybayes.families.priors import ClassPrior as ClassPrior
    from tallybayes.families.priors import Dirichlet as Dirichlet
    from tallybayes.families.priors import Gamma as Gamma
    from tallybayes.families.priors import NormalInverseGamma as NormalInverseGamma
    from tallybayes.families.priors import NormalInverseWishart as NormalInverseWishart
    from tallybayes.families.registry import family_names as family_names
    from tallybayes.families.registry import register_family as register_family
    from tallybayes.families.text import Text as Text
    from tallybayes.score import NumberLaw as NumberLaw


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'tallybayes.families' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
