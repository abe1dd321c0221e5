"""The ``to_sql`` method of classifiers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from tallybayes.parameters import Formula
from tallybayes.parameters.formula import Kind

__all__ = ["SaysSQL"]

Dialect = Literal["duckdb", "postgres", "spark", "bigquery", "snowflake"]


class SaysSQL:
    """Base of classifiers with a ``to_sql`` method. Not for direct use."""

    if TYPE_CHECKING:

        def _fitted(self) -> Any: ...

    def to_sql(
        self,
        table: str | Sequence[str],
        dialect: Dialect = "duckdb",
        *,
        names: Mapping[str, str] | Sequence[str] | None = None,
        types: Mapping[str, Kind] | None = None,
        keep: Sequence[str] = (),
    ) -> str:
        """One SELECT that predicts the rows of a table where they lie.

        Its result has the column ``prediction`` with the label that :meth:`predict` returns, and
        for each class a column ``p(label)`` with the probability that :meth:`predict_proba`
        returns, in the order of ``classes_``.
        (BigQuery has no such names: they are ``p0_label``, … there.) A row that :meth:`predict`
        refuses, because of an infinite number, a negative count or a level that is an error, has
        NULL in all of them. Names, levels and labels are quoted, whatever characters they hold.

        NULL has also what :meth:`predict` answers, but SQL does not compute exactly: counts above
        2²⁰, or not whole, in a column read by a formula such as ``NegativeBinomial()``; and rows
        with a missing value among more than eight columns read with their covariance.

        Parameters
        ----------
        table : str or sequence of str
            The name of the table, or schema and table. It is quoted, and so are the columns: where
            the database folds names, give them as it stores them.
        dialect : {"duckdb", "postgres", "spark", "bigquery", "snowflake"}, default="duckdb"
            Whose SQL.
        names : mapping or sequence of str, optional
            What the table calls the model's columns: by their names, or all of them in order. A
            model of arrays without names needs it.
        types : mapping, optional
            By column of the model, what the table's column holds, where that is not what was
            learned: "text", "number", "integer", "decimal", "boolean" or "date". A column of levels
            is taken for text (booleans where its levels are True and False), so that levels that
            are stored as numbers need it.
        keep : sequence of str, optional
            Columns of the table that the result has besides, before the others.

        Returns
        -------
        str
            A statement without a semicolon: it can stand in ``CREATE VIEW … AS`` or ``FROM (…)``.

        Raises
        ------
        ValueError
            For what SQL cannot express, by name: columns of text, columns that hold numbers and
            strings, groups of counts under a Dirichlet prior, densities of other packages; for a
            name that the dialect cannot have, or a statement that is beyond its limits.
        """
        from tallybayes.export.statement import select

        formula = self._formula()
        return select(formula, table, dialect, names=_given(formula, names), kinds=types, keep=keep)

    def _formula(self) -> Formula:
        """What the model predicts."""
        formula: Formula = self._fitted().formula()
        return formula


def _given(formula: Formula, names: Mapping[str, str] | Sequence[str] | None) -> dict[str, str]:
    """The table's names of the model's columns."""
    known = list(formula.kinds)
    if names is None:
        if not formula.has_names:
            raise ValueError(
                f"the model was trained on {len(known)} columns without names: give those of the "
                "table in names=, in this order"
            )
        return {}
    if isinstance(names, Mapping):
        strange = [name for name in names if name not in formula.kinds]
        if strange:
            raise ValueError(f"names= names {strange[0]!r}, which is not a column of the model")
        return dict(names)
    if isinstance(names, str) or len(names) != len(known):
        raise ValueError(
            f"names= has the names of all {len(known)} columns of the model in order, or is a "
            f"mapping of some; got {names!r}"
        )
    return dict(zip(known, names, strict=True))
