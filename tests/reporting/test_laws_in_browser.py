"""Densities that are not quadratic: the page evaluates them as Python does."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import tallybayes
from tallybayes import NaiveBayes
from tallybayes.families import Gaussian, NegativeBinomial, NormalInverseGamma
from tallybayes.reporting.form import Form

PRIOR = NormalInverseGamma(mean=2.0, strength=1.0, shape=2.0, scale=1.0)
FAMILIES = {
    "student": Gaussian(prior=PRIOR, estimate="posterior"),
    "student of all": Gaussian(prior=PRIOR, estimate="posterior", pooled_rows=2.0),
    "log": Gaussian(transform="log"),
    "yeo": Gaussian(transform="yeo-johnson"),
    "log student": Gaussian(prior=PRIOR, estimate="posterior", transform="log"),
    "events": NegativeBinomial(),
    "many events": NegativeBinomial(),
}


def table(n: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """A column for each family; some values are missing."""
    rng = np.random.default_rng(seed)
    y = rng.choice(["a", "b", "c"], n, p=[0.5, 0.3, 0.2])
    k = (y == "b") + 2.0 * (y == "c")
    frame = pd.DataFrame(
        {
            "student": rng.standard_t(3, n) + k,
            "student of all": rng.standard_t(3, n) - k,
            "log": np.exp(rng.normal(k, 1.0)),
            "yeo": rng.gamma(2.0, 1.0 + k) - 3.0,
            "log student": np.exp(rng.normal(-k, 0.4)),
            "events": rng.negative_binomial(2, 0.5 - 0.15 * k).astype(float),
            "many events": np.round(rng.gamma(2.0, 4000.0 * (1 + k))),
            "auto events": rng.negative_binomial(1, 0.05 + 0.02 * k).astype(float),
        }
    )
    return frame.mask(rng.random(frame.shape) < 0.05), y


@pytest.mark.parametrize("missing", ["ignore", "level"])
def test_the_page_evaluates_densities_by_their_formulas(opened, missing):
    X, y = table(500, 0)
    model = NaiveBayes(columns=FAMILIES, missing=missing).fit(X, y)
    form = Form(model._fitted()).document()
    assert "curve" not in {term["kind"] for term in form["terms"]}
    fresh = table(60, 1)[0]
    odd = fresh[:4].copy()
    odd["events"] = [0.0, 3e6, 2.5, 12.25]
    odd["many events"] = [0.0, 1e12, 16.0, 15.5]
    odd["auto events"] = [1e5, 4096.0, 0.5, 0.0]
    odd["student"] = [1e8, -1e8, 0.0, np.nan]
    odd["yeo"] = [-1e6, 1e6, 0.0, -1e-9]
    odd["log"] = [1e-300, 1e300, 1.0, np.nan]
    rows = pd.concat([fresh, odd], ignore_index=True)
    with warnings.catch_warnings():  # of events that are not whole
        warnings.simplefilter("ignore", tallybayes.errors.FamilyWarning)
        expected = model.predict_proba(rows)
        said = model.explain(rows)
    page = opened(model.report(X, y).html).page
    asked = [{k: v for k, v in row.items() if v == v} for row in rows.to_dict("records")]
    found = page.evaluate("(rows) => rows.map((row) => tallybayes.predict(row).proba)", asked)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
    parts = page.evaluate("(rows) => rows.map(tallybayes.contributions)", asked)
    names = [form["columns"][term["columns"][0]]["name"] for term in form["terms"]]
    wanted = said.contributions[:, :, [said.columns.index(name) for name in names]]
    centred = [p - p.mean(axis=2, keepdims=True) for p in (np.array(parts), wanted.swapaxes(1, 2))]
    scale = 1.0 + np.abs(centred[1]).max(axis=2, keepdims=True)
    np.testing.assert_allclose(centred[0] / scale, centred[1] / scale, rtol=0, atol=1e-9)


def test_a_number_that_the_family_refuses_is_refused_by_the_page(opened):
    X, y = table(200, 2)
    some = X[["log", "events"]]
    model = NaiveBayes(columns={n: FAMILIES[n] for n in some.columns}).fit(some, y)
    page = opened(model.report(some, y).html).page
    page.fill("#try textarea", '{"log": -1, "events": 2}')
    page.click("#try button:has-text('Fill in')")
    assert "not above 0" in page.inner_text("#try .error")
    page.fill("#try textarea", '{"log": 1, "events": -2}')
    page.click("#try button:has-text('Fill in')")
    assert "negative" in page.inner_text("#try .error")


def test_the_page_scores_what_a_row_has_of_numbers_that_are_read_together(opened):
    rng = np.random.default_rng(3)
    y = rng.choice(["a", "b"], 300)
    x = rng.normal((y == "b")[:, None], 1.0, (300, 3)) @ rng.normal(size=(3, 3))
    X = pd.DataFrame(x, columns=["u", "v", "w"]).mask(rng.random((300, 3)) < 0.2)
    model = NaiveBayes(columns={("u", "v", "w"): Gaussian(covariance="full")}).fit(X, y)
    page = opened(model.report(X, y).html).page
    asked = [{k: v for k, v in row.items() if v == v} for row in X[:60].to_dict("records")]
    assert {len(row) for row in asked} >= {1, 2, 3}
    found = page.evaluate("(rows) => rows.map((row) => tallybayes.predict(row).proba)", asked)
    np.testing.assert_allclose(found, model.predict_proba(X[:60]), rtol=0, atol=1e-9)
