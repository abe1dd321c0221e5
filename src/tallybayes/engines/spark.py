"""The engine for sources whose rows stay on a cluster: each part is counted there in memory, and
the tallies are merged there in the order of the parts.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.engines.contract import (
    Counting,
    JointCells,
    RowScorer,
    merged_joint_cells,
    merged_tables,
    sampled_marks,
)
from tallybayes.engines.memory import MemoryEngine
from tallybayes.engines.stream import StreamEngine, TalliesByType, nothing_of
from tallybayes.sources.contract import Distributed, Source, is_distributed
from tallybayes.sources.files import is_spark_frame, source_of
from tallybayes.tables import Table
from tallybayes.tally import TableTally
from tallybayes.threads import on_one_thread

__all__ = ["SparkEngine"]


Array = NDArray[np.float64]


def _distributed(source: Any) -> Distributed:
    found = source_of(source)
    assert is_distributed(found)
    return found


class SparkEngine(StreamEngine):
    """Counts and scores the rows of Spark DataFrames where they lie; see
    :class:`tallybayes.engines.contract.Engine`."""

    name = "spark"

    def reads(self, source: Any) -> bool:
        return is_spark_frame(source)

    def open(self, source: Any, connection: Any = None) -> Source:
        if connection is not None:
            raise ValueError("a Spark DataFrame has its session: leave connection= out")
        return source_of(source)

    def _counted(
        self,
        source: Source,
        what: Counting,
        target: str,
        names: list[str] | None,
        as_written: Collection[str],
    ) -> TalliesByType | None:
        each = partial(_tally_of, what, target)
        found = _distributed(source).fold(names, each, merged_tables)
        return None if found is None else TalliesByType({True: found.result})

    def _joint_cells(
        self,
        columns: Mapping[str, Array | None],
        source: Source,
        target: str,
        weight: str | None,
        names: list[str],
    ) -> JointCells | None:
        each = partial(_joint_cells_of, columns, target, weight)
        found = _distributed(source).fold(names, each, merged_joint_cells)
        return None if found is None else found.result

    def sample(self, source: Any, n: int) -> Table:
        source = _distributed(source)
        counted = source.fold(None, _no_result, _no_result)
        if counted is None:
            return nothing_of(source)
        marks = sampled_marks(counted.rows, n) if n < counted.n_rows else None
        return source.take(counted.names, marks) or nothing_of(source)

    def score(self, model: RowScorer, source: Any) -> Array:
        source = _distributed(source)
        found = source.map(None, partial(_scores_of, model))
        return np.concatenate(found or [model.joint_of(nothing_of(source))])


# ---- what is sent to the rows --------------------------------------------------------------------
def _tally_of(what: Counting, target: str, table: Table) -> TableTally:
    with on_one_thread():
        return MemoryEngine().collect(what, table, target)


def _joint_cells_of(
    columns: Mapping[str, Array | None], target: str, weight: str | None, table: Table
) -> JointCells:
    with on_one_thread():
        return MemoryEngine().count_together(columns, table, target, weight)


def _scores_of(model: RowScorer, table: Table) -> Array:
    with on_one_thread():
        return model.joint_of(table)


def _no_result(*_: Any) -> None:
    return None
