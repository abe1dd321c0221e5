"""Rulers and waterfalls: points, bars and numbers are what the model says."""

from functools import cache

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit

from plots.cases import WINE, X, Y, table, table_model, wine
from plots.hostile import HOSTILE, texts_fit
from tallybayes import CategoricalNB, GaussianNB, LazyNaiveBayes, NaiveBayes, WeightedNaiveBayes
from tallybayes.families import Gaussian, Text
from tallybayes.plots import NomogramDisplay, WaterfallDisplay, style
from tallybayes.plots.style import drawable
from tallybayes.text import TextNB

nomogram = NomogramDisplay.from_estimator
NAMES = ["job", "age", "visits", "member"]


@cache
def fitted(kind):
    frame, y = table()
    frame = frame[NAMES].astype({"member": str})
    if kind == "weighted":
        return WeightedNaiveBayes().fit(frame, y)
    return NaiveBayes(calibrate=None if kind == "plain" else kind).fit(frame, y)


def said(ax):
    return [text.get_text() for text in ax.texts]


def names(ax):
    return [text.get_text() for text in ax.get_yticklabels()]


def points_by_value(display):
    """The points at which the values of each single column are drawn, by column and value."""
    found = {}
    for i, (term, dots) in enumerate(zip(display.shown_, display.dots_, strict=True), start=1):
        x, y = np.asarray(dots.get_offsets()).T
        assert (y == i).all()
        found[term.name] = dict(zip(term.values, x, strict=True))
    return found


def read_off(display, row):
    """The probability that a reader of the picture finds for a row."""
    values = {k: "missing" if v is None else str(v) for k, v in row.items()}
    total = 0.0
    for name, points in points_by_value(display).items():
        total += points[values[name]]
    return total


@pytest.mark.parametrize("kind", ["plain", "temperature", "isotonic"])
def test_points_add_up_to_the_log_odds_and_the_probability(kind):
    model = fitted(kind)
    display = nomogram(model)
    assert (display.label, display.against) == ("yes", "no")
    rng = np.random.default_rng(0)
    points = points_by_value(display)
    assert set(points) == set(NAMES)
    for _ in range(12):
        row = {name: rng.choice(list(points[name])) for name in NAMES}
        asked = {k: None if v == "missing" else v for k, v in row.items()}
        asked |= {k: float(v) for k, v in asked.items() if k in ("age", "visits") and v is not None}
        total = read_off(display, row)
        joint = model.predict_joint_log_proba([asked])[0]
        log_odds = display.base + total / display.points_a_nat_
        assert log_odds == pytest.approx(joint[1] - joint[0], rel=1e-9, abs=1e-9)
        expected = model.predict_proba([asked])[0, 1]
        assert display.probability(np.array([log_odds]))[0] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("kind", ["plain", "temperature", "isotonic", "weighted"])
def test_the_rulers_of_the_sum(kind):
    display = nomogram(fitted(kind))
    places, ticks = display.probability_.get_xdata(), display.probability_ticks_
    assert said(display.totals_ax_)[-len(ticks) :] == [f"{q:g}" for q in ticks]
    at = display.probability(display.base + places / display.points_a_nat_)
    np.testing.assert_allclose(at, ticks, atol=2e-3)
    assert (np.diff(places) > 0.0).all()
    written = said(display.totals_ax_)[: -len(ticks)]
    totals = [float(text.replace("−", "-")) for text in written]
    np.testing.assert_allclose(display.total_.get_xdata(), totals)
    ruler = [
        float(t.replace("−", "-")) for t in said(display.ax_)[: len(display.ruler_.get_xdata())]
    ]
    np.testing.assert_allclose(display.ruler_.get_xdata(), ruler)
    largest = max(np.abs(p).max() for p in map(display.points_of, display.shown_))
    assert largest == pytest.approx(100.0)


