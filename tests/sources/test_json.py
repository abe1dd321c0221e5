"""JSON lines and arrays: Arrow reads what Python reads, and blocks in any order."""

import gc
import gzip
import io
import json
import weakref

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tallybayes
from tallybayes import NaiveBayes
from tallybayes.errors import LeftOutWarning, SourceError
from tallybayes.sources import json_files
from tallybayes.sources.cells import Misfit
from tallybayes.sources.json_files import ArrowJson, ElementLines, JsonLines, JsonReader, JsonText
from tallybayes.sources.options import Spelling
from tallybayes.tables import Empty

NUMBERS = st.one_of(
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=True, allow_infinity=True),
    st.sampled_from([0, -0.0, 2**53 + 1, 2**63 - 1, 2**63, 5e-324, 1.7976931348623157e308]),
)
STRINGS = st.one_of(
    st.text(max_size=4),
    st.sampled_from(["2020-01-01", "2020-01-01 10:00:00", "NaN", "1", "a: [b]", "{", "\ud800", ""]),
)
VALUES = (NUMBERS, STRINGS, st.booleans(), st.lists(st.integers(), max_size=1))
ROWS = st.lists(
    st.fixed_dictionaries(
        {}, optional={"a": st.none() | NUMBERS, "b": st.none() | STRINGS, "c": st.one_of(*VALUES)}
    ),
    min_size=1,
    max_size=6,
)


def by_python(lines, wanted):
    return json_files._table(json_files.JsonText("t.jsonl"), lines, 1, wanted)


@settings(max_examples=75)
@given(st.lists(ROWS, min_size=1, max_size=3), st.sets(st.sampled_from("abc"), min_size=1))
def test_arrow_reads_what_python_reads(blocks, names):
    """Block by block; a column that a later block lacks may be there, without values."""
    wanted = names.__contains__
    arrow = ArrowJson(wanted)
    for i, rows in enumerate(blocks):
        lines = [json.dumps(row).encode() + b"\n" for row in rows]
        found = arrow.table(lines)
        if found is None:
            continue
        expected = by_python(lines, wanted)
        for name in found.column_names:
            if i and name not in expected.column_names:
                assert found[name].null_count == len(rows)
                found = found.drop_columns(name)
        assert found.select(expected.column_names).equals(expected)
        assert i or found.column_names == expected.column_names


def test_ordinary_rows_are_read_by_arrow():
    rows = [
        {"id": 7, "when": "2020-01-31", "price": 1.5, "ok": True, "name": "ä{x", "none": None},
        {"price": 2, "id": 2**53 + 1, "late": "x", "when": "soon", "name": "\u0000", "ok": None},
    ]
    lines = [json.dumps(row).encode() + b"\r\n" for row in rows]
    lines[0], lines[1:1] = b"\xef\xbb\xbf" + lines[0], [b"\n", b"  \n"]
    found = ArrowJson(lambda name: name != "id").table(lines)
    assert found.equals(by_python(lines, lambda name: name != "id"))
    assert found.column_names == ["id", "when", "price", "ok", "name", "none", "late"]
    assert found.schema.field("when").type == pa.string()


@pytest.mark.parametrize(
    "line",
    [
        b'{"a":1}{"a":2}',
        b'{"a":1,"a":2}',
        b'{"a":NaN}',
        b'{"a":Inf}',
        b'{"a":1e400}',
        b'{"a":{"b":1}}',
        b'{"a": [1]}',
        b"[1]",
        b"{}",
        b'{"b":1}',
        b'{"a":"\xff"}',
        b'{"a":"\\ud800"}',
        b'{"a":1,}',
        b'{"a":true}\n{"a":1}',
        b'{"a":1}\n{"a":"x"}',
        b'{"a":\n1}',
        b"nonsense",
        b"",
    ],
    ids=repr,
)
def test_what_might_differ_is_left_to_python(line):
    assert ArrowJson("a".__contains__).table([row + b"\n" for row in line.split(b"\n")]) is None


