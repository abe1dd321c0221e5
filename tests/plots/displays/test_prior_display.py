"""Bars of the class prior."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb

from plots.cases import CLASSES, Y, table_model, wine
from tallybayes import BernoulliNB, CategoricalNB, ComplementNB, MultinomialNB
from tallybayes.plots import PriorDisplay


def heights(display):
    return [bar.get_height() for bar in display.bars_]


def test_bars_are_the_relative_frequencies():
    display = PriorDisplay.from_estimator(wine())
    np.testing.assert_allclose(heights(display), np.array([59, 71, 48]) / 178, rtol=1e-14)
    assert [t.get_text() for t in display.ax_.get_xticklabels()] == CLASSES
    assert [t.get_text() for t in display.ax_.get_legend().get_texts()] == CLASSES
    assert display.figure_ is display.ax_.figure


def test_the_classes_of_labels_alone():
    display = PriorDisplay.from_predictions(Y)
    assert heights(display) == pytest.approx(heights(PriorDisplay.from_estimator(wine())))
    assert heights(PriorDisplay.from_predictions(["a"])) == [1.0]


def test_a_given_and_a_smoothed_prior():
    given = wine().with_class_prior([0.5, 0.25, 0.25])
    assert heights(PriorDisplay.from_estimator(given)) == pytest.approx([0.5, 0.25, 0.25])
    model, _, y = table_model(class_alpha=2.0)
    expected = [((y == c).sum() + 2) / (len(y) + 4) for c in ("no", "yes")]
    assert heights(PriorDisplay.from_estimator(model)) == pytest.approx(expected)


@pytest.mark.parametrize("estimator", [BernoulliNB, CategoricalNB, ComplementNB, MultinomialNB])
def test_every_classifier_has_one(estimator):
    model = estimator().fit([[0, 1], [1, 0], [1, 1]], [0, 1, 1])
    assert heights(PriorDisplay.from_estimator(model)) == pytest.approx([1 / 3, 2 / 3])


def test_it_is_drawn_where_one_says_and_again():
    _, ax = plt.subplots()
    display = PriorDisplay.from_estimator(wine(), ax=ax, color="red")
    assert display.ax_ is ax
    assert {to_rgb(bar.get_facecolor()) for bar in display.bars_} == {(1.0, 0.0, 0.0)}
    before = display.ax_
    assert display.plot().ax_ is not before


def test_the_colours_of_classes_differ_also_when_there_are_many():
    for n in (2, 10, 25):
        bars = PriorDisplay.from_predictions(np.arange(n)).bars_
        assert len({bar.get_facecolor() for bar in bars}) == n


def covered(display):
    """Whether the legend lies over what is in the axes."""
    display.figure_.canvas.draw()
    legend = display.ax_.get_legend().get_window_extent()
    return legend.overlaps(display.ax_.get_window_extent())


@pytest.mark.parametrize("n", [1, 2, 10, 25])
def test_the_legend_covers_no_bar(n):
    assert not covered(PriorDisplay.from_predictions([f"class {i}" for i in range(n)]))


def test_long_names_are_cut_where_they_do_not_differ():
    start = "a class whose name is so long that it begins"
    display = PriorDisplay.from_predictions([f"{start} {i}" for i in (1, 2)])
    names = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert len(set(names)) == 2
    assert all(len(name) <= 25 and "…" in name for name in names)
    assert not covered(display)
    display = PriorDisplay.from_predictions([f"{start}", f"other: {start}"])
    names = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert names == [f"{start[:24]}…", f"other: {start[:17]}…"]
    assert display.ax_.get_window_extent().width > 0.4 * display.figure_.bbox.width
