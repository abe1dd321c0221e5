"""The weather data: whether to play, in nominal and in numeric form.

Quinlan, "Induction of decision trees", *Machine Learning* 1 (1986), table 1, as it is worked
through in Witten and Frank, *Data Mining: Practical Machine Learning Tools and Techniques*, section
4.2, and shipped with Weka as weather.nominal and weather.numeric. The rows are typed in by hand.
"""

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from tallybayes import NaiveBayes
from tallybayes.families import Bernoulli, Categorical, Gaussian

ROWS = """
sunny    hot  85 high   85 no  no
sunny    hot  80 high   90 yes no
overcast hot  83 high   86 no  yes
rainy    mild 70 high   96 no  yes
rainy    cool 68 normal 80 no  yes
rainy    cool 65 normal 70 yes no
overcast cool 64 normal 65 yes yes
sunny    mild 72 high   95 no  no
sunny    cool 69 normal 70 no  yes
rainy    mild 75 normal 80 no  yes
sunny    mild 75 normal 70 yes yes
overcast mild 72 high   90 yes yes
overcast hot  81 normal 75 no  yes
rainy    mild 71 high   91 yes no
"""
DAYS = [line.split() for line in ROWS.strip().splitlines()]
PLAY = [day[6] for day in DAYS]
NOMINAL = pd.DataFrame([(d[0], d[1], d[3], d[5] == "yes") for d in DAYS])
NOMINAL.columns = ["outlook", "temperature", "humidity", "windy"]
NUMERIC = pd.DataFrame([(d[0], int(d[2]), int(d[4]), d[5] == "yes") for d in DAYS])
NUMERIC.columns = NOMINAL.columns
NEW_DAY = {"outlook": "sunny", "temperature": "cool", "humidity": "high", "windy": True}
NEW_NUMBERS = {"outlook": "sunny", "temperature": 66, "humidity": 90, "windy": True}

LEVELS = {"outlook": Categorical(alpha=0.0), "windy": Bernoulli(alpha=0.0)}
NUMBERS = Gaussian(var_smoothing=0.0, ddof=1)


@pytest.fixture(scope="module")
def nominal():
    families = {name: Categorical(alpha=0.0) for name in ("temperature", "humidity")}
    return NaiveBayes({**LEVELS, **families}, class_alpha=0.0).fit(NOMINAL, PLAY)


@pytest.fixture(scope="module")
def numeric():
    families = {"temperature": NUMBERS, "humidity": NUMBERS}
    return NaiveBayes({**LEVELS, **families}, class_alpha=0.0).fit(NUMERIC, PLAY)


def test_the_counts_of_the_books_table():
    assert len(DAYS) == 14
    assert PLAY.count("yes") == 9
    counts = pd.crosstab(NOMINAL["outlook"], pd.Series(PLAY))
    assert counts.loc[["sunny", "overcast", "rainy"], "yes"].tolist() == [2, 4, 3]
    assert counts.loc[["sunny", "overcast", "rainy"], "no"].tolist() == [3, 0, 2]


# ---- nominal ----
def test_a_new_day_is_played_with_probability_one_in_five(nominal):
    """0.0053 and 0.0206 in the book, 20.5 % and 79.5 %."""
    no = Fraction(3 * 1 * 4 * 3, 5**4) * Fraction(5, 14)
    yes = Fraction(2 * 3 * 3 * 3, 9**4) * Fraction(9, 14)
    assert [f"{float(v):.4f}" for v in (no, yes)] == ["0.0206", "0.0053"]
    joint = np.exp(nominal.predict_joint_log_proba([NEW_DAY]))
    np.testing.assert_allclose(joint, [[float(no), float(yes)]], rtol=1e-14)
    got = nominal.predict_proba(pd.DataFrame([NEW_DAY]))[0, 1]
    assert got == pytest.approx(float(yes / (no + yes)), rel=1e-14)
    assert f"{got:.3f}" == "0.205"
    assert nominal.predict_one(NEW_DAY) == "no"


