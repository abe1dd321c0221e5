"""LazyNaiveBayes reads a source of rows as NaiveBayes does."""

from __future__ import annotations

import datetime
import json
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.feather
import pytest

import tallybayes
from tallybayes import LazyNaiveBayes, NaiveBayes
from tallybayes.errors import MixedColumnWarning
from tallybayes.families import Gaussian

PLAIN = dict.fromkeys([float, datetime.date], Gaussian(var_smoothing=0, ddof=1, pooled_rows=1))
N = 200
Z = np.random.default_rng(0).normal(size=N)
Y = ["a" if z + 0.3 * (i % 3) > 0 else "b" for i, z in enumerate(Z)]


def number(other, at=(3,)):
    return [other if i in at else round(z, 3) for i, z in enumerate(Z)]


CASES = {
    **{f"one {text!r} among numbers": (number(text), Y, 1.5) for text in ("", "NA", "NaN", "?")},
    "a string among numbers": (number("unknown", (3, 9)), Y, "unknown"),
    "numbers among strings": ([i % 3 or "none" for i in range(N)], Y, 1),
    "labels Yes and No": (number(1), [{"a": "Yes", "b": "No"}[y] for y in Y], 1.5),
    "labels 1.0": (number(1), [{"a": "1.0", "b": "0.0"}[y] for y in Y], 1.5),
    "whole labels": (number(1), [{"a": 10, "b": 9}[y] for y in Y], 1.5),
    "labels of dates": (number(1), [{"a": "2020-01-01", "b": "2020-02-01"}[y] for y in Y], 1.5),
    "levels T and F": (["T" if z > 0 else "F" for z in Z], Y, "T"),
    "levels with blanks": ([" p" if z > 0.3 else "p" if z > 0 else "q" for z in Z], Y, "p"),
    "levels with NA": (["NA" if i % 9 == 0 else "pq"[int(z > 0)] for i, z in enumerate(Z)], Y, "p"),
    "dates": ([f"2020-0{1 + i % 9}-11" for i in range(N)], Y, "2020-03-01"),
    "times": ([f"0{i % 9}:30" for i in range(N)], Y, "02:15"),
    "nothing": ([""] * N, Y, None),
}


def written(path, cells, labels):
    rows = [
        {"x": x, "z": i % 4, "y": y} for i, (x, y) in enumerate(zip(cells, labels, strict=True))
    ]
    if path.suffix == ".csv":
        path.write_text("x,z,y\n" + "".join(f"{r['x']},{r['z']},{r['y']}\n" for r in rows))
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def same(lazy, fitted, rows):
    np.testing.assert_allclose(lazy.predict_proba(rows), fitted.predict_proba(rows), rtol=1e-12)
    assert lazy.classes_.tolist() == fitted.classes_.tolist()
    assert lazy.classes_.dtype == fitted.classes_.dtype


@pytest.mark.filterwarnings("ignore::tallybayes.errors.TallyWarning")
@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
@pytest.mark.parametrize("case", CASES)
def test_text_is_read_as_by_naive_bayes(tmp_path, case, suffix):
    cells, labels, asked = CASES[case]
    path = written(tmp_path / f"t.{suffix}", cells, labels)
    for rows in ([{"x": asked, "z": 2}], [{"z": 1}], pd.DataFrame({"x": [asked], "z": [None]})):
        lazy = LazyNaiveBayes(path, "y")
        left_out = {"x": None} if isinstance(rows, list) and "x" not in rows[0] else {}
        same(lazy, NaiveBayes(PLAIN | left_out).fit(path, "y"), rows)
        assert lazy.statement_ == ""


@pytest.mark.parametrize(
    "kind", ["csv()", "list", "folder", "pattern", "arrow", "dataset", "lazy frame", "ipc in csv"]
)
def test_every_source_that_can_be_read_again(tmp_path, kind):
    frame = pd.DataFrame({"x": number(1), "z": [i % 4 for i in range(N)], "y": Y})
    path = tmp_path / "t.csv"
    table = pa.Table.from_pandas(frame)
    if kind in ("arrow", "ipc in csv"):
        path = tmp_path / ("t.arrow" if kind == "arrow" else "t.csv")
        pa.feather.write_feather(table, path, compression="uncompressed")
    else:
        frame.to_csv(path, index=False)
    source = {
        "csv()": lambda: tallybayes.csv(path),
        "list": lambda: [path, path],
        "folder": lambda: str(tmp_path),
        "pattern": lambda: str(tmp_path / "*.csv"),
        "dataset": lambda: pa.dataset.dataset(table),
        "lazy frame": lambda: pl.LazyFrame(frame),
    }.get(kind, lambda: path)()
    columns = PLAIN | {int: PLAIN[float]}
    rows = [{"x": 0.5, "z": 1}, {"x": -0.5, "z": 3}]
    same(LazyNaiveBayes(source, "y"), NaiveBayes(columns).fit(source, "y"), rows)
    if kind == "csv()":
        with pytest.raises(ValueError, match="has no column 'target', the target"):
            LazyNaiveBayes(source, "target").predict(rows)


def test_what_is_read_once_is_refused():
    batches = pa.table({"x": [1.0], "y": ["a"]}).to_batches()
    reader = pa.RecordBatchReader.from_batches(batches[0].schema, batches)
    for source in (reader, iter(batches)):
        with pytest.raises(ValueError, match=r"can be read only once.*fit a NaiveBayes"):
            LazyNaiveBayes(source, "y")


@pytest.mark.filterwarnings("ignore::tallybayes.errors.MixedColumnWarning")
def test_a_condition_judges_columns_as_they_are_read(tmp_path):
    path = written(tmp_path / "t.csv", number("NA", (3, 5)), Y)
    rows = [{"x": 0.5, "z": 1}]
    kept = pd.DataFrame({"x": number(np.nan, (3, 5)), "z": [i % 4 for i in range(N)], "y": Y})
    kept = kept.astype({"x": float, "z": float})
    kept = kept[(kept["x"] > -0.5) & (kept["z"] < 3)]
    lazy = LazyNaiveBayes(path, "y", where=("x > ?", [-0.5]))
    fitted = NaiveBayes(PLAIN).fit(kept[["x", "z"]], kept["y"])
    np.testing.assert_allclose(lazy.predict_proba(rows, "z < 3"), fitted.predict_proba(rows))
    path = written(tmp_path / "m.csv", number("unknown", (3, 5)), Y)
    lazy = LazyNaiveBayes(path, "y", where="x <> 'unknown' AND y IS NOT NULL")
    lazy.predict(rows)
    assert lazy.class_count_.sum() == N - 2
    with pytest.raises(ValueError, match="DuckDB cannot judge the condition"):
        lazy.predict(rows, "no_such_column > 3")
    with pytest.raises(ValueError, match=r"where= has to be part of one SELECT|cannot judge"):
        lazy.predict(rows, "1); DROP TABLE t; --")


def test_it_warns_once(tmp_path):
    path = written(tmp_path / "t.csv", number("unknown", (3, 5)), Y)
    lazy = LazyNaiveBayes(path, "y")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            lazy.predict([{"x": 0.5}])
    assert [type(w.message) for w in caught] == [MixedColumnWarning]
