"""JSON lines: Arrow reads what Python reads, and leaves to it whatever might differ."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tallybayes.errors import SourceError
from tallybayes.sources import json_files
from tallybayes.sources.json_files import ArrowJson, JsonLines

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


@settings(max_examples=150)
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
