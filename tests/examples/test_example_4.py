"""examples/4: Laplace smoothing, the Bayesian view."""

import numpy as np
import pytest
import scipy.stats

from examples.running import pictures, run


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("somewhere")


@pytest.fixture(scope="module")
def names(folder):
    return run(4, folder)


def test_the_pictures_are_saved_beside_the_working_directory(names, folder):
    assert pictures(folder / "pictures") == {"4-coin.png", "4-level.png", "4-evidence.png"}


def test_every_panel_draws_likelihood_prior_and_posterior(names):
    k, n = names["HEADS"], names["TOSSES"]
    assert len(names["curves"]) == 9
    for (guess, strength), display in names["curves"].items():
        yes, no = strength * guess, strength * (1 - guess)
        for line, (a, b) in [
            (display.prior_, (1 + yes, 1 + no)),
            (display.likelihood_, (1 + k, 1 + n - k)),
            (display.posteriors_[0], (1 + yes + k, 1 + no + n - k)),
        ]:
            x, height = line.get_data()
            np.testing.assert_allclose(height, scipy.stats.beta(a, b).pdf(x), rtol=1e-9, atol=1e-12)
        marks = [line.get_xdata()[0] for line in display.estimates_]
        mean = (k + 1 + yes) / (n + 2 + strength)
        np.testing.assert_allclose(marks, [k / n, (k + yes) / (n + strength), mean])


def test_the_formula_of_the_article_is_the_mode(names):
    for (heads, tosses), (mle, mode, mean, formula) in names["estimates"].items():
        assert mode == pytest.approx(formula, rel=1e-12)
        assert mode == pytest.approx((heads + 1) / (tosses + 2), rel=1e-12)
        assert mean == pytest.approx((heads + 2) / (tosses + 4), rel=1e-12)
        if tosses:
            assert mle == pytest.approx(heads / tosses, rel=1e-12)
    assert np.isnan(names["estimates"][0, 0][0])
    assert names["estimates"][0, 0][1] == 0.5  # an untossed coin is fair
    assert "undefined" in names["refused"]


def test_the_smoothed_tables_are_the_formulas(names):
    ours = names["model"].class_prior_distribution_.probs
    np.testing.assert_allclose(ours, [3.5 / 8, 4.5 / 8])
    np.testing.assert_allclose(ours, names["prior_by_formula"])
    for formula, smoothed, _ in names["table"].values():
        assert smoothed == pytest.approx(formula, rel=1e-12)
    assert names["table"]["b", "L"][1] == pytest.approx(1 / 7)
    assert names["table"]["b", "L"][2] == 0.0  # the zero that rules class b out
    np.testing.assert_allclose(names["preferred"], [3 / 9, 3.5 / 9, 2.5 / 9])


def test_smoothing_is_chosen_where_the_evidence_is_largest(names):
    alphas, step = names["ALPHAS"], names["ALPHAS"][1] / names["ALPHAS"][0]
    assert set(names["evidence"]) == set(names["chosen"].alpha_)
    for column, curve in names["evidence"].items():
        best = alphas[curve.argmax()]
        assert best / step < names["chosen"].alpha_[column] < best * step
    assert names["loss_of_chosen"] < names["losses"][int(np.abs(alphas - 1).argmin())]
    assert names["loss_of_chosen"] == pytest.approx(0.2333, abs=5e-5)
