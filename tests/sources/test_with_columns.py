"""Keys in the names of folders, and objects within rows, are columns."""

import json

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.dataset
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tallybayes
from tallybayes import LazyNaiveBayes, NaiveBayes
from tallybayes.errors import LeftOutWarning, SourceError
from tallybayes.sources import json_files
from tallybayes.sources.arrow import Flattening, flat
from tallybayes.sources.json_files import ArrowJson

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


NESTED = [
    {"who": {"age": 20 + i % 9, "home": {"town": "ab"[i % 2]}}, "n": i % 5, "y": "uv"[i % 3 == 0]}
    for i in range(90)
]
FLAT = [
    {
        "who.age": row["who"]["age"],
        "who.home.town": row["who"]["home"]["town"],
        "n": row["n"],
        "y": row["y"],
    }
    for row in NESTED
]


def lines(rows):
    return "\n".join(map(json.dumps, rows)) + "\n"


def written(folder, rows, suffix):
    path = folder / f"t{suffix}"
    if suffix == ".jsonl":
        path.write_text(lines(rows))
    elif suffix == ".json":
        path.write_text(json.dumps(rows, indent=1))
    elif suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=20)
    else:
        feather.write_feather(pa.Table.from_pylist(rows), path, chunksize=20)
    return path


@pytest.mark.parametrize("suffix", [".jsonl", ".json", ".parquet", ".arrow"])
def test_objects_are_columns_when_asked_for(tmp_path, suffix):
    path = written(tmp_path, NESTED, suffix)
    expected = NaiveBayes().fit(pa.Table.from_pylist(FLAT), "y")
    source = tallybayes.files(path, flatten=True)
    assert set(source.columns()) == set(FLAT[0])
    model = NaiveBayes().fit(source, "y")
    assert model.tally_ == expected.tally_
    assert model.predict(source).tolist() == expected.predict(FLAT).tolist()
    lazy = LazyNaiveBayes(source, "y").predict(FLAT[:9])
    assert (
        lazy.tolist() == LazyNaiveBayes(pa.Table.from_pylist(FLAT), "y").predict(FLAT[:9]).tolist()
    )
    kept = model.predict_rows(source, keep=["who.home.town"])
    assert pa.table(kept)["who.home.town"].to_pylist() == [row["who.home.town"] for row in FLAT]
    with pytest.warns(LeftOutWarning, match=r"'who'.*left out; --flatten .*flatten=True"):
        NaiveBayes().fit(path, "y")


@pytest.mark.parametrize("block", [200, 1 << 20])
@pytest.mark.parametrize("array", [False, True])
def test_keys_that_come_late_are_columns_of_all_rows(tmp_path, block, array):
    """Null and no key are the same, and no part decides alone what is an object."""
    rows = [{"a": None, "x": i, "y": i % 2} for i in range(40)]
    rows += [{"a": {"b": i % 3, "c": {"d": "e", "t": "2020-01-02"}}, "y": i % 2} for i in range(40)]
    rows += [{"a": {"b": None}, "x": 1, "y": 0}, {"a": {}, "x": 2, "y": 1}, {"a": "text", "y": 0}]
    path = tmp_path / "t.json"
    path.write_text(json.dumps(rows) if array else lines(rows))
    source = tallybayes.files(path, flatten=True)
    source.block = block
    flat_rows = [
        {".".join(path): value for path, value in flat(row) if value is not None} for row in rows
    ]
    expected = tmp_path / "flat.jsonl"
    expected.write_text(lines(flat_rows))
    assert NaiveBayes().fit(source, "y").tally_ == NaiveBayes().fit(expected, "y").tally_


@pytest.mark.parametrize("block", [64, 1 << 20])
@pytest.mark.parametrize(
    ("rows", "line"),
    [
        ([{"a": {"b": 1}}] * 9 + [{"a.b": 2}], 10),
        ([{"a.b": 2}] * 9 + [{"a": {"b": 1}}], 10),
        ([{"a.b": 2, "a": {"b": 1}}], 1),
        ([{"a": {"b.c": 2}}, {"a.b": {"c": 1}}], 2),
    ],
)
def test_two_keys_of_one_name_are_refused(tmp_path, rows, line, block):
    path = tmp_path / "t.jsonl"
    path.write_text(lines([{**row, "y": i % 2} for i, row in enumerate(rows)]))
    source = tallybayes.files(path, flatten=True)
    source.block = block
    with pytest.raises(
        SourceError, match=rf"line {line}: the key .*would both be the column 'a\.b"
    ):
        NaiveBayes().fit(source, "y")


