"""A Spark DataFrame, of the classic kind or of Spark Connect. Imported only when one arrives.

Rows stay on the cluster: functions are sent there, and merged results come back. Within Spark,
columns are named by their places, because names may hold dots and backticks, and may differ only by
case.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.errors import PySparkException
from pyspark.sql import functions as sql
from pyspark.sql import types

from tallybayes.errors import SourceError
from tallybayes.sources.arrow import readable
from tallybayes.sources.contract import Folded, Part, SourceColumn
from tallybayes.sources.spark_tasks import (
    ANSWERS,
    FAN_IN,
    TYPES_READ,
    Answer,
    NotPlain,
    Piece,
    answers_in,
    counted,
    counted_pieces,
    merged,
    scored,
    taken_from_pieces,
)
from tallybayes.tables import Table, arrow

__all__ = ["SparkFrame", "explained"]


# ---- errors of Spark as one message that says what to do -----------------------------------------
try:
    from py4j.protocol import Py4JError
except ImportError:  # of the client for Spark Connect alone, which has no Java beside it

    class Py4JError(Exception):  # type: ignore[no-redef]
        """A stand-in that is never raised, if py4j is not installed."""


LACKING = re.compile(r"No module named '(tallybayes|[\w.]+)'|\b(PyArrow|pyarrow)\b.* must be")
SHIP = (
    "The Python on the executors needs tallybayes and what it depends on. --py-files cannot carry "
    "compiled code: pack this environment (venv-pack or conda-pack), ship it with spark.archives, "
    "and let spark.pyspark.python name its Python; docs/scale.md says how"
)
GONE = ("stopped SparkContext", "SparkContext was shut down", "Answer from Java side is empty")
LOST = ("ExecutorLostFailure", "executor lost", "ExecutorDeadException", "Executor heartbeat")
CAUSE = re.compile(
    r"\nCaused by: [\w.$]+: (.*?)(?=\n\s*at |\n\s*\.\.\. \d+ more|\nCaused by: |\Z)", re.DOTALL
)
TRACE = re.compile(r"\n\s*(at |\.\.\. \d+ more|JVM stacktrace|Driver stacktrace)")


@contextmanager
def explained(name: str) -> Iterator[None]:
    """Errors of Spark, and of the connection to it, become SourceError.

    Parameters
    ----------
    name : str
        What messages call the source.

    Raises
    ------
    KeyboardInterrupt
        Where Ctrl-C has ended what failed: Spark then cancels its jobs, and says so by an error
        that comes in place of this one.
    """
    try:
        yield
    except (PySparkException, Py4JError, ConnectionError, EOFError) as error:
        if _is_interrupt(error):
            raise KeyboardInterrupt from error
        raise SourceError(f"{name} cannot be read: {_explanation(error)}") from error


def _is_interrupt(error: BaseException | None) -> bool:
    """Whether an error came while Ctrl-C was answered."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error is not None


def _explanation(error: Exception) -> str:
    text = str(error) or type(error).__name__
    lacking = LACKING.search(text)
    if lacking:
        return f"{lacking[0].strip()} on the executors. {SHIP}"
    if isinstance(error, ConnectionError | EOFError) or any(words in text for words in GONE):
        return (
            f"the connection to Spark is lost ({_shortened(text)}). The driver program of Spark "
            "has ended: begin a new session"
        )
    if any(words in text for words in LOST):
        return (
            f"executors were lost more often than spark.task.maxFailures allows "
            f"({_shortened(text)}). Where they ran out of memory, give them more by "
            "spark.executor.memoryOverhead, or use more partitions"
        )
    return _shortened(text)


def _shortened(text: str) -> str:
    """The message without stack traces: of a Python error in a task its last line, of one in Java
    what has caused it."""
    if "Traceback (most recent call last)" in text:
        python = text.split("Traceback (most recent call last)")[1]
        last = [line for line in TRACE.split(python)[0].splitlines() if line[:1].strip()]
        if len(last) > 1:
            return last[-1].strip()
    causes = dict.fromkeys(CAUSE.findall(text)) or [TRACE.split(text)[0]]
    return ": ".join(" ".join(cause.split()) for cause in causes)


