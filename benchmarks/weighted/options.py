"""What a run was asked for, and the data and models that it has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from benchmarks.accuracy.data import DataSet, NoData, all_data_sets, more_data_sets
from benchmarks.accuracy.folds import SEED
from benchmarks.accuracy.models import MODELS, Model
from benchmarks.pages import say

__all__ = [
    "BOOSTING",
    "CATBOOST",
    "EBM",
    "FOREST",
    "KHIOPS",
    "LOGISTIC",
    "Options",
    "Rows",
    "model_named",
    "say",
]

KHIOPS, BOOSTING, LOGISTIC, EBM, CATBOOST, FOREST = (
    "Khiops SNB",
    "HistGradientBoosting",
    "LogisticRegression",
    "EBM",
    "CatBoost",
    "RandomForest",
)
LEAST, QUICK_ROWS = 5, 500  # rows a class must have; rows of a set in a quick run
LETTER = "arff-letter"


def model_named(name: str) -> Model:
    return next(model for model in MODELS if model.name == name)


@dataclass(frozen=True)
class Rows:
    """The rows of a data set that are used.

    Parameters
    ----------
    name : str
    X : pandas.DataFrame (n_rows, n_columns)
    y : object array (n_rows,)
    """

    name: str
    X: Any
    y: Any

    @property
    def classes(self) -> int:
        return len(set(self.y))

    def some(self, most: int | None) -> Rows:
        """At most so many of the rows, drawn at random, without the classes that become rare."""
        if most is None or len(self.y) <= most:
            return self
        drawn = np.sort(np.random.default_rng(SEED).permutation(len(self.y))[:most])
        often = Counter(self.y[drawn])
        keep = [i for i in drawn if often[self.y[i]] >= LEAST]
        return Rows(self.name, self.X.iloc[keep].reset_index(drop=True), self.y[keep])


@dataclass
class Options:
    """What was asked for.

    Parameters
    ----------
    quick : bool
        Small data and few folds.
    models : list of Model
        Those that are compared and installed.
    sets : str
        A pattern of the names of data sets.
    rounds : int
        Fits that a time is the median of.
    folds : int
    missing : list of str
        What had no data, noted while the parts run.
    """

    quick: bool
    models: Sequence[Model]
    sets: str = "*"
    rounds: int = 3
    folds: int = 5
    missing: list[str] = field(default_factory=list)

    @property
    def most(self) -> int | None:
        return QUICK_ROWS if self.quick else None

    def _rows(self, data: DataSet) -> Rows | None:
        if not fnmatchcase(data.name, self.sets):
            return None
        try:
            X, y = data.rows(least=LEAST, most=None)
        except NoData as why:
            self.missing.append(data.name)
            say(f"  {data.name}: NO DATA: {why}")
            return None
        return Rows(data.name.removeprefix("arff-"), X, y).some(self.most)

    def fourteen(self) -> Iterator[Rows]:
        """The ARFF sets but letter, without classes of fewer than 5 rows."""
        for data in all_data_sets():
            if data.group == "arff" and data.name != LETTER:
                rows = self._rows(data)
                if rows is not None:
                    say(f"  {rows.name}: {len(rows.y):,} × {rows.X.shape[1]}")
                    yield rows

    def thirteen(self) -> Iterator[Rows]:
        """The further sets, without classes of fewer than 5 rows."""
        for data in more_data_sets():
            rows = self._rows(data)
            if rows is not None:
                say(f"  {rows.name}: {len(rows.y):,} × {rows.X.shape[1]}")
                yield rows

    def all_sets(self) -> Iterator[Rows]:
        """The fourteen sets, letter and the thirteen further ones."""
        yield from self.fourteen()
        letter = self.letter()
        if letter is not None:
            yield letter
        yield from self.thirteen()

    def over_sets(
        self, measure: Callable[[Rows, Options], dict[str, Any]]
    ) -> tuple[list[dict[str, Any]], list[str]]:
        """What is measured on each of the fourteen sets, and where it failed and why."""
        found, failed = [], []
        for rows in self.fourteen():
            try:
                found.append(measure(rows, self))
            except Exception as why:
                failed.append(f"FAILED on {rows.name}: {type(why).__name__}: {why}")
                say(f"    {failed[-1]}")
        return found, failed

    def letter(self) -> Rows | None:
        return next((self._rows(d) for d in all_data_sets() if d.name == LETTER), None)