def test_errors_name_the_line_in_a_later_block(tmp_path):
    path = tmp_path / "t.jsonl"
    good = b'{"a": 1, "b": "x"}\n'
    path.write_bytes(good * 3000 + b"\n" + b'{"a": 1, "b": [2]}\n' + good)
    with pytest.raises(SourceError, match=r"t\.jsonl, line 3002: 'b' holds \[2\]"):
        list(JsonLines(str(path), block=1 << 12).written())


SIXTY = [
    {"n": i % 7, "word": ["a", 'q"]},{[', "Zoë\n", "\\"][i % 4], "y": "uv"[i % 3 == 0]}
    for i in range(60)
]


def fitted(path, **options):
    return NaiveBayes().fit(tallybayes.files(path, **options), "y").tally_


@pytest.fixture
def expected(tmp_path):
    path = tmp_path / "lines.jsonl"
    path.write_text("\n".join(map(json.dumps, SIXTY)))
    return fitted(path)


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(SIXTY),
        json.dumps(SIXTY, indent=2, ensure_ascii=False),
        json.dumps(SIXTY, indent=2).replace("\n", "\r\n"),
        "\ufeff \n[\n" + ",\n".join(map(json.dumps, SIXTY)) + "\n]\n\n",
    ],
    ids=["one line", "indented", "CRLF", "mark and space"],
)
@pytest.mark.parametrize("packed", [False, True])
def test_an_array_is_read_as_lines(tmp_path, text, packed, expected):
    data = text.encode()
    path = tmp_path / ("t.json.gz" if packed else "t.json")
    path.write_bytes(gzip.compress(data) if packed else data)
    assert fitted(path) == expected
    source = tallybayes.files(path)
    source.block = 100
    assert NaiveBayes().fit(source, "y").tally_ == expected
    with_another_name = tmp_path / "export"
    with_another_name.write_bytes(data)
    assert fitted(with_another_name) == expected


class Pieces(io.BytesIO):
    """A file that gives a few bytes at a time."""

    size = 1

    def read(self, n=-1):
        return super().read(self.size)


NESTED = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=4,
)


@given(st.lists(NESTED, max_size=4), st.sampled_from([None, 1]), st.booleans(), st.integers(1, 9))
def test_elements_are_the_same_however_they_are_cut(values, indent, escaped, size):
    stream = Pieces(
        json.dumps(values, indent=indent, ensure_ascii=escaped).encode(errors="replace")
    )
    text = stream.getvalue().decode()
    stream.size = size
    found = io.BufferedReader(ElementLines("t.json", stream)).readlines()
    assert repr([json.loads(line) for line in found]) == repr(json.loads(text))


FAULTS = {
    '[{"y": 1}, {"y": 2} {"y": 3}]': r"after element 2, the array goes on with .*expected",
    '[{"y": 1}, {"y": 2}': "ends after element 2, within the array",
    '[{"y": 1}, {"y": ': "element 2 is not valid JSON",
    '[{"y": 1}, {"y": tru}, {"y": 1}]': "element 2 is not valid JSON",
    '[{"y": 1}, ]': "element 2 is not valid JSON",
    '[{"y": 1}, [2]]': "element 2 is not a JSON object: each element has to be one",
    "[1, 2]": "element 1 is not a JSON object",
    '[{"y": 1}] [{"y": 2}]': "goes on after its array",
    "[]": "has no rows",
    "[" * 100_000: "element 1 .*too deep to be read",
    '[{"y": 1, "x": 1}, {"y": 0, "x": 1e999}]': "element 2: column 'x' is infinite",
}


@pytest.mark.parametrize("text", FAULTS, ids=list(FAULTS.values()))
def test_faults_name_the_element(tmp_path, text):
    path = tmp_path / "t.json"
    path.write_text(text)
    with pytest.raises(SourceError, match=FAULTS[text]):
        NaiveBayes().fit(path, "y")


def test_a_wrong_byte_is_found(tmp_path):
    path = tmp_path / "t.json"
    path.write_bytes(b'[{"x": "a", "y": 1}, {"x": "\xff", "y": 0}]')
    with pytest.raises(SourceError, match="element 2 is not valid JSON"):
        NaiveBayes().fit(path, "y")


