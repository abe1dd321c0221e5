"""Weights, terms of text, cells, missing values and learning curves: numbers are the model's."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from plots.cases import X, Y, table, table_model, wine
from plots.hostile import HOSTILE, texts_fit
from tallybayes import GaussianNB, NaiveBayes, WeightedNaiveBayes
from tallybayes.families import Text
from tallybayes.plots import (
    LearningCurveDisplay,
    MissingDisplay,
    TermDisplay,
    TopTermsDisplay,
    WeightsDisplay,
)
from tallybayes.plots.style import drawable_ticks
from tallybayes.text import TextNB


@cache
def crossed():
    """A weighted model with a pair, numbers and missing values."""
    rng = np.random.default_rng(0)
    n = 600
    a, b = rng.choice(list("uvw"), n), rng.choice(list("xyz"), n)
    y = np.where((a == "u") ^ (b == "x") ^ (rng.random(n) < 0.05), "yes", "no")
    c = rng.normal(size=n) + (y == "yes")
    c[::9] = np.nan
    return WeightedNaiveBayes().fit(pd.DataFrame({"a": a, "b": b, "c": c}), y)


@cache
def mail():
    texts = ["cheap money now", "money cheap", "meeting at noon", "lunch at noon"] * 4
    return TextNB().fit(texts, ["spam", "spam", "ham", "ham"] * 4)


def widths(bars):
    return [bar.get_width() for bar in bars]


def y_names(ax):
    return [text.get_text() for text in ax.get_yticklabels()]


def x_names(ax):
    return [text.get_text() for text in ax.get_xticklabels()]


def number(text):
    return float(text.get_text().replace("−", "-").replace("∞", "inf"))


# ---- weights -------------------------------------------------------------------------------------
def test_weights():
    model = crossed()
    display = WeightsDisplay.from_estimator(model)
    held = dict(zip(model.weights_["term"], model.weights_["weight"], strict=True))
    assert widths(display.bars_) == sorted(held.values(), reverse=True)
    assert [held[name] for name in display.shown_] == widths(display.bars_)
    assert y_names(display.ax_) == display.shown_
    shown = [number(text) for text in display.ax_.texts]
    np.testing.assert_allclose(shown, widths(display.bars_), atol=0.00501)
    assert len(display.plot(max_display=2).bars_) == 2
    assert f"({len(held) - 2} smaller ones" in display.ax_.get_xlabel()


# ---- terms of text -------------------------------------------------------------------------------
def test_terms_of_documents():
    model = mail()
    display = TopTermsDisplay.from_estimator(model, n=5)
    for k, label in enumerate(["ham", "spam"]):
        expected = [pair for pair in model.top_terms(label, 5) if pair[1] > 0.0]
        assert widths(display.bars_[label]) == [value for _, value in expected]
        ax = display.axes_[0, k]
        assert y_names(ax) == [term for term, _ in expected]
        assert ax.get_title() == label
        shown = [number(text) for text in ax.texts]
        np.testing.assert_allclose(shown, widths(display.bars_[label]), atol=0.00501)


def test_terms_of_a_column():
    frame = pd.DataFrame({"body": ["a b", "b c", "c d"] * 5})
    model = NaiveBayes({"body": Text()}).fit(frame, ["x", "y", "z"] * 5)
    display = TopTermsDisplay.from_estimator(model, "body", labels=["z"], n=2)
    expected = [value for _, value in model.top_terms("body", "z", 2) if value > 0.0]
    assert widths(display.bars_["z"]) == expected
    assert list(display.bars_) == ["z"]


# ---- cells ---------------------------------------------------------------------------------------
def expected_cells(key, label):
    held = crossed().tables_[key]
    other = "no" if label == "yes" else "yes"
    return (held[label] - held[other]).to_numpy(), held


def test_a_column_of_levels():
    for label in ("yes", "no"):
        display = TermDisplay.from_estimator(crossed(), "a", label=label)
        nats, held = expected_cells("a", label)
        np.testing.assert_allclose(widths(display.bars_), nats, rtol=1e-12)
        assert y_names(display.ax_) == held["a"].tolist()
        np.testing.assert_allclose([number(text) for text in display.ax_.texts], nats, atol=0.00501)
    assert TermDisplay.from_estimator(crossed(), "a").label == "yes"


def test_a_column_of_numbers():
    display = TermDisplay.from_estimator(crossed(), "c")
    nats, _ = expected_cells("c", "yes")
    values, edges, _ = display.steps_.get_data()
    np.testing.assert_allclose(values, nats[: len(values)], rtol=1e-12)
    assert len(values) == len(nats) - 1
    model = crossed()
    middle = np.convolve(edges, [0.5, 0.5], "valid")
    rows = pd.DataFrame({"a": "u", "b": "x", "c": middle})
    said = model.explain(rows)
    j = said.columns.index("c")
    added = said.contributions[:, 1, j] - said.contributions[:, 0, j]
    np.testing.assert_allclose(values, added, rtol=1e-12)
    [line] = display.lines_
    assert set(line.get_ydata()) == {nats[-1]}
    [text] = display.legend_.get_texts()
    assert text.get_text().startswith("(missing)")


def test_a_pair():
    model = crossed()
    [pair] = model.interactions_
    display = TermDisplay.from_estimator(model, pair)
    nats, held = expected_cells(pair, "yes")
    image = np.asarray(display.image_.get_array())
    np.testing.assert_allclose(image.ravel(), nats, rtol=1e-12)
    first, second = y_names(display.ax_), x_names(display.ax_)
    assert [a for a in first for _ in second] == held[pair[0]].tolist()
    assert [b for _ in first for b in second] == held[pair[1]].tolist()
    shown = [number(text) for text in display.numbers_]
    np.testing.assert_allclose(shown, nats, atol=0.00501)
    turned = TermDisplay.from_estimator(model, pair[::-1])
    np.testing.assert_array_equal(np.asarray(turned.image_.get_array()), image.T)
    assert (y_names(turned.ax_), x_names(turned.ax_)) == (second, first)


def test_names_of_many_cells_do_not_overlap():
    ax = Figure().subplots()
    drawable_ticks(ax, "x", [f"c{i}" for i in range(60)], 24)
    assert [label.get_text() for label in ax.get_xticklabels()] == [
        f"c{i}" for i in range(0, 60, 3)
    ]
    assert ax.get_xticks().tolist() == list(range(0, 60, 3))
    drawable_ticks(ax, "y", [f"c{i}" for i in range(24)], 24)
    assert len(ax.get_yticks()) == 24


# ---- missing values ------------------------------------------------------------------------------
def test_missing_values():
    model, frame, y = table_model()
    display = MissingDisplay.from_estimator(model)
    lacks = frame.isna()
    for i, (name, bar) in enumerate(zip(display.shown_, display.bars_, strict=True)):
        assert bar.get_width() == pytest.approx(lacks[name].mean(), abs=1e-12)
        said = y_names(display.ax_)[i].split()
        assert said[0] == name
        assert float(said[1]) == pytest.approx(100 * lacks[name].mean(), abs=0.0501)
        for label, marker in zip(["no", "yes"], display.markers_, strict=True):
            x, at = marker.get_offsets()[i]
            assert at == i
            assert x == pytest.approx(lacks[name][y == label].mean(), abs=1e-12)
    assert set(display.shown_) == set(frame.columns)
    assert widths(display.bars_) == sorted(widths(display.bars_), reverse=True)


# ---- learning curves -----------------------------------------------------------------------------
def test_a_learning_curve():
    frame, y = table()
    model = NaiveBayes().fit(frame, y)
    display = LearningCurveDisplay.from_estimator(model, frame, y, seed=3)
    (rows, losses), (same, rates) = (line.get_data() for line in display.lines_)
    np.testing.assert_array_equal(rows, same)
    order = np.random.default_rng(3).permutation(len(y))
    for i in (0, len(rows) - 1):
        start = int(rows[i])
        end = int(rows[i + 1]) if i + 1 < len(rows) else len(y)
        part, classes = order[start:end], np.unique(y)
        first = frame.iloc[order[: int(rows[0])]]
        learned = NaiveBayes().partial_fit(first, y[order[: int(rows[0])]], classes=classes)
        for a, b in zip(rows[:i].astype(int), rows[1 : i + 1].astype(int), strict=True):
            learned.partial_fit(frame.iloc[order[a:b]], y[order[a:b]])
        log_proba = learned.predict_log_proba(frame.iloc[part])
        own = np.searchsorted(classes, y[part])
        assert losses[i] == pytest.approx(-log_proba[np.arange(len(part)), own].mean())
        assert rates[i] == pytest.approx((log_proba.argmax(axis=1) == own).mean())


@pytest.mark.filterwarnings("ignore:column .who. is left out", "ignore:no column of 2 predicts")
@pytest.mark.parametrize("kind", [NaiveBayes, WeightedNaiveBayes])
def test_a_learning_curve_learns_whole_groups(kind):
    """Each group has a level of its own, and a label that nothing else predicts."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(150), 4)
    y = rng.integers(0, 2, 150)[groups]
    x = pd.DataFrame({"who": groups.astype(str), "hour": rng.normal(size=600).round(2)})
    model = kind().fit(x, y, groups=groups)
    alone = LearningCurveDisplay.from_estimator(model, x, y).curve
    together = LearningCurveDisplay.from_estimator(model, x, y, groups=groups).curve
    assert max(alone.accuracy) > 0.8
    assert max(together.accuracy[2:]) < 0.65
    assert all(n % 4 == 0 for n in together.rows)


