"""Why a row got its class: the contribution of each column, for it or against it."""

from __future__ import annotations

from typing import Any

import numpy as np

from tallybayes.cli.io.chosen_rows import ChosenRows
from tallybayes.cli.io.model_file import ModelFile
from tallybayes.cli.io.rows import Rows
from tallybayes.cli.report.text.explaining import say_terms, terms_as_json
from tallybayes.cli.terminal.console import cut, document, line, progress, say, table
from tallybayes.tables import Table
from tallybayes.tables.columns import values_of

__all__ = ["explain"]

MAX_COLUMNS = 25  # columns that are shown
MAX_VALUE_CHARACTERS = 30  # characters of a value


def explain(file: ModelFile, source: Rows, rows: ChosenRows, json: bool) -> None:
    """Explains rows, to people or to machines."""
    with progress() as bar:
        found = file.chosen(source, bar, rows)
    explained = []
    for i, (row, alone) in enumerate(found):
        if i and not json:
            say(line())
        explained.append(_explained(file, source, row, alone, json))
    if json:
        document("explain", {"rows": explained} if rows.several else explained[0])


def _explained(file: ModelFile, source: Rows, row: int, alone: Table, json: bool) -> dict[str, Any]:
    """One row for machines; else it is printed."""
    explanation = file.model.explain(alone)
    proba = file.model.predict_proba(alone)[0]
    speaking = {" × ".join(p.columns): p.columns for p in file.pairs}
    used_alone = {r.name for r in file.table.columns_read if r.part is not None}
    names_of_terms = explanation.columns
    used = [j for j, name in enumerate(names_of_terms) if name in used_alone or name in speaking]
    names = [names_of_terms[j] for j in used]
    values = {n: _value(alone, speaking.get(n, (n,))) for n in names}
    shares = explanation.contributions[0][:, used]
    order = np.argsort(-proba, kind="stable")
    best, other = int(order[0]), int(order[1]) if len(order) > 1 else int(order[0])
    apart = shares[best] - shares[other]
    sequence = np.argsort(-np.abs(apart), kind="stable").tolist()
    documents = {n: explanation.document(n) for n in names if n in explanation.text_terms}
    if json:
        terms = {n: terms_as_json(found, file.classes) for n, found in documents.items()}
        return _content(file, row, names, values, explanation.base, shares, proba, sequence, terms)
    prior = float(explanation.base[best] - explanation.base[other])
    rows = [("(class prior)", "", prior)]
    rows += [(names[j], values[names[j]], float(apart[j])) for j in sequence]
    total = prior + float(apart.sum())
    _say(file, source.place(row), proba, order.tolist(), rows, total)
    for name, found in documents.items():
        if found.terms:
            say(line(), line(f"Words of {name!r}", "bold"))
            say_terms(found, file.classes, order.tolist(), "(the rest)")
    say(line("+1 nat multiplies the odds of the two classes by 2.7.", "dim"))
    return {}


def _value(row: Table, columns: tuple[str, ...]) -> Any:
    """What the row holds in a column, or in the two of a pair."""
    found = [_shown(values_of(row.columns[name])[0]) for name in columns]
    return found[0] if len(found) == 1 else [None if v is None else str(v) for v in found]


def _shown(value: Any) -> Any:
    """A cell for people and for JSON; dates are strings."""
    whole = isinstance(value, float) and value == int(value) and abs(value) < 1e15
    return int(value) if whole else value


def _content(
    file: ModelFile,
    row: int,
    names: list[str],
    values: dict[str, Any],
    base: Any,
    shares: Any,
    proba: Any,
    sequence: list[int],
    terms: dict[str, Any],
) -> dict[str, Any]:
    """The explanation of a row, for machines."""
    classes = file.classes
    by_class = [dict(zip(classes, s, strict=True)) for s in shares.T.tolist()]
    return {
        "row": row,
        "prediction": classes[int(proba.argmax())],
        "probability": dict(zip(classes, proba.tolist(), strict=True)),
        "unit": "nats",
        "base": dict(zip(classes, base.tolist(), strict=True)),
        "columns": [
            {
                "column": names[j],
                "value": values[names[j]],
                "contribution": by_class[j],
                **({"terms": terms[names[j]]} if names[j] in terms else {}),
            }
            for j in sequence
        ],
    }


def _say(
    file: ModelFile,
    place: str,
    proba: Any,
    order: list[int],
    rows: list[tuple[str, Any, float]],
    total: float,
) -> None:
    names = file.classes
    best, other = names[order[0]], names[order[min(1, len(order) - 1)]]
    widest = max((abs(nats) for _, _, nats in rows if np.isfinite(nats)), default=0.0) or 1.0
    lines = []
    for name, value, nats in rows[: MAX_COLUMNS + 1]:
        size = round(12 * min(abs(nats), widest) / widest)
        bar = " " * 12 + "│" + "█" * size if nats > 0 else " " * (12 - size) + "█" * size + "│"
        values = value if isinstance(value, list) else [value]
        cell = " × ".join("(missing)" if v is None else str(v) for v in values)
        style = "green" if nats > 0 else "red"
        lines.append([name, cut(cell, MAX_VALUE_CHARACTERS), f"{nats:+.3f}", line(bar, style)])
    lines.append(["sum", "", f"{total:+.3f}", ""])
    prediction = f"{file.target} = {best}" if file.target else best
    say(line(f"{place}: predicted {prediction}, probability {proba[order[0]]:.1%}", "bold"))
    if len(order) > 1:
        shown = ", ".join(f"{names[k]} {proba[k]:.1%}" for k in order[1:5])
        more = f" and {len(order) - 5} more" if len(order) > 5 else ""
        say(line(f"Other classes: {shown}{more}"))
    heads = ["column", "value", ">nats", f"{'← ' + cut(other, 9):>11}   {cut(best, 9)} →"]
    say(line(), table(f"Evidence for {best} over {other}", heads, lines, chart=True))
    hidden = len(rows) - 1 - MAX_COLUMNS
    if hidden > 0:
        say(line(f"{hidden:,} columns with less influence are not shown (--json has all)", "dim"))
