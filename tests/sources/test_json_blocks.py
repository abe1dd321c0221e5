"""JSON lines in blocks: threads parse them in any order, with the result of one after another."""

from __future__ import annotations

import gc
import json
import weakref

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tallybayes
from tallybayes import NaiveBayes
from tallybayes.errors import LeftOutWarning, SourceError
from tallybayes.sources.cells import Misfit
from tallybayes.sources.json_files import JsonLines, JsonReader, JsonText
from tallybayes.sources.options import Spelling
from tallybayes.tables import Empty

VALUES = st.one_of(
    st.none(),
    st.sampled_from([0, 1.5, -3, True, False, "", "a", "2020-01-31", "1.5", "na", "Jan 01 2020"]),
)
ROWS = st.lists(
    st.dictionaries(st.sampled_from("abcd"), VALUES, min_size=1, max_size=4),
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


@settings(max_examples=150)
@given(ROWS, st.integers(1, 5), st.randoms(use_true_random=False))
def test_blocks_may_be_read_in_any_order(rows, size, random):
    in_turn = [outcome(block) for block in blocks_of(reader_of(), rows, size)]
    blocks = blocks_of(reader_of(), rows, size)
    order = list(range(len(blocks)))
    random.shuffle(order)
    found = {i: outcome(blocks[i]) for i in order}
    assert [found[i] for i in range(len(blocks))] == in_turn


@pytest.mark.filterwarnings("ignore::tallybayes.errors.MixedColumnWarning")
@settings(max_examples=40)
@given(ROWS, st.integers(20, 200), st.sampled_from([1, 3]))
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
