"""What a model understood of each column, and its classes, as tables and for machines."""

from __future__ import annotations

from typing import Any

import numpy as np
from rich.console import Group
from rich.text import Text

from tallybayes.cli.console import table
from tallybayes.cli.model_file import ModelFile
from tallybayes.cli.telling import Telling, gap_shares
from tallybayes.estimators.weighted import WeightedNaiveBayes

__all__ = ["class_table", "columns_document", "columns_table", "telling_table"]


def _held(file: ModelFile, name: str, holds: str) -> str:
    return "dates" if holds == "numbers" and file.kinds.get(name) == "date" else holds


def columns_document(file: ModelFile) -> list[dict[str, Any]]:
    """Each column: what it holds, its family and why, and the share of gaps."""
    gaps = gap_shares(file)
    return [
        {
            "column": r.name,
            "holds": _held(file, r.name, r.holds),
            "family": r.family,
            "why": r.why,
            "gaps": gaps.get(r.name),
            "used": r.part is not None,
        }
        for r in file.table.columns_read
    ]


USUAL = ("best by leave-one-out", "texts are levels")
HOW_WEIGHTED = (
    "Numbers are put into cells, and neighbouring cells smoothed; texts and gaps are levels. "
    "Weights are learned by leave-one-out."
)
HOW = (
    "Numbers are read as what tells the classes apart best by leave-one-out, texts as levels; "
    "--column says otherwise."
)


def columns_table(file: ModelFile) -> Any:
    """The columns for people; what is remarkable about one has a remark."""
    rows, weighted = [], isinstance(file.model, WeightedNaiveBayes)
    paired = {name for pair in file.pairs for name in pair.columns}
    for column in columns_document(file):
        style = "" if column["used"] else "dim"
        why = column["why"].partition(" (")[0]
        remark = "" if why in USUAL else why
        if weighted and len(file.classes) < 2:
            remark = "needs two classes"
        if why.startswith("smoothed by"):
            alone = "" if column["used"] else "adds nothing"
            remark = "in pairs only" if alone and column["column"] in paired else alone
        family = column["family"]
        if family.startswith("smooth density"):
            family = "smooth density"  # of so many cells, which machines are told
        holds = "" if column["holds"] == "anything" else column["holds"]
        cells = [column["column"], holds, family, _percent(column["gaps"]), remark]
        rows.append([Text(cell, style=style) for cell in cells])
    how = HOW_WEIGHTED if weighted else HOW
    heads = ["column", "holds", "read as", ">gaps", "remark"]
    while not any(row[-1].plain for row in rows):  # without gaps or remarks no such column
        heads, rows = heads[:-1], [row[:-1] for row in rows]
    return Group(table("What was understood", heads, rows), Text(how, style="dim"), Text())


def _percent(share: float | None) -> str:
    """A share in few letters; nothing for none."""
    if not share:
        return ""
    if share < 0.0005:
        return "<0.1%"
    return ">99.9%" if 0.9995 <= share < 1.0 else f"{share:.1%}"


def class_table(file: ModelFile, target: str | None) -> Any:
    """The classes: rows and probability before anything is known."""
    prior = np.exp(file.model.class_log_prior_)
    rows = [
        (label, f"{count:,.10g}", f"{p:.2%}")
        for label, count, p in zip(
            file.classes, file.model.class_count_.tolist(), prior.tolist(), strict=True
        )
    ]
    title = f"Classes ({target})" if target else "Classes"
    return table(title, ["class", ">rows", ">prior"], rows)


def telling_table(found: list[Telling], measure: str, most: int = 10) -> Any:
    """The most telling columns with bars."""
    top = max((t.nats for t in found), default=0.0)
    rows = [
        (
            t.column,
            f"{t.nats:.4f}".replace("-0.0000", "0.0000"),
            "█" * round(24 * max(t.nats, 0.0) / top) if top > 0 else "",
        )
        for t in found[:most]
    ]
    more = f", {most} of {len(found)}" if len(found) > most else ""
    return Group(
        table(f"Most telling columns{more}", ["column", ">nats", ""], rows),
        Text(measure, style="dim"),
    )
