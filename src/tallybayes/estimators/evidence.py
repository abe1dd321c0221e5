"""The evidence of a table: log P(labels) + Σ_j log p(column j | labels), parameters integrated out.

Every term has a closed form: the Dirichlet-multinomial (class counts, levels, bins, groups of
counts), Gamma-Poisson and normal-inverse-gamma. By the chain rule it is the sum of the logarithms
with which each row, in turn, is predicted by the rows before it. MacKay (2003), chapter 28.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlogy

from tallybayes.engines.table_correlated import CorrelatedPart
from tallybayes.engines.table_parts import BinsPart, CountsPart, DensityPart, LevelsPart
from tallybayes.estimators.table_model import TableModel
from tallybayes.families import Bernoulli, Categorical
from tallybayes.families.densities import GaussianDensity
from tallybayes.families.poisson import PoissonDensity
from tallybayes.families.pooled import Pooled
from tallybayes.families.rising import log_counts_evidence
from tallybayes.families.strength import class_evidence, log_evidence
from tallybayes.parameters import Density
from tallybayes.tally import GridCounts

__all__ = ["table_evidence"]

Array = NDArray[np.float64]


def table_evidence(model: TableModel) -> float:
    """log P of everything that was counted, in nats.

    Raises
    ------
    AttributeError
        Where a column, or the class prior, has no proper prior.
    """
    if not len(model.schema.classes):  # everything was forgotten: nothing is to be explained
        return 0.0
    total = _of_classes(model)
    read = {id(r.part): r.part for r in model.columns_read if r.part is not None}
    for part in read.values():
        if isinstance(part, CountsPart):
            total += _of_counts(part)
        elif isinstance(part, DensityPart):
            total += _of_density(part, model)
        elif isinstance(part, CorrelatedPart):
            total += _of_correlated(part)
        elif isinstance(part, LevelsPart):
            total += _of_levels(part, model)
        else:
            total += _of_bins(part)
        if isinstance(part, BinsPart | DensityPart) and part.kinds is not None:
            kinds: Any = part.kinds.law
            _need_smoothing(part.name, kinds.strength)
            total += log_evidence(kinds.counts, kinds)
    return total


def _improper(what: str, instead: str) -> AttributeError:
    return AttributeError(
        f"log_evidence_ needs a proper prior of every column, but {what}: {instead}"
    )


def _of_classes(model: TableModel) -> float:
    count = model.tally.classes.count
    if model.prior.given is not None:
        return float(xlogy(count, model.prior.given).sum())
    alpha = model.prior.strength(model.tally.classes)
    if alpha == 0.0:
        raise _improper("the class prior is not smoothed", "give class_alpha above 0")
    return class_evidence(count, alpha)


def _of_levels(part: LevelsPart, model: TableModel) -> float:
    """The law holds what is added to counts; under "map" that is one less than the prior has."""
    family = model.reading.declared.families.get(part.name)
    family = family or Categorical(estimate=model.reading.estimate)
    law: Any = part.law
    if family.estimate != "map":
        _need_smoothing(part.name, law.strength)
        return log_evidence(law.counts, law)
    one_to_come = isinstance(family, Bernoulli) and len(part.levels) < 2
    n = law.counts.shape[1] - (not one_to_come)  # the last cell is for levels never seen
    concentration = law.strength * law.base_with_all()[:n] + 1.0
    return float(log_counts_evidence(concentration, law.counts[:, :n]).sum())


def _need_smoothing(name: str, strength: float) -> None:
    if strength == 0.0:
        raise _improper(
            f"column {name!r} is not smoothed",
            "give an alpha above 0, or declare Categorical(prior=Dirichlet(…))",
        )


def _of_bins(part: BinsPart) -> float:
    """Of the bin that each value is in, not of its place in the bin."""
    law: Any = part.law
    if law.base is None:
        raise _improper(
            f"column {part.name!r} is read as a smoothed density",
            "declare Binned() or Gaussian(prior=NormalInverseGamma(…)) for it",
        )
    _need_smoothing(part.name, law.strength)
    return log_evidence(law.counts, law)


def _of_density(part: DensityPart, model: TableModel) -> float:
    density: Density = part.density
    grid = _grid(part.name, model)
    rows = grid.counts.sum(axis=0)
    if isinstance(density, Pooled):
        if len(density.atoms):
            raise _improper(
                f"column {part.name!r} is read as a density beside atoms",
                "declare Binned() or Gaussian(prior=NormalInverseGamma(…)) for it",
            )
        density = density.density
    if isinstance(density, GaussianDensity):
        if density.family.prior is None:
            raise _improper(
                f"column {part.name!r} is read as a Gaussian without a prior",
                "declare Gaussian(prior=NormalInverseGamma(…)), or let alpha='auto' with "
                "criterion='evidence' choose one",
            )
        if density.transform is None:
            return density.log_evidence()
        return density.log_evidence() + float(
            (rows * density.transform.log_slope(grid.values())).sum()
        )
    assert isinstance(density, PoissonDensity)
    if density.family.prior is None and density.alpha == 0.0:
        raise _improper(
            f"column {part.name!r} is read as Poisson without a prior",
            "declare Poisson(prior=Gamma(…)), or give an alpha above 0",
        )
    return density.log_evidence() - float((rows * gammaln(grid.values() + 1.0)).sum())


def _of_correlated(part: CorrelatedPart) -> float:
    """Of the rows that have all columns of the group."""
    group: Any = part.correlated
    if group.family.prior is None:
        raise _improper(
            f"the group {part.columns!r} is read as a Gaussian without a prior",
            "declare Gaussian(covariance='full', prior=NormalInverseWishart(…))",
        )
    return float(group.log_evidence())


def _grid(name: str, model: TableModel) -> GridCounts:
    for columns, tally in zip(model.tally_read.schema.groups, model.tally_read.groups, strict=True):
        if columns.key == ((name,), "grid"):
            assert isinstance(tally, GridCounts)
            return tally
    raise AssertionError(f"{name!r} has no grid")


def _of_counts(part: CountsPart) -> float:
    """Of one sequence of words in each class: no multinomial coefficient."""
    counts: Any = part.counts
    added = np.broadcast_to(counts.alpha, (len(part.columns),)) + (counts.family.estimate == "map")
    if not (added > 0.0).all():
        raise _improper(
            f"the group {part.columns!r} is not smoothed",
            "give an alpha above 0, or declare Multinomial(prior=Dirichlet(…))",
        )
    return float(log_counts_evidence(added, counts.sums).sum())
