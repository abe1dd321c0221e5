"""Frames about a model hold any name, level and label."""

from __future__ import annotations

import pytest

from tallybayes import CategoricalNB, NaiveBayes, TextNB, WeightedNaiveBayes

HALF, WRITTEN = "a\ud800", "a\\ud800"  # half a surrogate pair has no UTF-8


def columns_of(tables):
    return [name for table in tables.values() for name in table.columns]


@pytest.mark.parametrize(
    "make", [NaiveBayes, lambda: WeightedNaiveBayes(parts=1)], ids=["plain", "weighted"]
)
def test_half_a_surrogate_pair_is_written_as_its_escape(make):
    rows = [{HALF: i % 3, "w": [HALF, "b"][i % 2]} for i in range(24)]
    model = make().fit(rows, [HALF, "b"] * 12)
    assert WRITTEN in model.schema_["column"].tolist()
    assert WRITTEN in model.tables_["w"]["w"].tolist()
    assert WRITTEN in columns_of(model.tables_)
    assert model.predict(rows[:1]).tolist() == [HALF]
    if hasattr(model, "weights_"):
        assert WRITTEN in model.weights_["term"].tolist()


def test_of_arrays_and_texts():
    model = CategoricalNB(levels=[[HALF, "b"]]).fit([[HALF], ["b"]], [HALF, "b"])
    tables = model.probability_tables_
    assert tables["prior"].iloc[:, 0].tolist() == [WRITTEN, "b"]
    texts = TextNB(ridge=False).fit(["a b", "b c", "a b", "c d"], [HALF, "b"] * 2)
    assert texts.explain_one("a b").label == HALF
