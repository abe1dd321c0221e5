"""How the tally of a table is read: the family of each column, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.engines.table_score import BinsPart, GaussianPart, LevelsPart, Part, PoissonPart
from tallybayes.errors import warn_user
from tallybayes.families import Bernoulli, Binned, Categorical, Gaussian, Poisson, Smooth
from tallybayes.families.binned import BinnedTable
from tallybayes.families.choice import GaussianReading, choose, gaussian_reading
from tallybayes.parameters import Unseen
from tallybayes.schema import Schema
from tallybayes.tally import GridCounts, LevelCounts, Moments, TableTally

__all__ = ["IDENTIFIER_ROWS", "ColumnReading", "read_columns"]

Array = NDArray[np.float64]

IDENTIFIER_ROWS = 50
"""From so many rows on, a column of all-different texts is an identifier and left out."""


@dataclass(frozen=True, eq=False)
class ColumnReading:
    """One column as the model reads it.

    Parameters
    ----------
    name : str
    holds : str
        "texts", "numbers" or "nothing yet".
    family : str
    why : str
    part : Part or None
        None for a column that does not count.
    """

    name: str
    holds: str
    family: str
    why: str
    part: Part | None


def _gap_scores(gaps: Array, there: Array, alpha: float, missing: str) -> tuple[Array, Array]:
    """What a gap and a value say by themselves, (n_classes,): nothing, unless gaps are a level."""
    if missing == "ignore":
        nothing = np.zeros(len(gaps))
        return nothing, nothing
    total = gaps + there
    blank = total == 0.0
    gaps, there = np.where(blank, gaps.sum(), gaps), np.where(blank, there.sum(), there)
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = np.log(gaps + there + 2.0 * alpha)
        scores = np.log(gaps + alpha) - scale, np.log(there + alpha) - scale
    return scores[0], scores[1]


def _levels(
    name: str,
    levels: list[str],
    tally: LevelCounts,
    rows: Array,
    family: Categorical,
    unseen: Unseen,
    missing: str,
    why: str,
) -> ColumnReading:
    counts = tally.counts
    if missing == "level":
        gaps = np.maximum(rows - counts.sum(axis=1), 0.0)
        counts = np.concatenate([gaps[:, None], counts], axis=1)
    column = LevelCounts(np.array([0, counts.shape[1]]), np.ascontiguousarray(counts))
    lookup = family.estimate(column, None)  # type: ignore[arg-type]
    table = lookup.table
    if missing != "level":
        table = np.concatenate([np.zeros((len(table), 1)), table], axis=1)
    part = LevelsPart(name=name, table=table, levels=levels, unseen=unseen)
    return ColumnReading(name, "texts", f"categorical, {len(levels)} levels", why, part)


def _is_identifier(tally: LevelCounts) -> bool:
    weight = tally.counts.sum(axis=0)
    return len(weight) >= IDENTIFIER_ROWS and bool((weight <= 1.0).all())


def _numbers(
    name: str,
    moments: Moments,
    grid: GridCounts,
    family: Any,
    classes: Array,
    rows: Array,
    alpha: float,
    missing: str,
) -> ColumnReading:
    there = grid.counts.sum(axis=1)
    gap, value = _gap_scores(rows - there, there, alpha, missing)
    if isinstance(family, Poisson):
        rate = family.rates(moments, alpha)
        poisson = PoissonPart(name=name, rate=rate, gap=gap, there=value)
        return ColumnReading(name, "numbers", "Poisson", "declared", poisson)
    if family is None:
        reading = choose(moments, grid, classes, alpha)
        per_row = reading.likelihood / max(float(there.sum()), 1e-300)
        why = f"best by leave-one-out ({per_row:.4f} nats a row)"
    else:
        why = "declared"
        if isinstance(family, Gaussian):
            reading = gaussian_reading(family, moments, grid, classes)
        else:
            reading = family.read(grid, classes, alpha)
    if isinstance(reading, GaussianReading):
        gaussian = GaussianPart(
            name=name, mean=reading.mean, variance=reading.variance, gap=gap, there=value
        )
        return ColumnReading(name, "numbers", "Gaussian", why, gaussian)
    assert isinstance(reading, BinnedTable)
    table = np.concatenate([gap[:, None], reading.log_prob + value[:, None]], axis=1)
    bins = BinsPart(name=name, table=np.ascontiguousarray(table), edges=reading.edges)
    kind = "smooth density" if "width" in reading.what else "binned"
    return ColumnReading(name, "numbers", f"{kind}, {reading.what}", why, bins)


def read_columns(
    tally: TableTally,
    names: list[str],
    families: Mapping[str, Any],
    *,
    classes: Array,
    alpha: float,
    unseen: Unseen,
    missing: str,
) -> list[ColumnReading]:
    """Each column's family and parameters, in the order of `names`.

    Parameters
    ----------
    tally : TableTally
        With a schema that joins by name.
    names : list of str
        All columns, those without a value too.
    families : mapping
        Declared families by name; None leaves the column out, and a column that is not named is
        chosen for.
    classes : float64 array (n_classes,)
        Class counts, smoothed as the class prior is.
    alpha : float
    unseen : {"smooth", "ignore", "error"}
    missing : {"ignore", "level"}
    """
    schema: Schema = tally.schema
    here = {c.key: (c, t) for c, t in zip(schema.groups, tally.groups, strict=True)}
    readings = []
    for name in names:
        declared = name in families
        family = families.get(name)
        if declared and family is None:
            readings.append(ColumnReading(name, "anything", "left out", "declared", None))
            continue
        if ((name,), "levels") in here:
            columns, counts = here[(name,), "levels"]
            assert isinstance(counts, LevelCounts)
            assert columns.levels is not None
            if not declared and _is_identifier(counts):
                warn_user(
                    f"column {name!r} is left out: its {int(counts.counts.sum())} texts are "
                    "all different, as an identifier's are. Declare a family for it in columns= to "
                    "use it, or columns={...: None} to silence this",
                )
                readings.append(
                    ColumnReading(name, "texts", "left out", "all texts are different", None)
                )
                continue
            strength = getattr(family, "alpha", None) if declared else None
            spec = Categorical(alpha if strength is None else float(strength), unseen)
            why = "declared" if declared else "texts are levels"
            readings.append(
                _levels(
                    name,
                    columns.levels[0].tolist(),
                    counts,
                    tally.classes.count,
                    spec,
                    unseen,
                    missing,
                    why,
                )
            )
        elif ((name,), "grid") in here:
            moments, grid = here[(name,), "moments"][1], here[(name,), "grid"][1]
            assert isinstance(moments, Moments)
            assert isinstance(grid, GridCounts)
            readings.append(
                _numbers(name, moments, grid, family, classes, tally.classes.count, alpha, missing)
            )
        else:
            readings.append(
                ColumnReading(name, "nothing yet", "left out", "no value was seen", None)
            )
    return readings


TEXT_FAMILIES = (Categorical, Bernoulli)
NUMBER_FAMILIES = (Gaussian, Poisson, Binned, Smooth)
