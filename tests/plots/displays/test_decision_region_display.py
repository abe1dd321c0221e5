"""Regions and shares have what is predicted there."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb
from scipy.special import softmax

from plots.cases import CLASSES, WINE, X, Y, table, table_model, wine
from plots.hostile import HOSTILE, texts_fit
from tallybayes import ComplementNB, GaussianNB, MultinomialNB, NaiveBayes
from tallybayes.families import Gaussian
from tallybayes.plots import DecisionRegionDisplay, ReliabilityDisplay
from tallybayes.text import TextNB

regions = DecisionRegionDisplay.from_estimator


def grid(display):
    across, up = np.meshgrid(display.x, display.y)
    return across.ravel(), up.ravel()


def test_regions_are_predictions():
    model = wine()
    display = regions(model, X=X, y=Y, points=60)
    rows = np.column_stack(grid(display))
    expected = GaussianNB(var_smoothing=0.0).fit(X.to_numpy(), Y).predict(rows).reshape(60, 60)
    assert (np.array(CLASSES)[display.mesh_.get_array()] == expected).all()
    assert set(np.unique(expected)) == set(CLASSES)


def test_the_colour_of_a_region_is_a_pale_one_of_its_class():
    display = regions(wine(), X=X, y=Y, points=20)
    display.figure_.canvas.draw()
    faces = display.mesh_.to_rgba(display.mesh_.get_array()).reshape(-1, 4)
    points = [np.array(to_rgb(p.get_facecolor()[0])) for p in display.points_]
    codes = np.asarray(display.mesh_.get_array()).ravel()
    for k in range(3):
        face = faces[codes == k][0, :3]
        np.testing.assert_allclose(face, 0.62 + 0.38 * points[k], atol=1e-9)
    assert [t.get_text() for t in display.legend_.get_texts()] == CLASSES


def test_points_are_the_rows_of_each_class():
    display = regions(wine(), X=X, y=Y, points=5)
    for points, label in zip(display.points_, CLASSES, strict=True):
        np.testing.assert_array_equal(points.get_offsets(), X[label == Y])
    assert regions(wine(), points=5).points_ == []


def test_columns_left_out_are_as_if_the_model_had_never_had_them():
    data = WINE.data
    display = regions(GaussianNB(var_smoothing=0.0).fit(data, Y), ["hue", "alcohol"], points=40)
    two = GaussianNB(var_smoothing=0.0).fit(data[["hue", "alcohol"]].to_numpy(), Y)
    expected = two.predict(np.column_stack(grid(display)))
    assert (np.array(CLASSES)[display.regions.ravel()] == expected).all()
    assert display.ax_.get_title() == "11 other columns left out"


def test_columns_held():
    data = WINE.data[["alcohol", "hue", "ash", "proline"]]
    model = GaussianNB(var_smoothing=0.0).fit(data, Y)
    held = {"proline": 900.0, "ash": 2.0}
    display = regions(model, ["alcohol", "hue"], held=held, points=30)
    x, y = grid(display)
    rows = np.column_stack([x, y, np.full(900, 2.0), np.full(900, 900.0)])
    expected = GaussianNB(var_smoothing=0.0).fit(data.to_numpy(), Y).predict(rows)
    assert (np.array(CLASSES)[display.regions.ravel()] == expected).all()
    part = regions(model, ["alcohol", "hue"], held={"proline": 900.0}, points=30)
    three = GaussianNB(var_smoothing=0.0).fit(data[["alcohol", "hue", "proline"]].to_numpy(), Y)
    expected = three.predict(rows[:, [0, 1, 3]])
    assert (np.array(CLASSES)[part.regions.ravel()] == expected).all()
    assert part.ax_.get_title() == "proline = 900.0, 1 other column left out"


def test_a_table_with_levels():
    model, frame, y = table_model()
    display = regions(model, ["age", "job"], frame, y, held={"visits": 2}, points=25)
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
    display = regions(model, ["member", "job"], frame, y, held=held)
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
    display = regions(model, [0, 1], rows, y, held={2: 3}, points=20)
    a, b = grid(display)
    positive = (a >= 0) & (b >= 0)
    expected = model.predict(np.column_stack([a, b, np.full(400, 3.0)])[positive])
    assert (display.regions.ravel()[positive] == expected).all()
    with pytest.raises(TypeError, match=r"left out|share a total"):
        regions(model, [0, 1], rows, y)


class WithoutDensities(NaiveBayes):
    """A table model that only predicts."""

    @property
    def joint_(self):
        raise AttributeError("joint_")


def test_a_table_model_without_densities():
    frame = pd.DataFrame({"size": [-3.0, -1.0, 2.0, 4.0], "sky": ["sun", "rain", "sun", "rain"]})
    model = WithoutDensities({"size": Gaussian()}).fit(frame, ["a", "a", "b", "b"])
    display = regions(model, ["size", "sky"], frame, points=9)
    assert display.x[0] < -3.0
    assert display.x[-1] > 4.0
    names = [t.get_text() for t in display.ax_.get_yticklabels()]
    expected = [[model.predict([{"size": v, "sky": s}])[0] for v in display.x] for s in names]
    assert (np.array(["a", "b"])[display.regions] == expected).all()
    more = WithoutDensities().fit(frame.assign(third=1.0), ["a", "a", "b", "b"])
    with pytest.raises(TypeError, match=r"no column can be left out\. Give held="):
        regions(more, ["size", "sky"], frame.assign(third=1.0))


def test_one_class_is_one_region():
    model = GaussianNB().fit([[0.0, 1.0], [1.0, 0.0], [0.5, 2.0]], ["a", "a", "a"])
    assert not regions(model, points=10).regions.any()


reliability = ReliabilityDisplay.from_estimator


def copied(n=300):
    """A model that counts a column three times, so that it is too sure, and new rows."""
    frame, y = table(2 * n)
    frame = frame[["visits", "age"]].assign(again=frame.visits, once_more=frame.visits)
    model = NaiveBayes(calibrate="temperature").fit(frame[:n], y[:n])
    return model, frame[n:], y[n:]


def check(line, band, p, hit):
    """Points are means of bins, whose rows are all rows; bands are Wilson's."""
    x, share = line.get_data()
    order = np.argsort(p, kind="stable")
    p, hit = p[order], hit[order]
    start, edge = 0, band.get_paths()[0].vertices
    for mean, observed in zip(x, share, strict=True):
        found = None
        for end in range(start + 1, len(p) + 1):
            if np.isclose(p[start:end].mean(), mean, rtol=1e-9) and np.isclose(
                hit[start:end].mean(), observed, rtol=1e-9, atol=1e-12
            ):
                found = end
        assert found is not None, (start, mean, observed)
        n, z = found - start, 1.959964
        centre = (observed + z**2 / (2 * n)) / (1 + z**2 / n)
        half = z / (1 + z**2 / n) * np.sqrt(observed * (1 - observed) / n + z**2 / (4 * n**2))
        at = edge[np.isclose(edge[:, 0], mean, rtol=1e-12, atol=1e-12), 1]
        assert np.isclose(at, max(centre - half, 0.0)).any()
        assert np.isclose(at, min(centre + half, 1.0)).any()
        start = found
    assert start == len(p)


