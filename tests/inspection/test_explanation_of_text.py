"""The terms of a column of text in the explanation of a row of a table."""

from __future__ import annotations

import numpy as np
import pytest

from tallybayes import NaiveBayes, WeightedNaiveBayes
from tallybayes.families import Text

GOOD, BAD = (
    ["good film", "really good", "a good one, fine"],
    ["bad film", "so bad", "poor, bad one"],
)
ROWS = [{"t": text, "u": f"{i % 7} {text}", "n": i % 3} for i, text in enumerate((GOOD + BAD) * 20)]
LABELS = ["yes", "yes", "yes", "no", "no", "no"] * 20
COLUMNS = {"t": Text(), "u": Text()}
ASKED = [{"t": "good bad good unseen", "u": "fine film", "n": 1}, {"t": None, "u": "", "n": 0}]


@pytest.fixture(params=[NaiveBayes, WeightedNaiveBayes])
def model(request):
    return request.param(COLUMNS).fit(ROWS, LABELS, sample_weight=np.resize([1.0, 2.0], 120))


@pytest.mark.parametrize("column", ["t", "u"])
@pytest.mark.parametrize("row", [0, 1, -1])
def test_terms_add_up_to_what_the_column_adds(model, column, row):
    explanation = model.explain(ASKED)
    document = explanation.document(column, row)
    place = explanation.columns.index(column)
    said = document.contributions.sum(axis=0)
    assert said == pytest.approx(explanation.contributions[row, :, place], abs=1e-6)
    joint = model.predict_joint_log_proba(ASKED)[row]
    assert document.base + said == pytest.approx(joint, abs=1e-6)
    assert document.document == (ASKED[row][column] or "")
    assert np.all(np.diff(np.abs(document.for_label)) <= 0.0)


def test_terms_speak_for_the_predicted_class_against_the_next_one():
    rows = [{"t": text} for text in ("good film", "good fine film", "bad film")] * 10
    model = NaiveBayes({"t": Text()}).fit(rows, ["yes", "maybe", "no"] * 10)
    document = model.explain_one({"t": "good film"}).document("t")
    *_, following, best = np.argsort(document.base + document.contributions.sum(axis=0)).tolist()
    assert [document.classes[k] for k in (best, following)] == ["yes", "maybe"]
    apart = document.contributions[:, best] - document.contributions[:, following]
    assert document.for_label == pytest.approx(apart)


def test_classes_without_rows_are_told_nothing():
    model = WeightedNaiveBayes(COLUMNS, classes=["maybe", "no", "yes"]).fit(ROWS, LABELS)
    document = model.explain_one(ASKED[0]).document("t")
    assert document.contributions.shape[1] == 3
    assert not document.contributions[:, 0].any()


def test_the_telling_words_are_printed_below_their_column(model):
    lines = str(model.explain_one(ASKED[0])).splitlines()
    [place] = [i for i, line in enumerate(lines) if line.startswith("t = good bad")]
    below = [line.split("  ")[1] for line in lines[place + 1 : place + 5]]
    assert {"good", "bad"} <= set(below)


def test_top_terms_are_those_of_the_column(model):
    terms = model.top_terms("t", "yes", 3)
    assert terms[0][0] == "good"
    assert terms[0][1] == pytest.approx(
        model.explain_one({"t": "good"}).document("t").contributions[0, 1], rel=1e-6
    )
    with pytest.raises(ValueError, match="'n' is not read as text"):
        model.top_terms("n", "yes")
    with pytest.raises(ValueError, match="'maybe' is not a class"):
        model.top_terms("t", "maybe")


def test_what_is_no_text_is_refused(model):
    explanation = model.explain(ASKED)
    with pytest.raises(ValueError, match=r"columns of text are \['t', 'u'\]: name one"):
        explanation.document()
    with pytest.raises(ValueError, match="'n' is not read as text"):
        explanation.document("n")
    with pytest.raises(IndexError, match="there is no row 2"):
        explanation.document("t", 2)
    without = NaiveBayes({"t": None, "u": None}).fit(ROWS, LABELS).explain(ASKED)
    with pytest.raises(ValueError, match="there is none"):
        without.document()
