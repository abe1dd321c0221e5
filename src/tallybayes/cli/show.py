"""What a model of a table holds, and why a row got its class: for people and for machines."""

from __future__ import annotations

from typing import Any

import numpy as np

from tallybayes import WeightedNaiveBayes
from tallybayes.cli.console import cut, document, line, note, number_of, progress, say, table
from tallybayes.cli.figures import figures_tables
from tallybayes.cli.files import note_unlabelled
from tallybayes.cli.messages import USAGE, Failure
from tallybayes.cli.show_text import class_table as text_classes
from tallybayes.cli.show_text import (
    content_of,
    description,
    evidence_bars,
    say_prediction,
    say_terms,
    terms_as_json,
    top_terms_tables,
)
from tallybayes.errors import listed
from tallybayes.model_files import ChosenRows, Figures, TableFile

__all__ = [
    "MAX_ROWS",
    "MEASURE",
    "class_table",
    "comparison_tables",
    "explain",
    "informative_table",
    "notes_of_fit",
    "shares_tables",
    "show",
    "show_labels",
    "shown_of_fit",
]


# ---- what a model file holds ---------------------------------------------------------------------
MAX_CELLS = 20  # levels or bins of a table that is shown
MAX_CLASSES = 6  # classes


def show(file: TableFile, model: str, tables: bool, show_all: bool, json: bool) -> None:
    """Shows columns, classes and options, and with `tables` each column's parameters; the first and
    most informative of them, or all."""
    informative = file.informative()
    settings = {k: v for k, v in file.model.get_params().items() if k != "columns"}
    parts = file.table.parts
    if json:
        content: dict[str, Any] = {
            "model": model,
            "target": file.target,
            "rows": file.rows,
            "classes": file.rows_of_classes,
            "options": settings,
            "columns": file.columns(),
            "informative": _informative_document(informative),
        }
        if tables:
            content["tables"] = [_parameters(part, file.classes) for part in parts]
        document("show", content)
        return
    given = ", ".join(f"{k}={v!r}" for k, v in settings.items() if v is not None)
    say(
        line(
            f"{model}: {number_of(file.rows, 'row')}, {number_of(len(file.names), 'column')}",
            "bold",
        ),
        line(given, "dim"),
        line(),
        *columns_table(file, informative, show_all, model),
        class_table(file, file.target, show_all),
    )
    if informative:
        say(*informative_table(informative))
    if tables:
        say(line())
        for part in parts if show_all else parts[:MAX_ROWS]:
            say(_table(_parameters(part, file.classes), file.classes))
        if not show_all and len(parts) > MAX_ROWS:
            say(line(f"… and {len(parts) - MAX_ROWS:,} more tables: --all prints them"))


def show_labels(file: Any, model: str, show_all: bool, json: bool) -> None:
    """Shows the labels of a model of many labels a row, or the leaves of a tree."""
    labels = sorted(zip(file.classes, file.class_rows.tolist(), strict=True), key=lambda of: -of[1])
    settings = {k: v for k, v in file.settings.items() if v is not None}
    kind = type(file.model).__name__
    if json:
        content = {"model": model, "target": file.target, "rows": file.rows, "kind": kind}
        document("show", {**content, "labels": dict(labels), "options": settings})
        return
    shown = labels if show_all else labels[:MAX_ROWS]
    rows = [(label, f"{count:,.10g}", f"{count / file.rows:.2%}") for label, count in shown]
    if more := len(labels) - len(shown):
        rows.append((f"… and {more:,} more", "", ""))
    given = ", ".join(f"{name}={value!r}" for name, value in settings.items())
    counted = f"{number_of(file.rows, 'row')}, {number_of(len(file.names), 'column')}"
    title = f"Labels ({file.target})" if file.target else "Labels"
    say(
        line(f"{model}: {kind}, {counted}, {number_of(len(labels), 'label')}", "bold"),
        line(given, "dim"),
        line(),
        table(title, ["label", ">rows", ">share"], rows),
    )


def _parameters(part: Any, classes: list[str]) -> dict[str, Any]:
    """A column's parameters: rows of names, and of numbers by class."""
    what, names, values = part.described()
    return {
        "column": ", ".join(part.columns),
        "what": what,
        "rows": [str(name) for name in names],
        "values": dict(zip(classes, values.tolist(), strict=True)),
    }


def _table(found: dict[str, Any], classes: list[str]) -> Any:
    shown = classes[:MAX_CLASSES]
    columns = [found["values"][c] for c in shown]
    names = found["rows"]
    rows = [
        [name, *(f"{column[i]:.4g}" for column in columns)]
        for i, name in enumerate(names[:MAX_CELLS])
    ]
    if len(names) > MAX_CELLS:
        rows.append([f"… {len(names) - MAX_CELLS} more", *("" for _ in shown)])
    more = f", {MAX_CLASSES} of {len(classes)} classes" if len(classes) > MAX_CLASSES else ""
    return table(f"{found['column']}: {found['what']}{more}", ["", *(f">{c}" for c in shown)], rows)


