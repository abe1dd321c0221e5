"""Calls that every version has, on data that are the same in each."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd

__all__ = ["SHORT", "calls"]

Call = Callable[[], Any]

SEED = 20_261_124
COUNTS = "counts chosen"
"""How calls end whose whole numbers have the family that each version chooses, which may differ."""

SHORT = "one row"
"""How the names of calls begin that take one row, and must not be slower at all."""


def calls() -> Iterator[tuple[str, Call]]:
    """The calls by name; each makes what it needs when the iterator reaches it."""
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(SEED)
    yield from _arrays("200,000 × 20", rng, 200_000)
    yield from _arrays("200 × 20", rng, 200)
    yield from _tables("200,000 × 10", rng, 200_000)
    yield from _tables("300 × 10", rng, 300)
    yield from _one_row(rng)
    yield from _lazy(rng)


def _arrays(size: str, rng: np.random.Generator, n: int) -> Iterator[tuple[str, Call]]:
    import tallybayes

    y = rng.integers(0, 4, n)
    normal = rng.normal(size=(n, 20)) + y[:, None] * rng.normal(size=20)
    counts = rng.poisson(1.0 + y[:, None] * rng.random(20))
    kinds = {
        "GaussianNB": normal,
        "MultinomialNB": counts.astype(np.float64),
        "ComplementNB": counts.astype(np.float64),
        "BernoulliNB": (normal > 0.0).astype(np.float64),
        "CategoricalNB": np.minimum(counts, 7),
    }
    for name, X in kinds.items():
        make = getattr(tallybayes, name)
        model = make().fit(X, y)
        yield f"{name}.fit, {size}", lambda make=make, X=X: make().fit(X, y)
        yield f"{name}.predict, {size}", lambda model=model, X=X: model.predict(X)
        yield f"{name}.predict_proba, {size}", lambda model=model, X=X: model.predict_proba(X)
        yield f"{name}.partial_fit, {size}", lambda model=model, X=X: model.partial_fit(X, y)


def _mixed(rng: np.random.Generator, n: int) -> tuple[pd.DataFrame, np.ndarray[Any, Any]]:
    """Four numbers, two of them whole, with missing values, and six columns of strings."""
    y = rng.integers(0, 3, n)
    columns: dict[str, Any] = {
        f"number {j}": np.where(rng.random(n) < 0.05, np.nan, rng.normal(0.5 * y)) for j in range(2)
    }
    columns |= {f"count {j}": rng.poisson(2.0 + y) for j in range(2)}
    for j in range(6):
        codes = np.minimum(rng.geometric(0.2 + 0.1 * y), 40)
        columns[f"level {j}"] = pd.Categorical.from_codes(codes - 1, [f"v{k}" for k in range(40)])
    return pd.DataFrame(columns), np.array(["no", "perhaps", "yes"])[y]


def _tables(size: str, rng: np.random.Generator, n: int) -> Iterator[tuple[str, Call]]:
    from tallybayes import NaiveBayes, leave_one_out

    X, y = _mixed(rng, n)
    for columns, said in ((_declared(), size), ("auto", f"{size}, {COUNTS}")):

        def made(columns: Any = columns, **options: Any) -> Any:
            return NaiveBayes(columns, **options).fit(X, y)

        model, changing = made(), made()
        yield f"NaiveBayes.fit, {said}", made
        yield f"NaiveBayes.fit, alpha chosen, {said}", lambda made=made: made(alpha="auto")
        yield f"NaiveBayes.predict, {said}", lambda model=model: model.predict(X)
        yield f"NaiveBayes.predict_proba, {said}", lambda model=model: model.predict_proba(X)
        yield f"leave_one_out, {said}", lambda model=model: leave_one_out(model, X, y)
        yield f"NaiveBayes.partial_fit, {said}", lambda model=changing: model.partial_fit(X, y)


def _declared() -> dict[Any, Any]:
    from tallybayes.families import Poisson

    return {int: Poisson()}


def _one_row(rng: np.random.Generator) -> Iterator[tuple[str, Call]]:
    from tallybayes import GaussianNB, NaiveBayes, WeightedNaiveBayes

    X, y = _mixed(rng, 600)
    row = X.iloc[:1]
    values = row.iloc[0].to_dict()
    cells = {name: getattr(value, "item", lambda v=value: v)() for name, value in values.items()}
    label = str(y[0])
    for columns, said in ((_declared(), ""), ("auto", f", {COUNTS}")):
        model, learning = NaiveBayes(columns).fit(X, y), NaiveBayes(columns).fit(X, y)
        for name in ("predict_one", "predict_proba_one", "explain_one"):
            ask = getattr(model, name)
            yield f"{SHORT}: NaiveBayes.{name}{said}", lambda ask=ask: ask(cells)
        yield f"{SHORT}: NaiveBayes.predict{said}", lambda model=model: model.predict(row)
        learn = learning.learn_one
        yield f"{SHORT}: NaiveBayes.learn_one{said}", lambda learn=learn: learn(cells, label)

        def learned_and_asked(model: Any = learning) -> None:
            model.learn_one(cells, label)
            model.predict_one(cells)

        yield f"{SHORT}: NaiveBayes.learn_one, predict_one{said}", learned_and_asked
    weighted = WeightedNaiveBayes(interactions=0).fit(X, y)
    yield f"{SHORT}: WeightedNaiveBayes.predict_one", lambda: weighted.predict_one(cells)
    yield f"{SHORT}: WeightedNaiveBayes.predict", lambda: weighted.predict(row)
    numbers = rng.normal(size=(500, 10))
    gaussian = GaussianNB().fit(numbers, numbers[:, 0] > 0.0)
    first = numbers[:1]
    yield f"{SHORT}: GaussianNB.predict", lambda: gaussian.predict(first)
    yield f"{SHORT}: GaussianNB.predict_proba", lambda: gaussian.predict_proba(first)


def _lazy(rng: np.random.Generator) -> Iterator[tuple[str, Call]]:
    from tallybayes import LazyNaiveBayes

    X, y = _mixed(rng, 20_000)
    row = X.iloc[:1]
    lazy = LazyNaiveBayes(X.assign(label=y), "label")
    yield f"{SHORT}: LazyNaiveBayes.predict, 20,000 rows", lambda: lazy.predict(row)
