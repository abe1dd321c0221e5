"""One decision: every bar and number is what the model says."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plots.cases import X, Y, table, table_model, wine
from plots.hostile import HOSTILE, texts_fit
from tallybayes import CategoricalNB, LazyNaiveBayes, NaiveBayes, WeightedNaiveBayes
from tallybayes.plots import WaterfallDisplay, style
from tallybayes.plots.style import drawable
from tallybayes.text import TextNB

draw = WaterfallDisplay.from_estimator


def shown(display):
    """The numbers at the bars."""
    return [float(t.get_text().replace("−", "-").replace("∞", "inf")) for t in display.values_]


def lengths(display):
    return np.array([bar.get_width() for bar in display.bars_])


def names(display):
    return [t.get_text() for t in display.ax_.get_yticklabels()]


def check(display, joint, proba, k, other):
    """The bars add up to the log-odds of class k against another."""
    total = joint[k] - joint[other]
    np.testing.assert_allclose(display.total_, total, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(lengths(display)[-1], total, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(lengths(display)[:-1].sum(), total, rtol=1e-9, atol=1e-9)
    ends = [bar.get_x() + bar.get_width() for bar in display.bars_[:-1]]
    starts = [bar.get_x() for bar in display.bars_[1:-1]]
    np.testing.assert_allclose(starts, ends[:-1], atol=1e-12)
    np.testing.assert_allclose(shown(display), lengths(display), atol=0.00501)
    percent = float(display.ax_.get_title().split(" = ")[-1].removesuffix(" %"))
    assert percent == pytest.approx(100 * proba[k], abs=0.051)


@pytest.mark.parametrize("calibrate", [None, "temperature"])
def test_a_row_of_a_table(calibrate):
    model, frame, _ = table_model(calibrate=calibrate)
    for i in (0, 4, 20):
        row = frame.iloc[[i]]
        display = draw(model, row)
        proba = model.predict_proba(row)[0]
        k = int(proba.argmax())
        assert display.label == model.classes_[k]
        check(display, model.predict_joint_log_proba(row)[0], proba, k, 1 - k)
        said = model.explain(row).contributions[0]
        by_name = dict(zip(frame.columns, said[k] - said[1 - k], strict=True))
        for bar, step in zip(display.bars_[1:], display.steps_, strict=False):
            assert bar.get_width() == step.nats == by_name[step.name]
        sizes = [abs(step.nats) for step in display.steps_]
        assert sizes == sorted(sizes, reverse=True)
    assert names(display)[0] == "class prior"
    assert names(display)[-1] == "total"


def test_values_stand_beside_names():
    model, frame, _ = table_model()
    row = {**frame.iloc[20].to_dict(), "job": "artist"}
    assert "job = artist" in names(draw(model, row))


def test_the_classes_that_are_compared():
    model = wine()
    row = X.iloc[[0]]
    joint, proba = model.predict_joint_log_proba(row)[0], model.predict_proba(row)[0]
    best, second, _ = np.argsort(-proba)
    check(draw(model, row), joint, proba, best, second)
    check(draw(model, row, label="class_1", against="class_2"), joint, proba, 1, 2)
    check(draw(model, row, against=model.classes_[best]), joint, proba, second, best)
    display = draw(model, row, label="class_2")
    assert display.ax_.get_xlabel().startswith(f"log-odds of class_2 against {Y[0]}")


def test_a_row_of_an_array_may_have_one_dimension():
    model = CategoricalNB().fit([[0, 1], [1, 0], [1, 1], [0, 0]], ["a", "b", "b", "a"])
    display = draw(model, [0, 1])
    check(
        display, model.predict_joint_log_proba([[0, 1]])[0], model.predict_proba([[0, 1]])[0], 0, 1
    )


def test_a_weighted_model_and_its_pairs():
    frame, y = table()
    model = WeightedNaiveBayes().fit(frame, y)
    row = frame.iloc[[7]]
    proba = model.predict_proba(row)[0]
    k = int(proba.argmax())
    check(draw(model, row), model.predict_joint_log_proba(row)[0], proba, k, 1 - k)


def test_a_document():
    mails = ["cheap money now", "money money cheap", "meeting at noon", "lunch at noon"] * 4
    model = TextNB().fit(mails, ["spam", "spam", "ham", "ham"] * 4)
    display = draw(model, "cheap meeting money")
    explained = model.explain_one("cheap meeting money")
    joint = explained.base + explained.contributions.sum(axis=0)
    k = int(joint.argmax())
    check(display, joint, explained.probabilities, k, 1 - k)
    assert {"cheap", "meeting", "money"} >= set(names(display)[1:-1])
    assert explained.plot().total_ == display.total_


def test_a_lazy_model():
    frame, y = table(40)
    model = LazyNaiveBayes(frame.assign(target=y)[["job", "member", "target"]], "target")
    row = {"job": "artist", "member": True}
    proba = model.predict_proba([row])[0]
    k = int(proba.argmax())
    check(draw(model, row), model.predict_joint_log_proba([row])[0], proba, k, 1 - k)


def test_an_explanation_draws_itself():
    model, frame, _ = table_model()
    explained = model.explain(frame.iloc[:3])
    _, ax = plt.subplots()
    display = explained.plot(ax, row=1, label="no", max_display=2)
    assert display.ax_ is ax
    other = draw(model, frame.iloc[[1]], label="no")
    assert display.total_ == pytest.approx(other.total_, rel=1e-12)
    assert len(display.steps_) == 2
    rest = len(other.steps_) - 2
    assert names(display)[-2] == f"{rest} other terms"
    assert display.rest_ == pytest.approx(sum(step.nats for step in other.steps_[2:]))
    before = display.ax_
    assert display.plot().ax_ is not before


finite = st.floats(-40, 40)


@settings(max_examples=12)
@given(finite, st.lists(finite, max_size=30), st.integers(1, 15))
def test_bars_add_up_whatever_is_shown(base, nats, most):
    terms = [(f"t{j}", "") for j in range(len(nats))]
    display = WaterfallDisplay(
        label="a", against="b", base=base, contributions=nats, terms=terms, probability=0.5
    )
    _, ax = plt.subplots()
    display.plot(ax, max_display=most)
    plt.close("all")
    assert display.total_ == pytest.approx(base + sum(nats), abs=1e-9)
    assert lengths(display)[:-1].sum() == pytest.approx(display.total_, abs=1e-9)
    assert len(display.steps_) <= most


def test_a_term_that_rules_a_class_out():
    nats = [np.inf, 1.0, np.nan]
    display = WaterfallDisplay(
        label="a",
        against="b",
        base=0.5,
        contributions=nats,
        terms=[("x", "1"), ("y", "2"), ("z", "3")],
        probability=1.0,
    ).plot()
    assert display.total_ == np.inf
    assert shown(display) == [0.5, np.inf, 1.0, np.inf]
    assert lengths(display).tolist() == [0.5, 50.0, 1.0, 51.5]
    assert display.ax_.get_title() == "P(a) = 100.0 %"


def test_a_probability_is_not_rounded_to_certainty():
    kind = {"label": "a", "against": "b", "base": 0.0, "contributions": [], "terms": []}
    said = [
        WaterfallDisplay(**kind, probability=p).plot().ax_.get_title().split(" = ")[1]
        for p in (0.5, 0.99996, 1e-5, 0.0, 1.0)
    ]
    assert said == ["50.0 %", "99.996 %", "0.001 %", "0.0 %", "100.0 %"]


def test_names_are_text():
    rng = np.random.default_rng(0)
    labels = np.array(HOSTILE, dtype=object)[rng.integers(0, len(HOSTILE), 160)]
    frame = pd.DataFrame({name: labels for name in HOSTILE if name.strip()})
    display = draw(NaiveBayes().fit(frame, labels), frame.iloc[[1]], label="   ")
    assert texts_fit(display.figure_)
    said = "\n".join(names(display))
    for text in ("<script>alert(1)</script", "two\\nlines", "\\u202eright to left", "x" * 24):
        assert text in said
    assert "'   '" in display.ax_.get_title()
    assert not any("\u202e" in name for name in names(display))


def test_what_is_refused():
    model, frame, _ = table_model()
    with pytest.raises(ValueError, match="of one row, got 2"):
        draw(model, frame.iloc[:2])
    with pytest.raises(ValueError, match="of one row, got 2"):
        draw(wine(), X.iloc[:2])
    with pytest.raises(ValueError, match=r"'maybe' is not a class.*'no', 'yes'"):
        draw(model, frame.iloc[[0]], label="maybe")
    with pytest.raises(ValueError, match="both 'yes'"):
        draw(model, frame.iloc[[0]], label="yes", against="yes")
    with pytest.raises(IndexError, match=r"3 rows.*no row 3"):
        model.explain(frame.iloc[:3]).plot(row=3)
    for most in (0, -1, 1.5, True):
        with pytest.raises(ValueError, match="max_display is a whole number above 0"):
            draw(model, frame.iloc[[0]], max_display=most)
    alone = NaiveBayes().fit(frame[["size"]], ["a"] * len(frame))
    with pytest.raises(ValueError, match="one class"):
        draw(alone, frame[["size"]].iloc[[0]])
    with pytest.raises(ValueError, match=r"shape \(1,\) for 0 terms"):
        WaterfallDisplay(
            label=1, against=0, base=0.0, contributions=[1.0], terms=[], probability=0.5
        )


# ---- documents -----------------------------------------------------------------------------------
def test_words_that_no_font_has_are_drawn_as_escapes(monkeypatch):
    monkeypatch.setattr(style, "_other_families", dict)
    documents = ["cheap 中", "lunch $5"] * 6
    model = TextNB(ridge=False, ngram_range=(1, 1)).fit(documents, ["spam", "ham"] * 6)
    display = WaterfallDisplay.from_estimator(model, "lunch 中 $5", label="ham", against="spam")
    assert [text.get_text() for text in display.words_] == ["lunch", "\\u4e2d", "$", "5"]
    assert texts_fit(display.figure_)


def test_the_words_of_a_document_are_shaded_by_what_they_add():
    documents = ["cheap pills now", "lunch at noon?", "buy cheap pills", "see you at noon"] * 6
    model = TextNB(ridge=False, ngram_range=(1, 1)).fit(documents, ["spam", "ham"] * 12)
    document = "Cheap $x_1$ lunch\nat noon 中文 " + "z" * 10_000
    display = WaterfallDisplay.from_estimator(model, document, label="ham", against="spam")
    said = model.explain_one(document)
    ham, spam = said.contributions.T
    nats = dict(zip(said.terms, ham - spam, strict=True))
    words = {text.get_text(): text for text in display.words_}
    chinese, _ = drawable(["中", "文"])  # their escapes where no font has them
    assert [*words] == ["Cheap", "$x_1$", "lunch", "at", "noon", *chinese, "z" * 40 + "…"]
    most = max(abs(v) for v in nats.values())
    colours = {True: None, False: None}
    for bar, step in zip(display.bars_[1:], display.steps_, strict=False):
        colours[step.nats > 0.0] = bar.get_facecolor()[:3]
    for name, text in words.items():
        box, value = text.get_bbox_patch(), nats.get(name.lower(), 0.0)
        assert (box is not None) == (value != 0.0)
        if box is not None:
            assert box.get_facecolor()[:3] == colours[value > 0.0]
            assert box.get_alpha() == pytest.approx(0.15 + 0.5 * abs(value) / most)
    assert texts_fit(display.figure_)
    bottom = min(text.get_window_extent().y0 for text in display.words_)
    assert bottom >= 0.0