def test_overcast_rules_not_playing_out_unless_counts_are_smoothed(nominal):
    """Four of four overcast days were played: the book's reason for the Laplace estimator."""
    day = {**NEW_DAY, "outlook": "overcast"}
    assert nominal.predict_proba_one(day) == {"no": 0.0, "yes": 1.0}
    smoothed = NaiveBayes(alpha=1.0, class_alpha=0.0).fit(NOMINAL, PLAY)
    no = Fraction(1, 8) * Fraction(2, 8) * Fraction(5, 7) * Fraction(4, 7) * Fraction(5, 14)
    yes = Fraction(5, 12) * Fraction(4, 12) * Fraction(4, 11) * Fraction(4, 11) * Fraction(9, 14)
    assert smoothed.predict_proba_one(day)["no"] == pytest.approx(float(no / (no + yes)), rel=1e-14)


def test_a_missing_outlook_is_left_out_of_the_product(nominal):
    """0.0238 and 0.0343 in the book, 41 % and 59 %."""
    day = {**NEW_DAY, "outlook": None}
    no, yes = np.exp(nominal.predict_joint_log_proba([day]))[0]
    assert (f"{no:.4f}", f"{yes:.4f}") == ("0.0343", "0.0238")
    assert f"{100 * yes / (no + yes):.0f}" == "41"


# ---- numeric ----
def density(x, values):
    """The normal density with the mean of the values and the standard deviation over n − 1."""
    mean = math.fsum(values) / len(values)
    variance = math.fsum((v - mean) ** 2 for v in values) / (len(values) - 1)
    return math.exp(-((x - mean) ** 2) / (2 * variance)) / math.sqrt(2 * math.pi * variance)


def of(label, column):
    return [v for v, play in zip(NUMERIC[column], PLAY, strict=True) if play == label]


def test_means_and_standard_deviations_of_the_book(numeric):
    """Table 4.4, which divides by n − 1."""
    parts = {part.name: part for part in numeric._fitted().score.parts}
    printed = {
        "temperature": [("74.6", "7.9"), ("73.0", "6.2")],
        "humidity": [("86.2", "9.7"), ("79.1", "10.2")],
    }
    for name, expected in printed.items():
        pairs = parts[name].described().values
        assert [(f"{mean:.1f}", f"{sd:.1f}") for mean, sd in pairs] == expected


def test_the_density_of_66_degrees_on_a_day_that_was_played(numeric):
    """f(temperature = 66 | yes) = 0.0340."""
    got = np.exp(numeric.explain([NEW_NUMBERS]).contributions[0, 1, 1])
    assert f"{got:.4f}" == "0.0340"
    assert got == pytest.approx(density(66, of("yes", "temperature")), rel=1e-13)


def test_a_new_day_in_numbers(numeric):
    """Exact statistics give 20.7 %. The book multiplies densities that it has rounded first, from
    statistics that it has rounded before, and prints 20.8 % or 20.9 %; an edition that has 0.000108
    for "no" prints 25.0 %, which its own densities do not give. So the expected value is computed.
    """
    expected = {}
    for label, rest in (
        ("yes", Fraction(9, 14) * Fraction(2, 9) * Fraction(3, 9)),
        ("no", Fraction(5, 14) * Fraction(3, 5) * Fraction(3, 5)),
    ):
        densities = density(66, of(label, "temperature")) * density(90, of(label, "humidity"))
        expected[label] = float(rest) * densities
    joint = np.exp(numeric.predict_joint_log_proba([NEW_NUMBERS]))
    np.testing.assert_allclose(joint, [[expected["no"], expected["yes"]]], rtol=1e-13)
    assert f"{joint[0, 1]:.6f}" == "0.000036"  # the book's 0.000036
    got = numeric.predict_proba_one(NEW_NUMBERS)
    assert got["yes"] == pytest.approx(expected["yes"] / sum(expected.values()), rel=1e-13)
    assert 0.205 < got["yes"] < 0.21
    assert numeric.predict([NEW_NUMBERS]).tolist() == ["no"]
