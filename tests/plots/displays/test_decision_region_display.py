"""Regions have the colour of what is predicted there."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb

from plots.cases import CLASSES, WINE, X, Y, table_model, wine
from tallybayes import ComplementNB, GaussianNB, MultinomialNB, NaiveBayes
from tallybayes.families import Gaussian
from tallybayes.plots import DecisionRegionDisplay

draw = DecisionRegionDisplay.from_estimator


def grid(display):
    across, up = np.meshgrid(display.x, display.y)
    return across.ravel(), up.ravel()


def test_regions_are_predictions():
    model = wine()
    display = draw(model, X=X, y=Y, points=60)
    rows = np.column_stack(grid(display))
    expected = GaussianNB(var_smoothing=0.0).fit(X.to_numpy(), Y).predict(rows).reshape(60, 60)
    assert (np.array(CLASSES)[display.mesh_.get_array()] == expected).all()
    assert set(np.unique(expected)) == set(CLASSES)


def test_the_colour_of_a_region_is_a_pale_one_of_its_class():
    display = draw(wine(), X=X, y=Y, points=20)
    display.figure_.canvas.draw()
    faces = display.mesh_.to_rgba(display.mesh_.get_array()).reshape(-1, 4)
    points = [np.array(to_rgb(p.get_facecolor()[0])) for p in display.points_]
    codes = np.asarray(display.mesh_.get_array()).ravel()
    for k in range(3):
        face = faces[codes == k][0, :3]
        np.testing.assert_allclose(face, 0.62 + 0.38 * points[k], atol=1e-9)
    assert [t.get_text() for t in display.legend_.get_texts()] == CLASSES


def test_points_are_the_rows_of_each_class():
    display = draw(wine(), X=X, y=Y, points=5)
    for points, label in zip(display.points_, CLASSES, strict=True):
        np.testing.assert_array_equal(points.get_offsets(), X[label == Y])
    assert draw(wine(), points=5).points_ == []


def test_columns_left_out_are_as_if_the_model_had_never_had_them():
    data = WINE.data
    display = draw(GaussianNB(var_smoothing=0.0).fit(data, Y), ["hue", "alcohol"], points=40)
    two = GaussianNB(var_smoothing=0.0).fit(data[["hue", "alcohol"]].to_numpy(), Y)
    expected = two.predict(np.column_stack(grid(display)))
    assert (np.array(CLASSES)[display.regions.ravel()] == expected).all()
    assert display.ax_.get_title() == "11 other columns left out"


def test_columns_held():
    data = WINE.data[["alcohol", "hue", "ash", "proline"]]
    model = GaussianNB(var_smoothing=0.0).fit(data, Y)
    held = {"proline": 900.0, "ash": 2.0}
    display = draw(model, ["alcohol", "hue"], held=held, points=30)
    x, y = grid(display)
    rows = np.column_stack([x, y, np.full(900, 2.0), np.full(900, 900.0)])
    expected = GaussianNB(var_smoothing=0.0).fit(data.to_numpy(), Y).predict(rows)
    assert (np.array(CLASSES)[display.regions.ravel()] == expected).all()
    part = draw(model, ["alcohol", "hue"], held={"proline": 900.0}, points=30)
    three = GaussianNB(var_smoothing=0.0).fit(data[["alcohol", "hue", "proline"]].to_numpy(), Y)
    expected = three.predict(rows[:, [0, 1, 3]])
    assert (np.array(CLASSES)[part.regions.ravel()] == expected).all()
    assert part.ax_.get_title() == "proline = 900.0, 1 other column left out"


def test_a_table_with_levels():
    model, frame, y = table_model()
    display = draw(model, ["age", "job"], frame, y, held={"visits": 2}, points=25)
    names = [t.get_text() for t in display.ax_.get_yticklabels()]
    expected = [
        [model.predict([{"age": a, "job": job, "visits": 2}])[0] for a in display.x]
        for job in names
    ]
    assert (np.array(["no", "yes"])[display.regions] == expected).all()
    assert len({tuple(row) for row in display.regions.tolist()}) > 1


def test_two_columns_of_levels():
    model, frame, y = table_model()
    held = {"age": 44.0, "visits": 2}
    display = draw(model, ["member", "job"], frame, y, held=held)
    across = [t.get_text() for t in display.ax_.get_xticklabels()]
    up = [t.get_text() for t in display.ax_.get_yticklabels()]
    assert across == ["False", "True"]
    expected = [
        [model.predict([{"member": m == "True", "job": job, **held}])[0] for m in across]
        for job in up
    ]
    assert (np.array(["no", "yes"])[display.regions] == expected).all()


@pytest.mark.parametrize("estimator", [ComplementNB, MultinomialNB])
def test_counts_with_the_others_held(estimator):
    rng = np.random.default_rng(1)
    rows, y = rng.poisson([[4, 1, 2]] * 30 + [[1, 4, 2]] * 30), [0] * 30 + [1] * 30
    model = estimator().fit(rows, y)
    display = draw(model, [0, 1], rows, y, held={2: 3}, points=20)
    a, b = grid(display)
    positive = (a >= 0) & (b >= 0)
    expected = model.predict(np.column_stack([a, b, np.full(400, 3.0)])[positive])
    assert (display.regions.ravel()[positive] == expected).all()
    with pytest.raises(TypeError, match=r"left out|share a total"):
        draw(model, [0, 1], rows, y)


class WithoutDensities(NaiveBayes):
    """A table model that only predicts."""

    @property
    def joint_(self):
        raise AttributeError("joint_")


def test_a_table_model_without_densities():
    frame = pd.DataFrame({"size": [-3.0, -1.0, 2.0, 4.0], "sky": ["sun", "rain", "sun", "rain"]})
    model = WithoutDensities({"size": Gaussian()}).fit(frame, ["a", "a", "b", "b"])
    display = draw(model, ["size", "sky"], frame, points=9)
    assert display.x[0] < -3.0
    assert display.x[-1] > 4.0
    names = [t.get_text() for t in display.ax_.get_yticklabels()]
    expected = [[model.predict([{"size": v, "sky": s}])[0] for v in display.x] for s in names]
    assert (np.array(["a", "b"])[display.regions] == expected).all()
    more = WithoutDensities().fit(frame.assign(third=1.0), ["a", "a", "b", "b"])
    with pytest.raises(TypeError, match=r"no column can be left out\. Give held="):
        draw(more, ["size", "sky"], frame.assign(third=1.0))


def test_one_class_is_one_region():
    model = GaussianNB().fit([[0.0, 1.0], [1.0, 0.0], [0.5, 2.0]], ["a", "a", "a"])
    assert not draw(model, points=10).regions.any()
