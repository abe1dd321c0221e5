"""Objects within rows as columns: JSON lines and arrays, Parquet, Arrow; in every part alike."""

from __future__ import annotations

import json

import pyarrow as pa
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
