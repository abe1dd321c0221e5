"""Cases of documents: counts of terms as CSR, of few classes and of many."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import sklearn.naive_bayes as peer
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import brentq

import tallybayes as ours
from benchmarks.speed import actions
from benchmarks.speed.case import Case, Dataset, MemoryBar, Options, Recipe
from benchmarks.speed.checks import same_fit, same_predict

__all__ = ["cases"]

SEED = 20_240_503
DISTINCT = 80  # different terms that a document has on average
TOPICAL = 0.3  # share of its words that follow the class's own order of terms
FAMILIES = ("MultinomialNB", "ComplementNB", "BernoulliNB")
BARS = {20: {"fit": 4.0, "predict": 3.0}, 1000: {"fit": 80.0, "predict": 4.0}}
SUMMED = 90  # words of a document, of which equal ones are summed
SUMMED_BAR = 5.0
CHUNKS = 10.0  # an n × K array has to be so many times as large as what predict holds


def frequencies(terms: int, how: str) -> NDArray[np.float64]:
    """Probability of each term by rank: 1/rank (Zipf) as in text, or all alike."""
    weight = 1.0 / np.arange(1, terms + 1) if how == "zipf" else np.ones(terms)
    return weight / weight.sum()


def words_for(distinct: int, frequency: NDArray[np.float64]) -> int:
    """How many words a document needs to have so many different terms on average."""
    rotated = np.roll(frequency, len(frequency) // 2)
    frequency = (1.0 - TOPICAL) * frequency + TOPICAL * rotated

    def excess(words: float) -> float:
        return float((-np.expm1(words * np.log1p(-frequency))).sum()) - distinct

    return round(brentq(excess, distinct, 100 * distinct))


def strings(rows: int, terms: int, classes: int, how: str) -> Dataset:
    """Counts of terms, CSR, float64, int32 indices.

    A word is a term drawn by its frequency. Which term has which frequency is one random order for
    all documents; for a share of the words it is that order, rotated by class.
    """
    rng = np.random.default_rng(SEED)
    frequency = frequencies(terms, how)
    words = words_for(DISTINCT, frequency)
    cumulated = np.cumsum(frequency)
    order = rng.permutation(terms).astype(np.int32)
    rotation = rng.integers(1, terms, classes)
    y = rng.integers(0, classes, rows)
    parts = []
    step = 10_000
    for i in range(0, rows, step):
        label = y[i : i + step]
        shape = (len(label), words)
        rank = np.searchsorted(cumulated, rng.random(shape)).clip(max=terms - 1)
        topical = rng.random(shape) < TOPICAL
        rank = np.where(topical, (rank + rotation[label][:, None]) % terms, rank)
        start = np.arange(0, rank.size + 1, words, dtype=np.int32)
        part = sparse.csr_matrix(
            (np.ones(rank.size), order[rank].ravel(), start), shape=(len(label), terms)
        )
        part.sum_duplicates()
        parts.append(part)
    X = sparse.vstack(parts, format="csr")
    drawn = "1/rank (Zipf)" if how == "zipf" else "all alike"
    note = (
        f"CSR of float64 counts, {X.nnz / rows:.1f} stored terms a row from {words} words, "
        f"term frequencies {drawn}, {classes:,} classes"
    )
    return Dataset(X, y, note)


def summed(rows: int, terms: int, classes: int) -> Dataset:
    """Counts of words of a Zipf law of exponent 1.3, whatever the class: short rows, and few terms
    that most of them hold."""
    rng = np.random.default_rng(SEED)
    words = rng.poisson(SUMMED, rows)
    rank = rng.zipf(1.3, words.sum())
    while (beyond := rank > terms).any():
        rank[beyond] = rng.zipf(1.3, beyond.sum())
    start = np.append(0, np.cumsum(words)).astype(np.int32)
    entries = np.ones(len(rank)), (rank - 1).astype(np.int32), start
    X = sparse.csr_matrix(entries, shape=(rows, terms))
    X.sum_duplicates()
    note = (
        f"CSR of float64 counts, {X.nnz:,} stored terms of Zipf(1.3) words, {SUMMED} a row, equal "
        f"ones summed, {classes:,} classes"
    )
    return Dataset(X, rng.integers(0, classes, rows), note)


def cases(options: Options) -> Iterator[Case]:
    """fit and predict of the three families of documents, with few classes and with many; fit of
    counts of short documents."""
    rows, terms = (20_000, 10_000) if options.quick else (200_000, 100_000)
    for promised, bars in BARS.items():
        classes = min(promised, 200) if options.quick else promised
        make = partial(strings, rows, terms, classes, options.terms)
        recipe = Recipe(f"text/{promised}", make)
        array = MemoryBar(CHUNKS, rows * classes * 8, "an n × K float64 array")
        size = f"CSR {rows:,} × {terms:,}, {classes:,} classes"
        for family in FAMILIES:
            pair: tuple[Any, Any] = getattr(peer, family), getattr(ours, family)
            name = f"{family.removesuffix('NB').lower()}/{promised}-classes"
            yield Case(
                name=f"{name}/fit",
                what=f"{family} fit, {size}",
                recipe=recipe,
                peer=actions.fit(pair[0]),
                ours=actions.fit(pair[1]),
                check=same_fit(*pair),
                bar=bars["fit"],
            )
            yield Case(
                name=f"{name}/predict",
                what=f"{family} predict, {size}",
                recipe=recipe,
                peer=actions.predict(pair[0]),
                ours=actions.predict(pair[1]),
                first=actions.first_predict(pair[1]),
                check=same_predict(*pair),
                bar=bars["predict"],
                memory=array if promised == 1000 else None,
            )
    recipe = Recipe("text/summed", partial(summed, rows, terms, 20))
    for family in FAMILIES[:2]:
        pair = getattr(peer, family), getattr(ours, family)
        yield Case(
            name=f"{family.removesuffix('NB').lower()}/summed/fit",
            what=f"{family} fit, CSR {rows:,} × {terms:,} of summed words, 20 classes",
            recipe=recipe,
            peer=actions.fit(pair[0]),
            ours=actions.fit(pair[1]),
            check=same_fit(*pair),
            bar=SUMMED_BAR,
        )
