"""The scores of a Poisson column, of which a table holds the frequent counts."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from tallybayes import NaiveBayes
from tallybayes.families import Poisson
from tallybayes.families.poisson import MOST_COUNTS

RATES = {"low": (0.4, 3.0), "high": (300.0, 900.0), "beyond any table": (40.0, 1e5)}


@pytest.mark.parametrize("estimate", ["mean", "posterior"])
@pytest.mark.parametrize("rates", RATES)
def test_counts_inside_and_beyond_the_table_have_the_density_of_scipy(rates, estimate):
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.poisson(rate, 200) for rate in RATES[rates]])[:, None].astype(float)
    y = np.repeat(["a", "b"], 200)
    model = NaiveBayes({0: Poisson(estimate=estimate)}).fit(x, y)
    ends = [0, 1, 27, MOST_COUNTS - 1, MOST_COUNTS, 10 * MOST_COUNTS, *map(int, RATES[rates])]
    asked = np.array([[*map(float, ends), np.nan]]).T
    mean, total = x.mean(), np.array([x[y == label].sum() for label in "ab"])
    shape, rate = total + mean, 200.0 + 1.0  # alpha is one row at the overall mean
    law = (
        stats.poisson(shape / rate)
        if estimate == "mean"
        else stats.nbinom(shape, rate / (rate + 1.0))
    )
    expected = np.nan_to_num(law.logpmf(asked)) + np.log(0.5)
    expected[-1] = np.log(0.5)  # a missing value says nothing
    np.testing.assert_allclose(model.predict_joint_log_proba(asked), expected, rtol=1e-8)


def test_a_fraction_has_the_factorial_of_the_gamma_function():
    model = NaiveBayes({0: Poisson()}).fit([[2.0], [4.0]], ["a", "b"])
    with pytest.warns(match="not a whole number"):
        (found,) = model.predict_joint_log_proba([[2.5]])
    (low,), (high,) = (model.predict_joint_log_proba([[x]]) for x in (2.0, 3.0))
    assert (np.minimum(low, high) < found).all()
