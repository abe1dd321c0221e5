"""Whether lazy answers are those of a fitted model, on real tables that change."""

from __future__ import annotations

from typing import Any, NamedTuple

import duckdb
import numpy as np
import pandas as pd

from benchmarks.accuracy.data import DataSet
from tallybayes import LazyNaiveBayes, NaiveBayes
from tallybayes.families import Categorical, Gaussian

__all__ = ["SETS", "Compared", "compare"]

SETS = ("adult", "mushroom", "arff-iris")
BOUND = 1e-9
TARGET = "the class"


class Compared(NamedTuple):
    """How far lazy answers are from those of a fitted model.

    Parameters
    ----------
    name, when : str
        The data set, and what had been done to its table.
    rows, questions : int
    difference : float
        The largest difference of a probability.
    counts : bool
        Whether all level counts are equal.
    """

    name: str
    when: str
    rows: int
    questions: int
    difference: float
    counts: bool

    @property
    def met(self) -> bool:
        return self.counts and self.difference <= BOUND


def _counts(tally: Any) -> dict[tuple[str, str], list[float]]:
    """Level counts by column and level."""
    return {
        (group.names[0], level): counts.counts[:, i].tolist()
        for group, counts in zip(tally.schema.groups, tally.groups, strict=True)
        if group.kind == "levels"
        for i, level in enumerate(group.levels[0].tolist())
    }


def _asked(x: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """300 rows, a tenth of the cells missing values, a tenth of the strings never seen."""
    asked = x.sample(300, replace=True, random_state=0).reset_index(drop=True)
    for name in asked:
        numbers = pd.api.types.is_numeric_dtype(asked[name])
        if not numbers:
            asked.loc[rng.uniform(size=300) < 0.1, name] = "never seen"
        asked.loc[rng.uniform(size=300) < 0.1, name] = np.nan if numbers else None
    return asked


def compare(data: DataSet) -> list[Compared]:
    """A table as it grows and shrinks, asked after each change.

    Raises
    ------
    NoData
    """
    x, y = data.table
    x = x.rename(columns=str)
    whole = x.assign(**{TARGET: np.asarray(y, dtype=object)})
    order = np.random.default_rng(1).permutation(len(whole))
    whole = whole.iloc[order].reset_index(drop=True).assign(row_number=np.arange(len(whole)))
    asked = _asked(x, np.random.default_rng(2))
    numbers = [name for name in x if pd.api.types.is_numeric_dtype(x[name])]
    found = []
    for kind in ("numbers Gaussian", "all categories") if numbers else ("all categories",):
        gaussian = numbers if kind == "numbers Gaussian" else []
        columns = {n: Gaussian() if n in gaussian else Categorical() for n in x}
        with duckdb.connect() as db:
            half = len(whole) // 2
            for when, change, rows in (
                ("half of the rows", f"CREATE TABLE t AS FROM whole WHERE row_number < {half}",
                 whole["row_number"] < half),
                ("the others appended", f"INSERT INTO t FROM whole WHERE row_number >= {half}",
                 whole["row_number"] >= 0),
                ("every third deleted", "DELETE FROM t WHERE row_number % 3 = 0",
                 whole["row_number"] % 3 > 0),
            ):  # fmt: skip
                db.register("whole", whole)
                db.execute(change)
                now = whole[rows]
                lazy = LazyNaiveBayes(
                    "t", TARGET, columns={**columns, "row_number": None}, connection=db
                )
                model = NaiveBayes(columns).fit(now[list(x)], now[TARGET].to_numpy())
                apart = abs(lazy.predict_proba(asked) - model.predict_proba(asked)).max()
                known = _counts(model.tally_)
                counted = _counts(lazy.tally_)
                same = all(known[key] == counts for key, counts in counted.items())
                same &= lazy.class_count_.tolist() == model.class_count_.tolist()
                name = f"{data.name}, {kind}"
                found.append(Compared(name, when, len(now), len(asked), float(apart), same))
    return found
