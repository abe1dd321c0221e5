"""Explanations hold rows and probabilities, and print what a person can read."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tallybayes import LazyNaiveBayes, NaiveBayes, WeightedNaiveBayes

N = 400
RNG = np.random.default_rng(0)
Y = RNG.integers(0, 12, N)
WIDE = pd.DataFrame({f"c{j}": RNG.normal(size=N) for j in range(30)})
WIDE["c3"] += Y
WIDE["day"] = pd.date_range("2020-01-01", periods=N)
WIDE["sky"] = RNG.choice(["grey", "blue"], N)
WIDE.loc[0, "c7"] = np.nan
MODELS = [NaiveBayes(), NaiveBayes(calibrate="temperature"), WeightedNaiveBayes()]
every = pytest.mark.parametrize("model", MODELS, ids=["plain", "calibrated", "weighted"])


@every
def test_probabilities_are_those_that_are_predicted(model):
    explanation = model.fit(WIDE, Y).explain(WIDE[:20])
    np.testing.assert_allclose(explanation.probabilities, model.predict_proba(WIDE[:20]), rtol=1e-9)
    scores = explanation.base + explanation.contributions.sum(axis=2)
    np.testing.assert_allclose(scores, model.predict_joint_log_proba(WIDE[:20]), rtol=1e-9)


@every
def test_it_holds_the_values_of_the_rows(model):
    explanation = model.fit(WIDE, Y).explain(WIDE[:3])
    assert explanation.row == explanation.values[0]
    assert len(explanation.values) == 3
    assert explanation.row["c7"] is None
    assert explanation.row["c3"] == WIDE["c3"][0]
    assert explanation.values[2]["day"] == "2020-01-03"
    assert explanation.values[1]["sky"] == WIDE["sky"][1]


def test_ten_columns_are_printed_most_telling_first():
    model = NaiveBayes().fit(WIDE, Y)
    explanation = model.explain(WIDE[:1])
    lines = str(explanation).splitlines()
    assert repr(explanation) == str(explanation)  # what a console or notebook shows
    told = [line.split()[0] for line in lines]
    assert told[:3] == ["nats", "(prior)", "c3"]
    assert len(lines) == 1 + 1 + 10 + 1 + 1 + 1 + 1
    assert lines[12].startswith("… and 22 more")
    assert f"c3 = {WIDE['c3'][0]:.6g}" in lines[2]
    assert lines[-1] == "7 less probable classes are not shown"
    assert max(map(len, lines)) < 100
    shown = [int(label) for label in lines[0].split()[1:]]
    probable = np.argsort(-model.predict_proba(WIDE[:1])[0])[:5]
    assert shown == sorted(probable.tolist())
    assert f"{100 * model.predict_proba(WIDE[:1])[0].max():.1f} %" in lines[-2]


def test_of_several_rows_it_says_which_one_it_shows():
    model = NaiveBayes().fit(WIDE, Y)
    several = model.explain(WIDE[:3])
    *lines, note = str(several).splitlines()
    assert lines == str(model.explain(WIDE[:1])).splitlines()[:-1]
    assert note == (
        "7 less probable classes are not shown; this is row 0 of 3: explain another one by itself, "
        "or see all in to_frame()"
    )
    assert "this is row 0 of 3" in several._repr_html_()
    assert "this is row" not in model.explain(WIDE[2:3])._repr_html_()


def test_the_rest_is_summed_so_that_the_lines_add_up():
    explanation = NaiveBayes().fit(WIDE, Y).explain(WIDE[:1])
    lines = str(explanation).splitlines()
    numbers = np.array([[float(v) for v in line.split()[-5:]] for line in lines[1:14]])
    np.testing.assert_allclose(numbers[:-1].sum(axis=0), numbers[-1], atol=1e-3)


def test_a_gap_a_pair_and_long_texts_are_shown_in_short():
    few = pd.DataFrame({"note": ["x" * 300, "b\nc"] * 20, "other": [None, "u"] * 20})
    text = str(NaiveBayes().fit(few, ["p", "q"] * 20).explain(few[:1]))
    assert "other (missing)" in text
    assert "…" in text
    assert max(map(len, text.splitlines())) < 120
    rows = [{"a": a, "b": b} for a in "xy" for b in "xy"] * 25
    pair = WeightedNaiveBayes().fit(rows, [r["a"] == r["b"] for r in rows])
    assert "a × b" in str(pair.explain_one({"a": "x", "b": "x"}))


def test_lazy_explanations_hold_them_too():
    source = pd.DataFrame({"sky": ["grey", "blue"] * 5, "rain": ["yes", "no"] * 5})
    lazy = LazyNaiveBayes(source, "rain")
    explanation = lazy.explain([{"sky": "grey"}])
    assert explanation.row == {"sky": "grey"}
    np.testing.assert_allclose(explanation.probabilities, lazy.predict_proba([{"sky": "grey"}]))


def test_a_row_that_is_ruled_out_gets_the_class_prior():
    rows = [{"a": "u", "b": "u"}, {"a": "v", "b": "v"}, {"a": "v", "b": "v"}]
    model = NaiveBayes(estimate="mle", class_alpha=0.0).fit(rows, ["p", "q", "q"])
    explanation = model.explain_one({"a": "u", "b": "v"})
    np.testing.assert_allclose(explanation.probabilities, [[1 / 3, 2 / 3]])
    assert "33.3 %" in str(explanation)
