"""The kernel that scores numbers beside atoms, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from tallybayes import _kernels

RNG = np.random.default_rng(5)


def by_numpy(x, low, high, atoms, constant, mean, scale, shift, share, gap, there):
    scores = np.empty((len(x), len(mean)))
    for i, value in enumerate(x):
        at = np.flatnonzero((low <= value) & (value < high))
        if np.isnan(value):
            scores[i] = gap
        elif len(at):
            scores[i] = atoms[at[0]] + there
        else:
            mass = constant - ((value - mean) * scale) ** 2
            top = mass.max()
            mixed = np.log(np.exp(mass - top) + share * np.exp(mass - top).sum()) + top - shift
            scores[i] = (mixed if np.isfinite(top) else 0.0) + there
    return scores


@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
@pytest.mark.parametrize("n_atoms", [0, 1, 5])
@pytest.mark.parametrize("classes", [1, 2, 7])
@pytest.mark.parametrize("threads", [1, 3])
def test_scores_are_those_of_numpy(n_atoms, classes, threads):
    low = np.arange(float(n_atoms))
    constant, mean, scale, shift, gap, there = RNG.normal(size=(6, classes))
    if classes > 1:
        constant[-1] = -np.inf
    terms = (low, np.nextafter(low, 9.0), RNG.normal(size=(n_atoms, classes)))
    terms = (*terms, constant, mean, scale, shift, 0.01, gap, there)
    edges = [np.nan, -0.0, 1e-300, -1.0, 4.5, 1e300, -1e160, np.nextafter(1.0, 2.0)]
    x = np.concatenate([edges, RNG.normal(size=20_000), np.arange(6.0)])
    before = RNG.normal(size=classes)
    found = np.repeat(before[None, :], len(x), axis=0)
    _kernels.pooled_scores(x, *terms, found, threads)
    np.testing.assert_allclose(found, before + by_numpy(x, *terms), rtol=1e-12, atol=1e-12)


def test_what_does_not_fit_is_refused():
    none, one, two = np.empty(0), np.zeros(1), np.zeros(2)
    terms = (none, none, np.empty((0, 2)), two, two, one, two, 1.0, two, two)
    with pytest.raises(ValueError, match="other classes, atoms or rows"):
        _kernels.pooled_scores(one, *terms, np.empty((1, 2)), 1)