def test_columns_of_an_array_that_change(tmp_path):
    path = tmp_path / "t.json"
    rows = [{"d": f"2020-01-{1 + i % 28:02}", "o": {}, "y": i % 2} for i in range(50)]
    path.write_text(json.dumps([*rows, {"d": "soon", "o": {}, "y": 1}]))
    lines = tmp_path / "t.jsonl"
    lines.write_text("\n".join(map(json.dumps, [*rows, {"d": "soon", "o": {}, "y": 1}])))
    with pytest.warns(LeftOutWarning, match="'o' holds an object"):
        found, expected = fitted(path), fitted(lines)
    assert found == expected


CELLS = st.one_of(
    st.none(),
    st.sampled_from([0, 1.5, -3, True, False, "", "a", "2020-01-31", "1.5", "na", "Jan 01 2020"]),
)
OBJECTS = st.lists(
    st.dictionaries(st.sampled_from("abcd"), CELLS, min_size=1, max_size=4),
    min_size=1,
    max_size=12,
)
ALL = frozenset("abcd")


def reader_of(kinds=None):
    return JsonReader(
        JsonText("t.jsonl"), Spelling(), {} if kinds is None else kinds, ALL.__contains__
    )


def blocks_of(reader, rows, size):
    lines = [json.dumps(row).encode() + b"\n" for row in rows]
    cut = [lines[i : i + size] for i in range(0, len(lines), size)]
    return [reader.block(block, 1 + i * size) for i, block in enumerate(cut)]


def outcome(block):
    """The columns of a block in their order, or why there are none."""
    try:
        table = block.read()
    except (SourceError, Misfit) as error:
        return type(error).__name__, str(error), getattr(error, "row", None)
    return table.column_names, table.to_pydict(), [str(kind) for kind in table.schema.types]


@settings(max_examples=75)
@given(OBJECTS, st.integers(1, 5), st.randoms(use_true_random=False))
def test_blocks_may_be_read_in_any_order(rows, size, random):
    in_turn = [outcome(block) for block in blocks_of(reader_of(), rows, size)]
    blocks = blocks_of(reader_of(), rows, size)
    order = list(range(len(blocks)))
    random.shuffle(order)
    found = {i: outcome(blocks[i]) for i in order}
    assert [found[i] for i in range(len(blocks))] == in_turn


@pytest.mark.filterwarnings("ignore::tallybayes.errors.MixedColumnWarning")
@settings(max_examples=40)
@given(OBJECTS, st.integers(20, 200), st.sampled_from([1, 3]))
def test_a_file_is_the_same_whatever_its_blocks_and_threads(tmp_path_factory, rows, block, threads):
    path = tmp_path_factory.mktemp("rows") / "t.jsonl"
    labelled = [{**row, "y": i % 2} for i, row in enumerate(rows)]
    path.write_text("".join(json.dumps(row) + "\n" for row in labelled))
    before = tallybayes.get_num_threads()
    try:
        tallybayes.set_num_threads(threads)
        found = tallybayes.collect(JsonLines(str(path), block=block), "y")
        tallybayes.set_num_threads(1)
        assert found == tallybayes.collect(JsonLines(str(path)), "y")
    finally:
        tallybayes.set_num_threads(before)


@pytest.mark.parametrize(
    ("row", "told"),
    [
        (b'{"a": 1', "line 2,003 is not valid JSON"),
        (b'{"a": [1]}', r"line 2003: 'a' holds \[1\]"),
        (b'{"a": 1e999}', "line 2,003: column 'a' is infinite"),
    ],
)
def test_a_fault_in_a_later_block_names_its_line_and_learns_nothing(tmp_path, row, told):
    path = tmp_path / "t.jsonl"
    good = b'{"a": 1, "y": "no"}\n{"a": 2, "y": "yes"}\n'
    path.write_bytes(good * 1000 + b"\n\n" + row + b"\n" + good * 100)
    model = NaiveBayes().fit(pd.DataFrame({"a": [1.0, 2.0]}), ["no", "yes"])
    before = model.tally_
    told = told.replace("2,003", "2,?003").replace("2003", "2,?003")
    with pytest.raises(SourceError, match=told):
        model.partial_fit(JsonLines(str(path), block=4096), "y")
    assert model.tally_ == before


