"""A driver program: it counts the same rows twice, and says whether the tallies have the same bits.

The second time, tasks from the third on wait until there is a file "go": meanwhile the test ends a
worker. Arguments: the URL of the master, and the folder for files.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from pyspark.sql import SparkSession

from tallybayes import collect

PARTITIONS = 6
SETTINGS = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "512m",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.executor.memory": "500m",
    "spark.log.level": "ERROR",
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "100s",
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.shuffle.io.maxRetries": "1",
    "spark.shuffle.io.retryWait": "100ms",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def held(folder, batches):
    """The rows, once the task may go on; it leaves a note of where it runs."""
    import os
    import time
    import uuid
    from pathlib import Path

    from pyspark import TaskContext

    part = TaskContext.get().partitionId()
    (Path(folder) / f"task-{part}-{uuid.uuid4().hex}").write_text(os.getcwd())
    for _ in range(6000 if part >= 2 else 0):
        if (Path(folder) / "go").exists():
            break
        time.sleep(0.02)
    yield from batches


def bits(tally):
    """Every number of a tally, as bytes, and what they belong to."""
    found = [tally.schema.classes.tolist(), tally.classes.count.tobytes()]
    for columns, group in zip(tally.schema.groups, tally.groups, strict=True):
        found.append((columns.key, [] if columns.levels is None else columns.levels[0].tolist()))
        for name, value in sorted(vars(group).items()):
            found.append((name, value.tobytes() if isinstance(value, np.ndarray) else repr(value)))
    return found


def main(master: str, folder: str) -> None:
    builder = SparkSession.builder.master(master).appName("counted twice")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    rows = spark.range(0, 6000, 1, PARTITIONS).selectExpr(
        "sin(id) * 1e3 AS wave", "CAST(id % 7 AS STRING) AS text", "id % 3 AS y"
    )
    rows = rows.mapInArrow(lambda batches: held(folder, batches), rows.schema)
    go = Path(folder) / "go"
    go.touch()
    undisturbed = collect(rows, "y")
    for note in Path(folder).glob("task-*"):
        note.unlink()
    go.unlink()
    disturbed = collect(rows, "y")
    same = bits(undisturbed) == bits(disturbed)
    print(f"rows {undisturbed.classes.count.sum():g}, {len(bits(disturbed))} parts, same {same}")
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
