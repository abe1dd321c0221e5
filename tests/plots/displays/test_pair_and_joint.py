"""Pair plots and joint plots: points are rows, margins what was fitted or estimated."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
import scipy.stats

from plots.cases import CLASSES, WINE, X, Y, table_model, wine
from tallybayes import GaussianNB
from tallybayes.plots import JointPlot, PairPlot

FIVE = ["alcohol", "alcalinity_of_ash", "flavanoids", "color_intensity", "hue"]


def offsets(points):
    return [np.asarray(p.get_offsets()) for p in points]


# ---- pairs ---------------------------------------------------------------------------------------
def test_every_pair_holds_the_rows():
    display = PairPlot.from_predictions(WINE.data, Y, columns=FIVE)
    assert display.axes_.shape == (5, 5)
    assert len(display.points_) == 20
    for (i, j), points in display.points_.items():
        for found, label in zip(offsets(points), CLASSES, strict=True):
            own = WINE.data.loc[label == Y, [FIVE[j], FIVE[i]]]
            np.testing.assert_array_equal(found, own)
    assert [at.get_xlabel() for at in display.axes_[-1]] == FIVE
    assert [at.get_ylabel() for at in display.axes_[:, 0]] == FIVE
    assert [t.get_text() for t in display.legend_.get_texts()] == CLASSES


def test_panels_of_a_column_share_its_range():
    display = PairPlot.from_predictions(WINE.data, Y, columns=FIVE[:3])
    for j in range(3):
        assert len({at.get_xlim() for at in display.axes_[:, j]}) == 1
        across = display.axes_[0, j].get_xlim()
        assert {display.axes_[j, i].get_ylim() for i in range(3) if i != j} == {across}


def test_without_a_model_the_diagonal_is_an_estimate():
    display = PairPlot.from_predictions(X, Y)
    for j, name in enumerate(X.columns):
        for line, label in zip(display.margins_[j], CLASSES, strict=True):
            x, height = line.get_data()
            kde = scipy.stats.gaussian_kde(X.loc[label == Y, name])
            np.testing.assert_allclose(height, kde(x), rtol=1e-6)


def test_with_a_model_it_is_what_was_fitted():
    display = PairPlot.from_estimator(wine(), X, Y)
    for j, name in enumerate(X.columns):
        for line, label in zip(display.margins_[j], CLASSES, strict=True):
            own = X.loc[label == Y, name]
            x, height = line.get_data()
            law = scipy.stats.norm(own.mean(), own.std(ddof=0))
            np.testing.assert_allclose(height, law.pdf(x), rtol=1e-9)


def test_a_table_with_levels_and_gaps():
    model, frame, y = table_model()
    display = PairPlot.from_estimator(model, frame, y, columns=["age", "visits", "job"])
    both = frame.age.notna() & frame.job.notna()
    assert sum(len(p) for p in offsets(display.points_[2, 0])) == both.sum()
    levels = [t.get_text() for t in display.axes_[2, 0].get_yticklabels()]
    for found, label in zip(offsets(display.points_[2, 0]), ["no", "yes"], strict=True):
        own = frame[both & (y == label)]
        np.testing.assert_array_equal(found[:, 0], own.age)
        assert [levels[k] for k in np.rint(found[:, 1]).astype(int)] == own.job.tolist()
    heights = [[bar.get_height() for bar in bars] for bars in display.margins_[2]]
    np.testing.assert_allclose(heights, model.class_conditional_["job"].probs)


def test_levels_without_a_model_are_shares():
    _, frame, y = table_model()
    display = PairPlot.from_predictions(frame, y, columns=["age", "job"])
    levels = [t.get_text() for t in display.axes_[1, 0].get_yticklabels()]
    for bars, label in zip(display.margins_[1], ["no", "yes"], strict=True):
        own = frame.job[(y == label) & frame.job.notna()]
        expected = [(own == level).mean() for level in levels]
        np.testing.assert_allclose([bar.get_height() for bar in bars], expected)


def test_arrays_have_numbers_for_names():
    rows = X.to_numpy()
    display = PairPlot.from_estimator(GaussianNB().fit(rows, Y), rows, Y)
    assert [at.get_xlabel() for at in display.axes_[-1]] == ["0", "1"]
    found = offsets(PairPlot.from_predictions(rows, Y, columns=[1, 0]).points_[1, 0])
    np.testing.assert_array_equal(
        np.concatenate(found)[:, 0], np.concatenate([rows[label == Y, 1] for label in CLASSES])
    )


def test_without_labels_they_are_predicted():
    model = wine()
    display = PairPlot.from_estimator(model, X)
    expected = [(model.predict(X) == label).sum() for label in CLASSES]
    assert [len(p) for p in offsets(display.points_[1, 0])] == expected


def test_a_class_of_one_row_or_of_no_spread_has_no_estimate():
    rows = [[0.0, 1.0], [1.0, 3.0], [2.0, 3.0], [2.0, 3.0]]
    display = PairPlot.from_predictions(rows, ["a", "a", "b", "b"])
    assert [len(margin) for margin in display.margins_] == [1, 1]
    alone = PairPlot.from_predictions([[1.0, 2.0]], ["a"])
    assert [len(margin) for margin in alone.margins_] == [0, 0]
    alone.figure_.canvas.draw()


def test_many_classes_leave_the_panels_room():
    rng = np.random.default_rng(0)
    display = PairPlot.from_predictions(rng.normal(size=(60, 2)), np.arange(60) % 12)
    display.figure_.canvas.draw()
    assert len(display.legend_.get_texts()) == 12
    heights = [at.get_position().height for at in display.axes_.ravel()]
    assert min(heights) > 0.35
    inside = display.legend_.get_window_extent()
    assert inside.x1 <= display.figure_.bbox.x1 + 1
    assert inside.x0 >= display.axes_[0, -1].get_window_extent().x1


def test_too_many_columns_are_refused():
    with pytest.raises(ValueError, match=r"13 columns are too many.*columns="):
        PairPlot.from_predictions(WINE.data, Y)


def test_they_take_the_place_of_axes():
    figure, axes = plt.subplots(1, 2)
    pair = PairPlot.from_estimator(wine(), X, Y, ax=axes[0])
    joint = JointPlot.from_estimator(wine(), X, Y, ax=axes[1])
    assert pair.figure_ is joint.figure_ is figure
    assert not axes[0].axison
    figure.canvas.draw()
    assert pair.axes_[0, -1].get_position().x1 < joint.ax_.get_position().x1
    loose = figure.add_axes((0.1, 0.1, 0.2, 0.2))
    with pytest.raises(ValueError, match=r"plt\.subplots"):
        PairPlot.from_estimator(wine(), X, Y, ax=loose)


# ---- joint ---------------------------------------------------------------------------------------
def test_a_joint_plot_has_the_rows_and_both_margins():
    display = JointPlot.from_estimator(wine(), X, Y)
    for k, label in enumerate(CLASSES):
        own = X[label == Y]
        np.testing.assert_array_equal(display.points_[k].get_offsets(), own)
        x, height = display.margin_x_[k].get_data()
        law = scipy.stats.norm(own.alcohol.mean(), own.alcohol.std(ddof=0))
        np.testing.assert_allclose(height, law.pdf(x), rtol=1e-9)
        height, z = display.margin_y_[k].get_data()
        law = scipy.stats.norm(own.hue.mean(), own.hue.std(ddof=0))
        np.testing.assert_allclose(height, law.pdf(z), rtol=1e-9)
    assert display.ax_.get_xlim() == display.ax_x_.get_xlim()
    assert display.ax_.get_ylim() == display.ax_y_.get_ylim()


def test_a_joint_plot_of_rows_alone():
    display = JointPlot.from_predictions(WINE.data, Y, columns=["alcohol", "hue"])
    height, z = display.margin_y_[0].get_data()
    kde = scipy.stats.gaussian_kde(X.loc[CLASSES[0] == Y, "hue"])
    np.testing.assert_allclose(height, kde(z), rtol=1e-6)


def test_a_joint_plot_with_levels():
    model, frame, y = table_model()
    display = JointPlot.from_estimator(model, frame, y, columns=["age", "job"])
    widths = [[bar.get_width() for bar in bars] for bars in display.margin_y_]
    np.testing.assert_allclose(widths, model.class_conditional_["job"].probs)


def test_a_joint_plot_is_of_two_columns():
    with pytest.raises(ValueError, match=r"two columns, got.*hue"):
        JointPlot.from_estimator(wine(), X, Y, columns="hue")
    with pytest.raises(ValueError, match=r"too many.*name 2"):
        JointPlot.from_predictions(WINE.data, Y)