def test_a_weighted_model_says_what_its_tables_say():
    model = fitted("weighted")
    display = nomogram(model, label="no")
    tables = model.tables_
    for term in display.terms:
        key = tuple(term.name.split(" × ")) if " × " in term.name else term.name
        held = tables[key]
        nats = (held["no"] - held["yes"]).to_numpy()
        assert np.isclose(term.nats[:, None], nats, rtol=1e-9, atol=1e-9).any(axis=1).all()
    assert display.terms


def test_arrays_show_the_values_of_rows():
    model = wine()
    display = nomogram(model, X, label="class_2", against="class_0")
    points = points_by_value(display)
    for j, name in enumerate(["alcohol", "hue"]):
        conditional = model.predict_joint_log_proba
        other = float(X.iloc[0, 1 - j])
        values = [float(v) for v in points[name]]
        rows = pd.DataFrame({name: values, X.columns[1 - j]: other})[list(X.columns)]
        joint = conditional(rows)
        apart = (joint[:, 2] - joint[:, 0])[:, None] - (joint[:, 2] - joint[:, 0])
        shown = np.array(list(points[name].values())) / display.points_a_nat_
        np.testing.assert_allclose(shown[:, None] - shown, apart, atol=1e-3)
    total = np.array([-1.0, 0.0, 2.0])
    np.testing.assert_allclose(display.probability(total), expit(total))
    assert names(display.totals_ax_)[1] == "P(class_2)\namong the two"
    with pytest.raises(ValueError, match=r"GaussianNB holds no values.*give X"):
        nomogram(model)


def test_of_three_classes_a_temperature_is_in_the_probability():
    frame = WINE.data[["alcohol", "hue"]]
    for method in ("temperature", "isotonic"):
        model = NaiveBayes(calibrate=method).fit(frame, Y)
        display = nomogram(model, label="class_0", against="class_1")
        assert ("before calibration" in names(display.totals_ax_)[1]) == (method == "isotonic")
        if method == "temperature":
            joint, proba = model.predict_joint_log_proba(frame), model.predict_proba(frame)
            expected = proba[:, 0] / proba[:, :2].sum(axis=1)
            found = display.probability(joint[:, 0] - joint[:, 1])
            np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_terms_with_most_points_come_first_and_the_rest_are_counted():
    display = nomogram(fitted("plain"), max_display=2)
    sizes = [np.abs(term.nats).max() for term in display.terms]
    assert [t.name for t in display.shown_] == [
        display.terms[i].name for i in np.argsort(-np.array(sizes))[:2]
    ]
    assert said(display.ax_)[-1] == "2 more terms, with fewer points"
    whole = nomogram(fitted("plain"))
    np.testing.assert_allclose(display.totals_ax_.get_xlim(), whole.totals_ax_.get_xlim())


def test_levels_beyond_those_that_are_listed_are_left_out():
    rng = np.random.default_rng(1)
    drawn = np.minimum(rng.geometric(0.12, 900), 30)
    levels = np.array([f"l{i:02}" for i in drawn])
    y = np.where(rng.random(900) < 0.3 + 0.4 * (levels < "l05"), "yes", "no")
    frame = pd.DataFrame({"level": levels})
    model = NaiveBayes().fit(frame, y)
    [term] = nomogram(model).terms
    count = frame.level.value_counts()
    assert count[term.values].tolist() == count.sort_values(ascending=False).tolist()[:23]
    assert len(set(term.values)) == 23 < len(count)
    joint = model.predict_joint_log_proba(pd.DataFrame({"level": term.values}))
    prior = model.class_log_prior_
    np.testing.assert_allclose(term.nats, joint[:, 1] - joint[:, 0] - prior[1] + prior[0])


def test_words_do_not_overlap():
    display = nomogram(fitted("plain"))
    display.figure_.canvas.draw()
    for ax in (display.ax_, display.totals_ax_):
        boxes = [text.get_window_extent() for text in ax.texts]
        apart = [not a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i]]
        assert all(apart)


