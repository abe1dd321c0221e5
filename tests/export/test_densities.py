"""Densities that SQL computes: columns with their covariance, powers of numbers, counts."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from export.databases import check_same, scored, spread
from tallybayes import NaiveBayes
from tallybayes.families import (
    Gaussian,
    NegativeBinomial,
    NormalInverseGamma,
    NormalInverseWishart,
)

N = 300
ENDS = [0.0, -0.0, 5e-324, 1e-300, 1e-12, -1e-12, 0.5, 1e8, -1e8, 1e150, 1e300, -1.7e308]


def correlated_rows(d, n_classes=3, missing=0.15, n=N, seed=2):
    """Numbers of several scales with a covariance in each class, and labels."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    mixing = rng.normal(size=(n_classes, d, d))
    x = np.einsum("nij,nj->ni", mixing[y], rng.normal(size=(n, d))) + 0.7 * y[:, None]
    x = x * 10.0 ** np.arange(-3, d - 3) + 5.0
    gone = rng.random((n, d)) < missing
    columns = {f"c{j}": pa.array(np.where(gone[:, j], np.nan, x[:, j])) for j in range(d)}
    return pa.table(columns), y


def with_every_pattern(table):
    """The rows, each with another of all patterns of missing values."""
    columns = {}
    for j, name in enumerate(table.column_names):
        gone = np.arange(len(table)) >> j & 1
        columns[name] = np.where(gone, np.nan, table[name].to_numpy())
    return pa.table(columns)


WISHART = {2: NormalInverseWishart((0.0, 1.0), 1.0, 5.0, np.diag([1e-6, 1e-3]))}
GROUPS = {
    "2": (2, Gaussian(covariance="full")),
    "4": (4, Gaussian(covariance="full")),
    "Student-t": (3, Gaussian(covariance="full", estimate="posterior")),
    "under a prior": (2, Gaussian(covariance="full", prior=WISHART[2], estimate="posterior")),
}


@pytest.mark.filterwarnings("ignore::tallybayes.errors.TallyWarning")
@pytest.mark.parametrize(("back_end", "group"), spread(GROUPS), indirect=["back_end"])
def test_columns_with_their_covariance_and_every_pattern_of_missing_values(back_end, group):
    d, family = group
    table, y = correlated_rows(d)
    names = tuple(table.column_names)
    model = NaiveBayes(columns={names: family}).fit(table, y)
    check_same(back_end, model, with_every_pattern(table))
    far = {name: pa.array(np.roll(ENDS[:9], 2 * j)) for j, name in enumerate(names)}
    check_same(back_end, model, pa.table(far), name="far")


@pytest.mark.filterwarnings("ignore::tallybayes.errors.TallyWarning")
def test_of_many_columns_with_their_covariance_whole_rows_alone_have_a_prediction(back_end):
    table, y = correlated_rows(9, missing=0.0)
    group = tuple(table.column_names)
    model = NaiveBayes(columns={group: Gaussian(covariance="full")}).fit(table, y)
    check_same(back_end, model, table)
    lacking, _ = correlated_rows(9, missing=0.05)
    if back_end.dialect == "one row":  # which has all of them
        check_same(back_end, model, lacking)
        return
    labels, proba = scored(back_end, model, lacking, name="lacking")
    whole = ~np.isnan(np.array([c.to_numpy() for c in lacking])).any(axis=0)
    assert [label is not None for label in labels] == whole.tolist()
    assert 0 < whole.sum() < N
    assert (np.isnan(proba).all(axis=1) == ~whole).all()


def skewed_rows(seed=5):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, N)
    positive = np.exp(rng.normal(y, 1.0))
    both = rng.normal(y - 1.0, 1.0) ** 3
    tiny = 1e-9 * rng.gamma(1.0 + y)
    gone = rng.random(N) < 0.1
    columns = {"positive": positive, "both": both, "tiny": tiny}
    return pa.table({k: np.where(gone, np.nan, v) for k, v in columns.items()}), y


PRIOR = NormalInverseGamma(0.0, 1.0, 2.0, 1.0)


