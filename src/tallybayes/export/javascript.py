"""A formula as a module of JavaScript, with its types: `scripts`, and a form.

The page of a report runs the same scripts. Names, levels and labels are literals of JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from tallybayes.export.form import characters, compact, form_of, json_of
from tallybayes.export.written import labels_of
from tallybayes.score import Formula, Inexpressible

__all__ = ["JavaScript", "evaluator", "saved", "write"]

SCRIPTS = ("laws.js", "text.js", "evaluate.js")
"""In the order in which they run; each adds to the object R."""

MAX_WHOLE = 2**53  # JavaScript has no other whole numbers beyond

CODE = """\
// P(c | x) of a naive Bayes model, which tallybayes wrote.
// predictProba(row) and predict(row) take an object of values by column name.
const R = {{}};
{scripts}
const form = {form};
const model = new R.Score(form);

/** The labels, in the order of the probabilities. */
export const classes = {labels};
/** P(c | x) of each class. */
export const predictProba = (row) => model.probabilities(model.scoresOf(row));
/** The most probable label; of equal ones the first. */
export const predict = (row) => classes[model.best(model.scoresOf(row))];
"""

TYPES = """\
export type Label = {labels};
/** A row by column name. null, undefined and NaN are missing values. */
export interface Row {{
{columns}
}}
/** The labels, in the order of the probabilities. */
export declare const classes: readonly Label[];
/** P(c | x) of each class. A RangeError for a value that the model does not take. */
export declare const predictProba: (row: Row) => number[];
/** The most probable label; of equal ones the first. */
export declare const predict: (row: Row) => Label;
"""

TYPE_OF = {
    "text": "string",
    "boolean": "boolean | string",
    "date": "Date | string | number",
    "mixed": "number | string",
}
"""What a column holds; others are numbers."""


class JavaScript(NamedTuple):
    """A module, and its types.

    Parameters
    ----------
    code : str
        An ES module, such as `model.mjs`.
    types : str
        Its declarations for TypeScript, such as `model.d.mts`.
    """

    code: str
    types: str


@cache
def evaluator(documents: bool = True) -> tuple[str, ...]:
    """The scripts that evaluate a form, with those of documents or without."""
    folder, names = files(__package__).joinpath("scripts"), [*SCRIPTS]
    if not documents:
        names.remove("text.js")
    return tuple(folder.joinpath(name).read_text(encoding="utf-8") for name in names)


def write(formula: Formula, *, names: Mapping[str, str] | None = None) -> JavaScript:
    """The text of the module, and of its types.

    Parameters
    ----------
    formula : Formula
    names : mapping of str to str, optional
        What the keys of a row are, where that is not the column's name.

    Raises
    ------
    Inexpressible
        For what Python alone computes.
    """
    form, labels = form_of(formula, names=names), labels_of(formula)
    for label in labels:
        if isinstance(label, int) and abs(label) >= MAX_WHOLE:
            raise Inexpressible(
                f"the label {label} is a whole number of 2⁵³ or more, which JavaScript does not "
                "distinguish from its neighbours: make strings of the labels"
            )
    columns = [
        f"  {json_of(column['name'])}{'?' * (column['missing'] != -2)}: "
        f"{TYPE_OF.get(kind, 'number')}{' | null' * (column['missing'] != -2)};"
        for column, kind in zip(form["columns"], _kinds(formula), strict=True)
    ]
    documents = [term for term in form["terms"] if term["kind"] == "text"]
    for term in documents:
        term["split"] = characters(term["split"])
    scripts = "\n".join(f"{{\n{script}}}" for script in evaluator(bool(documents)))
    code = CODE.format(scripts=scripts, form=json_of(compact(form)), labels=json_of(labels))
    types = " | ".join(json_of(label) for label in labels)
    return JavaScript(code, TYPES.format(labels=types, columns="\n".join(columns)))


def saved(written: JavaScript, path: str) -> dict[str, bytes]:
    """The files of a module, model.mjs, and of its types, model.d.mts."""
    start, dot, ending = path.rpartition(".")
    types = f"{start}.d{dot}{ending.replace('js', 'ts')}"
    return {path: written.code.encode(), types: written.types.encode()}


def _kinds(formula: Formula) -> list[str]:
    """What the columns of the form hold."""
    read = {*formula.columns}
    return [kind for name, kind in formula.kinds.items() if name in read]
