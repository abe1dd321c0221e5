"""The numbers and the picture of examples/3_bayesian_inference.py."""

from fractions import Fraction

import numpy as np
import pytest

NUMBER = 3


def test_the_dog_and_the_burglar(ran):
    assert f"{ran['burglar']:.6f}" == "0.000575"
    assert f"{ran['burglar']:.5f}" == "0.00058"  # as the article prints it
    assert ran["exact"] == Fraction(21, 36500)
    assert ran["burglar"] == pytest.approx(float(ran["exact"]), rel=1e-14)
    assert ran["window"] == pytest.approx(ran["both"], rel=1e-12)


def test_cancer_and_age(ran):
    np.testing.assert_allclose(ran["by_age"], 0.005 * ran["among_sick"] / ran["among_all"])
    assert np.dot(ran["by_age"], ran["among_all"]) == pytest.approx(0.005)


def test_the_workflow(ran):
    model, patient = ran["model"], ran["patient"]
    joint = np.exp(model.class_log_prior_)
    for name, family in ran["attributes"].items():
        parts = [[p[name] for p in ran["patients"]], ran["labels"]]
        for k, c in enumerate(ran["classes"]):
            own = [value for value, label in zip(*parts, strict=True) if label == c]
            if name == "temperature":
                mu, var = np.mean(own), np.var(own)
                joint[k] *= np.exp(-((patient[name] - mu) ** 2) / (2 * var))
                joint[k] /= np.sqrt(2 * np.pi * var)
            else:
                joint[k] *= (own.count(patient[name]) + 1) / (len(own) + len(family.levels))
    expected = dict(zip(ran["classes"], joint / joint.sum(), strict=True))
    assert ran["answer"] == pytest.approx(expected, rel=1e-6)
    assert max(ran["answer"], key=ran["answer"].get) == "cold"


def test_the_age_group_that_was_never_seen(ran):
    np.testing.assert_allclose(ran["unsmoothed"], [0.6, 0.4], rtol=1e-14)
    assert ran["told"][0].category.__name__ == "RuledOutWarning"
    ill = Fraction(9, 22) * Fraction(1, 11) * Fraction(8, 10)
    well = Fraction(13, 22) * Fraction(1, 15) * Fraction(4, 14)
    assert ran["posterior"]["是"] == pytest.approx(float(ill / (ill + well)), rel=1e-12)


def test_the_slip_in_the_denominator(ran):
    assert (sum(ran["wrong"]), sum(ran["right"])) == (Fraction(11, 10), 1)
    np.testing.assert_allclose(ran["ours"], [float(p) for p in ran["right"]], rtol=1e-12)


def test_the_slip_in_the_density(ran):
    np.testing.assert_allclose(ran["integrals"], np.sqrt(ran["sigmas"]), rtol=1e-7)
    assert len(ran["differ"]) > 0
    assert ran["accuracy"] > ran["article_accuracy"] + 0.01


def test_the_picture(ran):
    assert [p.name for p in ran["pictures"].iterdir()] == ["3_bayesian_inference.png"]
    ages, densities = ran["figure"].axes
    assert [bar.get_height() for bar in ages.patches] == pytest.approx(ran["by_age"])
    areas = [np.trapezoid(line.get_ydata(), line.get_xdata()) for line in densities.lines]
    # within −8 … 8 lies all of N(0, 1), and 94.8 % of N(1, 16)
    np.testing.assert_allclose(areas, [1.0, 1.0, 0.9478, 2 * 0.9478], rtol=1e-3)
