"""The smooth functions of a weighted model as a model file holds them."""

from __future__ import annotations

from typing import Any

from tallybayes.estimators.persistence.held_arrays import PREFIX, Arrays, HeldArrays, pair_cells
from tallybayes.persistence import anything, each, need, number
from tallybayes.weighted.cells import ColumnCells
from tallybayes.weighted.pairs import SmoothPair
from tallybayes.weighted.splines import SmoothTables

__all__ = ["SMOOTH", "SMOOTH_HEADER", "plain_smooth", "restored_smooth"]

SMOOTH = f"{PREFIX}smooth."  # of the names of its arrays
SMOOTH_HEADER = {"share": number(0.0), "pairs": each(anything)}


def plain_smooth(smooth: SmoothTables) -> tuple[dict[str, Any], Arrays]:
    """Header and arrays of the smooth functions."""
    arrays: Arrays = {f"{SMOOTH}offset": smooth.offset}
    for j, table in enumerate(smooth.columns):
        arrays[f"{SMOOTH}column{j}"] = table
    for i, pair in enumerate(smooth.pairs):
        arrays[f"{SMOOTH}pair{i}"] = pair.table
        arrays[f"{SMOOTH}first{i}"], arrays[f"{SMOOTH}second{i}"] = pair.maps
    pairs = [[p.first, p.second, *p.sizes] for p in smooth.pairs]
    return {"share": smooth.share, "pairs": pairs}, arrays


def restored_smooth(
    given: dict[str, Any] | None, held: HeldArrays, columns: list[ColumnCells], n_classes: int
) -> SmoothTables | None:
    """The smooth functions, where the file has some."""
    if given is None:
        return None
    need(given["share"] < 1.0, "weighting.smooth.share is below 1")
    pairs = []
    for i, pair in enumerate(given["pairs"]):
        first, second, *sizes = each(anything, length=4)(pair, f"{SMOOTH}pairs[{i}]")
        cells = pair_cells(held, i, columns, first, second, sizes)
        table = held.take(f"pair{i}", cells.n_cells, n_classes)
        pairs.append(SmoothPair(first, second, cells.maps, cells.sizes, table))
    together = {frozenset((pair.first, pair.second)) for pair in pairs}
    need(len(together) == len(pairs), f"{SMOOTH}pairs has each two columns once")
    return SmoothTables(
        given["share"],
        held.take("offset", n_classes),
        [held.take(f"column{j}", column.n_cells, n_classes) for j, column in enumerate(columns)],
        pairs,
    )
