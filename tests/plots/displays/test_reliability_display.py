"""Predicted and observed shares: every point is counted again from the model's predictions."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy.special import softmax

from plots.cases import X, Y, table, wine
from plots.hostile import HOSTILE, texts_fit
from tallybayes import NaiveBayes
from tallybayes.plots import ReliabilityDisplay
from tallybayes.text import TextNB

draw = ReliabilityDisplay.from_estimator


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
    display = draw(model, new, y)
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
    display = draw(wine(), X, Y, label="class_0", n_bins=5)
    assert list(display.curves) == ["as predicted"]
    check(display.lines_[0], display.bands_[0], wine().predict_proba(X)[:, 0], Y == "class_0")
    assert len(display.lines_[0].get_xdata()) <= 5


def test_documents():
    mails, y = ["cheap money", "money", "noon", "lunch at noon"] * 5, ["s", "s", "h", "h"] * 5
    model = TextNB().fit(mails, y)
    display = draw(model, mails, y, label="h")
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
            draw(model, X, y)
    with pytest.raises(ValueError, match="'red' is not a class"):
        draw(model, X, Y, label="red")
    for weight in ([1.0], np.zeros(len(Y)), -np.ones(len(Y))):
        with pytest.raises(ValueError, match="sample_weight is a number from 0 on"):
            draw(model, X, Y, sample_weight=weight)
    for bins in (0, 2.5, True):
        with pytest.raises(ValueError, match="n_bins is a whole number"):
            draw(model, X, Y, n_bins=bins)
    for proba in ([0.5, 1.2], [[0.5, 0.5]], [np.nan, 0.1]):
        with pytest.raises(ValueError, match="probability of one class for each row"):
            ReliabilityDisplay.from_predictions(["a", "b"], proba)