def test_a_value_that_rules_a_class_out_stands_beyond_the_others():
    model = CategoricalNB(alpha=0.0).fit([[0, 0], [0, 1], [1, 0], [1, 1], [1, 1]], list("aabba"))
    display = nomogram(model, [[0, 0], [1, 1]])
    term = next(t for t in display.terms if np.isinf(t.nats).any())
    assert display.points_of(term)[0] == pytest.approx(-115.0)
    assert "0 (−∞)" in said(display.ax_)


def test_it_is_drawn_where_one_says():
    _, axes = plt.subplots(1, 2, figsize=(14, 6))
    display = nomogram(fitted("plain"), ax=axes[1])
    assert display.figure_ is axes[0].figure
    assert not axes[1].axison


def test_names_are_text():
    rng = np.random.default_rng(0)
    labels = np.array(HOSTILE, dtype=object)[rng.integers(0, len(HOSTILE), 200)]
    y = np.where(rng.random(200) < 0.5, labels, rng.permutation(labels))
    frame = pd.DataFrame({name: labels for name in HOSTILE if name.strip()})
    display = nomogram(NaiveBayes().fit(frame, y), label="$x_1^2$ costs $5")
    assert texts_fit(display.figure_)
    assert "<script>alert(1)</script…" in names(display.ax_)
    assert "two\\nlines" in names(display.ax_)
    assert display.ax_.get_title().startswith("\\$x_1^2\\$ costs \\$5 against")
    assert not any("\u202e" in text for text in said(display.ax_))


def test_what_is_refused():
    model = fitted("plain")
    with pytest.raises(ValueError, match="'maybe' is not a class"):
        nomogram(model, label="maybe")
    for most in (0, -3, 2.0, False):
        with pytest.raises(ValueError, match="max_display is a whole number above 0"):
            nomogram(model, max_display=most)
    with pytest.raises(ValueError, match="one class"):
        nomogram(GaussianNB().fit(X, ["a"] * len(X)), X)
    text = pd.DataFrame({"body": ["a b", "b c", "c d"] * 4})
    with pytest.raises(ValueError, match=r"'body'.*columns of text.*WaterfallDisplay"):
        nomogram(NaiveBayes({"body": Text()}).fit(text, ["x", "y", "y"] * 4))
    both = {("alcohol", "hue"): Gaussian(covariance="full")}
    with pytest.raises(ValueError, match=r"'alcohol', 'hue'.*correlated"):
        nomogram(NaiveBayes(both).fit(X, Y))


waterfall = WaterfallDisplay.from_estimator


def shown(display):
    """The numbers at the bars."""
    return [float(t.get_text().replace("−", "-").replace("∞", "inf")) for t in display.values_]


def lengths(display):
    return np.array([bar.get_width() for bar in display.bars_])


def bar_names(display):
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
        display = waterfall(model, row)
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
    assert bar_names(display)[0] == "class prior"
    assert bar_names(display)[-1] == "total"


def test_values_stand_beside_names():
    model, frame, _ = table_model()
    row = {**frame.iloc[20].to_dict(), "job": "artist"}
    assert "job = artist" in bar_names(waterfall(model, row))


def test_the_classes_that_are_compared():
    model = wine()
    row = X.iloc[[0]]
    joint, proba = model.predict_joint_log_proba(row)[0], model.predict_proba(row)[0]
    best, second, _ = np.argsort(-proba)
    check(waterfall(model, row), joint, proba, best, second)
    check(waterfall(model, row, label="class_1", against="class_2"), joint, proba, 1, 2)
    check(waterfall(model, row, against=model.classes_[best]), joint, proba, second, best)
    display = waterfall(model, row, label="class_2")
    assert display.ax_.get_xlabel().startswith(f"log-odds of class_2 against {Y[0]}")


def test_a_row_of_an_array_may_have_one_dimension():
    model = CategoricalNB().fit([[0, 1], [1, 0], [1, 1], [0, 0]], ["a", "b", "b", "a"])
    display = waterfall(model, [0, 1])
    check(
        display, model.predict_joint_log_proba([[0, 1]])[0], model.predict_proba([[0, 1]])[0], 0, 1
    )


