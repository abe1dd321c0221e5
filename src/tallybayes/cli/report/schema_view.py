"""What a model understood of each column, and its classes, as tables and for machines."""

from __future__ import annotations

from typing import Any

import numpy as np

from tallybayes.cli.io.model_file import ModelFile
from tallybayes.cli.report.informative_columns import Informative, missing_shares
from tallybayes.cli.terminal.console import cut, line, table
from tallybayes.estimators.tables.weighted import WeightedNaiveBayes
from tallybayes.models.weighted.terms import weights_of

__all__ = ["MAX_ROWS", "class_table", "columns_document", "columns_table", "informative_table"]

MAX_ROWS = 20  # columns, classes or tables that are printed without --all


def _held(file: ModelFile, name: str, holds: str) -> str:
    return "dates" if holds == "numbers" and file.kinds.get(name) == "date" else holds


def columns_document(file: ModelFile) -> list[dict[str, Any]]:
    """Each column: what it holds, its family and why, the weight of its table, what it adds in
    nats, and the share of missing values."""
    weighting = file.table.chosen.weighting
    missing, weights = missing_shares(file), weights_of(weighting)
    adds = {} if weighting is None else weighting.adds
    return [
        {
            "column": r.name,
            "holds": _held(file, r.name, r.holds),
            "family": r.family,
            "weight": weights.get(r.name) if r.part is not None else None,
            "adds": adds.get(r.name) if r.part is not None else None,
            "why": r.why,
            "missing": missing.get(r.name),
            "used": r.part is not None,
        }
        for r in file.table.columns_read
    ]


HOW_WEIGHTED = (
    "Numbers are split into cells (intervals), which are smoothed; strings and missing values are "
    "levels. What a column adds: how far it moves the scores of the classes apart by itself, in "
    "nats, on average over rows."
)
HOW = (
    "Each number column has the family that predicts best by leave-one-out; strings are levels, or "
    "text where they are prose. "
    "--column sets another family."
)


def columns_table(
    file: ModelFile, found: list[Informative], show_all: bool, model: str
) -> list[Any]:
    """The columns for people; what is remarkable about one has a remark.

    Parameters
    ----------
    file : ModelFile
    found : list of Informative
        The informative columns, the best first: those are printed where there are too many.
    show_all : bool
    model : str
        The model's path, for the command that prints the others.
    """
    weighted = isinstance(file.model, WeightedNaiveBayes)
    paired = {name for pair in file.pairs for name in pair.columns}
    columns, readings = columns_document(file), {r.name: r for r in file.table.columns_read}
    shown = columns if show_all else _informative(columns, found)
    rows = []
    for column in shown:
        style = "" if column["used"] else "dim"
        reading = readings[column["column"]]
        remark = reading.why
        if reading.is_usual:
            remark = "" if column["used"] else "adds nothing"
            if remark and reading.name in paired:
                remark = "in pairs only"
        elif weighted and len(file.classes) < 2:
            remark = "needs two classes"
        holds = "" if column["holds"] == "anything" else column["holds"]
        adds = "" if column["adds"] is None else f"{column['adds']:.2f}"
        family = reading.brief or reading.family
        cells = [reading.name, holds, family, adds, _percent(column["missing"]), remark]
        rows.append([line(cut(cell), style) for cell in cells])
    heads = ["column", "type", "read as", ">adds", ">missing", "remark"]
    filled = [j for j in range(len(heads)) if any(row[j].plain for row in rows)]
    heads, rows = [heads[j] for j in filled], [[row[j] for j in filled] for row in rows]
    more = len(columns) - len(shown)
    title = f"Columns, the {len(shown)} most informative" if more else "Columns"
    how = [line(HOW_WEIGHTED if weighted else HOW, "dim"), line()]
    if more:
        how.insert(0, line(f"… and {more:,} more: tallybayes show {model} --all"))
    return [table(title, heads, rows), *how]


def _informative(columns: list[dict[str, Any]], found: list[Informative]) -> list[dict[str, Any]]:
    """The most informative columns, in the order of the file; the first where none is."""
    if len(columns) <= MAX_ROWS:
        return columns
    best = [t.column for t in found]
    best += [c["column"] for c in columns if c["used"]] + [c["column"] for c in columns]
    names = {c["column"] for c in columns}
    chosen = set(list(dict.fromkeys(name for name in best if name in names))[:MAX_ROWS])
    return [c for c in columns if c["column"] in chosen]


def _percent(share: float | None) -> str:
    """A share in few letters; nothing for none."""
    if not share:
        return ""
    if share < 0.0005:
        return "<0.1%"
    return ">99.9%" if 0.9995 <= share < 1.0 else f"{share:.1%}"


def class_table(file: ModelFile, target: str | None, show_all: bool) -> Any:
    """The classes: rows, what one weighs, and probability before anything is known."""
    prior = np.exp(file.model.class_log_prior_)
    count = file.class_rows
    weights = list(file.model.class_weight_.values())
    weighs = any(weight != 1.0 for weight in weights)
    order = np.arange(len(count))
    if not show_all and len(count) > MAX_ROWS:
        order = np.argsort(-count, kind="stable")[:MAX_ROWS]
    heads = ["class", ">rows", *([">weight"] if weighs else []), ">prior"]
    rows = []
    for k in order.tolist():
        weight = [f"{weights[k]:.4g}"] if weighs else []
        rows.append((file.classes[k], f"{count[k]:,.10g}", *weight, f"{prior[k]:.2%}"))
    if more := len(count) - len(order):
        rows.append((f"… and {more:,} more", *[""] * (len(heads) - 1)))
    title = f"Classes ({target})" if target else "Classes"
    return table(title, heads, rows)


def informative_table(found: list[Informative], measure: str, max_columns: int = 10) -> list[Any]:
    """The most informative columns with bars."""
    top = max((t.nats for t in found), default=0.0)
    rows = [
        (
            t.column,
            f"{t.nats:.4f}".replace("-0.0000", "0.0000"),
            "█" * round(24 * max(t.nats, 0.0) / top) if top > 0 else "",
        )
        for t in found[:max_columns]
    ]
    more = f", {max_columns} of {len(found)}" if len(found) > max_columns else ""
    title = f"Most informative columns{more}"
    return [table(title, ["column", ">nats", ""], rows, chart=True), line(measure, "dim")]
