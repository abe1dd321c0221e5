"""Each family, compiled and scored by the engine, is Bayes' rule with its definition.

The truth is log P(c) + Σ_j log P(x_j | c) from exact rational probabilities (Gaussian: from its
means and variances), for dense and sparse rows, as scores, as best class and as posterior.
"""

from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from reference import best_classes, normalise
from reference.logs import ln_all
from reference.rational import exact
from tallybayes import scoring
from tallybayes.engines import arrays
from tallybayes.engines.arrays import collect_array
from tallybayes.errors import RuledOutWarning
from tallybayes.families import (
    Bernoulli,
    Categorical,
    ClassPrior,
    Complement,
    Gaussian,
    Multinomial,
)
from tallybayes.schema import Columns

N, D, K = 60, 4, 3
rng = np.random.default_rng(0)
CODES = rng.integers(0, K, size=N).astype(np.int32)
COUNTS = rng.poisson(1.0 + CODES[:, None] * np.array([0.0, 1.0, 2.0, 0.0])).astype(float)
LEVELS = np.minimum(COUNTS, 3.0).astype(np.int64)
REALS = rng.normal(size=(N, D)) + CODES[:, None]
PRIOR = ClassPrior(alpha=1.0)
FORMS = {
    "dense": np.asarray,
    "Fortran": np.asfortranarray,
    "csr": sparse.csr_array,
    "csc": sparse.csc_array,
}


def counted(columns, x):
    return collect_array(columns, x, CODES, K, None, whose="a test")


def compiled(family, columns, x):
    found = counted(columns, x)
    parameters = family.parameters(found.tally, found.classes)
    log_prior = PRIOR.log(found.classes)
    return arrays.compiled(parameters, log_prior, found.columns, whose="a test"), log_prior


def log_prior_exactly():
    n = exact(np.bincount(CODES, minlength=K).astype(float))
    return ln_all((n + 1) / (n.sum() + K))


def levels_truth(x, alpha):
    """log of (n_cja + α) / (n_cj + αN_j), of any code, summed over the columns."""
    logs = np.zeros((len(x), K))
    for j in range(D):
        N_j = int(LEVELS[:, j].max()) + 1
        for k in range(K):
            rows = LEVELS[k == CODES, j]
            below = Fraction(len(rows)) + Fraction(alpha) * N_j
            p = {a: (Fraction(int((rows == a).sum())) + Fraction(alpha)) / below for a in range(9)}
            logs[:, k] += ln_all([p[int(a)] for a in x[:, j]])
    return logs


def bernoulli_truth(x, alpha):
    logs = np.zeros((len(x), K))
    for k in range(K):
        rows = COUNTS[k == CODES] > 0
        for j in range(D):
            p = (Fraction(int(rows[:, j].sum())) + Fraction(alpha)) / (
                len(rows) + 2 * Fraction(alpha)
            )
            logs[:, k] += ln_all([p if v else 1 - p for v in x[:, j] > 0])
    return logs


def multinomial_truth(x, alpha):
    logs = np.zeros((len(x), K))
    for k in range(K):
        smoothed = exact(COUNTS[k == CODES].sum(axis=0)) + Fraction(alpha)
        log_theta = ln_all(smoothed / smoothed.sum())
        for i, row in enumerate(x):
            logs[i, k] = sum(v * t for v, t in zip(row, log_theta, strict=True) if v)
    return logs


def complement_truth(x, alpha):
    logs = np.zeros((len(x), K))
    for k in range(K):
        smoothed = exact(COUNTS[k != CODES].sum(axis=0)) + Fraction(alpha)
        logs[:, k] = -x @ ln_all(smoothed / smoothed.sum())
    return logs


def gaussian_truth(x, alpha):
    mean = np.array([REALS[k == CODES].mean(axis=0) for k in range(K)])
    variance = np.array([REALS[k == CODES].var(axis=0) for k in range(K)])
    variance += alpha * REALS.var(axis=0).max()
    density = -0.5 * np.log(2 * np.pi * variance) - (x[:, None] - mean) ** 2 / (2 * variance)
    return density.sum(axis=2)


LEVEL_COLUMNS = Columns(kind="levels", n_features=D, n_levels=np.zeros(D, dtype=np.int64))
SUM_COLUMNS = Columns(kind="sums", n_features=D, non_negative=True)
YES_NO_COLUMNS = Columns(kind="sums", n_features=D, threshold=0.0)
REAL_COLUMNS = Columns(kind="moments", n_features=D, origin=REALS[0].copy())