# ---- what it understood of each column, and its classes ------------------------------------------
MAX_ROWS = 20  # columns, classes or tables that are printed without --all


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
    file: TableFile, found: list[tuple[str, float]], show_all: bool, model: str
) -> list[Any]:
    """The columns for people; what is remarkable about one has a remark.

    Parameters
    ----------
    file : TableFile
    found : list of (str, float)
        The informative columns, the best first: those are printed where there are too many.
    show_all : bool
    model : str
        The model's path, for the command that prints the others.
    """
    weighted = isinstance(file.model, WeightedNaiveBayes)
    paired = {name for pair in file.pairs for name in pair.columns}
    columns, readings = file.columns(), {r.name: r for r in file.table.columns_read}
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


def _informative(
    columns: list[dict[str, Any]], found: list[tuple[str, float]]
) -> list[dict[str, Any]]:
    """The most informative columns, in the order of the file; the first where none is."""
    if len(columns) <= MAX_ROWS:
        return columns
    best = [name for name, _ in found]
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


def class_table(file: TableFile, target: str | None, show_all: bool) -> Any:
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


MAX_INFORMATIVE = 10  # columns


def informative_table(found: list[tuple[str, float]]) -> list[Any]:
    """The most informative columns with bars."""
    top = max((nats for _, nats in found), default=0.0)
    rows = [
        (
            name,
            f"{nats:.4f}".replace("-0.0000", "0.0000"),
            "█" * round(24 * max(nats, 0.0) / top) if top > 0 else "",
        )
        for name, nats in found[:MAX_INFORMATIVE]
    ]
    more = f", {MAX_INFORMATIVE} of {len(found)}" if len(found) > MAX_INFORMATIVE else ""
    title = f"Most informative columns{more}"
    return [table(title, ["column", ">nats", ""], rows, chart=True), line(MEASURE, "dim")]


# ---- which columns are most informative about the class, and how much of each is missing ---------
# The measure is that of the page, of ``feature_importances_`` and of ``weights_``: how far a
# column, or a pair of a weighted model, moves the scores of the classes apart, on average over
# rows.
MEASURE = (
    "How far the column or pair moves the scores of the classes apart, in nats, on average over "
    "rows; a difference of 1 nat multiplies the odds of two classes by 2.7"
)


# ---- why a row got its class: the contribution of each column, for it or against it --------------
MAX_COLUMNS = 25  # columns that are shown
MAX_VALUE_CHARACTERS = 30  # characters of a value


def explain(file: TableFile, source: Any, rows: ChosenRows, json: bool) -> None:
    """Explains rows, to people or to machines."""
    if not rows:
        raise Failure(
            "Missing option '--row': the number of the row, from 0 (or --key COL=VALUE)", USAGE
        )
    with progress():
        found = file.chosen(source, rows)
    explained = []
    for i, (row, alone) in enumerate(found):
        if i and not json:
            say(line())
        explained.append(_explained(file, source, row, alone, json))
    if json:
        document("explain", {"rows": explained} if rows.several else explained[0])


def _explained(file: TableFile, source: Any, row: int, alone: Any, json: bool) -> dict[str, Any]:
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


def _value(row: Any, columns: tuple[str, ...]) -> Any:
    """What the row holds in a column, or in the two of a pair; dates are strings."""
    held = [TableFile.value(row, name) for name in columns]
    found = [int(v) if _is_whole(v) else v for v in held]
    return found[0] if len(found) == 1 else [None if v is None else str(v) for v in found]


def _is_whole(value: Any) -> bool:
    return isinstance(value, float) and value == int(value) and abs(value) < 1e15


def _content(
    file: TableFile,
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
    file: TableFile,
    place: str,
    proba: Any,
    order: list[int],
    rows: list[tuple[str, Any, float]],
    total: float,
) -> None:
    names = file.classes
    best, other = names[order[0]], names[order[min(1, len(order) - 1)]]
    bars = evidence_bars([nats for _, _, nats in rows])
    lines: list[list[Any]] = []
    for (name, value, nats), bar in zip(rows[: MAX_COLUMNS + 1], bars, strict=False):
        values = value if isinstance(value, list) else [value]
        cell = " × ".join("(missing)" if v is None else str(v) for v in values)
        lines.append([name, cut(cell, MAX_VALUE_CHARACTERS), f"{nats:+.3f}", bar])
    lines.append(["sum", "", f"{total:+.3f}", ""])
    prediction = f"{file.target} = {best}" if file.target else best
    say_prediction(f"{place}: predicted {prediction}", names, proba, order)
    heads = ["column", "value", ">nats", f"{'← ' + cut(other, 9):>11}   {cut(best, 9)} →"]
    say(line(), table(f"Evidence for {best} over {other}", heads, lines, chart=True))
    hidden = len(rows) - 1 - MAX_COLUMNS
    if hidden > 0:
        say(line(f"{hidden:,} columns with less influence are not shown (--json has all)", "dim"))


# ---- what a fit has made -------------------------------------------------------------------------
UNINFORMATIVE = "No column predicts the class better than chance"