# ---- DataFrames that only read Parquet files -----------------------------------------------------
# Tasks then read the files without Spark's readers: Spark's conversion from Parquet to Arrow takes
# several times as long as counting. It is skipped if the optimised plan is a scan of plain files
# with at most a selection of columns. Spark reads everything that could change the rows of the
# files: partition folders, buckets, tables of other formats, options, filters, renamed or computed
# columns, cached frames, types that Spark converts, file systems of other machines.
FORMAT = "org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat"
OPTIONS = {"path", "paths"}
SETTINGS = (  # under which Spark reads files otherwise
    "spark.sql.files.ignoreCorruptFiles",
    "spark.sql.files.ignoreMissingFiles",
    "spark.sql.parquet.fieldId.read.enabled",
)
MAX_FILES = 10_000  # whose names the driver asks for one by one
MIN_PIECE_BYTES, MAX_PIECE_BYTES = 1 << 23, 1 << 27  # of the pieces that one task reads
TASKS_PER_CORE = 3  # for each core, where there is so much to read


def pieces_of(frame: Any, types: Sequence[str]) -> list[list[Piece]] | None:
    """What each task has to read; None where a DataFrame is more than plain files.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
    types : sequence of str
        Of its columns that are read, as Spark writes them.
    """
    if not type(frame).__module__.startswith("pyspark.sql.classic"):
        return None  # Spark Connect does not show its plans
    if not all(kind in TYPES_READ for kind in types):
        return None
    session = frame.sparkSession
    if any(session.conf.get(name, "false").lower() != "false" for name in SETTINGS):
        return None
    try:
        files = _files(frame._jdf.queryExecution().optimizedPlan())
    except Py4JError:  # plans of another version of Spark
        return None
    return None if files is None else _shared(files, session.sparkContext.defaultParallelism)


def _files(plan: Any) -> list[Piece] | None:
    """The files of a plan that only scans them, whole and by their paths."""
    if _kind(plan) == "Project":
        columns = plan.projectList()
        if any(_kind(columns.apply(i)) != "AttributeReference" for i in range(columns.size())):
            return None
        plan = plan.child()
    if _kind(plan) != "LogicalRelation" or plan.isStreaming():
        return None
    relation = plan.relation()
    plain = (
        _kind(relation) == "HadoopFsRelation"
        and relation.fileFormat().getClass().getName() == FORMAT
        and _kind(relation.location()) == "InMemoryFileIndex"
        and relation.partitionSchema().isEmpty()
        and relation.bucketSpec().isEmpty()
        and _only(relation.options())
    )
    if not plain:
        return None
    listed = relation.location().allFiles()
    if not 0 < listed.size() <= MAX_FILES:
        return None
    files: list[Piece] = []
    for i in range(listed.size()):
        status = listed.apply(i)
        place = status.getPath().toUri()
        if place.getScheme() != "file" or place.getAuthority():
            return None
        size = status.getLen()
        files.append(Piece(place.getPath(), 0, size, size, status.getModificationTime()))
    return sorted(files)


def _kind(of: Any) -> str:
    return str(of.getClass().getSimpleName())


def _only(options: Any) -> bool:
    """Whether options say no more than where the files are."""
    keys = options.keySet().toSeq()
    return all(keys.apply(i) in OPTIONS for i in range(keys.size()))


def _shared(files: list[Piece], cores: int) -> list[list[Piece]]:
    """Files in pieces of about equal size, those of a task together."""
    total = sum(file.size for file in files)
    step = min(MAX_PIECE_BYTES, max(MIN_PIECE_BYTES, total // (TASKS_PER_CORE * max(1, cores))))
    tasks: list[list[Piece]] = [[]]
    room = step
    for file in files:
        for start in range(0, file.size, step):
            end = min(start + step, file.size)
            if room <= 0:
                tasks.append([])
                room = step
            tasks[-1].append(file._replace(start=start, end=end))
            room -= end - start
    return tasks


# ---- a DataFrame as a source ---------------------------------------------------------------------
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
