"""A weighting as a model file holds it: plain values for the header, and arrays."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.estimators.weighting import Figures, Weighting
from tallybayes.weighted.cells import ColumnCells
from tallybayes.weighted.learned import Learned
from tallybayes.weighted.pair_terms import PairTerm
from tallybayes.weighted.tables import TableChoice
from tallybayes.weighted.terms import Weights

__all__ = ["plain_weighting", "restored_weighting"]

Arrays = dict[str, NDArray[Any]]


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


def restored_weighting(header: dict[str, Any], arrays: Arrays) -> Weighting:
    """The inverse of :func:`plain_weighting`."""
    held = {k.removeprefix("weighting."): v for k, v in arrays.items()}
    n_classes = len(held["offset"])
    columns = []
    for j, (name, levels) in enumerate(header["columns"]):
        edges = held.get(f"edges{j}")
        n_cells = len(levels) + 1 if levels is not None else len(held[f"edges{j}"]) + 2
        counts = np.zeros((n_cells, n_classes))
        columns.append(ColumnCells(name=name, counts=counts, edges=edges, levels=levels))
    pairs = [
        PairTerm(
            first,
            second,
            (held[f"first{i}"], held[f"second{i}"]),
            (rows, cols),
            held[f"counted{i}"],
            held[f"expected{i}"],
            gain,
            round,
        )
        for i, (first, second, rows, cols, gain, round) in enumerate(header["pairs"])
    ]
    terms = range(len(columns) + len(pairs))
    corrections = [held[f"correction{t}"] for t in terms] if header["corrected"] else None
    learned = Learned(
        columns=columns,
        choices=[TableChoice(**choice) for choice in header["choices"]],
        pairs=pairs,
        rounds=[
            Weights(
                held[f"round{r}.terms"],
                held[f"round{r}.deviations"],
                held[f"round{r}.offsets"],
                scale,
            )
            for r, scale in enumerate(header["round_scales"])
        ],
        weights=Weights(held["terms"], held["deviations"], held["offsets"], header["scale"]),
        corrections=corrections,
        tables=[held[f"table{t}"] for t in terms],
        offset=held["offset"],
        tested=np.arange(0),
        log_proba=np.zeros((0, n_classes)),
        duplicates=header["duplicates"],
        nearly=header["nearly"],
    )
    return Weighting(
        learned=learned,
        classes=header["classes"],
        shift=held["shift"],
        apart=held["apart"],
        figures=Figures(**header["figures"]),
        out=header["out"],
    )
