"""``python -m benchmarks scale --only spark``: counting on Spark beside Spark's own naive Bayes.

Each contender is a process of its own with a session on two threads. It fits a small part of the
rows first, so that Java has compiled what it runs, and then all rows. Processor time is that of the
driver, of Java, and of every Python worker.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.machine import OtherWork, installed_versions, machine_record
from benchmarks.memory import resident
from benchmarks.pages import RESULTS, heading, recorded_command, write_page

__all__ = ["RESULT", "main"]

RESULT = RESULTS / "scale-spark.md"
LEVELS = (4, 8, 16, 30, 60, 120, 400, 1000)
CATEGORIES = [f"level_{n}" for n in LEVELS]
NUMBERS = [f"number_{i}" for i in range(8)]
STEP = 250_000  # rows of a row group, and those of the first, small fit
FILES = 8
CONTENDERS = ("tallybayes", "Spark MLlib")
BAR = 3.0


# ---- the rows ------------------------------------------------------------------------------------
def _rows(rng: np.random.Generator, n: int) -> Any:
    """Rows of two classes: 8 columns of strings, 8 of numbers."""
    y = (rng.random(n) < 0.3).astype(np.int64)
    columns: dict[str, Any] = {}
    for name, levels in zip(CATEGORIES, LEVELS, strict=True):
        codes = np.minimum((rng.beta(1.0 + 0.2 * y, 3.0) * levels).astype(np.int32), levels - 1)
        names = pa.array([f"{name}={k}" for k in range(levels)])
        columns[name] = pa.DictionaryArray.from_arrays(pa.array(codes), names).cast(pa.string())
    for i, name in enumerate(NUMBERS):
        columns[name] = pa.array(rng.normal(0.1 * i * y, 1.0 + i))
    return pa.table({**columns, "y": pa.array(y)})


def make(folder: Path, n_rows: int, seed: int) -> int:
    """Writes the rows as Parquet files of some row groups each; how many rows there are."""
    rng = np.random.default_rng(seed)
    groups = max(1, n_rows // STEP)
    size = n_rows // groups
    writers: list[Any] = []
    for k in range(groups):
        rows = _rows(rng, size)
        if k < FILES:
            writers.append(pq.ParquetWriter(folder / f"{k}.parquet", rows.schema))
        writers[k % FILES].write_table(rows)
    for writer in writers:
        writer.close()
    return groups * size


# ---- a contender, in a process of its own --------------------------------------------------------
def _processor(pid: int) -> float:
    """Seconds of processor time of a process and all below it, ended ones included."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        below = [p.read_text() for p in Path(f"/proc/{pid}/task").glob("*/children")]
    except FileNotFoundError:  # it has ended meanwhile
        return 0.0
    own = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    return own + sum(_processor(int(child)) for text in below for child in text.split())


def _session() -> Any:
    from pyspark.sql import SparkSession

    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "3g",
        "spark.log.level": "ERROR",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    builder = SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def _ours(rows: Any) -> float:
    from tallybayes import NaiveBayes

    return float(NaiveBayes().fit(rows, "y").tally_.classes.count.sum())


def _theirs(rows: Any) -> float:
    """Levels become their ranks, and every column is a Gaussian: the one model of Spark's for
    columns of both kinds, negative numbers among them."""
    from pyspark.ml import Pipeline
    from pyspark.ml.classification import NaiveBayes
    from pyspark.ml.feature import StringIndexer, VectorAssembler

    codes = [f"{name}_code" for name in CATEGORIES]
    steps = [
        StringIndexer(inputCols=CATEGORIES, outputCols=codes),
        VectorAssembler(inputCols=[*codes, *NUMBERS], outputCol="features"),
        NaiveBayes(modelType="gaussian", labelCol="y"),
    ]
    model = Pipeline(stages=steps).fit(rows)
    assert model.stages[-1].numFeatures == len(codes) + len(NUMBERS)
    return float(sum(1 for _ in model.stages[-1].pi))


def contend(name: str, folder: str) -> None:
    """Fits twice, the first file and then all, and prints what the second fit took."""
    fit = _ours if name == "tallybayes" else _theirs
    spark = _session()
    fit(spark.read.parquet(f"{folder}/0.parquet").limit(STEP))
    rows = spark.read.parquet(folder)
    before, resident_before = _processor(os.getpid()), resident()
    start = time.perf_counter()
    answer = fit(rows)
    seconds = time.perf_counter() - start
    found = {
        "answer": answer,
        "seconds": seconds,
        "processor": _processor(os.getpid()) - before,
        "driver_grew": resident() - resident_before,
        "driver": resident(),
        "partitions": rows.rdd.getNumPartitions(),
    }
    spark.stop()
    print(json.dumps(found))


