"""Names in any script: drawn where a font has them, escaped where none has, never a warning."""

import matplotlib as mpl
import numpy as np
import pytest
from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen
from matplotlib import font_manager

from plots.cases import X, Y
from tallybayes import GaussianNB
from tallybayes.plots import ClassConditionalDisplay, DecisionRegionDisplay, PairPlot, PriorDisplay
from tallybayes.plots.style import drawable

WINES = np.array(["好酒", "坏酒", "醋"])[np.unique(Y, return_inverse=True)[1]]


def chinese():
    """The wine with Chinese names of classes and columns."""
    rows = X.set_axis(["酒精", "色调 $x$"], axis=1)
    return GaussianNB().fit(rows, WINES), rows


@pytest.fixture
def no_font(monkeypatch):
    """Only the fonts that matplotlib brings with it."""
    own = mpl.get_data_path()
    fonts = [f for f in font_manager.fontManager.ttflist if str(f.fname).startswith(own)]
    monkeypatch.setattr(font_manager.fontManager, "ttflist", fonts)


@pytest.fixture
def a_font(monkeypatch, tmp_path, no_font):
    """A font with these characters, each a box."""
    characters = "好坏酒醋精色调"
    pen = TTGlyphPen(None)
    pen.moveTo((50, 0))
    for point in ((50, 700), (900, 700), (900, 0)):
        pen.lineTo(point)
    pen.closePath()
    names = [".notdef", *(f"u{ord(c):04x}" for c in characters)]
    font = FontBuilder(1000, isTTF=True)
    font.setupGlyphOrder(names)
    font.setupCharacterMap({ord(c): f"u{ord(c):04x}" for c in characters})
    font.setupGlyf(dict.fromkeys(names, pen.glyph()))
    font.setupHorizontalMetrics(dict.fromkeys(names, (1000, 0)))
    font.setupHorizontalHeader(ascent=800, descent=-200)
    font.setupNameTable({"familyName": "Test CJK", "styleName": "Regular"})
    font.setupOS2(sTypoAscender=800, usWeightClass=400)
    font.setupPost()
    path = tmp_path / "test-cjk.ttf"
    font.save(path)
    before = list(font_manager.fontManager.ttflist)
    font_manager.fontManager.addfont(path)
    yield "Test CJK"
    font_manager.fontManager.ttflist[:] = before


def drawn():
    """Every kind of text, drawn: a missing glyph would warn, and fail."""
    model, rows = chinese()
    displays = [
        PriorDisplay.from_estimator(model),
        ClassConditionalDisplay.from_estimator(model, "酒精", rows, WINES),
        DecisionRegionDisplay.from_estimator(model, X=rows, y=WINES, points=5),
        PairPlot.from_estimator(model, rows, WINES),
    ]
    for display in displays:
        display.figure_.canvas.draw()
    return displays


def test_with_a_font_names_are_drawn_as_they_are(a_font):
    prior, curves, regions, pair = drawn()
    assert [t.get_text() for t in prior.ax_.get_xticklabels()] == ["坏酒", "好酒", "醋"]
    assert curves.ax_.get_xlabel() == "酒精"
    assert curves.legend_.get_texts()[0].get_fontfamily() == ["sans-serif", a_font]
    assert regions.ax_.get_ylabel() == r"色调 \$x\$"  # no formula
    assert pair.axes_[0, 0].get_ylabel() == "酒精"


def test_without_one_they_are_escaped_and_stay_different(no_font):
    prior, curves, _, _ = drawn()
    names = [t.get_text() for t in prior.ax_.get_xticklabels()]
    assert names == [r"\u574f\u9152", r"\u597d\u9152", r"\u918b"]
    assert curves.ax_.get_xlabel() == r"\u9152\u7cbe"


def test_what_the_font_has_is_left_alone(no_font):
    said, families = drawable(["θ₀ — naïve", 3, True, None, "_hidden"])
    assert said == ["θ₀ — naïve", "3", "True", "None", "_hidden"]
    assert families == ["sans-serif"]


def test_a_class_whose_name_begins_with_an_underscore_is_in_the_legend():
    display = PriorDisplay.from_predictions(["_a", "b", "$b", "c\nd"])
    assert len(display.ax_.get_legend().get_texts()) == 4
    display.figure_.canvas.draw()
