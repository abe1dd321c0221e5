"""Rows and ids as a ledger keeps them."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from tallybayes.store.events import MAX_NUMBER, decoded_rows, encoded_rows, hashed, hashes_of

NAMES = st.sampled_from(["sky", "wind", "},{", "Größe"])
NUMBERS = st.integers(-(10**100), 10**100) | st.floats(-MAX_NUMBER, MAX_NUMBER)
MISSING = st.none() | st.just(float("nan"))
VALUES = st.sampled_from(["", "},{", '"},{"', "\u2028\x1f"]) | st.text() | st.booleans()
ROWS = st.lists(st.dictionaries(NAMES, VALUES | NUMBERS | MISSING), max_size=5)
KNOWN = st.sets(NAMES).map(lambda names: dict.fromkeys(names, "value"))


@given(ROWS, KNOWN)
@example([{"sky": "},{"}, {}], {})
@example([{"sky": float("nan"), "wind": 2.5}], {"sky": "value", "wind": "value"})
def test_rows_are_encoded_alike_alone_and_together(
    rows: list[dict[str, Any]], known: dict[str, str]
) -> None:
    found, new = encoded_rows(rows, known)
    expected = [
        json.dumps(
            {name: None if value != value else value for name, value in row.items()},
            sort_keys=True,
            ensure_ascii=False,
            separators=(",", ":"),
        )
        for row in rows
    ]
    assert found == [text.encode() for text in expected]
    assert found == [encoded_rows([row], known)[0][0] for row in rows]
    assert decoded_rows(found) == [json.loads(text) for text in expected]
    values = [(n, v) for row in rows for n, v in row.items() if v is not None and v == v]
    assert new == {name: "value" for name, _ in values if name not in known}


@given(st.lists(st.text(max_size=20) | st.integers() | st.binary(max_size=20)))
def test_ids_are_hashed_alike_alone_and_together(ids: list[Any]) -> None:
    key = bytes(32)
    assert hashes_of(ids, key, "id") == [hashed(value, key, "id") for value in ids]