def test_a_weighted_model_and_its_pairs():
    frame, y = table()
    model = WeightedNaiveBayes().fit(frame, y)
    row = frame.iloc[[7]]
    proba = model.predict_proba(row)[0]
    k = int(proba.argmax())
    check(waterfall(model, row), model.predict_joint_log_proba(row)[0], proba, k, 1 - k)


def test_a_document():
    mails = ["cheap money now", "money money cheap", "meeting at noon", "lunch at noon"] * 4
    model = TextNB().fit(mails, ["spam", "spam", "ham", "ham"] * 4)
    display = waterfall(model, "cheap meeting money")
    explained = model.explain_one("cheap meeting money")
    joint = explained.base + explained.contributions.sum(axis=0)
    k = int(joint.argmax())
    check(display, joint, explained.probabilities, k, 1 - k)
    assert {"cheap", "meeting", "money"} >= set(bar_names(display)[1:-1])
    assert explained.plot().total_ == display.total_


def test_a_lazy_model():
    frame, y = table(40)
    model = LazyNaiveBayes(frame.assign(target=y)[["job", "member", "target"]], "target")
    row = {"job": "artist", "member": True}
    proba = model.predict_proba([row])[0]
    k = int(proba.argmax())
    check(waterfall(model, row), model.predict_joint_log_proba([row])[0], proba, k, 1 - k)


def test_an_explanation_draws_itself():
    model, frame, _ = table_model()
    explained = model.explain(frame.iloc[:3])
    _, ax = plt.subplots()
    display = explained.plot(ax, row=1, label="no", max_display=2)
    assert display.ax_ is ax
    other = waterfall(model, frame.iloc[[1]], label="no")
    assert display.total_ == pytest.approx(other.total_, rel=1e-12)
    assert len(display.steps_) == 2
    rest = len(other.steps_) - 2
    assert bar_names(display)[-2] == f"{rest} other terms"
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


def test_names_of_bars_are_text():
    rng = np.random.default_rng(0)
    labels = np.array(HOSTILE, dtype=object)[rng.integers(0, len(HOSTILE), 160)]
    frame = pd.DataFrame({name: labels for name in HOSTILE if name.strip()})
    display = waterfall(NaiveBayes().fit(frame, labels), frame.iloc[[1]], label="   ")
    assert texts_fit(display.figure_)
    said = "\n".join(bar_names(display))
    for text in ("<script>alert(1)</script", "two\\nlines", "\\u202eright to left", "x" * 24):
        assert text in said
    assert "'   '" in display.ax_.get_title()
    assert not any("\u202e" in name for name in bar_names(display))


def test_what_a_waterfall_refuses():
    model, frame, _ = table_model()
    with pytest.raises(ValueError, match="of one row, got 2"):
        waterfall(model, frame.iloc[:2])
    with pytest.raises(ValueError, match="of one row, got 2"):
        waterfall(wine(), X.iloc[:2])
    with pytest.raises(ValueError, match=r"'maybe' is not a class.*'no', 'yes'"):
        waterfall(model, frame.iloc[[0]], label="maybe")
    with pytest.raises(ValueError, match="both 'yes'"):
        waterfall(model, frame.iloc[[0]], label="yes", against="yes")
    with pytest.raises(IndexError, match=r"3 rows.*no row 3"):
        model.explain(frame.iloc[:3]).plot(row=3)
    for most in (0, -1, 1.5, True):
        with pytest.raises(ValueError, match="max_display is a whole number above 0"):
            waterfall(model, frame.iloc[[0]], max_display=most)
    alone = NaiveBayes().fit(frame[["size"]], ["a"] * len(frame))
    with pytest.raises(ValueError, match="one class"):
        waterfall(alone, frame[["size"]].iloc[[0]])
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
