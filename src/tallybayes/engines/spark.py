"""The engine for sources whose rows stay on a cluster: parts are counted there in memory, and the
results are merged there in the order of the parts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any

from tallybayes.engines.contract import R, Rows, sampled_marks
from tallybayes.engines.stream import StreamEngine
from tallybayes.sources.contract import is_distributed
from tallybayes.sources.files import is_spark_frame, source_of
from tallybayes.tables import Table
from tallybayes.threads import on_one_thread

__all__ = ["SparkEngine"]


class SparkEngine(StreamEngine):
    """Counts the rows of Spark DataFrames where they lie; see
    :class:`tallybayes.engines.contract.Engine`. Only results and a sample come to this process."""

    name = "spark"

    def reads(self, source: Any) -> bool:
        return is_spark_frame(source) or (hasattr(type(source), "parts") and is_distributed(source))

    def fold(
        self,
        source: Any,
        each: Callable[[Table, bool], tuple[R, Rows]],
        merge: Callable[[R, R], R],
        *,
        names: Sequence[str] | None = None,
        as_written: Collection[str] = (),
        max_rows: int | None = 0,
        noted: Callable[[R, Callable[[int], str]], None] | None = None,
    ) -> tuple[R | None, list[Rows]]:
        source = source_of(source)
        assert is_distributed(source)
        found = source.fold(names, partial(_result, each), merge)
        if found is None or max_rows == 0:
            return None if found is None else found.result, []
        whole = max_rows is None or found.n_rows <= max_rows
        marks = None if max_rows is None or whole else sampled_marks(found.rows, max_rows)
        table = source.take(found.names, marks)
        return found.result, [] if table is None else [each(table, True)[1]]


def _result(each: Callable[[Table, bool], tuple[R, Rows]], table: Table) -> R:
    """What is sent to the rows. A task has one core."""
    with on_one_thread():
        return each(table, True)[0]
