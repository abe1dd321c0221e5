"""What a model believes of a parameter of one column, before its rows and after them.

A level's probability has a Beta distribution, the marginal of the column's Dirichlet: its mean is
the Dirichlet's, its mode is not where there are more than two levels. A rate has a Gamma, a mean
and variance a normal-inverse-gamma distribution.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallybayes.engines.table_parts import CountsPart, DensityPart, LevelsPart
from tallybayes.estimators.table_model import TableModel
from tallybayes.families import Bernoulli, Beta, Categorical, Gamma, NormalInverseGamma
from tallybayes.families.densities import GaussianDensity
from tallybayes.families.poisson import PoissonDensity
from tallybayes.families.pooled import Pooled

__all__ = ["Belief", "Beliefs", "beliefs_of"]

Belief = Beta | Gamma | NormalInverseGamma


class Beliefs(NamedTuple):
    """A parameter of one column.

    Parameters
    ----------
    parameter : str
        What it is.
    prior : Beta, Gamma or NormalInverseGamma
    posteriors : list
        The same of each class, after its rows.
    """

    parameter: str
    prior: Belief
    posteriors: list[Belief]


def beliefs_of(model: TableModel, column: str, level: Any = None) -> Beliefs:
    """The prior and the posteriors of a parameter.

    Parameters
    ----------
    model : TableModel
    column : str
        One that counts.
    level : object, optional
        For a column of levels: which one.

    Raises
    ------
    ValueError
        For a column without a proper prior, or a level that it does not have.
    """
    part = next(r.part for r in model.columns_read if r.name == column)
    if isinstance(part, LevelsPart):
        return _of_level(model, part, level)
    if level is not None:
        raise ValueError(f"column {column!r} has no levels: leave level= out")
    if isinstance(part, DensityPart) and isinstance(part.density, PoissonDensity):
        return _of_rate(part.density, column)
    if isinstance(part, DensityPart) and isinstance(part.density, Pooled):
        return _of_mean(part.density.density, column)
    if isinstance(part, DensityPart) and isinstance(part.density, GaussianDensity):
        return _of_mean(part.density, column)
    what = "a group of counts" if isinstance(part, CountsPart) else "read in bins"
    raise ValueError(
        f"column {column!r} is {what}: parameters are drawn of levels, of Poisson() and of "
        "Gaussian(prior=NormalInverseGamma(…))"
    )


def _improper(column: str, instead: str) -> ValueError:
    return ValueError(f"column {column!r} has no proper prior to draw: {instead}")


def _of_level(model: TableModel, part: LevelsPart, level: Any) -> Beliefs:
    names = list(part.levels)
    if str(level) not in names:
        raise ValueError(f"column {part.name!r} has the levels {names}: name one, got {level!r}")
    family = model.reading.declared.families.get(part.name)
    family = family or Categorical(estimate=model.reading.estimate)
    law: Any = part.law
    one_to_come = isinstance(family, Bernoulli) and len(names) < 2
    cells = law.counts.shape[1] - (not one_to_come)  # the last cell is for levels never seen
    # under "map" the law holds what is added to counts, one less than the prior has
    added = law.strength * law.base_with_all()[:cells] + float(family.estimate == "map")
    j = names.index(str(level)) + part.has_gap
    if not (added[j] > 0.0 and added.sum() > added[j]):
        raise _improper(part.name, "give an alpha above 0, and two levels")
    prior = Beta(float(added[j]), float(np.delete(added, j).sum()))
    counts: NDArray[np.float64] = law.counts
    blank = law.total == 0.0  # such a class is like all classes together
    counts = np.where(blank, counts.sum(axis=0), counts)
    posteriors = [prior.updated(k[j], np.delete(k, j).sum()) for k in counts]
    return Beliefs(f"P({part.name} = {level} | class)", prior, list(posteriors))


def _of_rate(density: PoissonDensity, column: str) -> Beliefs:
    prior = density.family.prior
    shapes, rates = density.posterior
    if prior is None:
        rows, events = float(density.n.sum()), float(density.total.sum())
        overall = events / rows if rows and events else 1.0
        if not density.alpha > 0.0:
            raise _improper(column, "give Poisson an alpha above 0, or a Gamma prior")
        # under "map" alpha is short for the prior's mode, and the density holds one less
        more = float(density.family.estimate == "map")
        prior = Gamma(density.alpha * overall + more, density.alpha)
        shapes = shapes + more
    posteriors: list[Belief] = [
        Gamma(float(a), float(b)) for a, b in zip(shapes, rates, strict=True)
    ]
    return Beliefs(f"rate of {column}", prior, posteriors)


def _of_mean(density: GaussianDensity, column: str) -> Beliefs:
    prior = density.family.prior
    if not isinstance(prior, NormalInverseGamma):
        raise _improper(column, "declare Gaussian(prior=NormalInverseGamma(…)) for it")
    each = np.broadcast_arrays(*prior.posterior(*density.own))
    of_classes = zip(*(part.tolist() for part in each), strict=True)
    posteriors: list[Belief] = [NormalInverseGamma(*four) for four in of_classes]
    scale = "" if density.transform is None else f" after {density.transform}"
    return Beliefs(f"mean of {column}{scale}", prior, posteriors)
