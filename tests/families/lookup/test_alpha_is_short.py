"""alpha=a is short for a Dirichlet of strength a·N_j: its mean, and the mode of from_mode; "mle"
uses neither and cannot estimate from nothing."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from reference.logs import assert_logs
from tallybayes import NaiveBayes, leave_one_out, load
from tallybayes.families import (
    Bernoulli,
    Beta,
    Categorical,
    Dirichlet,
    Gamma,
    Gaussian,
    Multinomial,
    NormalInverseGamma,
    Poisson,
)
from tallybayes.families.multinomial import MultinomialCounts
from tallybayes.tally import ClassCounts, FeatureSums, LevelCounts

ALPHAS = [1e-10, 0.1, 0.5, 1.0, 10.0, 1e10]
N_LEVELS = 3
COUNTS = np.array([[4.0, 0.0, 1.0], [0.0, 0.0, 1e12], [0.0, 0.25, 1.75]])
PRESENT = np.array([[3.0], [0.0], [1e12]])
ROWS = np.array([3.0, 2.5, 1e12 + 8.0])
UNIFORM = [1.0 / N_LEVELS] * N_LEVELS


def forms(alpha):
    """Three ways to say one thing, for levels or words."""
    return {
        "alpha": {"alpha": alpha},
        "mean": {"prior": Dirichlet(alpha * N_LEVELS)},
        "map": {"prior": Dirichlet.from_mode(UNIFORM, alpha * N_LEVELS), "estimate": "map"},
        "alpha, map": {"alpha": alpha, "estimate": "map"},
    }


def beta_forms(alpha):
    return {
        "alpha": {"alpha": alpha},
        "mean": {"prior": Beta(alpha, alpha)},
        "map": {"prior": Beta.from_mode(0.5, 2.0 * alpha), "estimate": "map"},
        "alpha, map": {"alpha": alpha, "estimate": "map"},
    }


def alike(found):
    """Every form gives the numbers of the first."""
    first = found.pop("alpha")
    for each in found.values():
        np.testing.assert_allclose(each, first, rtol=1e-13, atol=1e-14)
    return first


# ---- the families --------------------------------------------------------------------------------
@pytest.mark.parametrize("alpha", ALPHAS)
def test_categorical(alpha):
    tally = LevelCounts(np.array([0, N_LEVELS]), COUNTS.copy())
    first = alike({k: Categorical(**f).log_probabilities(tally) for k, f in forms(alpha).items()})
    a = Fraction(alpha)
    expected = [
        [(Fraction(n) + a) / (sum(map(Fraction, row)) + 3 * a) for n in row]
        for row in COUNTS.tolist()
    ]
    assert_logs(first, expected)
    classes = ClassCounts(COUNTS.sum(axis=1))
    alike({k: Categorical(**f).parameters(tally, classes).table for k, f in forms(alpha).items()})
    alike({k: Categorical(**f).law(COUNTS).log_prob() for k, f in forms(alpha).items()})


@pytest.mark.parametrize("alpha", ALPHAS)
def test_bernoulli(alpha):
    tally, classes = FeatureSums(PRESENT.copy()), ClassCounts(ROWS)
    first = alike(
        {k: Bernoulli(**f).log_probabilities(tally, classes) for k, f in beta_forms(alpha).items()}
    )
    a = Fraction(alpha)
    expected = [
        [(Fraction(n) + a) / (Fraction(m) + 2 * a)]
        for n, m in zip(PRESENT[:, 0].tolist(), ROWS.tolist(), strict=True)
    ]
    assert_logs(first, expected)
    for part in ("weights", "offset"):
        alike(
            {
                k: getattr(Bernoulli(**f).parameters(tally, classes), part)
                for k, f in beta_forms(alpha).items()
            }
        )


@pytest.mark.parametrize("alpha", ALPHAS)
def test_multinomial(alpha):
    tally = FeatureSums(COUNTS.copy())
    first = alike({k: Multinomial(**f).log_probabilities(tally) for k, f in forms(alpha).items()})
    a = Fraction(alpha)
    expected = [
        [(Fraction(n) + a) / (sum(map(Fraction, row)) + 3 * a) for n in row]
        for row in COUNTS.tolist()
    ]
    assert_logs(first, expected)


def test_an_alpha_for_each_word_is_a_base_of_its_own():
    tally, alpha = FeatureSums(COUNTS.copy()), np.array([0.5, 2.0, 1.5])
    base = alpha / alpha.sum()
    alike(
        {
            "alpha": Multinomial(alpha=alpha).log_probabilities(tally),
            "mean": Multinomial(prior=Dirichlet(4.0, base)).log_probabilities(tally),
            "map": Multinomial(
                prior=Dirichlet.from_mode(base, 4.0), estimate="map"
            ).log_probabilities(tally),
        }
    )


def test_a_hundred_thousand_levels():
    n = 100_000
    counts = np.zeros((2, n))
    counts[0, :5], counts[1, 7] = 3.0, 1e12
    uniform = np.full(n, 1.0 / n)
    for alpha in (1e-10, 1.0, 1e10):
        tally = LevelCounts(np.array([0, n]), counts)
        mode = Dirichlet.from_mode(uniform, alpha * n)
        found = {
            "alpha": Categorical(alpha=alpha).log_probabilities(tally),
            "mean": Categorical(prior=Dirichlet(alpha * n)).log_probabilities(tally),
            "map": Categorical(prior=mode, estimate="map").log_probabilities(tally),
        }
        first = alike(found)
        np.testing.assert_allclose(np.exp(first).sum(axis=1), 1.0, rtol=1e-11)


# ---- a table -------------------------------------------------------------------------------------
TABLE = pd.DataFrame(
    {
        "c": ["u", "v", None, "u", "w", "u"],
        "b": ["no", "yes", "no", "yes", "yes", None],
        "w1": [1, 0, 2, 0, 0, 3],
        "w2": [0, 0, 5, 1, 0, 0],
        "w3": [2, 2, 0, 0, 1, 0],
    }
)
LABELS = ["p", "p", "q", "q", "q", "r"]


@pytest.mark.parametrize("alpha", ALPHAS)
def test_through_a_table(alpha):
    models = {}
    for form, ours in forms(alpha).items():
        columns = {
            "c": Categorical(**ours),
            "b": Bernoulli(**beta_forms(alpha)[form]),
            ("w1", "w2", "w3"): Multinomial(**ours),
        }
        models[form] = NaiveBayes(columns).fit(TABLE, LABELS)
    models["the model's"] = NaiveBayes(
        {"b": Bernoulli(), ("w1", "w2", "w3"): Multinomial()}, alpha=alpha
    ).fit(TABLE, LABELS)
    alike({k: m.predict_joint_log_proba(TABLE) for k, m in models.items()})
    alike({k: leave_one_out(m, TABLE, LABELS) for k, m in models.items()})


@pytest.mark.parametrize("alpha", [1e-10, 0.3])
def test_a_saved_prior_gives_the_same_numbers(alpha, tmp_path):
    columns = {
        "c": Categorical(**forms(alpha)["map"]),
        "b": Bernoulli(**beta_forms(alpha)["map"]),
        ("w1", "w2", "w3"): Multinomial(prior=Dirichlet(1.0, [0.1, 0.2, 0.7])),
    }
    model = NaiveBayes(columns).fit(TABLE, LABELS)
    model.save(tmp_path / "m.tally")
    again = load(tmp_path / "m.tally")
    assert again.columns["c"] == columns["c"]
    assert again.predict_proba(TABLE).tolist() == model.predict_proba(TABLE).tolist()


def test_a_table_by_hand():
    model = NaiveBayes({"c": Categorical(alpha=0.5), "b": Bernoulli(alpha=2.0)}).fit(
        TABLE[["c", "b"]], LABELS
    )
    u, yes = model.explain(TABLE[["c", "b"]].iloc[[0, 1]]).contributions[[0, 1], :, [0, 1]]
    # u: 1 of 2 in p, 1 of 2 in q, 1 of 1 in r; yes: 1 of 2, 2 of 3, and r has no value: 3 of 5
    assert_logs(u, [Fraction(3, 7), Fraction(3, 7), Fraction(3, 5)])
    assert_logs(yes, [Fraction(3, 6), Fraction(4, 7), Fraction(5, 9)])


# ---- the marginal base ---------------------------------------------------------------------------
def test_a_marginal_base_shrinks_towards_what_all_classes_say():
    tally = LevelCounts(np.array([0, 3]), np.array([[4.0, 0.0, 0.0], [1.0, 3.0, 2.0]]))
    found = Categorical(prior=Dirichlet(2.0, "marginal")).log_probabilities(tally)
    q = [(Fraction(m) + Fraction(1, 3)) / 11 for m in (5, 3, 2)]
    expected = [
        [(Fraction(n) + 2 * share) / (sum(row) + 2) for n, share in zip(row, q, strict=True)]
        for row in ([4, 0, 0], [1, 3, 2])
    ]
    assert_logs(found, expected)


# ---- maximum likelihood --------------------------------------------------------------------------
SHORT = {
    Categorical: Dirichlet(1.0),
    Bernoulli: Beta(1, 1),
    Multinomial: Dirichlet(1.0),
    Poisson: Gamma(1, 1),
}


@pytest.mark.parametrize("family", SHORT)
def test_mle_takes_neither_alpha_nor_prior(family):
    name = family.__name__
    with pytest.raises(ValueError, match=rf"{name} got alpha and estimate='mle': give alpha or"):
        family(alpha=1.0, estimate="mle")
    with pytest.raises(ValueError, match=rf"{name} got prior and estimate='mle'.*neither with"):
        family(prior=SHORT[family], estimate="mle")
    with pytest.raises(ValueError, match=rf"{name} got alpha and prior and"):
        family(alpha=1.0, prior=SHORT[family])
    with pytest.raises(ValueError, match="alpha and estimate='mle'"):
        family(alpha=0.0, estimate="mle")


def test_gaussian_mle_takes_no_prior():
    with pytest.raises(ValueError, match="Gaussian got prior and estimate='mle'"):
        Gaussian(prior=NormalInverseGamma(0, 1, 1, 1), estimate="mle")


def test_mle_is_what_was_counted_and_not_the_models_alpha():
    model = NaiveBayes({"c": Categorical(estimate="mle"), "b": Bernoulli(estimate="mle")}, alpha=5)
    model.fit(TABLE[["c", "b"]], LABELS)
    got = model.explain(TABLE[["c", "b"]].iloc[[0]]).contributions[0]
    assert_logs(got[:, 0], [Fraction(1, 2), Fraction(1, 2), 1])
    assert_logs(got[:, 1], [Fraction(1, 2), Fraction(1, 3), Fraction(2, 5)])


def test_of_nothing_a_prior_gives_itself_and_mle_says_that_it_cannot():
    nothing = LevelCounts.zeros(2, np.array([3]))
    base = [0.2, 0.3, 0.5]
    for family in (
        Categorical(prior=Dirichlet(4.0, base)),
        Categorical(prior=Dirichlet.from_mode(base, 4.0), estimate="map"),
    ):
        found = np.exp(family.log_probabilities(nothing))
        np.testing.assert_allclose(found, [base, base], rtol=1e-14)
    words, classes = FeatureSums(np.zeros((2, 3))), ClassCounts.zeros(2)
    for ask, what in [
        (lambda f: Categorical(**f).log_probabilities(nothing), "column 0"),
        (lambda f: Categorical(**f).law(np.zeros((2, 3))), "the column"),
        (lambda f: Bernoulli(**f).log_probabilities(words, classes), "any column"),
        (lambda f: Multinomial(**f).log_probabilities(words), "any column"),
        (lambda f: MultinomialCounts.read(Multinomial(**f), words, 1.0), "any column"),
    ]:
        with pytest.raises(ValueError, match=f"cannot estimate {what}: nothing was counted"):
            ask({"estimate": "mle"})
        ask({"alpha": 0.0})  # said to be alike: it adds nothing about any class


def test_a_table_with_an_empty_column_cannot_be_estimated_by_mle():
    columns = {"c": Categorical(estimate="mle", levels=["u", "v"]), "b": Bernoulli()}
    rows = pd.DataFrame({"c": [None, None], "b": ["no", "yes"]})
    with pytest.raises(ValueError, match=r"cannot estimate the column.*give a prior"):
        NaiveBayes(columns).fit(rows, ["p", "q"]).predict(rows)


# ---- where a mode is undefined -------------------------------------------------------------------
@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (
            lambda: Categorical(prior=Dirichlet(1.0), estimate="map").law(COUNTS),
            r"mode is undefined: concentration 0\.33.* is below 1.*Dirichlet.from_mode",
        ),
        (
            lambda: Multinomial(prior=Dirichlet(1.0), estimate="map").log_probabilities(
                FeatureSums(COUNTS.copy())
            ),
            r"mode is undefined: concentration 0\.33",
        ),
        (
            lambda: Bernoulli(prior=Beta(0.5, 2), estimate="map").smoothing(),
            r"mode of Beta\(0\.5, 2\) is undefined.*Beta.from_mode",
        ),
        (
            lambda: Poisson(prior=Gamma(0.5, 2), estimate="map"),
            r"mode under Gamma\(shape=0\.5\) is undefined.*prior of shape 1 or more",
        ),
        (
            lambda: Categorical(prior=Dirichlet(1.0, "marginal"), estimate="map"),
            "mode under a marginal base is undefined",
        ),
    ],
)
def test_a_mode_that_is_undefined_says_so(ask, message):
    with pytest.raises(ValueError, match=message):
        ask()


# ---- numbers of any type, and bad input ----------------------------------------------------------
@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int64, int, Fraction])
def test_alpha_of_any_type_is_read_as_float64(kind):
    tally = LevelCounts(np.array([0, N_LEVELS]), COUNTS.copy())
    expected = Categorical(alpha=3.0).law(COUNTS).log_prob()
    assert (Categorical(alpha=kind(3)).law(COUNTS).log_prob() == expected).all()
    assert (Categorical(alpha=kind(3)).log_probabilities(tally) == expected).all()
    for family in (Bernoulli, Multinomial, Poisson):
        assert type(family(alpha=kind(3)).alpha) is float


def test_alpha_of_float32_is_not_rounded_again():
    """α·N of a float32 would be a float32."""
    alpha = np.float32(0.1)
    strength, _ = Categorical(alpha=alpha).smoothing(3)
    assert strength == 3 * float(alpha)


def test_an_array_of_alphas_is_copied():
    alpha = np.array([1.0, 2.0, 3.0])
    family = Multinomial(alpha=alpha)
    alpha[:] = -1.0
    assert family.alpha.tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        *[
            (
                lambda f=f, a=a: f(alpha=a),
                error,
                f"{f.__name__} takes a finite alpha.*, got {shown}",
            )
            for f in SHORT
            for a, error, shown in [
                (-1, ValueError, r"-1\.0; 0 is allowed"),
                (np.nan, ValueError, "nan"),
                (np.inf, ValueError, "inf"),
                ("x", TypeError, "'x': give a number"),
            ]
        ],
        *[
            (lambda f=f: f(estimate="mode"), ValueError, "estimate is 'mean'.*got 'mode'")
            for f in [*SHORT, Gaussian]
        ],
        (lambda: Multinomial(alpha=[1, -2]), ValueError, r"finite alpha from 0 on.*, got -2\.0"),
        (lambda: Bernoulli(alpha=[1, np.nan]), ValueError, "finite alpha from 0 on.*, got nan"),
        (lambda: Categorical(alpha=[1, 2]), TypeError, r"got \[1, 2\]: give a number"),
        (lambda: Categorical(prior=Beta(1, 1)), TypeError, "takes a Dirichlet as prior, got Beta"),
        (lambda: Bernoulli(prior=Dirichlet(1)), TypeError, "takes a Beta as prior, got Dirichlet"),
        (lambda: Multinomial(prior=3.0), TypeError, r"takes a Dirichlet as prior, got 3\.0"),
        (lambda: Poisson(prior=Beta(1, 1)), TypeError, "takes a Gamma as prior, got Beta"),
        (lambda: Gaussian(prior=Gamma(1, 1)), TypeError, "NormalInverseGamma as prior, got Gamma"),
        (lambda: Gaussian(var_smoothing=-1), ValueError, r"var_smoothing from 0 on, got -1\.0"),
        (lambda: Gaussian(ddof=np.nan), ValueError, "finite ddof from 0 on, got nan"),
        (lambda: Gaussian(min_variance="x"), TypeError, "min_variance.*got 'x': give a number"),
        (lambda: Gaussian(relative_to="x"), ValueError, "'largest' or 'feature', got 'x'"),
        (lambda: Gaussian(transform="x"), ValueError, "'log' or 'yeo-johnson', got 'x'"),
        (
            lambda: Multinomial(prior=Dirichlet(1, "marginal")),
            ValueError,
            "for one column of levels: use Categorical",
        ),
        (
            lambda: Categorical(prior=Dirichlet(1, [0.5, 0.5])).law(COUNTS),
            ValueError,
            "the base has 2 probabilities for 3 levels: give one a level",
        ),
    ],
)
def test_bad_families_are_refused_with_the_rule_and_the_value(make, error, message):
    with pytest.raises(error, match=message):
        make()
