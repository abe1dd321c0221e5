"""A formula as a module of Python that needs the standard library alone: `standalone`, and a form.

Names, levels and labels are in two literals of ASCII strings, which hold JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from tallybayes.export.form import compact, form_of, json_of
from tallybayes.export.written import labels_of
from tallybayes.score import Formula

__all__ = ["saved", "write"]

END = """

# ---- the model -----------------------------------------------------------------------------------
_MODEL = Model(
    {form!r},
    {labels!r},
)
classes, predict_proba, predict = _MODEL.classes, _MODEL.predict_proba, _MODEL.predict
"""


DOCUMENTS, AFTER_DOCUMENTS = "# ---- documents -", "# ---- scores to probabilities -"
"""Where the part of the evaluator begins and ends that other models do not need."""


@cache
def _evaluator(documents: bool) -> str:
    text = files(__package__).joinpath("standalone.py").read_text(encoding="utf-8")
    if not documents:
        text = text[: text.index(DOCUMENTS)] + text[text.index(AFTER_DOCUMENTS) :]
    return text.replace('__all__ = ["Model"]', '__all__ = ["classes", "predict", "predict_proba"]')


def write(formula: Formula, *, names: Mapping[str, str] | None = None) -> str:
    """The text of the module.

    Parameters
    ----------
    formula : Formula
    names : mapping of str to str, optional
        What the keys of a row are, where that is not the column's name.

    Raises
    ------
    Inexpressible
        For what Python computes with this package alone.
    """
    form, labels = compact(form_of(formula, names=names)), json_of(labels_of(formula))
    documents = any(term["kind"] == "text" for term in form["terms"])
    return _evaluator(documents) + END.format(form=json_of(form), labels=labels)


def saved(written: str, path: str) -> dict[str, bytes]:
    """The file of a module."""
    return {path: written.encode()}
