"""Keys in the names of folders are columns, and files may have other columns than the first."""

from __future__ import annotations

import json

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.dataset
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

import tallybayes
from tallybayes import LazyNaiveBayes, NaiveBayes
from tallybayes.errors import SourceError

rng = np.random.default_rng(5)
N = 240
YEARS = [2019 + i % 3 for i in range(N)]
SHOPS = [["a b", "c/d"][i % 2] for i in range(N)]
X = [round(float(x), 3) for x in rng.normal(size=N)]
Y = ["pq"[int(x + (year == 2020) > 0.3)] for x, year in zip(X, YEARS, strict=True)]
WHOLE = pa.table({"x": X, "y": Y, "year": YEARS, "shop": SHOPS})


def write(path, table: pa.Table, kind: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = table.to_pylist()
    if kind == "parquet":
        pq.write_table(table, path)
    elif kind == "arrow":
        feather.write_feather(table, path)
    elif kind == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        lines = [",".join("" if v is None else str(v) for v in row.values()) for row in rows]
        path.write_text("\n".join([",".join(table.column_names), *lines]) + "\n")


@pytest.fixture(params=["csv", "jsonl", "parquet", "arrow"])
def folder(request, tmp_path):
    """A file for each year and shop, whose folders have their names."""
    kind = request.param
    for year in (2019, 2020, 2021):
        for shop, name in (("a b", "a%20b"), ("c/d", "c%2Fd")):
            rows = [i for i in range(N) if (YEARS[i], SHOPS[i]) == (year, shop)]
            part = WHOLE.take(rows).select(["x", "y"])
            write(tmp_path / "data" / f"year={year}" / f"shop={name}" / f"0.{kind}", part, kind)
    write(tmp_path / f"whole.{kind}", WHOLE, kind)
    return tmp_path / "data"


def test_a_partitioned_folder_is_the_table_with_its_keys(folder):
    [whole] = folder.parent.glob("whole.*")
    model, expected = NaiveBayes().fit(folder, "y"), NaiveBayes().fit(whole, "y")
    assert model.tally_ == expected.tally_
    expected_proba = expected.predict_proba(WHOLE.drop(["y"]))
    np.testing.assert_array_equal(model.predict_proba(WHOLE.drop(["y"])), expected_proba)
    found = model.predict_rows(folder, keep=["x", "year", "shop"])
    table = pa.RecordBatchReader.from_stream(found).read_all()
    assert sorted(map(str, table["year"].to_pylist())) == sorted(map(str, YEARS))
    assert sorted(table["shop"].to_pylist()) == sorted(SHOPS)


def test_a_partitioned_folder_is_read_as_other_readers_read_it(folder, tmp_path):
    duckdb = pytest.importorskip("duckdb")
    if not list(folder.rglob("*.parquet")):
        return
    model = NaiveBayes().fit(folder, "y")
    dataset = pa.dataset.dataset(folder, partitioning="hive")
    assert model.tally_ == NaiveBayes().fit(dataset, "y").tally_
    relation = duckdb.sql(
        f"SELECT * FROM read_parquet('{folder}/*/*/*.parquet', hive_partitioning=true)"
    )
    assert model.tally_ == NaiveBayes().fit(relation, "y").tally_


@pytest.mark.parametrize("pattern", ["*/*/*", "year=*/shop=*/0.*", "**/0.*", "./../data/*/*/0.*"])
def test_keys_below_the_beginning_of_a_pattern_are_columns(folder, pattern, monkeypatch):
    [whole] = folder.parent.glob("whole.*")
    expected = NaiveBayes().fit(whole, "y").tally_
    assert NaiveBayes().fit(f"{folder}/{pattern}", "y").tally_ == expected
    monkeypatch.chdir(folder)
    assert NaiveBayes().fit(pattern, "y").tally_ == expected
    year = NaiveBayes().fit(f"{folder}/year=2020/*/*", "y")
    assert year.feature_names_in_.tolist() == ["x", "shop"]  # the year is not what it looks for


def test_a_lazy_model_has_the_keys_that_others_have(folder):
    kind = next(folder.rglob("0.*")).suffix
    rows = [{"x": 0.5, "year": 2020, "shop": "a b"}]
    of_year = WHOLE.filter(pa.array([year == 2020 for year in YEARS]))
    of_shop = of_year.filter(pa.array([shop == "a b" for shop in of_year["shop"].to_pylist()]))
    for path, table in (
        ("", WHOLE),
        (f"/*/*/0{kind}", WHOLE),
        (f"/year=2020/*/0{kind}", of_year.drop(["year"])),
        (f"/year=2020/shop=a%20b/0{kind}", of_shop.select(["x", "y"])),
    ):
        lazy, expected = LazyNaiveBayes(f"{folder}{path}", "y"), LazyNaiveBayes(table, "y")
        assert lazy.predict_proba(rows) == pytest.approx(expected.predict_proba(rows))


@pytest.fixture
def memory():
    filesystem = fsspec.filesystem("memory")
    yield filesystem
    filesystem.store.clear()


@pytest.mark.parametrize("place", ["memory", "file"])
def test_keys_of_folders_elsewhere_are_columns(folder, place, memory):
    [whole] = folder.parent.glob("whole.*")
    expected = NaiveBayes().fit(whole, "y").tally_
    url = f"file://{folder}"
    if place == "memory":
        url = "memory://tables/data"
        for path in folder.rglob("0.*"):
            memory.pipe(f"/tables/data/{path.relative_to(folder)}", path.read_bytes())
    assert NaiveBayes().fit(url, "y").tally_ == expected
    assert NaiveBayes().fit(f"{url}/", "y").tally_ == expected
    assert NaiveBayes().fit(f"{url}/*/shop=*/*", "y").tally_ == expected
    model = NaiveBayes().fit(tallybayes.files(f"{url}/year=2020/**", union_by_name=True), "y")
    assert model.feature_names_in_.tolist() == ["x", "shop"]


def test_keys_are_numbers_dates_or_strings(tmp_path):
    for month, day in (("01", "2024-01-31"), ("02", "2024-02-29"), ("10", "2024-10-01")):
        for code in ("x", "__HIVE_DEFAULT_PARTITION__"):
            path = tmp_path / f"m={month}" / f"day={day}" / f"code={code}" / "t.csv"
            write(path, pa.table({"a": [1, 2], "y": ["p", "q"]}), "csv")
    model = NaiveBayes().fit(tmp_path, "y")
    row = {"a": 1, "m": 10, "day": np.datetime64("2024-10-01"), "code": None}
    assert model.predict([row]).tolist() == ["p"]
    holds = model._fitted().holds
    assert (holds["m"].numbers, holds["m"].strings) == (True, False)
    assert holds["day"].dates
    assert (holds["code"].numbers, holds["code"].strings) == (False, True)


def test_what_keys_cannot_be_is_refused(tmp_path):
    table = pa.table({"a": [1, 2], "y": ["p", "q"]})
    write(tmp_path / "one" / "a=3" / "t.csv", table, "csv")
    with pytest.raises(SourceError, match=r"holds the column 'a', which the name of its folder"):
        NaiveBayes().fit(tmp_path / "one", "y")
    write(tmp_path / "two" / "k=3" / "t.csv", table, "csv")
    write(tmp_path / "two" / "t.csv", table, "csv")
    with pytest.raises(SourceError, match=r"has the keys 'k' .*t\.csv none"):
        NaiveBayes().fit(tmp_path / "two", "y")


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "arrow"])
def test_files_are_joined_by_name(tmp_path, kind):
    first = pa.table({"x": X[:120], "y": Y[:120], "shop": SHOPS[:120]})
    second = pa.table({"year": YEARS[120:], "y": Y[120:], "x": X[120:]})
    write(tmp_path / f"1.{kind}", first, kind)
    write(tmp_path / f"2.{kind}", second, kind)
    paths = [tmp_path / f"1.{kind}", tmp_path / f"2.{kind}"]
    with pytest.raises(SourceError, match="lacks 'shop'"):
        NaiveBayes().fit(paths, "y")
    together = pa.concat_tables([first, second], promote_options="default")
    write(tmp_path / f"all.{kind}", together.select(["x", "y", "shop", "year"]), kind)
    model = NaiveBayes().fit(tallybayes.files(paths, union_by_name=True), "y")
    assert model.tally_ == NaiveBayes().fit(tmp_path / f"all.{kind}", "y").tally_