def test_before_and_after_calibration():
    model, new, y = copied()
    display = reliability(model, new, y)
    assert list(display.curves) == ["before calibration", "calibrated"]
    assert [t.get_text() for t in display.legend_.get_texts()] == list(display.curves)
    hit = y == "yes"
    raw = softmax(model.predict_joint_log_proba(new), axis=1)[:, 1]
    check(display.lines_[0], display.bands_[0], raw, hit)
    check(display.lines_[1], display.bands_[1], model.predict_proba(new)[:, 1], hit)
    apart = [np.abs(c.predicted - c.observed) @ c.weight for c in display.curves.values()]
    assert apart[1] < apart[0]
    assert "predicted P(yes)" in display.ax_.get_xlabel()


def test_a_model_that_corrects_nothing_has_one_curve():
    display = reliability(wine(), X, Y, label="class_0", n_bins=5)
    assert list(display.curves) == ["as predicted"]
    check(display.lines_[0], display.bands_[0], wine().predict_proba(X)[:, 0], Y == "class_0")
    assert len(display.lines_[0].get_xdata()) <= 5


def test_documents():
    mails, y = ["cheap money", "money", "noon", "lunch at noon"] * 5, ["s", "s", "h", "h"] * 5
    model = TextNB().fit(mails, y)
    display = reliability(model, mails, y, label="h")
    p = display.curves["as predicted"].predicted
    assert p.min() >= 0.0
    assert p.max() <= 1.0
    np.testing.assert_allclose(
        p @ display.curves["as predicted"].weight, model.predict_proba(mails)[:, 0].sum()
    )


def test_given_probabilities_and_weights():
    y, p = np.array(["a", "b", "b", "b"]), np.array([0.1, 0.1, 0.9, 0.9])
    _, ax = plt.subplots()
    display = ReliabilityDisplay.from_predictions(y, p, ax=ax, sample_weight=[3, 1, 1, 1])
    assert display.ax_ is ax
    assert display.label == "b"
    np.testing.assert_allclose(display.lines_[0].get_ydata(), [0.25, 1.0])
    other = ReliabilityDisplay.from_predictions(y, 1.0 - p, label="a")
    np.testing.assert_allclose(other.lines_[0].get_ydata(), [0.0, 0.5])


@pytest.mark.parametrize("label", HOSTILE)
def test_a_class_may_be_called_anything(label):
    display = ReliabilityDisplay.from_predictions([label, "z"], [0.2, 0.6], label=label)
    assert texts_fit(display.figure_)


def test_what_is_refused():
    model = wine()
    for y, message in [
        (Y[:3], "shape .3,. for 178 rows"),
        (["x"] * len(X), "row 0 has the label 'x'"),
    ]:
        with pytest.raises(ValueError, match=message):
            reliability(model, X, y)
    with pytest.raises(ValueError, match="'red' is not a class"):
        reliability(model, X, Y, label="red")
    for weight in ([1.0], np.zeros(len(Y)), -np.ones(len(Y))):
        with pytest.raises(ValueError, match="sample_weight is a number from 0 on"):
            reliability(model, X, Y, sample_weight=weight)
    for bins in (0, 2.5, True):
        with pytest.raises(ValueError, match="n_bins is a whole number"):
            reliability(model, X, Y, n_bins=bins)
    for proba in ([0.5, 1.2], [[0.5, 0.5]], [np.nan, 0.1]):
        with pytest.raises(ValueError, match="probability of one class for each row"):
            ReliabilityDisplay.from_predictions(["a", "b"], proba)