def test_two_fields_of_one_name_are_refused(tmp_path):
    table = pa.table({"a": [{"b": 1}, {"b": 2}], "a.b": [1, 2], "y": [0, 1]})
    pq.write_table(table, tmp_path / "t.parquet")
    with pytest.raises(SourceError, match=r"two columns are named 'a\.b'"):
        NaiveBayes().fit(tallybayes.files(tmp_path / "t.parquet", flatten=True), "y")


def test_arrays_within_objects_are_left_out(tmp_path):
    rows = [{**row, "who": {**row["who"], "tags": [1]}} for row in NESTED]
    for suffix in (".jsonl", ".parquet"):
        source = tallybayes.files(written(tmp_path, rows, suffix), flatten=True)
        with pytest.warns(LeftOutWarning, match=r"'who\.tags'.*left out$"):
            model = NaiveBayes().fit(source, "y")
        assert model.tally_ == NaiveBayes().fit(pa.Table.from_pylist(FLAT), "y").tally_


def test_rows_whose_objects_are_null_are_predicted(tmp_path):
    model = NaiveBayes().fit(pa.Table.from_pylist(FLAT).drop_columns("n"), "y")
    path = tmp_path / "new.jsonl"
    first = '{"who": {"age": null, "home": {"town": null}}}\n'
    path.write_text(first + '{"who": null}\n{"who": {"age": null}, "more": 1}\n{"who": {}}\n')
    expected = model.predict_proba([{"who.age": None, "who.home.town": None}] * 4)
    source = tallybayes.files(path, flatten=True)
    assert model.predict_proba(source).tolist() == expected.tolist()
    path.write_text(first + '{"who": {"size": 3}}\n')
    with pytest.raises(SourceError, match=r"line 2 has none of the keys.*it has who\.size"):
        model.predict(tallybayes.files(path, flatten=True))


SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-9, 9), st.sampled_from(["", "u", "2020-01-01"])
)
OBJECTS = st.recursive(
    SCALARS, lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=2), max_leaves=4
)


@given(
    st.lists(st.dictionaries(st.sampled_from("xyz"), OBJECTS, min_size=1), min_size=1, max_size=4)
)
def test_arrow_flattens_as_python_does(rows):
    data = [json.dumps(row).encode() + b"\n" for row in rows]
    text = json_files.JsonText("t.jsonl", flattening=Flattening())
    found = ArrowJson(lambda _: True, Flattening()).table(data)
    if found is not None:
        expected = json_files._table(text, data, 1, lambda _: True)
        assert sorted(found.column_names) == sorted(expected.column_names)
        assert found.select(expected.column_names).equals(expected)


def test_nested_rows_are_read_by_arrow():
    data = [json.dumps(row).encode() + b"\n" for row in NESTED]
    found = ArrowJson(lambda _: True, Flattening()).table(data)
    assert found.column_names == list(FLAT[0])


@pytest.mark.parametrize("suffix", [".jsonl", ".json", ".parquet"])
def test_doctor_flattens_what_holds_objects(tmp_path, suffix):
    rows = [{**row, "tags": [1]} for row in NESTED]
    path = written(tmp_path, rows, suffix)
    found = tallybayes.doctor(path, "y")
    assert {c.name for c in found.columns} == {"who.age", "who.home.town", "n", "tags"}
    assert [c.kind for c in found.columns if c.name == "tags"] == ["left out"]
    assert [f.column for f in found.findings if f.kind == "objects"] == ["who"]
    assert found.command.endswith("--target y --flatten")
    assert f"tallybayes.files({str(path)!r}, flatten=True)" in found.call
    assert found.sound


@pytest.mark.parametrize("opening", ['{"a":', "["])
def test_objects_that_are_too_deep_are_refused(tmp_path, opening):
    """Arrow would overflow the stack."""
    deep = opening * 50_000 + "1" + {"{": "}", "[": "]"}[opening[0]] * 50_000
    path = tmp_path / "t.jsonl"
    path.write_text('{"x": {"z": 1}, "y": 0}\n{"y": 1, "x": {"b": ' + deep + "}}\n")
    with pytest.raises(SourceError, match="line 2 holds objects or arrays within each other, too"):
        NaiveBayes().fit(tallybayes.files(path, flatten=True), "y")


def test_objects_that_are_deep_are_columns(tmp_path):
    path = tmp_path / "t.jsonl"
    rows = [
        '{"y": "u", "a": ' + '{"a": ' * n + str(i) + "}" * n + "}" for i, n in ((1, 5), (2, 300))
    ]
    path.write_text("\n".join(rows))
    columns = tallybayes.files(path, flatten=True).columns()
    assert sorted(map(len, columns)) == [1, 11, 601]
