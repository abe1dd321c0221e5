"""Why a row got its classes: what each column adds to each class's score."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.inspection.documents import DocumentExplanation, explained, waterfall_of
from tallybayes.inspection.frames import frame
from tallybayes.models.columns.text_terms import TextTerms
from tallybayes.models.table import TableModel
from tallybayes.readable import html_table
from tallybayes.scoring import log_normalised
from tallybayes.tables import Table
from tallybayes.tables.columns import values_of

__all__ = ["Explanation", "explanation_of"]

Array = NDArray[np.float64]


MAX_SHOWN_COLUMNS = 10
"""Columns that are printed; those that separate the classes most."""

MAX_SHOWN_CLASSES = 5
"""Classes that are printed; the most probable ones."""

MAX_SHOWN_TERMS = 5
"""Terms of a text that are printed; those that separate the classes most."""

MAX_CHARACTERS = 40
"""Characters of a name, value or label that are printed."""


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """Scores taken apart: ``base + contributions.sum(axis=2)`` is the joint log-probability.

    Parameters
    ----------
    base : float64 array (n_classes,)
        log P(c), in nats.
    contributions : float64 array (n_rows, n_classes, n_columns)
        log p(x_j | c), in nats; 0 for a missing value.
    classes : array (n_classes,)
    columns : list of str
    table : Table
        The rows, as the model reads them.
    probabilities : float64 array (n_rows, n_classes)
        P(c | x), as :meth:`predict_proba` gives it.
    text_terms : mapping of str to TextTerms
        The columns of text, and what their terms add.

    Attributes
    ----------
    values : list of dict
        The value of each column in each row, as the model reads it; None for a missing value.
    row : dict
        The values of the first row.
    """

    base: Array
    contributions: Array
    classes: NDArray[Any]
    columns: list[str]
    table: Table
    probabilities: Array
    text_terms: Mapping[str, TextTerms]

    def document(self, column: str | None = None, row: int = 0) -> DocumentExplanation:
        """What each term of a text adds, beside the class prior and the other columns, which are
        its ``base``.

        Parameters
        ----------
        column : str, optional
            A column of text; the only one by default.
        row : int, default=0
            The number of the row.

        Returns
        -------
        DocumentExplanation
            Its contributions add up to what the column adds; a missing text has no terms.

        Raises
        ------
        ValueError
            If no column of text is called so, or none is named and there is not just one.
        IndexError
            For a row that there is not.
        """
        column = self._text_column(column)
        n_rows, place = len(self.contributions), self.columns.index(column)
        if not -n_rows <= row < n_rows:
            raise IndexError(f"the explanation has {n_rows} rows, from 0 on: there is no row {row}")
        [text] = values_of(self.table.columns[column].take(np.array([row % n_rows])))
        document = "" if text is None else str(text)
        terms, contributions = self.text_terms[column].of_document(document)
        others = np.delete(self.contributions[row], place, axis=1).sum(axis=1)
        return explained(
            document,
            terms,
            contributions,
            self.base + others,
            self.classes,
            self.probabilities[row],
        )

    def _text_column(self, column: str | None) -> str:
        if column is not None and column in self.text_terms:
            return column
        if column is None and len(self.text_terms) == 1:
            return next(iter(self.text_terms))
        there = (
            f"the columns of text are {sorted(self.text_terms)}"
            if self.text_terms
            else "there is none"
        )
        raise ValueError(
            f"document(…) explains a column of text, and {there}: name one"
            if column is None
            else f"{column!r} is not read as text, and {there}: name such a column"
        )

    @property
    def values(self) -> list[dict[str, Any]]:
        """The value of each column in each row, as the model reads it; None for a missing value."""
        columns = {name: values_of(column) for name, column in self.table.columns.items()}
        rows = zip(*columns.values(), strict=True) if columns else ((),) * self.table.n_rows
        return [dict(zip(columns, row, strict=True)) for row in rows]

    @property
    def row(self) -> dict[str, Any]:
        """The values of the first row, by column; None for a missing value."""
        first = self.table.take(np.arange(min(1, self.table.n_rows)))
        return {n: values_of(c)[0] for n, c in first.columns.items()} if first.n_rows else {}

    def __str__(self) -> str:
        """A readable table of the first row, at most :data:`MAX_SHOWN_COLUMNS` columns and
        :data:`MAX_SHOWN_CLASSES` classes: the columns that separate the classes most, and the most
        probable classes, first."""
        names, lines, hidden = self._table_of_first()
        text = _laid_out(names, lines)
        return f"{text}\n{hidden}" if hidden else text

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """The table of the first row in a notebook."""
        names, lines, hidden = self._table_of_first()
        head, *rest = [(name, *line) for name, line in zip(names, lines, strict=True)]
        return html_table(head, rest, hidden)

    def _table_of_first(self) -> tuple[list[str], list[list[str]], str]:
        """What is printed of the first row: the names of the lines, the lines with a cell for each
        class, the labels first, and what is not shown."""
        n_classes = len(self.base)
        share = self.contributions[0] if len(self.contributions) else np.zeros((n_classes, 0))
        proba = self.probabilities[0] if len(self.probabilities) else np.exp(self.base)
        row = self.row
        shown = np.sort(np.argsort(-proba, kind="stable")[:MAX_SHOWN_CLASSES])
        with np.errstate(invalid="ignore"):  # ruled out by every class
            # columns are ordered by how far apart they set the classes
            apart = np.ptp(share, axis=0)
        order = np.argsort(-np.nan_to_num(apart, nan=np.inf), kind="stable")
        rest = order[MAX_SHOWN_COLUMNS:]
        lines = [("(prior)", self.base)]
        names = [_named(name, row) for name in self.columns]
        for j in order[:MAX_SHOWN_COLUMNS].tolist():
            lines.append((names[j], share[:, j]))
            if self.columns[j] in self.text_terms and len(self.contributions):
                lines += self._terms_shown(self.columns[j])
        if rest.size:
            lines.append((f"… and {rest.size} more", share[:, rest].sum(axis=1)))
        lines.append(("(sum)", self.base + share.sum(axis=1)))
        cells = [[f"{v:.4f}" for v in values[shown]] for _, values in lines]
        cells.append([f"{100.0 * p:.1f} %" for p in proba[shown]])
        labels = [_cut(str(label)) for label in self.classes[shown].tolist()]
        left = ["nats", *(name for name, _ in lines), "probability"]
        hidden, n_rows = n_classes - len(shown), len(self.contributions)
        notes = [f"{hidden} less probable classes are not shown"] if hidden else []
        if n_rows > 1:
            notes.append(
                f"this is row 0 of {n_rows}: explain another one by itself, or see all in "
                "to_frame()"
            )
        return left, [labels, *cells], "; ".join(notes)

    def _terms_shown(self, column: str) -> list[tuple[str, Array]]:
        """The terms of the first row's text that separate the classes most, and the rest."""
        document = self.document(column)
        contributions = document.contributions
        order = np.argsort(-np.ptp(contributions, axis=1), kind="stable")
        found = [
            (f"  {_cut(str(document.terms[i]))}", contributions[i]) for i in order[:MAX_SHOWN_TERMS]
        ]
        rest = order[MAX_SHOWN_TERMS:]
        if rest.size:
            found.append((f"  … and {rest.size} more terms", contributions[rest].sum(axis=0)))
        return found

    def plot(self, ax: Any = None, *, row: int = 0, **options: Any) -> Any:
        """A waterfall of one row: what each column adds, from the class prior to the total.

        It needs the extra ``plots``.

        Parameters
        ----------
        ax : axes, optional
            Where to draw; new axes unless given.
        row : int, default=0
            The number of the row.
        **options
            ``label``, ``against`` and ``max_display`` of ``WaterfallDisplay.from_explanation``.

        Returns
        -------
        tallybayes.plots.WaterfallDisplay
            Drawn.
        """
        return waterfall_of(self, ax=ax, row=row, **options)

    def to_frame(self) -> Any:
        """A frame with the columns row, class, column and contribution (nats); the class prior is
        the column "(prior)"."""
        n, k, d = self.contributions.shape
        labels = [*self.columns, "(prior)"]
        base = np.broadcast_to(self.base[None, :, None], (n, k, 1))
        values = np.concatenate([self.contributions, base], axis=2)
        return frame(
            {
                "row": np.repeat(np.arange(n), k * (d + 1)),
                "class": np.tile(np.repeat(self.classes, d + 1), n),
                "column": np.tile(np.array(labels, dtype=object), n * k).tolist(),
                "contribution": values.ravel(),
            }
        )


