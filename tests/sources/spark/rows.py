"""Rows with columns of every type that Spark has for scalars, under names that need quotes."""

import datetime
import decimal

import numpy as np
import pyarrow as pa


def a_table(n: int = 300, seed: int = 0) -> pa.Table:
    """Some rows, with NULLs; "y" is the class and "w" a weight."""
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.4
    gone = rng.random(n) < 0.1

    def column(values, kind=None):
        return pa.array([None if no else v for v, no in zip(values, gone, strict=True)], type=kind)

    day = datetime.date(2020, 1, 1)
    moment = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
    days = (rng.integers(0, 60, n) + 30 * y).tolist()
    return pa.table(
        {
            "a.b": column(rng.normal(2.0 * y, 1.0).tolist()),
            "sel`ect": column(np.where(y ^ (rng.random(n) < 0.1), "ja", "nein").tolist()),
            "🙂 ": column(
                [["x", "", "new\nline", "quo'te", "1"][k] for k in rng.integers(0, 5, n)]
            ),
            "flag": column((rng.random(n) < 0.3 + 0.4 * y).tolist()),
            "FLAG": column(rng.integers(-3, 4, n).tolist(), pa.int16()),
            "price": column([decimal.Decimal(int(k)) / 100 for k in rng.integers(0, 999, n)]),
            "day": column([day + datetime.timedelta(days=d) for d in days]),
            "moment": column([moment + datetime.timedelta(hours=d) for d in days]),
            "nothing": pa.nulls(n),
            "w": rng.integers(0, 4, n).astype(float),
            "y": np.where(y, "yes", "no").tolist(),
        }
    )
