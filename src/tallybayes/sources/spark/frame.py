"""A Spark DataFrame, of the classic kind or of Spark Connect. Imported only when one arrives.

Rows stay on the cluster: functions are sent there, and merged results come back. Within Spark,
columns are named by their places, because names may hold dots and backticks, and may differ only by
case.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import functions as sql
from pyspark.sql import types

from tallybayes.errors import SourceError
from tallybayes.sources.arrow import readable
from tallybayes.sources.contract import Folded, Part, SourceColumn
from tallybayes.sources.spark.failures import explained
from tallybayes.sources.spark.parquet_scan import Piece, pieces_of
from tallybayes.sources.spark.piece_tasks import NotPlain, counted_pieces, taken_from_pieces
from tallybayes.sources.spark.tasks import (
    ANSWERS,
    FAN_IN,
    Answer,
    answers_in,
    counted,
    mapped,
    merged,
    scored,
)
from tallybayes.tables import Table, arrow

__all__ = ["SparkFrame"]

R = TypeVar("R")

KINDS: tuple[tuple[str, tuple[type, ...]], ...] = (
    ("text", (types.StringType, types.CharType, types.VarcharType, types.NullType)),
    ("boolean", (types.BooleanType,)),
    ("integer", (types.IntegralType,)),
    ("decimal", (types.DecimalType,)),
    ("float", (types.FractionalType,)),
    ("date", (types.DateType, types.TimestampType, types.TimestampNTZType)),
)
TYPES: dict[type, Callable[[], Any]] = {
    bool: types.BooleanType,
    int: types.LongType,
    float: types.DoubleType,
    str: types.StringType,
}
MIN_FOUND_SHARE = 0.9  # of the rows of a sample, how many a second reading has to find


def _column(field: Any) -> SourceColumn:
    kind = next((name for name, of in KINDS if isinstance(field.dataType, of)), None)
    return SourceColumn(field.name, kind, field.dataType.simpleString())


class SparkFrame:
    """A DataFrame, evaluated each time that it is read.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
    """

    once = False
    name = "the Spark DataFrame"

    def __init__(self, frame: Any) -> None:
        with explained(self.name):
            self._fields = list(frame.schema.fields)
            self._frame = frame.toDF(*(f"c{i}" for i in range(len(self._fields))))
        self._given = frame
        self._pieces: list[list[Piece]] | None = None  # of files that tasks have read themselves
        self._columns = [_column(field) for field in self._fields]

    def columns(self) -> dict[str, SourceColumn]:
        return {column.name: column for column in self._columns}

    def parts(
        self, names: Sequence[str] | None = None, as_written: Collection[str] = ()
    ) -> Iterator[Part]:
        raise SourceError(
            "the rows of a Spark DataFrame stay on the cluster: fit, partial_fit, forget, score "
            "and predict work there; for anything else take a part that fits into memory, as "
            "df.limit(100_000).toPandas()"
        )

    # ---- what is done with the rows --------------------------------------------------------------
    def _read(self, names: Sequence[str] | None) -> tuple[list[str], Any]:
        """The columns that are read, and a DataFrame of them alone."""
        wanted = readable(self._columns, names, self.name)
        return wanted, self._frame.select(*(f"c{i}" for i in self._places(wanted)))

    def _places(self, names: Sequence[str]) -> list[int]:
        place = {column.name: i for i, column in enumerate(self._columns)}
        return [place[name] for name in names]

    def fold(
        self, names: Sequence[str] | None, each: Callable[[Table], R], merge: Callable[[R, R], R]
    ) -> Folded[R] | None:
        with explained(self.name):
            wanted, rows = self._read(names)
            types = self._types(wanted)
            self._pieces = pieces_of(self._given, list(types.values()))
            answer = None
            if self._pieces is not None:
                do = partial(counted_pieces, self._pieces, types, each, merge)
                answer = _one(self._in_tasks(do), merge)
                if answer is not None and isinstance(answer.error, NotPlain):
                    self._pieces = None
            if self._pieces is None:
                marked = rows.withColumn("mark", sql.monotonically_increasing_id())
                found = marked.mapInArrow(partial(counted, wanted, each, merge), ANSWERS)
                answer = _one(found, merge)
        if answer is None:
            return None
        if answer.error is not None:
            raise answer.error
        return Folded(answer.result, answer.rows, wanted)

    def _types(self, names: Sequence[str]) -> dict[str, str]:
        """The types of columns, as Spark writes them."""
        return {
            name: self._columns[i].type for name, i in zip(names, self._places(names), strict=True)
        }

    def _in_tasks(self, do: Callable[[Iterator[Any]], Iterator[Any]]) -> Any:
        """The answers of a task for each list of pieces, whose number it gets."""
        assert self._pieces is not None
        n = len(self._pieces)
        return self._frame.sparkSession.range(0, n, 1, n).mapInArrow(do, ANSWERS)

    def map(self, names: Sequence[str] | None, each: Callable[[Table], Any]) -> list[Any]:
        with explained(self.name):
            wanted, rows = self._read(names)
            answers = rows.mapInArrow(partial(mapped, wanted, each), ANSWERS).toArrow()
            return [answer.result for _, answer in answers_in(answers.to_batches())]

    def take(self, names: Sequence[str], marks: NDArray[np.int64] | None) -> Table | None:
        with explained(self.name):
            wanted, frame = self._read(names)
            if marks is not None and self._pieces is not None:
                do = partial(taken_from_pieces, self._pieces, self._types(wanted), marks)
                return self._joined(self._in_tasks(do).toArrow().to_batches())
            if marks is not None:
                marked = frame.withColumn("mark", sql.monotonically_increasing_id())
                these = frame.sparkSession.createDataFrame(pa.table({"mark": marks}))
                frame = marked.join(sql.broadcast(these), "mark", "left_semi").drop("mark")
            found = frame.toArrow().rename_columns(wanted)
        expected = 0 if marks is None else len(marks)
        if found.num_rows < MIN_FOUND_SHARE * expected:
            raise SourceError(
                f"{self.name} changes from one reading to the next: of {expected:,} rows that were "
                f"counted, a second reading found {found.num_rows:,}. Call persist() on it, or "
                "write it to Parquet and fit that"
            )
        return arrow.read(found) if found.num_rows else None

    def _joined(self, batches: list[Any]) -> Table | None:
        """The rows that tasks have taken from their pieces, in order."""
        answers = sorted(answers_in(iter(batches)), key=lambda found: found[0])
        for _, answer in answers:
            if answer.error is not None:
                raise SourceError(
                    f"{self.name} changes from one reading to the next: {answer.error}. Fit it "
                    "while its files stay as they are"
                )
        return arrow.read(pa.concat_tables(a.result for _, a in answers)) if answers else None

    def with_columns(
        self,
        names: Sequence[str],
        each: Callable[[Table], list[Any]],
        new: dict[str, type],
    ) -> Any:
        """A DataFrame with further columns, evaluated when it is asked for.

        Parameters
        ----------
        names : sequence of str
            The columns that `each` gets.
        each : callable (Table) -> list of lists
            The values of the new columns.
        new : dict
            Their names and types: bool, int, float or str.

        Raises
        ------
        SourceError
            If the DataFrame has a column of a new name.
        """
        for name in new:
            if name in self.columns():
                raise SourceError(
                    f"{self.name} has a column {name!r}, which is where predictions go: rename it "
                    f"with df.withColumnRenamed({name!r}, …)"
                )
        wanted = readable(self._columns, names, self.name)
        with explained(self.name):
            fields = [*self._frame.schema.fields]
            fields += [types.StructField(f"n{i}", TYPES[t]()) for i, t in enumerate(new.values())]
            do = partial(scored, self._places(wanted), wanted, each)
            rows = self._frame.mapInArrow(do, types.StructType(fields))
            return rows.toDF(*(column.name for column in self._columns), *new)


def _one(answers: Any, merge: Callable[[Any, Any], Any]) -> Answer | None:
    """The answer that those of all tasks become; None where there are none."""
    groups = answers.repartition(sql.expr(f"part div {FAN_IN}"))
    fewer = _in_order(groups).mapInArrow(partial(merged, merge, FAN_IN), ANSWERS)
    one = _in_order(fewer.repartition(1)).mapInArrow(partial(merged, merge, None), ANSWERS)
    return next((answer for _, answer in answers_in(one.toArrow().to_batches())), None)


def _in_order(answers: Any) -> Any:
    return answers.sortWithinPartitions("part")
