"""A weighting in a model file: plain values for the header, and arrays."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.estimators.persistence.held_arrays import (
    MAX_WEIGHT,
    PREFIX,
    Arrays,
    HeldArrays,
    pair_cells,
)
from tallybayes.estimators.persistence.smooth_tables import (
    SMOOTH,
    SMOOTH_HEADER,
    plain_smooth,
    restored_smooth,
)
from tallybayes.models.weighting import Weighting
from tallybayes.persistence import (
    Check,
    anything,
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
from tallybayes.scoring import Figures
from tallybayes.tally.saved import labels
from tallybayes.weighted.average import TextWeights
from tallybayes.weighted.cells import ColumnCells
from tallybayes.weighted.learned import Averaged, Learned
from tallybayes.weighted.pairs import PairCells, PairTerm
from tallybayes.weighted.scores import Weights
from tallybayes.weighted.tables import TableChoice

__all__ = ["plain_weighting", "restored_weighting"]


MIN_POSITIVE = 1e-300
"""Counts of a pair are above 0: their logarithm is taken."""


def plain_weighting(weighting: Weighting) -> tuple[dict[str, Any], Arrays]:
    """Header and arrays of a weighting."""
    learned = weighting.learned
    arrays: Arrays = {
        "weighting.shares": learned.shares,
        "weighting.shift": weighting.shift,
        "weighting.apart": weighting.apart,
        "weighting.confused": weighting.confused,
    }
    for j, column in enumerate(learned.columns):
        if column.edges is not None:
            arrays[f"weighting.edges{j}"] = column.edges
    parts = []
    for m, part in enumerate(learned.parts):
        plain, more = _plain_part(part, f"{PREFIX}part{m}.")
        parts.append(plain)
        arrays |= more
    header = {
        "classes": weighting.classes,
        "figures": _figures(weighting.figures),
        "out": weighting.out,
        "unit": weighting.unit,
        "prior_share": weighting.prior_share,
        "duplicates": learned.duplicates,
        "nearly": learned.nearly,
        "columns": [[column.name, column.levels] for column in learned.columns],
        "parts": parts,
    }
    if learned.smooth is not None:
        header["smooth"], more = plain_smooth(learned.smooth)
        arrays |= more
    if weighting.text is not None:
        held = asdict(weighting.text)
        header["text"] = {**held, **{name: held[name].tolist() for name in ("weights", "apart")}}
    return header, arrays


def _plain_part(part: Learned, prefix: str) -> tuple[dict[str, Any], Arrays]:
    """Header and arrays of what one fit gave."""
    arrays: Arrays = {f"{prefix}offset": part.offset}
    weights = [("", part.weights), *((f"round{r}.", then) for r, then in enumerate(part.rounds))]
    for name, some in weights:
        arrays[f"{prefix}{name}terms"] = some.terms
        arrays[f"{prefix}{name}deviations"] = some.deviations
        arrays[f"{prefix}{name}offsets"] = some.offsets
    for i, pair in enumerate(part.pairs):
        arrays[f"{prefix}counted{i}"] = pair.counted
        arrays[f"{prefix}expected{i}"] = pair.expected
        arrays[f"{prefix}first{i}"], arrays[f"{prefix}second{i}"] = pair.maps
    for t, more in enumerate(part.corrections or []):
        arrays[f"{prefix}correction{t}"] = more
    header = {
        "scale": part.weights.scale,
        "round_scales": [then.scale for then in part.rounds],
        "corrected": part.corrections is not None,
        "choices": [asdict(choice) for choice in part.choices],
        "pairs": [[p.first, p.second, *p.sizes, p.gain, p.round] for p in part.pairs],
    }
    return header, arrays


def _figures(figures: Figures) -> dict[str, Any]:
    """The figures as a file holds them, which calls the increase of the log-loss its price."""
    held = asdict(figures)
    return {"price" if name == INCREASE else name: value for name, value in held.items()}


def _figures_of(held: dict[str, Any]) -> Figures:
    return Figures(**{INCREASE if name == "price" else name: held[name] for name in held})


INCREASE = "log_loss_increase"
FIGURES = record(
    {
        "rows": number(0.0),
        "log_loss": number(),
        "accuracy": number(),
        "prior_log_loss": number(),
        "price": optional(number()),
        "log_loss_se": optional(number(0.0)),
        "accuracy_se": optional(number(0.0)),
        "left_out": flag,
    },
    {"log_loss_se": None, "accuracy_se": None, "left_out": False},
)
CHOICE = record(
    {
        "kernel": one_of("none", "cells", "rank"),
        "width": number(above=0.0),
        "strength": number(above=0.0),
    }
)


PART: dict[str, Check] = {
    "scale": number(),
    "round_scales": each(number()),
    "corrected": flag,
    "choices": each(CHOICE),
    "pairs": each(anything),
}
TEXT = {
    "names": unique(each(text)),
    "weights": each(number(0.0)),
    "cells": number(0.0),
    "apart": each(number(0.0)),
}
WHOLE: dict[str, Check] = {
    "classes": labels,
    "figures": FIGURES,
    "out": mapping(text, text),
    "unit": number(above=0.0),
    "prior_share": number(0.0),
    "text": optional(record(TEXT)),
    "smooth": optional(record(SMOOTH_HEADER)),
    "duplicates": mapping(whole(), whole()),
    "nearly": mapping(whole(), whole()),
    "columns": each(anything),
}
LATER = {"text": None, "smooth": None}
HEADER = record({**WHOLE, "parts": each(record(PART))}, LATER)
ONE_LEARNING = record({**WHOLE, **PART}, {"unit": 1.0, "prior_share": 0.0, **LATER})
"""Of files before models were averages; those of 0.1.0 had no unit, and took weights as rows."""


def _column(given: Any, held: HeldArrays, j: int, n_classes: int) -> ColumnCells:
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


def _text(held: dict[str, Any] | None) -> TextWeights | None:
    """The weights of columns of text."""
    if held is None:
        return None
    weights, apart = (np.array(held[name], dtype=np.float64) for name in ("weights", "apart"))
    need(
        len(held["names"]) == len(weights) == len(apart) > 0,
        "weighting.text has a weight for each column",
    )
    for values in (weights, apart, np.array([held["cells"]])):
        need(bool((values <= MAX_WEIGHT).all()), "weighting.text has weights that a fit can give")
    return TextWeights(names=held["names"], weights=weights, cells=held["cells"], apart=apart)


def _pair(
    given: Any, held: HeldArrays, i: int, columns: list[ColumnCells], rounds: int, n_classes: int
) -> PairTerm:
    where = f"{held.prefix}pairs[{i}]"
    first, second, rows, cols, gain, round = each(anything, length=6)(given, where)
    cells = pair_cells(held, i, columns, first, second, (rows, cols))
    number()(gain, where), whole(0, rounds)(round, where)
    return PairTerm(
        first,
        second,
        cells.maps,
        cells.sizes,
        held.take(f"counted{i}", rows * cols, n_classes, minimum=MIN_POSITIVE),
        held.take(f"expected{i}", rows * cols, n_classes, minimum=MIN_POSITIVE),
        gain,
        round,
    )


def _weights(held: HeldArrays, prefix: str, n_terms: int, n_classes: int, scale: float) -> Weights:
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
    header, held = _header(given), HeldArrays(arrays)
    n_classes = len(header["classes"])
    need(header["prior_share"] < 1.0, "weighting.prior_share is below 1")
    columns = [_column(c, held, j, n_classes) for j, c in enumerate(header["columns"])]
    names = [column.name for column in columns]
    need(len(set(names)) == len(names), "weighting.columns names no column twice")
    for key, other in (*header["duplicates"].items(), *header["nearly"].items()):
        need(max(key, other) < len(columns), "weighting names the columns that there are")
    averaged = Averaged(
        columns=columns,
        parts=[
            _part(part, HeldArrays(arrays, prefix), columns, n_classes)
            for part, prefix in zip(header["parts"], header["prefixes"], strict=True)
        ],
        shares=_shares(header, held),
        tested=np.arange(0),
        log_proba=np.zeros((0, n_classes)),
        gained=np.zeros(0),
        duplicates=header["duplicates"],
        nearly=header["nearly"],
        smooth=restored_smooth(header["smooth"], HeldArrays(arrays, SMOOTH), columns, n_classes),
    )
    _need_cells_alike(averaged)
    return Weighting(
        learned=averaged,
        classes=header["classes"],
        shift=held.take("shift", n_classes),
        apart=held.take("apart", len(columns) + len(averaged.pairs)),
        figures=_figures_of(header["figures"]),
        confused=_confused(header, held),
        out=header["out"],
        unit=header["unit"],
        prior_share=header["prior_share"],
        text=_text(header["text"]),
    )


def _header(given: Any) -> dict[str, Any]:
    """The header with its parts, and the prefix of the arrays of each."""
    if isinstance(given, dict) and "parts" not in given:
        found: dict[str, Any] = ONE_LEARNING(given, "weighting")
        return found | {"parts": [{key: found[key] for key in PART}], "prefixes": [PREFIX]}
    found = HEADER(given, "weighting")
    return found | {"prefixes": [f"{PREFIX}part{m}." for m in range(len(found["parts"]))]}


def _shares(header: dict[str, Any], held: HeldArrays) -> NDArray[Any]:
    n_parts = len(header["parts"])
    need(n_parts > 0, "weighting has a part")
    if header["prefixes"] == [PREFIX]:
        return np.ones(1)
    shares = held.take("shares", n_parts, minimum=0.0)
    smooth = 0.0 if header["smooth"] is None else header["smooth"]["share"]
    need(abs(float(shares.sum()) + smooth - 1.0) < 1e-9, "weighting.shares sum to 1")
    return shares


def _confused(header: dict[str, Any], held: HeldArrays) -> NDArray[Any]:
    if header["prefixes"] == [PREFIX]:
        return np.zeros((0, 3))
    confused = held.take("confused", -1, 3, minimum=0.0)
    classes = confused[:, :2]
    known = (classes < len(header["classes"])) & (classes % 1.0 == 0.0)
    need(bool(known.all()), "weighting.confused is of its classes")
    return confused


def _part(
    header: dict[str, Any], held: HeldArrays, columns: list[ColumnCells], n_classes: int
) -> Learned:
    n_rounds = len(header["round_scales"])
    need(len(header["choices"]) == len(columns), f"{held.prefix}choices has one for each column")
    pairs = [_pair(p, held, i, columns, n_rounds, n_classes) for i, p in enumerate(header["pairs"])]
    sizes = [column.n_cells for column in columns] + [p.sizes[0] * p.sizes[1] for p in pairs]
    corrections = None
    if header["corrected"]:
        corrections = [held.take(f"correction{t}", size, n_classes) for t, size in enumerate(sizes)]
    rounds = []
    for r, scale in enumerate(header["round_scales"]):
        taken = len(columns) + sum(pair.round < r for pair in pairs)
        rounds.append(_weights(held, f"round{r}.", taken, n_classes, scale))
    return Learned(
        columns=columns,
        choices=[TableChoice(**choice) for choice in header["choices"]],
        pairs=pairs,
        rounds=rounds,
        weights=_weights(held, "", len(sizes), n_classes, header["scale"]),
        corrections=corrections,
        offset=held.take("offset", n_classes),
        tested=np.arange(0),
        log_proba=np.zeros((0, n_classes)),
    )


def _need_cells_alike(averaged: Averaged) -> None:
    """Raises where pairs of the same columns cut them so differently that together they have far
    more cells than the file holds: parts that were learned of nearly the same rows do not."""
    for pair in averaged.pairs:
        each: list[PairCells] = [member.pair for member in pair.members]
        each += [] if pair.smooth is None else [pair.smooth]
        held = sum(cells.n_cells for cells in each)
        parts = {m.part for m in pair.members}
        need(len(parts) == len(pair.members), "a part of weighting has no pair twice")
        need(
            pair.n_cells <= 2 * len(each) * held,
            "the parts of weighting cut the columns of a pair into similar cells",
        )
