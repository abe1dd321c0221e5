"""What a model file holds, for people and for machines."""

from __future__ import annotations

from typing import Any

from tallybayes.cli.io.model_file import ModelFile
from tallybayes.cli.report.informative_columns import MEASURE, most_informative
from tallybayes.cli.report.schema_view import (
    MAX_ROWS,
    class_table,
    columns_document,
    columns_table,
    informative_table,
)
from tallybayes.cli.terminal.console import document, line, number_of, say, table

__all__ = ["show"]

MAX_CELLS = 20  # levels or bins of a table that is shown
MAX_CLASSES = 6  # classes


def show(file: ModelFile, model: str, tables: bool, show_all: bool, json: bool) -> None:
    """Shows columns, classes and options, and with `tables` each column's parameters; the first and
    most informative of them, or all."""
    informative = most_informative(file)
    settings = {k: v for k, v in file.model.get_params().items() if k != "columns"}
    parts = file.table.parts
    if json:
        content: dict[str, Any] = {
            "model": model,
            "target": file.target,
            "rows": file.rows,
            "classes": dict(zip(file.classes, file.class_rows.tolist(), strict=True)),
            "options": settings,
            "columns": columns_document(file),
            "informative": {
                "measure": MEASURE,
                "columns": [t._asdict() for t in informative],
            },
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
        say(*informative_table(informative, MEASURE))
    if tables:
        say(line())
        for part in parts if show_all else parts[:MAX_ROWS]:
            say(_table(_parameters(part, file.classes), file.classes))
        if not show_all and len(parts) > MAX_ROWS:
            say(line(f"… and {len(parts) - MAX_ROWS:,} more tables: --all prints them"))


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