def test_a_learning_curve_of_weights_is_of_fits_on_prefixes():
    frame, y = table()
    model = WeightedNaiveBayes(parts=1).fit(frame, y)
    display = LearningCurveDisplay.from_estimator(model, frame, y, seed=3)
    (rows, losses), (_, rates) = (line.get_data() for line in display.lines_)
    order = np.random.default_rng(3).permutation(len(y))
    classes, own = np.unique(y, return_inverse=True)
    firsts = np.sort([np.flatnonzero(own[order] == k)[0] for k in range(len(classes))])
    order = np.concatenate([order[firsts], np.delete(order, firsts)])
    start, end = int(rows[1]), int(rows[2])
    fitted = WeightedNaiveBayes(parts=1).fit(frame.iloc[order[:start]], y[order[:start]])
    part = order[start:end]
    log_proba = fitted.predict_log_proba(frame.iloc[part])
    assert losses[1] == pytest.approx(-log_proba[np.arange(len(part)), own[part]].mean())
    assert rates[1] == pytest.approx((log_proba.argmax(axis=1) == own[part]).mean())


# ---- names, and what is refused ------------------------------------------------------------------
def test_names_are_text():
    terms = [(name, float(i + 1)) for i, name in enumerate(HOSTILE)]
    shares = np.linspace(0.1, 0.9, len(HOSTILE))
    by_class = np.tile(shares[:, None], len(HOSTILE))
    for display in (
        WeightsDisplay(terms=HOSTILE, weights=shares).plot(),
        TopTermsDisplay(terms=dict.fromkeys(HOSTILE[:5], terms)).plot(),
        TermDisplay(label="   ", columns=["$a_b$"], cells=[HOSTILE], nats=shares).plot(),
        TermDisplay(
            label=HOSTILE[-1], columns=HOSTILE[:2], cells=[HOSTILE, HOSTILE], nats=by_class
        ).plot(),
        MissingDisplay(columns=HOSTILE, classes=HOSTILE, shares=shares, by_class=by_class).plot(),
    ):
        assert texts_fit(display.figure_)
        said = [t.get_text() for ax in display.figure_.axes for t in ax.get_yticklabels()]
        assert any(text.startswith("<script>alert(1)</script") for text in said)
        assert any("two\\nlines" in text for text in said)
        assert not any("\u202e" in text for text in said)


