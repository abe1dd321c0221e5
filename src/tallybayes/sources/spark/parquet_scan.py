"""DataFrames that only read Parquet files, which tasks then read without Spark's readers.

Spark's conversion from Parquet to Arrow takes several times as long as counting. It is skipped if
the optimised plan is a scan of plain files with at most a selection of columns. Spark reads
everything that could change the rows of the files: partition folders, buckets, tables of other
formats, options, filters, renamed or computed columns, cached frames, types that Spark converts,
file systems of other machines.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from tallybayes.sources.spark.failures import Py4JError

__all__ = ["TYPES_READ", "Piece", "pieces_of"]

FORMAT = "org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat"
OPTIONS = {"path", "paths"}
SETTINGS = (  # under which Spark reads files otherwise
    "spark.sql.files.ignoreCorruptFiles",
    "spark.sql.files.ignoreMissingFiles",
    "spark.sql.parquet.fieldId.read.enabled",
)
TYPES_READ = {  # of Spark's, and what they are in Arrow where nothing is converted
    "string": "string",
    "boolean": "bool",
    "tinyint": "int8",
    "smallint": "int16",
    "int": "int32",
    "bigint": "int64",
    "float": "float",
    "double": "double",
}
MAX_FILES = 10_000  # whose names the driver asks for one by one
MIN_PIECE_BYTES, MAX_PIECE_BYTES = 1 << 23, 1 << 27  # of the pieces that one task reads
TASKS_PER_CORE = 3  # for each core, where there is so much to read


class Piece(NamedTuple):
    """The row groups of a file that begin between two places.

    Parameters
    ----------
    path : str
    start, end : int
        In bytes.
    size, changed : int
        Of the file, in bytes and in milliseconds: of another the pieces are not known.
    """

    path: str
    start: int
    end: int
    size: int
    changed: int


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
