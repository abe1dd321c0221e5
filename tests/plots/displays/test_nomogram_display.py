"""Rulers: points of values add up to the model's log-odds, and these to its probabilities."""

from __future__ import annotations

from functools import cache

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from plots.cases import WINE, X, Y, table, wine
from plots.hostile import HOSTILE, texts_fit
from tallybayes import CategoricalNB, GaussianNB, NaiveBayes, WeightedNaiveBayes
from tallybayes.families import Gaussian, Text
from tallybayes.plots import NomogramDisplay

draw = NomogramDisplay.from_estimator
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
    display = draw(model)
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
    display = draw(fitted(kind))
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
    display = draw(model, label="no")
    tables = model.tables_
    for term in display.terms:
        key = tuple(term.name.split(" × ")) if " × " in term.name else term.name
        held = tables[key]
        nats = (held["no"] - held["yes"]).to_numpy()
        assert np.isclose(term.nats[:, None], nats, rtol=1e-9, atol=1e-9).any(axis=1).all()
    assert display.terms


def test_arrays_show_the_values_of_rows():
    model = wine()
    display = draw(model, X, label="class_2", against="class_0")
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
        draw(model)


def test_of_three_classes_a_temperature_is_in_the_probability():
    frame = WINE.data[["alcohol", "hue"]]
    for method in ("temperature", "isotonic"):
        model = NaiveBayes(calibrate=method).fit(frame, Y)
        display = draw(model, label="class_0", against="class_1")
        assert ("before calibration" in names(display.totals_ax_)[1]) == (method == "isotonic")
        if method == "temperature":
            joint, proba = model.predict_joint_log_proba(frame), model.predict_proba(frame)
            expected = proba[:, 0] / proba[:, :2].sum(axis=1)
            found = display.probability(joint[:, 0] - joint[:, 1])
            np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_terms_with_most_points_come_first_and_the_rest_are_counted():
    display = draw(fitted("plain"), max_display=2)
    sizes = [np.abs(term.nats).max() for term in display.terms]
    assert [t.name for t in display.shown_] == [
        display.terms[i].name for i in np.argsort(-np.array(sizes))[:2]
    ]
    assert said(display.ax_)[-1] == "2 more terms, with fewer points"
    whole = draw(fitted("plain"))
    np.testing.assert_allclose(display.totals_ax_.get_xlim(), whole.totals_ax_.get_xlim())


def test_levels_beyond_those_that_are_listed_are_left_out():
    rng = np.random.default_rng(1)
    drawn = np.minimum(rng.geometric(0.12, 900), 30)
    levels = np.array([f"l{i:02}" for i in drawn])
    y = np.where(rng.random(900) < 0.3 + 0.4 * (levels < "l05"), "yes", "no")
    frame = pd.DataFrame({"level": levels})
    model = NaiveBayes().fit(frame, y)
    [term] = draw(model).terms
    count = frame.level.value_counts()
    assert count[term.values].tolist() == count.sort_values(ascending=False).tolist()[:23]
    assert len(set(term.values)) == 23 < len(count)
    joint = model.predict_joint_log_proba(pd.DataFrame({"level": term.values}))
    prior = model.class_log_prior_
    np.testing.assert_allclose(term.nats, joint[:, 1] - joint[:, 0] - prior[1] + prior[0])


def test_words_do_not_overlap():
    display = draw(fitted("plain"))
    display.figure_.canvas.draw()
    for ax in (display.ax_, display.totals_ax_):
        boxes = [text.get_window_extent() for text in ax.texts]
        apart = [not a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i]]
        assert all(apart)


def test_a_value_that_rules_a_class_out_stands_beyond_the_others():
    model = CategoricalNB(alpha=0.0).fit([[0, 0], [0, 1], [1, 0], [1, 1], [1, 1]], list("aabba"))
    display = draw(model, [[0, 0], [1, 1]])
    term = next(t for t in display.terms if np.isinf(t.nats).any())
    assert display.points_of(term)[0] == pytest.approx(-115.0)
    assert "0 (−∞)" in said(display.ax_)


def test_it_is_drawn_where_one_says():
    _, axes = plt.subplots(1, 2, figsize=(14, 6))
    display = draw(fitted("plain"), ax=axes[1])
    assert display.figure_ is axes[0].figure
    assert not axes[1].axison


def test_names_are_text():
    rng = np.random.default_rng(0)
    labels = np.array(HOSTILE, dtype=object)[rng.integers(0, len(HOSTILE), 200)]
    y = np.where(rng.random(200) < 0.5, labels, rng.permutation(labels))
    frame = pd.DataFrame({name: labels for name in HOSTILE if name.strip()})
    display = draw(NaiveBayes().fit(frame, y), label="$x_1^2$ costs $5")
    assert texts_fit(display.figure_)
    assert "<script>alert(1)</script…" in names(display.ax_)
    assert "two\\nlines" in names(display.ax_)
    assert display.ax_.get_title().startswith("\\$x_1^2\\$ costs \\$5 against")
    assert not any("\u202e" in text for text in said(display.ax_))


def test_what_is_refused():
    model = fitted("plain")
    with pytest.raises(ValueError, match="'maybe' is not a class"):
        draw(model, label="maybe")
    for most in (0, -3, 2.0, False):
        with pytest.raises(ValueError, match="max_display is a whole number above 0"):
            draw(model, max_display=most)
    with pytest.raises(ValueError, match="one class"):
        draw(GaussianNB().fit(X, ["a"] * len(X)), X)
    text = pd.DataFrame({"body": ["a b", "b c", "c d"] * 4})
    with pytest.raises(ValueError, match=r"'body'.*columns of text.*WaterfallDisplay"):
        draw(NaiveBayes({"body": Text()}).fit(text, ["x", "y", "y"] * 4))
    both = {("alcohol", "hue"): Gaussian(covariance="full")}
    with pytest.raises(ValueError, match=r"'alcohol', 'hue'.*correlated"):
        draw(NaiveBayes(both).fit(X, Y))