@pytest.mark.parametrize("late", ["soon", 7, 7.5, True])
@pytest.mark.filterwarnings("ignore::tallybayes.errors.MixedColumnWarning")
def test_what_comes_late_in_a_column_of_dates_is_read_again(tmp_path, late):
    path = tmp_path / "t.jsonl"
    rows = [{"d": "2020-01-31", "y": i % 2} for i in range(500)] + [{"d": late, "y": 1}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = tallybayes.collect(JsonLines(str(path), block=1024), "y")
    assert found == tallybayes.collect(JsonLines(str(path), mixed=["d"]), "y")
    assert found == tallybayes.collect(JsonLines(str(path)), "y")


def test_blocks_that_were_read_are_let_go():
    reader = reader_of()
    rows = [{"a": i, "b": None} for i in range(40)]
    kept = []
    for i in range(0, 40, 4):
        block = reader.block([json.dumps(r).encode() + b"\n" for r in rows[i : i + 4]], 1 + i)
        block.read()
        kept.append(weakref.ref(block))
    del block
    gc.collect()
    assert sum(ref() is not None for ref in kept) <= 2


def test_parts_may_be_left_unread(tmp_path):
    path = tmp_path / "t.jsonl"
    rows = [{"a": i, "b": "x" if i > 300 else None, "y": i % 2} for i in range(400)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    parts = list(JsonLines(str(path), block=1024).parts())
    last, first = parts[-1].read(), parts[0].read()
    assert isinstance(first.columns["b"], Empty)
    assert not isinstance(last.columns["b"], Empty)
    assert first.n_rows > 1
    assert np.array_equal(first.columns["a"].values[:2], [0.0, 1.0])


def test_the_first_object_may_be_of_any_length(tmp_path):
    row = {f"gene{i}" + "x" * 1000: i for i in range(150)}
    path = tmp_path / "t.jsonl"
    path.write_text("".join(json.dumps({**row, "y": y}) + "\n" for y in "abab"))
    assert JsonLines(str(path)).header == [*row, "y"]


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("ends", ["[]", ('{"b":', "}")])
def test_a_value_too_deep_to_read_is_an_error_with_its_line(tmp_path, first, ends):
    value = ends[0] * 100_000 + "1" + ends[1] * 100_000
    lines = ['{"a":1,"y":"v"}\n', f'{{"a":{value},"y":"u"}}\n']
    path = tmp_path / "deep.jsonl"
    path.write_text("".join(reversed(lines) if first else lines))
    line = 1 if first else 2
    with pytest.raises(SourceError, match=rf"deep\.jsonl, line {line} holds .* too deep"):
        NaiveBayes().fit(path, "y")


def test_a_deep_value_is_left_out_as_any_nested_value(tmp_path):
    path = tmp_path / "deep.jsonl"
    row = f'{{"a":{"[" * 900}{"]" * 900},"b":1,"y":"u"}}\n'
    path.write_text(row)
    with pytest.warns(LeftOutWarning, match="column 'a' holds an array"):
        NaiveBayes().fit(path, "y")
    path.write_text('{"a":1,"b":1,"y":"u"}\n' + row)
    with pytest.warns(LeftOutWarning, match="column 'a' holds an array"):
        NaiveBayes().fit(path, "y")


def test_a_key_that_a_whole_block_lacks_is_missing_there(tmp_path):
    rows = [{"x": i % 5, "z": i % 3, "y": "ab"[i % 2]} for i in range(40)]
    path = tmp_path / "t.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    model = NaiveBayes().fit(path, "y")
    rows = [row if i < 20 else {"z": row["z"]} for i, row in enumerate(rows)]
    path.write_text("\n".join(map(json.dumps, rows)))
    source = JsonLines(str(path), block=100)
    assert model.predict(source).tolist() == model.predict(pd.DataFrame(rows)).tolist()