def test_what_is_refused():
    plain, frame, y = table_model()
    with pytest.raises(TypeError, match="WeightedNaiveBayes has weights, NaiveBayes has none"):
        WeightsDisplay.from_estimator(plain)
    with pytest.raises(TypeError, match="cells of a WeightedNaiveBayes, got NaiveBayes"):
        TermDisplay.from_estimator(plain, "age")
    for column in ("nothing", ("a", "c"), ("a", "b", "c"), None):
        with pytest.raises(ValueError, match=r"no term .* adds.*'a'"):
            TermDisplay.from_estimator(crossed(), column)
    with pytest.raises(ValueError, match="'maybe' is not a class"):
        TermDisplay.from_estimator(crossed(), "a", label="maybe")
    with pytest.raises(TypeError, match="GaussianNB reads no text"):
        TopTermsDisplay.from_estimator(wine())
    with pytest.raises(TypeError, match="TextNB has no columns, got column='body'"):
        TopTermsDisplay.from_estimator(mail(), "body")
    with pytest.raises(TypeError, match="NaiveBayes has columns: name one"):
        TopTermsDisplay.from_estimator(plain)
    with pytest.raises(ValueError, match="'age' is not read as text"):
        TopTermsDisplay.from_estimator(plain, "age")
    with pytest.raises(ValueError, match="n is a whole number above 0"):
        TopTermsDisplay.from_estimator(mail(), n=0)
    with pytest.raises(ValueError, match="from 1 to 12 classes, got 0"):
        TopTermsDisplay.from_estimator(mail(), labels=[])
    with pytest.raises(TypeError, match="take missing values, GaussianNB does not"):
        MissingDisplay.from_estimator(wine())
    with pytest.raises(ValueError, match="at least 40 rows, or 4 for each class, got 20"):
        LearningCurveDisplay.from_estimator(plain, frame[:20], y[:20])
    with pytest.raises(ValueError, match=r"shape \(3,\) for 178 rows"):
        LearningCurveDisplay.from_estimator(GaussianNB().fit(X, Y), X, Y[:3])
    for call in (
        lambda: WeightsDisplay(terms=["a"], weights=[]),
        lambda: TermDisplay(label=1, columns=["a"], cells=[["x"]], nats=[1.0, 2.0]),
        lambda: MissingDisplay(columns=["a"], classes=[0, 1], shares=[0.1], by_class=[[0.1]]),
    ):
        with pytest.raises(ValueError, match=r"shape|cells"):
            call()
