"""A driver program: it counts the same rows several times, and says whether the tallies have the
same bits.

It does so with rows that Spark hands to Python ("rows"), and with files that tasks read themselves
("files"). The first time nothing happens. Then tasks are repeated: one fails once, after it has
counted, and one waits, after it has counted, until Spark has run it a second time. At last tasks
from the third on wait, after they have counted, until there is a file "go": meanwhile the test ends
a worker. Arguments: the URL of the master, and the folder for files.
"""

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from servers.spark import SMALL_JAVA
from tallybayes import collect
from tallybayes.sources import spark as of_spark
from tallybayes.sources.spark import SparkFrame

ROWS, PARTITIONS = 6000, 6
SETTINGS = {
    "spark.cores.max": "3",  # it waits for as many, of workers that start meanwhile
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.extraJavaOptions": SMALL_JAVA,
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "512m",
    "spark.executor.extraJavaOptions": SMALL_JAVA,
    "spark.executor.memory": "500m",
    "spark.log.level": "ERROR",
    "spark.python.daemon.module": "servers.spark_daemon",
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "100s",
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.shuffle.io.maxRetries": "1",
    "spark.shuffle.io.retryWait": "100ms",
    "spark.speculation": "true",
    "spark.speculation.multiplier": "1.0",
    "spark.speculation.quantile": "0.1",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def disturbed(folder: Path, how: str, each: Callable[[Any], Any], table: Any) -> Any:
    """What a task has counted, once it may go on; it leaves a note of where it runs."""
    import os
    import time

    from pyspark import TaskContext

    task = TaskContext.get()
    assert task is not None
    part = task.partitionId()
    found = each(table)
    (folder / f"task-{part}-{task.taskAttemptId()}").write_text(os.getcwd())
    # whichever of its attempts is first: Spark may have run a copy before the original
    if how == "repeated" and part == 0 and len(list(folder.glob("task-0-*"))) == 1:
        raise OSError("this task fails once, after it has counted")
    for _ in range(6000):
        again = len(list(folder.glob(f"task-{part}-*"))) > 1
        waits_for_copy = how == "repeated" and part == 1 and not again
        waits_for_test = how == "killed" and part >= 2 and not (folder / "go").exists()
        if not waits_for_copy and not waits_for_test:
            break
        time.sleep(0.02)
    return found


def bits(tally: Any) -> list[Any]:
    """Every number of a tally, as bytes, and what they belong to."""
    found = [tally.schema.classes.tolist(), tally.classes.count.tobytes()]
    for columns, group in zip(tally.schema.groups, tally.groups, strict=True):
        found.append((columns.key, [] if columns.levels is None else columns.levels[0].tolist()))
        for name, value in sorted(vars(group).items()):
            found.append((name, value.tobytes() if isinstance(value, np.ndarray) else repr(value)))
    return found


def in_file(folder: Path) -> str:
    """The rows as a Parquet file of a row group for each task."""
    i = np.arange(ROWS)
    table = pa.table({"wave": np.sin(i) * 1e3, "text": [str(k % 7) for k in i], "y": i % 3})
    pq.write_table(table, folder / "rows.parquet", row_group_size=ROWS // PARTITIONS)
    return str(folder / "rows.parquet")


def main(master: str, folder: str) -> None:
    builder = SparkSession.builder.master(master).appName("counted again")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    path = in_file(Path(folder))
    sources = {
        "rows": spark.range(0, ROWS, 1, PARTITIONS).selectExpr(
            "sin(id) * 1e3 AS wave", "CAST(id % 7 AS STRING) AS text", "id % 3 AS y"
        ),
        "files": spark.read.parquet(path),
    }
    of_spark.MIN_PIECE_BYTES = Path(path).stat().st_size // PARTITIONS  # a piece for each task
    fold = SparkFrame.fold
    first = {}
    for how in ("undisturbed", "repeated", "killed"):
        for name, rows in sources.items():
            notes = Path(folder) / f"{name} {how}"
            notes.mkdir()

            def noted(self, names, each, merge, notes=notes, how=how, name=name):
                found = fold(self, names, partial(disturbed, notes, how, each), merge)
                assert (self._pieces is None) == (name == "rows")
                return found

            SparkFrame.fold = noted  # type: ignore[method-assign]
            tally = collect(rows, "y")
            same = bits(tally) == first.setdefault(name, bits(tally))
            print(f"{name} {how}: {tally.classes.count.sum():g} rows, same {same}", flush=True)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
