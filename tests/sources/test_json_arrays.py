"""A JSON array is read as the same rows as JSON lines."""

from __future__ import annotations

import gzip
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tallybayes
from tallybayes import NaiveBayes
from tallybayes.errors import LeftOutWarning, SourceError
from tallybayes.sources.json_files import ElementLines

ROWS = [
    {"n": i % 7, "word": ["a", 'q"]},{[', "Zoë\n", "\\"][i % 4], "y": "uv"[i % 3 == 0]}
    for i in range(60)
]


def fitted(path, **options):
    return NaiveBayes().fit(tallybayes.files(path, **options), "y").tally_


@pytest.fixture
def expected(tmp_path):
    path = tmp_path / "lines.jsonl"
    path.write_text("\n".join(map(json.dumps, ROWS)))
    return fitted(path)


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(ROWS),
        json.dumps(ROWS, indent=2, ensure_ascii=False),
        json.dumps(ROWS, indent=2).replace("\n", "\r\n"),
        "\ufeff \n[\n" + ",\n".join(map(json.dumps, ROWS)) + "\n]\n\n",
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


VALUES = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=4,
)


@given(st.lists(VALUES, max_size=4), st.sampled_from([None, 1]), st.booleans(), st.integers(1, 9))
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
