"""How often credible intervals hold the true probability, on data drawn from the model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from benchmarks.bayes.page import Page
from benchmarks.speed.report import yes
from tallybayes import NaiveBayes
from tallybayes.families import Categorical, Dirichlet, Gamma, Gaussian, NormalInverseGamma, Poisson

__all__ = ["SIZES", "measure", "page"]

SIZES = (20, 200, 2000)
LEVELS = ["u", "v", "w"]
NUMBERS, EVENTS = NormalInverseGamma(0.0, 0.5, 3.0, 3.0), Gamma(2.0, 1.0)
COLUMNS = {
    "c": Categorical(levels=LEVELS, prior=Dirichlet(3.0)),
    "d": Categorical(levels=LEVELS, prior=Dirichlet(3.0)),
    "g": Gaussian(prior=NUMBERS),
    "n": Poisson(prior=EVENTS),
}
LEVEL, BAND, ROWS = 0.9, (0.85, 0.95), 40


class World:
    """Parameters drawn from the prior, and rows drawn from the parameters."""

    def __init__(self, rng: np.random.Generator, n_classes: int) -> None:
        k = n_classes
        self.rng, self.k = rng, k
        self.classes = rng.dirichlet(np.ones(k))
        self.levels = {name: rng.dirichlet(np.ones(3), size=k) for name in "cd"}
        self.variance = NUMBERS.scale / rng.gamma(NUMBERS.shape, size=k)
        self.mean = rng.normal(NUMBERS.mean, np.sqrt(self.variance / NUMBERS.strength))
        self.rate = rng.gamma(EVENTS.shape, 1.0 / EVENTS.rate, size=k)

    def rows(self, n: int) -> tuple[Any, Any]:
        y = self.rng.choice(self.k, n, p=self.classes)
        columns: dict[str, Any] = {}
        for name, p in self.levels.items():
            code = (self.rng.random(n)[:, None] > p[y].cumsum(axis=1)[:, :2]).sum(axis=1)
            columns[name] = np.array(LEVELS)[code]
        columns["g"] = self.rng.normal(self.mean[y], np.sqrt(self.variance[y]))
        columns["n"] = self.rng.poisson(self.rate[y])
        return pd.DataFrame(columns), y

    def posterior(self, X: Any) -> Any:
        """P(c | x) under the true parameters."""
        joint = np.log(self.classes) + stats.norm(self.mean, np.sqrt(self.variance)).logpdf(
            X[["g"]].to_numpy()
        )
        joint = joint + stats.poisson(self.rate).logpmf(X[["n"]].to_numpy())
        for name, p in self.levels.items():
            joint = joint + np.log(p.T[[LEVELS.index(level) for level in X[name]]])
        return np.exp(joint - np.logaddexp.reduce(joint, axis=1, keepdims=True))


def measure(n: int, n_classes: int, repeats: int) -> dict[str, Any]:
    """Coverage and width at one number of rows."""
    rng = np.random.default_rng(n * 10 + n_classes)
    hits, widths = [], []
    for _ in range(repeats):
        world = World(rng, n_classes)
        X, y = world.rows(n)
        new, _ = world.rows(ROWS)
        model = NaiveBayes(COLUMNS, classes=list(range(n_classes))).fit(X, y)
        lower, upper = model.predict_proba_interval(new, LEVEL)
        true = world.posterior(new)
        hits.append(float(((lower <= true) & (true <= upper)).mean()))
        widths.append(float((upper - lower).mean()))
    return {
        "rows": n,
        "classes": n_classes,
        "repeats": repeats,
        "coverage": float(np.mean(hits)),
        "standard_error": float(np.std(hits, ddof=1) / repeats**0.5),
        "width": float(np.mean(widths)),
    }


def page(sizes: list[dict[str, Any]]) -> Page:
    """The verdicts and the table."""
    held = [BAND[0] <= s["coverage"] <= BAND[1] for s in sizes]
    verdicts = [
        f"- {LEVEL:.0%} intervals hold the true probability from {BAND[0]:.0%} to {BAND[1]:.0%} of "
        f"the time at each size: {yes(all(held))}"
    ]
    rows = [
        [
            f"{s['rows']:,}",
            str(s["classes"]),
            f"{s['coverage']:.3f} ± {s['standard_error']:.3f}",
            f"{s['width']:.4f}",
            yes(ok),
        ]
        for s, ok in zip(sizes, held, strict=True)
    ]
    about = (
        "Parameters are drawn from the prior (class shares, two columns of three levels, one of "
        "numbers, one of counts), rows from the parameters; the model is given the prior. Coverage "
        f"over {ROWS} new rows each, mean ± standard error over {sizes[0]['repeats']} draws."
    )
    head = ["rows", "classes", "coverage", "mean width", "within the band"]
    return Page(
        "bayes-coverage",
        "Coverage of credible intervals",
        verdicts,
        [(about, head, rows)],
        {"level": LEVEL, "sizes": sizes},
    )
