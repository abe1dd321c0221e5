"""``python -m benchmarks labels``: many labels a row, and classes in a tree.

Labels beside one-vs-rest of scikit-learn in the same process: time, memory and micro-F1. A tree
beside the flat model of the same counts.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics import f1_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import BernoulliNB as TheirBernoulli
from sklearn.naive_bayes import MultinomialNB as TheirMultinomial
from sklearn.svm import LinearSVC

from benchmarks.bayes.page import Page
from benchmarks.machine import machine_record
from benchmarks.memory import PeakMeter
from benchmarks.pages import RESULTS, recorded_command, yes_or_no
from benchmarks.text.labelled import SETS as CORPORA
from tallybayes import BernoulliNB, Hierarchy, MultiLabel, MultinomialNB, TextNB

__all__ = ["main"]

MANY = 1_000_000
SPEEDUP, WITHIN, SHARE = 10.0, 0.02, 0.95
SETS = {  # words, labels, words a document, share of words of the background, labels a document
    "few long documents": (3_000, 20, 120, 0.5, 1.5, 1_500),
    "short documents": (2_000, 30, 15, 0.3, 1.5, 4_000),
    "many labels": (5_000, 100, 60, 0.5, 3.0, 4_000),
    "rare labels": (3_000, 60, 60, 0.5, 1.2, 3_000),
    "much background": (3_000, 20, 80, 0.8, 2.0, 4_000),
}


def processor(call: Callable[[], Any]) -> tuple[Any, float]:
    """What a call returns, and the processor time that it took."""
    before = time.process_time()
    answer = call()
    return answer, time.process_time() - before


# ---- time and memory -----------------------------------------------------------------------------
def documents_of(n: int, words: int, length: int, seed: int) -> Any:
    """Which words documents hold, sparse (n, words), a few of them in most documents."""
    rng = np.random.default_rng(seed)
    share = 1.0 / np.arange(1, words + 1)
    columns = rng.choice(words, n * length, p=share / share.sum())
    rows = np.repeat(np.arange(n), length)
    x = sparse.csr_array((np.ones(n * length), (rows, columns)), shape=(n, words))
    x.data[:] = 1.0
    return x


def labels_of(n: int, labels: int, each: float, seed: int) -> Any:
    """Labels of documents, sparse (n, labels)."""
    rng = np.random.default_rng(seed)
    pairs = int(n * each)
    y = sparse.csr_array(
        (
            np.ones(pairs, dtype=np.int64),
            (rng.integers(0, n, pairs), rng.integers(0, labels, pairs)),
        ),
        shape=(n, labels),
    )
    y.data[:] = 1
    return y


def speed() -> dict[str, float]:
    """500 labels of 20,000 documents, beside one-vs-rest; and how far the answers differ."""
    x, y = documents_of(20_000, 10_000, 60, 0), labels_of(20_000, 500, 3.0, 1)
    MultiLabel(BernoulliNB()).fit(x[:100], y[:100])
    ours, fit = processor(lambda: MultiLabel(BernoulliNB()).fit(x, y))
    theirs, their_fit = processor(lambda: OneVsRestClassifier(TheirBernoulli()).fit(x, y))
    few = x[:2_000]
    found, predict = processor(lambda: ours.predict_proba(few))
    answer, their_predict = processor(lambda: theirs.predict_proba(few))
    return {
        "fit": fit,
        "their_fit": their_fit,
        "predict": predict,
        "their_predict": their_predict,
        "difference": float(np.abs(found - answer).max()),
    }


def many(n: int) -> dict[str, float]:
    """10,000 labels of so many documents: time, memory, and the size of the tally."""
    x, y = documents_of(n, 50_000, 10, 2), labels_of(n, 10_000, 3.0, 3)
    meter = PeakMeter()
    meter.start()
    model, fit = processor(lambda: MultiLabel(MultinomialNB()).fit(x, y))
    peak = meter.stop() or 0
    top, ask = processor(lambda: model.top(x[:100], 5))
    assert top[0].shape == (100, 5)
    held = sum(array.nbytes for array in model._counts.positives.arrays().values())
    return {
        "documents": float(n),
        "fit": fit,
        "peak": float(peak),
        "tally": float(held),
        "dense": 8.0 * 10_000 * 50_000,
        "top": ask,
    }


# ---- how good the labels are ---------------------------------------------------------------------
def planted(name: str, seed: int) -> tuple[Any, Any]:
    """Documents whose words are drawn from a background and from the topics of their labels."""
    words, labels, length, background, each, n = SETS[name]
    rng = np.random.default_rng(seed)
    common = rng.dirichlet(np.full(words, 0.1))
    topics = rng.dirichlet(np.full(words, 0.02), size=labels)
    often = 1.0 / np.arange(1, labels + 1) ** 0.7
    chance = np.minimum(often * each / often.sum(), 0.9)
    y = (rng.random((n, labels)) < chance).astype(int)
    size = rng.poisson(length, n) + 1
    x = np.zeros((n, words))
    for i in range(n):
        own = np.flatnonzero(y[i])
        p = common
        if len(own):
            p = background * common + (1.0 - background) * topics[own].mean(axis=0)
        x[i] = rng.multinomial(size[i], p)
    return sparse.csr_array(x), y


def quality(name: str) -> dict[str, float]:
    """Micro-F1 of half the documents, learned on the others."""
    x, y = planted(name, 0)
    half = y.shape[0] // 2
    train, test = slice(0, half), slice(half, None)
    found = {}
    models = {
        "ours": MultiLabel(MultinomialNB(), threshold="f1", smoothing="auto"),
        "plain": MultiLabel(MultinomialNB()),
        "multinomial": OneVsRestClassifier(TheirMultinomial()),
        "svc": OneVsRestClassifier(LinearSVC()),
    }
    for model_name, model in models.items():
        counts = x if model_name != "svc" else tf_idf(x, half)
        predicted = model.fit(counts[train], y[train]).predict(counts[test])
        found[model_name] = float(f1_score(y[test], predicted, average="micro", zero_division=0.0))
    return found


def tf_idf(x: Any, half: int) -> Any:
    """The usual features of a linear machine, of the frequencies in the first half."""
    from sklearn.feature_extraction.text import TfidfTransformer

    return TfidfTransformer(sublinear_tf=True).fit(x[:half]).transform(x)


# ---- a tree --------------------------------------------------------------------------------------
def newsgroups(each: int, draws: int) -> dict[str, float]:
    """Log-loss of 20 Newsgroups with so many documents a leaf, as a tree and flat."""
    corpus = next(one for one in CORPORA if "newsgroups" in one.name.lower())
    fold = next(iter(corpus.folds()))
    texts, test_texts = fold.train, fold.test
    labels, test_labels = (
        np.array([name.replace(".", "/") for name in of], dtype=object)
        for of in (fold.y, fold.expected)
    )
    losses: dict[str, list[float]] = {"tree": [], "flat": []}
    for seed in range(draws):
        rng = np.random.default_rng(seed)
        rows = np.concatenate(
            [
                rng.choice(np.flatnonzero(labels == k), each, replace=False)
                for k in np.unique(labels)
            ]
        )
        few = [texts[i] for i in rows]
        some = rng.choice(len(test_texts), 2_000, replace=False)
        asked = [test_texts[i] for i in some]
        base = TextNB(model="multinomial", ngram_range=(1, 1))
        for name, concentration in (("tree", "evidence"), ("flat", 0.0)):
            model = Hierarchy(base, concentration=concentration).fit(few, labels[rows])
            proba = model.predict_proba(asked)
            own = proba[np.arange(len(some)), np.searchsorted(model.classes_, test_labels[some])]
            losses[name].append(float(-np.log(np.maximum(own, 1e-300)).mean()))
    return {name: float(np.mean(of)) for name, of in losses.items()}


# ---- the command ---------------------------------------------------------------------------------
def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    options = argparse.ArgumentParser(
        prog="python -m benchmarks labels",
        description="Many labels a row beside one-vs-rest, and a tree beside the flat model. The "
        "tree needs TALLYBAYES_DATA. The exit code is 1 if an answer is wrong.",
    )
    options.add_argument("--documents", type=int, default=MANY, help="of 10,000 labels")
    options.add_argument("--draws", type=int, default=5, help="of documents of the tree")
    options.add_argument("--only", choices=["speed", "many", "quality", "tree"])
    options.add_argument("--output", type=Path, metavar="FOLDER")
    return options


def main(argv: list[str]) -> int:
    """Runs the command.

    Returns
    -------
    int
        0, or 1 if the probabilities differ from one-vs-rest.
    """
    asked = parser().parse_args(argv)
    machine, record = machine_record(("scikit-learn",)), {}
    cases: dict[str, Callable[[], Any]] = {
        "speed": speed,
        "many": lambda: many(asked.documents),
        "quality": lambda: {name: quality(name) for name in SETS},
        "tree": lambda: newsgroups(10, asked.draws),
    }
    for name, case in cases.items():
        if asked.only in (None, name):
            print(f"{name} …", file=sys.stderr)
            record[name] = case()
    whole = asked.only is None and asked.documents == MANY
    folder = asked.output or (RESULTS if whole else None)
    partly = "" if whole else "Some cases, or few documents"
    as_page(record).publish(folder, recorded_command("labels", argv), machine, partly)
    return 0 if record.get("speed", {}).get("difference", 0.0) < 1e-12 else 1


def as_page(record: dict[str, Any]) -> Page:
    """The page."""
    verdicts, tables = [], []
    if "speed" in record:
        of = record["speed"]
        times = of["their_fit"] / of["fit"]
        verdicts.append(
            f"- 500 labels, 20,000 documents: `fit` takes {of['fit']:.2f} s of processor time, "
            f"OneVsRestClassifier(BernoulliNB) {of['their_fit']:.2f} s, {times:.0f} times as much "
            f"(at least {SPEEDUP:g}: {yes_or_no(times >= SPEEDUP)}). `predict_proba` of 2,000: "
            f"{of['predict']:.2f} s and {of['their_predict']:.2f} s. Probabilities differ by at "
            f"most {of['difference']:.1g}."
        )
    if "many" in record:
        of = record["many"]
        verdicts.append(
            f"- 10,000 labels, {of['documents']:,.0f} documents, 50,000 words: `fit` takes "
            f"{of['fit']:.1f} s and {of['peak'] / 1e9:.2f} GB at most; the tally of labels is "
            f"{of['tally'] / 1e6:,.0f} MB, where a dense table would be {of['dense'] / 1e9:.1f} GB "
            f"(sparse: {yes_or_no(of['peak'] < of['dense'])}). `top(5)` of 100 documents: "
            f"{of['top']:.1f} s."
        )
    if "quality" in record:
        rows = []
        for name, of in record["quality"].items():
            met = of["ours"] > of["multinomial"] and of["ours"] >= of["svc"] - WITHIN
            figures = [f"{of[key]:.3f}" for key in ("ours", "plain", "multinomial", "svc")]
            rows.append([name, *figures, yes_or_no(met)])
        head = ["set", "F1 thresholds", "threshold .5", "one-vs-rest MultinomialNB", "LinearSVC"]
        about = (
            "Micro-F1 on generated documents with planted labels. The bar: above one-vs-rest "
            f"MultinomialNB, and at most {WITHIN:g} below one-vs-rest LinearSVC on tf-idf."
        )
        tables.append((about, [*head, "met"], rows))
    if "tree" in record:
        of = record["tree"]
        share = of["tree"] / of["flat"]
        verdicts.append(
            f"- 20 Newsgroups as a tree, 10 documents a leaf: log-loss {of['tree']:.3f}, flat "
            f"{of['flat']:.3f}: {share:.2f} of it (at most {SHARE:g}: {yes_or_no(share <= SHARE)})."
        )
    title = "Many labels a row, and classes in a tree"
    return Page("labels", title, verdicts, tables, record)