UNSEEN = np.where(np.arange(N)[:, None] % 7 == 0, 8, LEVELS)  # a level that no row has
CASES = {
    "categorical": (Categorical(1.0), LEVEL_COLUMNS, LEVELS, LEVELS, levels_truth, 1.0),
    "categorical, unseen": (Categorical(0.5), LEVEL_COLUMNS, LEVELS, UNSEEN, levels_truth, 0.5),
    "categorical, alpha 0": (Categorical(0.0), LEVEL_COLUMNS, LEVELS, LEVELS, levels_truth, 0.0),
    "bernoulli": (Bernoulli(1.0, 0.0), YES_NO_COLUMNS, COUNTS, COUNTS, bernoulli_truth, 1.0),
    "bernoulli, alpha 0": (
        Bernoulli(0.0, 0.0),
        YES_NO_COLUMNS,
        COUNTS,
        COUNTS,
        bernoulli_truth,
        0.0,
    ),
    "multinomial": (Multinomial(1.0), SUM_COLUMNS, COUNTS, COUNTS, multinomial_truth, 1.0),
    "multinomial, alpha 0": (
        Multinomial(0.0),
        SUM_COLUMNS,
        COUNTS,
        COUNTS,
        multinomial_truth,
        0.0,
    ),
    "complement": (Complement(1.0), SUM_COLUMNS, COUNTS, COUNTS, complement_truth, 1.0),
    "gaussian": (Gaussian(1e-9), REAL_COLUMNS, REALS, REALS, gaussian_truth, 1e-9),
    "gaussian, smoothed": (Gaussian(0.5), REAL_COLUMNS, REALS, REALS, gaussian_truth, 0.5),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("case", CASES)
def test_scores_are_prior_times_likelihood(case, form):
    family, columns, learned, asked, truth, alpha = CASES[case]
    score, log_prior = compiled(family, columns, learned)
    np.testing.assert_allclose(log_prior, log_prior_exactly(), rtol=1e-14)
    expected = truth(asked, alpha) + log_prior_exactly()
    joint = scoring.joint_log_likelihood(score, FORMS[form](asked))
    assert not np.isnan(joint).any()
    np.testing.assert_allclose(joint, expected, rtol=1e-11, atol=1e-11)


@pytest.mark.filterwarnings("ignore::tallybayes.errors.RuledOutWarning")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("case", CASES)
def test_best_class_posterior_and_evidence_follow_from_the_scores(case, form):
    family, columns, learned, asked, _, _ = CASES[case]
    score, log_prior = compiled(family, columns, learned)
    x = FORMS[form](asked)
    joint = scoring.joint_log_likelihood(score, x)
    log_posterior, evidence, _ = normalise(joint, log_prior)
    best, _ = best_classes(joint, int(log_prior.argmax()))
    np.testing.assert_array_equal(scoring.best_class(score, x), best)
    close = {"rtol": 1e-12, "atol": 1e-12}
    np.testing.assert_allclose(
        scoring.posterior(score, x, log_prior, log=True), log_posterior, **close
    )
    posterior = scoring.posterior(score, x, log_prior)
    np.testing.assert_allclose(posterior, np.exp(log_posterior), **close)
    np.testing.assert_allclose(posterior.sum(axis=1), 1.0, rtol=1e-14)
    np.testing.assert_allclose(scoring.log_evidence(score, x, log_prior), evidence, **close)


@pytest.mark.parametrize("form", ["dense", "csr"])
def test_a_row_that_every_class_rules_out_gets_the_prior_and_a_warning(form):
    score, log_prior = compiled(Multinomial(0.0), SUM_COLUMNS, COUNTS * [1, 1, 1, 0])
    x = FORMS[form](np.array([[0.0, 0.0, 0.0, 1.0], [1.0, 0.0, 0.0, 0.0]]))
    for ask in (
        lambda: scoring.posterior(score, x, log_prior)[0],
        lambda: np.exp(scoring.posterior(score, x, log_prior, log=True)[0]),
    ):
        with pytest.warns(RuledOutWarning, match="1 of 2 rows"):
            np.testing.assert_allclose(ask(), np.exp(log_prior), rtol=1e-15)
    with pytest.warns(RuledOutWarning, match="1 of 2 rows"):
        assert scoring.best_class(score, x)[0] == log_prior.argmax()
    assert scoring.log_evidence(score, x, log_prior)[0] == -np.inf
    assert np.isneginf(scoring.joint_log_likelihood(score, x)[0]).all()


@pytest.mark.parametrize("form", ["dense", "csr"])
def test_a_required_feature_that_is_absent_rules_its_class_out(form):
    x = np.array([[1.0, 1.0], [1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    codes = np.array([0, 0, 1, 1], dtype=np.int32)
    columns = Columns(kind="sums", n_features=2, threshold=0.0)
    found = collect_array(columns, x, codes, 2, None, whose="a test")
    parameters = Bernoulli(0.0, 0.0).parameters(found.tally, found.classes)
    score = arrays.compiled(parameters, np.log([0.5, 0.5]), columns, whose="a test")
    joint = scoring.joint_log_likelihood(score, FORMS[form](x))
    quarter = np.log(0.25)
    expected = [[quarter, -np.inf]] * 2 + [[-np.inf, quarter]] * 2
    np.testing.assert_allclose(joint, expected, rtol=1e-15)
    assert scoring.best_class(score, FORMS[form](x)).tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize("threshold", [-1.0, -0.5])
@pytest.mark.parametrize("fmt", ["csr", "csc"])
def test_a_negative_threshold_reads_absent_entries_as_zero(fmt, threshold):
    """0 > −1: an entry that a sparse matrix does not store counts as present. Or it is refused."""
    x = np.array([[1.0, 0.0], [0.0, -2.0], [0.0, 3.0]])
    codes = np.array([0, 0, 1], dtype=np.int32)
    columns = Columns(kind="sums", n_features=2, threshold=threshold)
    dense = collect_array(columns, x, codes, 2, None, whose="a test")
    try:
        thin = collect_array(columns, FORMS[fmt](x), codes, 2, None, whose="a test")
    except ValueError:
        return
    assert thin.tally == dense.tally
