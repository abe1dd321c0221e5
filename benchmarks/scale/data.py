"""A CSV of any size: numbers, categories, counts, dates, quoted strings and missing values; two
classes.

The same size and seed give the same rows. The file is made in a temporary folder and never kept.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pc_csv

__all__ = ["TARGET", "generate"]

TARGET = "bought"
STEP = 50_000  # rows made at a time
CITIES = [f"Stadt {i:03d}" for i in range(200)] + ["北京", "上海", "Genève", "São Paulo"]
PLANS = ["basic", "plus", 'the "gold" one', "family, four persons"]
JOBS = ["cook", "driver", "nurse", "teacher", "工程师", "clerk", "none"]


def _gaps(rng: np.random.Generator, values: Any, share: float) -> Any:
    column = pa.array(values)
    return pc.if_else(pa.array(rng.random(len(column)) < share), pa.scalar(None), column)


def _levels(names: list[str], codes: Any) -> Any:
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), names).cast(pa.string())


def _rows(rng: np.random.Generator, n: int) -> Any:
    """Some rows, about 130 bytes each as CSV."""
    y = rng.random(n) < 0.3
    day = np.datetime64("2015-01-01") + rng.integers(0, 3650, n) + 200 * y
    columns = {
        "age": _gaps(rng, np.clip(rng.normal(40 + 6 * y, 12), 18, 99).astype(np.int64), 0.05),
        "income": _gaps(rng, np.round(rng.lognormal(10.2 + 0.3 * y, 0.6), 2), 0.1),
        "ratio": pa.array(rng.beta(2 + y, 3, n)),  # 17 digits, all different
        "reading": pa.array(np.round(rng.standard_t(4, n) + 0.5 * y, 4)),
        "visits": pa.array(rng.poisson(2 + 2 * y)),
        "since": pa.array(day),
        "city": _levels(CITIES, (rng.beta(1 + y, 3, n) * len(CITIES)).astype(int)),
        "job": _gaps(rng, _levels(JOBS, rng.integers(0, len(JOBS), n)), 0.08),
        "plan": _levels(PLANS, np.minimum(rng.integers(0, 4, n) + (rng.random(n) < 0.2) * y, 3)),
        "shop": _levels([f"S{i:04d}" for i in range(5000)], rng.zipf(1.4, n) % 5000),
        "member": pc.if_else(pa.array(rng.random(n) < 0.4 + 0.2 * y), "true", "false"),
        TARGET: pc.if_else(pa.array(y), "yes", "no"),
    }
    return pa.table(columns)


def generate(path: Path, size: int, seed: int = 0) -> int:
    """Writes at least `size` bytes of CSV; the number of rows."""
    rng = np.random.default_rng(seed)
    rows = 0
    first = _rows(rng, STEP)
    with open(path, "wb") as file, pc_csv.CSVWriter(file, first.schema) as out:
        while True:
            out.write_table(first)
            rows += first.num_rows
            if file.tell() >= size:
                return rows
            first = _rows(rng, STEP)
