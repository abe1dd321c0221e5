"""One SELECT that predicts as a model does.

The scores s_c are added up, and the probabilities are exp(s_c − max s) over their sum; of two
classes the log-odds are enough. Of equal scores the first class wins. A row that has no prediction,
since it holds what the model refuses (an infinite number, a negative count), has NULL in each
column.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import get_args

from tallybayes.export.sql.columns import Columns
from tallybayes.export.sql.dialects import dialect_of
from tallybayes.export.sql.joint_tables import joined
from tallybayes.export.sql.predictions import log_odds, of_log_odds, of_scores
from tallybayes.export.sql.scores import added
from tallybayes.export.sql.stages import Stages
from tallybayes.parameters.formula import Formula
from tallybayes.parameters.formula_cells import Inexpressible, Kind

__all__ = ["PREDICTION", "select"]

PREDICTION = "prediction"


def select(
    formula: Formula,
    table: str | Sequence[str],
    dialect: str = "duckdb",
    *,
    names: Mapping[str, str] | None = None,
    kinds: Mapping[str, Kind] | None = None,
    keep: Sequence[str] = (),
) -> str:
    """The statement.

    Parameters
    ----------
    formula : Formula
    table : str or sequence of str
        Its name, or the parts of it: schema and table.
    dialect : str
    names : mapping of str to str, optional
        What the table calls columns, where that is not their name.
    kinds : mapping of str to Kind, optional
        What columns hold in the table, where that differs from the model's kind.
    keep : sequence of str
        Columns of the table that the result has first.

    Raises
    ------
    ValueError
        For a dialect, a name or a kind that does not exist, or a statement too large.
    Inexpressible
        For what SQL cannot express.
    """
    syntax = dialect_of(dialect)
    parts = [table] if isinstance(table, str) else list(table)
    stages = Stages(syntax)
    columns = Columns(formula, stages, dict(names or {}), _kinds(formula, kinds or {}))
    odds = log_odds(formula)
    scores = _scores(odds or formula, columns)
    kept = [stages.name("k", syntax.column(name)) for name in keep]
    outputs = list(zip(kept, keep, strict=True))
    if odds is None:
        found, uses = of_scores(formula, columns, scores)
    else:
        found, uses = of_log_odds(formula, odds, columns, scores[0])
    titles = [PREDICTION, *syntax.titles([str(label) for label in formula.classes.tolist()])]
    _need_distinct([*keep, *titles])
    outputs += zip(found, titles, strict=True)
    return stages.select(syntax.rows(parts), outputs, [*kept, *uses])


def _kinds(formula: Formula, given: Mapping[str, Kind]) -> dict[str, Kind]:
    """What columns hold in the table."""
    kinds = {**formula.kinds, **given}
    for name, kind in given.items():
        if name not in formula.kinds:
            raise ValueError(f"types= names {name!r}, which is not a column of the model")
        if kind not in get_args(Kind) or kind == "mixed":
            known = ", ".join(k for k in get_args(Kind) if k != "mixed")
            raise ValueError(f"types= says that {name!r} holds {kind!r}: it is one of {known}")
    for name in formula.columns:
        if kinds[name] == "mixed":
            raise Inexpressible(
                f"column {name!r} held numbers and strings in training, and a column in SQL holds "
                f"one of them: if it holds numbers there, say types={{{name!r}: 'number'}}"
            )
    return kinds


def _need_distinct(names: Sequence[str]) -> None:
    """Raises where two columns of the result would have one name."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ValueError(
                f"two columns of the result would be called {name!r}: keep= names columns that the "
                "result has besides"
            )
        seen.add(name)


def _scores(formula: Formula, columns: Columns) -> list[str]:
    """The names of the scores."""
    of_terms = [added(term, columns) for term in joined(formula.terms, columns.dialect.most_cells)]
    uses = [name for term in of_terms for name in term.uses]
    return [
        columns.stages.name(
            "s",
            " + ".join([columns.dialect.number(offset), *(f"({t.of_class[k]})" for t in of_terms)]),
            uses,
        )
        for k, offset in enumerate(formula.offset.tolist())
    ]
