"""A weighting as a model file holds it: plain values for the header, and arrays."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.estimators.file_tallies import labels
from tallybayes.estimators.weighting import Figures, Weighting
from tallybayes.persistence.checks import (
    Check,
    anything,
    array,
    each,
    flag,
    mapping,
    need,
    number,
    one_of,
    optional,
    record,
    text,
    unique,
    whole,
)
from tallybayes.weighted.cells import ColumnCells
from tallybayes.weighted.learned import Learned
from tallybayes.weighted.pair_terms import PairTerm
from tallybayes.weighted.tables import TableChoice
from tallybayes.weighted.terms import Weights

__all__ = ["plain_weighting", "restored_weighting"]

Arrays = dict[str, NDArray[Any]]

PREFIX = "weighting."  # of the names of its arrays

LARGEST = 1e100
"""Weights, offsets and counts of a weighting beyond this are damage; products stay finite."""
FINITE = float(np.finfo(np.float64).max)
SMALLEST = 1e-300
"""Counts of a pair are above 0: their logarithm is taken."""


def plain_weighting(weighting: Weighting) -> tuple[dict[str, Any], Arrays]:
    """Header and arrays of a weighting."""
    learned = weighting.learned
    weights = learned.weights
    arrays: Arrays = {
        "weighting.terms": weights.terms,
        "weighting.deviations": weights.deviations,
        "weighting.offsets": weights.offsets,
        "weighting.offset": learned.offset,
        "weighting.shift": weighting.shift,
        "weighting.apart": weighting.apart,
    }
    for j, column in enumerate(learned.columns):
        if column.edges is not None:
            arrays[f"weighting.edges{j}"] = column.edges
    for i, pair in enumerate(learned.pairs):
        arrays[f"weighting.counted{i}"] = pair.counted
        arrays[f"weighting.expected{i}"] = pair.expected
        arrays[f"weighting.first{i}"], arrays[f"weighting.second{i}"] = pair.maps
    for r, then in enumerate(learned.rounds):
        arrays[f"weighting.round{r}.terms"] = then.terms
        arrays[f"weighting.round{r}.deviations"] = then.deviations
        arrays[f"weighting.round{r}.offsets"] = then.offsets
    for t, table in enumerate(learned.tables):
        arrays[f"weighting.table{t}"] = table
    for t, more in enumerate(learned.corrections or []):
        arrays[f"weighting.correction{t}"] = more
    header = {
        "classes": weighting.classes,
        "figures": asdict(weighting.figures),
        "out": weighting.out,
        "unit": weighting.unit,
        "scale": weights.scale,
        "round_scales": [then.scale for then in learned.rounds],
        "corrected": learned.corrections is not None,
        "duplicates": learned.duplicates,
        "nearly": learned.nearly,
        "columns": [[column.name, column.levels] for column in learned.columns],
        "choices": [asdict(choice) for choice in learned.choices],
        "pairs": [[p.first, p.second, *p.sizes, p.gain, p.round] for p in learned.pairs],
    }
    return header, arrays


FIGURES = record(
    {
        "rows": number(0.0),
        "log_loss": number(),
        "accuracy": number(),
        "prior_log_loss": number(),
        "price": optional(number()),
    }
)
CHOICE = record(
    {
        "kernel": one_of("none", "cells", "rank"),
        "width": number(above=0.0),
        "strength": number(above=0.0),
    }
)


HEADER = record(
    {
        "classes": labels,
        "figures": FIGURES,
        "out": mapping(text, text),
        "unit": number(above=0.0),
        "scale": number(),
        "round_scales": each(number()),
        "corrected": flag,
        "duplicates": mapping(whole(), whole()),
        "nearly": mapping(whole(), whole()),
        "columns": each(anything),
        "choices": each(CHOICE),
        "pairs": each(anything),
    },
    {"unit": 1.0},  # of files of 0.1.0, which took weights as rows
)


class _Held:
    """The arrays of a weighting, each checked as it is taken."""

    def __init__(self, arrays: Arrays) -> None:
        self._arrays = {
            k.removeprefix(PREFIX): v for k, v in arrays.items() if k.startswith(PREFIX)
        }

    def __contains__(self, name: str) -> bool:
        return name in self._arrays

    def take(self, name: str, *shape: int, least: float = -LARGEST) -> NDArray[Any]:
        """Float64 of this shape, within what exponentials and products bear."""
        return self._checked(array("f8", *shape, least=least, most=LARGEST), name)

    def edges(self, name: str) -> NDArray[Any]:
        """Edges of cells: any finite numbers that ascend, as those of the column are only
        compared with them."""
        edges = self._checked(array("f8", -1, least=-FINITE, most=FINITE), name)
        need(bool((edges[1:] > edges[:-1]).all()), f"weighting.{name} ascends")
        return edges

    def cells(self, name: str, n_cells: int, size: int) -> NDArray[Any]:
        """int32 (n_cells,): of each cell, a coarser one below `size`."""
        return self._checked(array("i4", n_cells, least=0, most=size - 1), name)

    def _checked(self, check: Check, name: str) -> NDArray[Any]:
        need(name in self._arrays, f"the file lacks weighting.{name}")
        return check(self._arrays[name], f"weighting.{name}")  # type: ignore[no-any-return]


def _column(given: Any, held: _Held, j: int, n_classes: int) -> ColumnCells:
    where = f"weighting.columns[{j}]"
    name, levels = each(anything, length=2)(given, where)
    text(name, where)
    edges = None
    if levels is None or f"edges{j}" in held:
        edges = held.edges(f"edges{j}")
    optional(unique(each(text)))(levels, where)
    n_cells = len(levels or []) + (0 if edges is None else len(edges) + 1) + 1
    counts = np.zeros((n_cells, n_classes))
    return ColumnCells(name=name, counts=counts, edges=edges, levels=levels)


def _pair(
    given: Any, held: _Held, i: int, columns: list[ColumnCells], rounds: int, n_classes: int
) -> PairTerm:
    where = f"weighting.pairs[{i}]"
    first, second, rows, cols, gain, round = each(anything, length=6)(given, where)
    for column in (first, second):
        whole(0, len(columns) - 1)(column, where)
    need(first != second, f"{where} is of two columns")
    a, b = columns[first].n_cells, columns[second].n_cells
    whole(1, a)(rows, where), whole(1, b)(cols, where)
    number()(gain, where), whole(0, rounds)(round, where)
    return PairTerm(
        first,
        second,
        (held.cells(f"first{i}", a, rows), held.cells(f"second{i}", b, cols)),
        (rows, cols),
        held.take(f"counted{i}", rows * cols, n_classes, least=SMALLEST),
        held.take(f"expected{i}", rows * cols, n_classes, least=SMALLEST),
        gain,
        round,
    )


def _weights(held: _Held, prefix: str, n_terms: int, n_classes: int, scale: float) -> Weights:
    return Weights(
        held.take(f"{prefix}terms", n_terms),
        held.take(f"{prefix}deviations", n_classes, -1 if n_terms < 0 else n_terms),
        held.take(f"{prefix}offsets", n_classes),
        scale,
    )


def restored_weighting(given: Any, arrays: Arrays) -> Weighting:
    """The inverse of :func:`plain_weighting`.

    Raises
    ------
    Unfit
        Where its parts do not fit each other.
    """
    header, held = HEADER(given, "weighting"), _Held(arrays)
    n_classes, n_rounds = len(header["classes"]), len(header["round_scales"])
    columns = [_column(c, held, j, n_classes) for j, c in enumerate(header["columns"])]
    names = [column.name for column in columns]
    need(len(set(names)) == len(names), "weighting.columns names no column twice")
    need(len(header["choices"]) == len(columns), "weighting has a choice for each column")
    pairs = [_pair(p, held, i, columns, n_rounds, n_classes) for i, p in enumerate(header["pairs"])]
    for key, other in (*header["duplicates"].items(), *header["nearly"].items()):
        need(max(key, other) < len(columns), "weighting names the columns that there are")
    sizes = [column.n_cells for column in columns] + [
        pair.sizes[0] * pair.sizes[1] for pair in pairs
    ]
    tables = [held.take(f"table{t}", size, n_classes) for t, size in enumerate(sizes)]
    corrections = None
    if header["corrected"]:
        corrections = [held.take(f"correction{t}", size, n_classes) for t, size in enumerate(sizes)]
    rounds = []
    for r, scale in enumerate(header["round_scales"]):
        taken = len(columns) + sum(pair.round < r for pair in pairs)
        rounds.append(_weights(held, f"round{r}.", taken, n_classes, scale))
    learned = Learned(
        columns=columns,
        choices=[TableChoice(**choice) for choice in header["choices"]],
        pairs=pairs,
        rounds=rounds,
        weights=_weights(held, "", len(sizes), n_classes, header["scale"]),
        corrections=corrections,
        tables=tables,
        offset=held.take("offset", n_classes),
        tested=np.arange(0),
        log_proba=np.zeros((0, n_classes)),
        duplicates=header["duplicates"],
        nearly=header["nearly"],
    )
    return Weighting(
        learned=learned,
        classes=header["classes"],
        shift=held.take("shift", n_classes),
        apart=held.take("apart", len(sizes)),
        figures=Figures(**header["figures"]),
        out=header["out"],
        unit=header["unit"],
    )