def notes_of_fit(file: TableFile, source: Any, figures: Figures | None, json: bool) -> None:
    """Reports what may mean something other than what was read, and what is of no use."""
    if not json and file.table.chosen.weighting is not None and not file.table.parts:
        note(
            f"warning: {UNINFORMATIVE}, so every prediction is the most frequent class; "
            "--plain uses all"
        )
    if not json and len(file.classes) == 1:
        note(f"warning: {file.target!r} has only one value, so every prediction will be that value")
    for text in file.notes(source):
        note(f"note: {text}")
    note_unlabelled(source)
    if figures is None:
        one = file.rows > 1 and len(file.classes) == 1
        takes = "it takes rows of two classes, or" if one else "add"
        takes = "it takes at least two rows, or" if file.rows <= 1 else takes
        rest = ", or leave out --no-estimate" if takes == "add" else ""
        note(f"note: the quality was not measured: {takes} --test FILE{rest}")


def shown_of_fit(
    file: Any, path: str, source: Any, figures: Figures | None
) -> tuple[dict[str, Any], list[Any]]:
    """What was learned, for machines and for people."""
    text = f"{number_of(file.rows, file.unit)} counted; the model is in {path}"
    short = [] if figures is None else [line(), line(figures.in_short(), "bold")]
    quality = [] if figures is None else figures_tables(figures)
    if file.unit == "document":
        content = content_of(file, path, figures) | {"rows_without_label": source.unlabelled}
        shown = [
            text_classes(file, False),
            line(description(file), "dim"),
            line(text, "bold"),
            line(),
        ]
        return content, [*shown, *quality, *top_terms_tables(file, False), *short]
    informative = file.informative()
    content = {
        "model": path,
        "target": file.target,
        "rows": file.rows,
        "rows_without_label": source.unlabelled,
        "classes": file.rows_of_classes,
        "columns": file.columns(),
        "estimate": None if figures is None else figures.document(),
        "informative": _informative_document(informative),
    }
    shown = [*columns_table(file, informative, False, path), class_table(file, file.target, False)]
    shown += [line(text, "bold"), line(), *quality]
    if informative:
        shown += informative_table(informative)
    return content, [*shown, *short]


def _informative_document(found: list[tuple[str, float]]) -> dict[str, Any]:
    return {"measure": MEASURE, "columns": [{"column": name, "nats": nats} for name, nats in found]}


# ---- what moved between two tallies --------------------------------------------------------------
MAX_MOVED = 20  # columns
MAX_LEVELS_MOVED = 5  # levels of a column that came or went


def comparison_tables(found: Any, show_all: bool) -> list[Any]:
    """What moved, for people."""
    shown = found.columns if show_all else found.columns[:MAX_MOVED]
    parts: list[Any] = []
    if found.p_classes is not None:
        rows = [[str(c), f"{a:.1%}", f"{b:.1%}"] for c, (a, b) in found.classes.items()]
        title = f"Classes (p = {found.p_classes:.2g} that they have not moved)"
        parts += [table(title, ["class", ">old", ">new"], rows), line()]
    labelled = found.p_classes is not None
    heads = ["column", ">PSI", ">JS (nats)", ">missing", "q", *(["q within"] * labelled), "levels"]
    rows = []
    for c in shown:
        levels = [*(f"+{level}" for level in c.came), *(f"-{level}" for level in c.went)]
        within = [] if c.q_within is None else [f"{c.q_within:.2g}"]
        missing = f"{c.missing_old:.1%} → {c.missing_new:.1%}"
        figures = [f"{c.psi:.4f}", f"{c.js:.4f}", missing, f"{c.q_moved:.2g}", *within]
        rows.append([c.name, *figures, listed(levels, MAX_LEVELS_MOVED)])
    title = f"Columns ({found.rows_old:,.10g} rows before, {found.rows_new:,.10g} after)"
    parts.append(table(title, heads, rows))
    remarks = [
        "PSI: population stability index; below 0.1 is little, above 0.25 much",
        "q: of the columns with at most this q, so large a share at most has not moved",
        *(["q within: the same, of the column within the classes"] * labelled),
        *(f"{name} is not compared: {why}" for name, why in found.left_out.items()),
    ]
    if len(shown) < len(found.columns):
        remarks.append(f"{len(found.columns) - len(shown):,} more columns: --all shows them")
    return [*parts, *(line(remark, "dim") for remark in remarks)]


def shares_tables(found: Any) -> list[Any]:
    """The class shares of rows without labels, for people."""
    rows = [
        [of["class"], f"{of['share']:.2%}", "{:.2%} – {:.2%}".format(*of["interval"])]
        for of in found.document()["classes"]
    ]
    title = f"Class shares of {found.rows:,.10g} rows without labels"
    heads = ["class", ">share", f">{found.confidence:.10g} interval"]
    remarks = [
        f"{name} does not fit: more than the classes moved there (q = {found.columns[name]:.2g})"
        for name in found.misfits
    ]
    if not found.measured:
        remarks.append(
            "intervals are approximate: how columns depend on each other is assumed; rows, or ten "
            "files of counts, show it"
        )
    remarks += [f"{name} is not used: {why}" for name, why in found.left_out.items()]
    return [table(title, heads, rows), *(line(remark, "dim") for remark in remarks)]