@pytest.mark.filterwarnings("ignore::tallybayes.errors.RuledOutWarning")
@pytest.mark.parametrize("options", [{}, {"prior": PRIOR, "estimate": "posterior"}], ids=str)
def test_numbers_after_a_transform(back_end, options):
    table, y = skewed_rows()
    yeo_johnson = Gaussian(transform="yeo-johnson", **options)
    columns = {
        "positive": Gaussian(transform="log", **options),
        "both": yeo_johnson,
        "tiny": yeo_johnson,
    }
    model = NaiveBayes(columns=columns).fit(table, y)
    check_same(back_end, model, table)
    ends = pa.table({"positive": np.abs(ENDS[2:]), "both": ENDS[2:], "tiny": ENDS[:1:-1]})
    check_same(back_end, model, ends, name="ends")
    refused = pa.table({"positive": [0.0, -1.0, 1.0], "both": [0.0] * 3, "tiny": [0.0] * 3})
    labels, _ = scored(back_end, model, refused, name="refused")
    assert labels[:2] == [None] * 2
    assert labels[2] is not None


@pytest.mark.parametrize("exponent", [-3.0, 0.0, 1e-9, 1.0, 2.0, 5.5])
def test_powers_of_every_exponent(duckdb, exponent, monkeypatch):
    from tallybayes.families import gaussian, normal

    fixed = normal.Transform("yeo-johnson", exponent)
    monkeypatch.setattr(gaussian, "transform_of", lambda kind, grid: fixed)
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, N)
    x = rng.normal(y, 1.0)
    model = NaiveBayes(columns={"x": Gaussian(transform="yeo-johnson")}).fit(pa.table({"x": x}), y)
    statement = model.to_sql("t")
    check_same(duckdb, model, pa.table({"x": np.concatenate([x, 1e-9 * x, 1e3 * x])}))
    assert statement.count("LN(") >= 1


COUNTS = [
    *range(20),
    *(2**i + j for i in range(6, 20) for j in (-1, 0, 1)),
    2**20,
]


@pytest.mark.parametrize(
    ("back_end", "most"), spread({str(n): n for n in (3, 40, 300, 5000)}), indirect=["back_end"]
)
def test_counts_beyond_those_that_were_learned(back_end, most):
    rng = np.random.default_rng(6)
    y = rng.integers(0, 3, N)
    learned = np.minimum(rng.negative_binomial(2, 0.05 + 0.2 * y), most)
    learned[0] = most
    model = NaiveBayes(columns={"u": NegativeBinomial()}).fit(pa.table({"u": learned}), y)
    check_same(back_end, model, pa.table({"u": [*map(float, COUNTS), None]}))


@pytest.mark.parametrize(
    ("back_end", "most"), spread({str(n): n for n in (20, 90, 300)}), indirect=["back_end"]
)
def test_chosen_counts_beyond_those_that_were_learned(back_end, most):
    rng = np.random.default_rng(6)
    y = rng.integers(0, 3, 3000)
    x = rng.negative_binomial(1.5, 1.0 / (1.0 + 0.02 * most * (1 + y)))
    model = NaiveBayes().fit(pa.table({"u": x}), y)
    assert "negative binomial" in str(list(model.schema_["family"]))
    check_same(back_end, model, pa.table({"u": [*map(float, COUNTS), None]}))


def test_counts_of_classes_like_poissons(back_end):
    rng = np.random.default_rng(6)
    y = rng.integers(0, 2, N)
    model = NaiveBayes(columns={"u": NegativeBinomial()})
    model.fit(pa.table({"u": rng.poisson(200.0 + y)}), y)
    check_same(back_end, model, pa.table({"u": [*map(float, range(300))]}))


def test_counts_that_have_no_prediction(back_end):
    rng = np.random.default_rng(6)
    y = rng.integers(0, 2, N)
    rows = pa.table({"u": rng.negative_binomial(2, 0.2 + 0.2 * y)})
    model = NaiveBayes(columns={"u": NegativeBinomial()}).fit(rows, y)
    odd = pa.table({"u": [2.0**20 + 1, 1e15, 1.5, -1.0, 1.0]})
    if back_end.dialect in ("one row", "python", "javascript"):  # which refuse the negative one
        labels, _ = scored(back_end, model, odd.slice(3))
        assert labels[0] is None
        assert labels[1] is not None
        return
    labels, proba = scored(back_end, model, odd)
    assert labels[:4] == [None] * 4
    assert np.isnan(proba[:4]).all()
    assert labels[4] is not None