# ---- the command ---------------------------------------------------------------------------------
def _measured(name: str, folder: str) -> dict[str, Any]:
    other = OtherWork()
    words = [sys.executable, "-W", "ignore", "-m", "benchmarks.scale.spark", name, folder]
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return {**found, "others": other.cores()}


def main(asked: argparse.Namespace, argv: list[str]) -> int:
    """Runs the contenders one after the other, `--repeats` times.

    Returns
    -------
    int
        0, or 1 if a count was wrong.
    """
    runs: dict[str, list[dict[str, Any]]] = {name: [] for name in CONTENDERS}
    with tempfile.TemporaryDirectory() as folder:
        print(f"making {asked.rows:,} rows …", file=sys.stderr)
        n_rows = make(Path(folder), asked.rows, asked.seed)
        size = sum(path.stat().st_size for path in Path(folder).iterdir())
        for _ in range(asked.repeats):
            for name in CONTENDERS:
                print(f"{name} …", file=sys.stderr)
                runs[name].append(_measured(name, folder))
    command, machine = recorded_command("scale", argv), machine_record()
    page = _page(runs, command, machine, n_rows, size)
    print(page)
    output = asked.output or (RESULT if asked.rows >= 10**7 else None)
    if output is not None:
        record = {"command": command, "machine": machine, "rows": n_rows, "bytes": size}
        write_page(output, page, {**record, "runs": runs})
    wrong = [run["answer"] for run in runs["tallybayes"] if run["answer"] != n_rows]
    for answer in wrong:
        print(f"wrong count: {answer:,.0f} of {n_rows:,} rows", file=sys.stderr)
    return 1 if wrong else 0


def _page(
    runs: dict[str, list[dict[str, Any]]],
    command: str,
    machine: dict[str, Any],
    n_rows: int,
    size: int,
) -> str:
    least = {
        name: {key: min(run[key] for run in mine) for key in ("processor", "seconds")}
        for name, mine in runs.items()
    }
    ours, theirs = (least[name] for name in CONTENDERS)
    ratio = {key: theirs[key] / ours[key] for key in ours}
    versions = installed_versions(["pyspark", "pyarrow"])
    lines = [
        *heading("Spark", command, machine, load_at="end"),
        f"- Versions: python {machine['python']}, "
        + ", ".join(f"{name} {version}" for name, version in versions.items())
        + f", tallybayes {machine['tallybayes']}",
        f"- Data: {n_rows:,} rows of 16 columns (8 of 4 to 1,000 levels, 8 of numbers) and a "
        f"target of two classes; Parquet, {size / 1e6:,.0f} MB",
        "",
        "Each contender fits in a process of its own, with `local[2]`, after a fit of the first "
        f"{STEP:,} rows. Spark MLlib: `StringIndexer`, `VectorAssembler`, and `NaiveBayes` with "
        '`modelType="gaussian"`, which takes columns of both kinds; it counts sums and squares, '
        "where tallybayes counts levels, moments and a grid. Processor time is of the driver, of "
        "Java and of Python workers. Driver memory is the resident size of the driver's Python "
        "after the fit, and by how much the fit made it grow.",
        "",
        "| | processor time | time | others | driver memory | grown by | partitions |",
        "|" + " --- |" * 7,
    ]
    for name, mine in runs.items():
        for run in mine:
            others = "" if run["others"] is None else f"{run['others']:.1f}"
            lines.append(
                f"| {name} | {run['processor']:.1f} s | {run['seconds']:.1f} s | {others} | "
                f"{run['driver'] / 1e6:.0f} MB | {run['driver_grew'] / 1e6:.0f} MB | "
                f"{run['partitions']} |"
            )
    met = "met" if ratio["processor"] >= BAR else "**not met**"
    lines += [
        "",
        f"Spark MLlib by tallybayes, the best runs: {ratio['processor']:.2f} of processor time, "
        f"{ratio['seconds']:.2f} of time. The bar is {BAR:g} of processor time: {met}.",
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    contend(*sys.argv[1:])