def explanation_of(model: TableModel, x: Table) -> Explanation:
    """What adds to the score of each class in rows as the model reads them, with the probabilities
    that it predicts: of a row that every class rules out, those of the class prior."""
    base, contributions, names = model.contributions(x)
    with np.errstate(invalid="ignore"):
        scores = base + contributions.sum(axis=2)
    proba = model.corrected(log_normalised(scores, model.log_prior))
    classes, text_terms = model.schema.classes, model.text_terms
    return Explanation(base, contributions, classes, names, x, proba, text_terms)


def _named(name: str, row: dict[str, Any]) -> str:
    """A column with the value that a row has there."""
    if name not in row:  # a pair of columns
        return _cut(name)
    value = row[name]
    if value is None:
        return f"{_cut(name)} (missing)"
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return f"{_cut(name)} = {_cut(text)}"


def _cut(text: str) -> str:
    """A string of one line, cut where it is long."""
    text = " ".join(text.split())
    return text if len(text) <= MAX_CHARACTERS else text[: MAX_CHARACTERS - 1] + "…"


def _laid_out(names: list[str], cells: list[list[str]]) -> str:
    """Lines with the names on the left and columns of cells on the right."""
    width = max(map(len, names))
    widths = [max(10, *map(len, column)) for column in zip(*cells, strict=True)]
    lines = []
    for name, row in zip(names, cells, strict=True):
        shown = " ".join(cell.rjust(w) for cell, w in zip(row, widths, strict=True))
        lines.append(f"{name.ljust(width)} {shown}")
    return "\n".join(lines)
