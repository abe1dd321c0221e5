"""``python -m benchmarks stream``: documents predicted, then learned, one by one.

Documents are generated: their terms are drawn from a vocabulary by Zipf's law. All terms of the
vocabulary were learned before, so that what is measured does not depend on the start. River goes
through the same documents, in the same order and in the same process, and gives the same
probabilities. Times are those of the processor: on a machine that works for others as well, the
slowest of thousands of calls is one that had to wait for its turn.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.bayes.page import Page
from benchmarks.machine import machine_record
from benchmarks.pages import RESULTS, recorded_command
from benchmarks.stream.corpora import corpora_page
from benchmarks.stream.tables import tables_page
from benchmarks.stream.timed import quantiles, timed, verdict, verdicts_on_spikes
from tallybayes import TextNB

__all__ = ["main"]

VOCABULARIES = (35_000, 300_000, 3_000_000)
DOCUMENTS, TOKENS, CLASSES = 3_000, 300, 2
IN_ONE = 1_000  # terms of a document that the vocabulary is learned from
EXPONENT = 1.05  # of Zipf's law
BAR_MEDIAN, BAR_GROWTH, BAR_RIVER = 0.15, 1.5, 5.0  # milliseconds, and ratios
BOUND = 1e-9  # of a difference of two probabilities

MODELS: dict[str, dict[str, Any]] = {
    "multinomial": {"model": "multinomial"},
    "multinomial, half-life": {"model": "multinomial", "half_life": 1000.0},
    "complement": {"model": "complement"},
    "bernoulli": {"model": "bernoulli"},
    "bernoulli, half-life": {"model": "bernoulli", "half_life": 1000.0},
    "weighted": {"ridge": False},
    "weighted, half-life": {"ridge": False, "half_life": 1000.0},
}


def documents(n: int, vocabulary: int, tokens: int, seed: int) -> Iterator[tuple[str, str]]:
    """Documents and their classes; each class prefers some of the terms."""
    rng = np.random.default_rng(seed)
    share = np.arange(1, vocabulary + 1) ** -EXPONENT
    until = np.cumsum(share / share.sum())
    for _ in range(n):
        k = int(rng.integers(CLASSES))
        terms = np.minimum(np.searchsorted(until, rng.random(tokens)), vocabulary - 1)
        moved = rng.random(tokens) < 0.1
        terms = np.where(moved & (terms % CLASSES != k), np.maximum(terms - 1, 0), terms)
        yield " ".join(f"w{t}" for t in terms), f"class{k}"


def whole_vocabulary(vocabulary: int) -> Iterator[tuple[str, str]]:
    """Documents that have each term once."""
    for i, begin in enumerate(range(0, vocabulary, IN_ONE)):
        terms = range(begin, min(begin + IN_ONE, vocabulary))
        yield " ".join(f"w{t}" for t in terms), f"class{i % CLASSES}"


def ours(
    options: dict[str, Any], vocabulary: int, stream: list[tuple[str, str]]
) -> tuple[dict[str, np.ndarray], list[dict[str, float]]]:
    """Times and probabilities."""
    texts, labels = map(list, zip(*whole_vocabulary(vocabulary), strict=True))
    model = TextNB(analyzer="word", ngram_range=(1, 1), **options).fit(texts, labels)
    del texts
    model.learn_one(*stream[0])
    return timed(stream[1:], model.predict_proba_one, model.learn_one)


def of_river(
    model: str, vocabulary: int, stream: list[tuple[str, str]]
) -> tuple[dict[str, np.ndarray], list[dict[str, float]]]:
    """As :func:`ours`, of river's pipeline of the same name."""
    from river import compose, feature_extraction, naive_bayes

    made = {
        "multinomial": naive_bayes.MultinomialNB,
        "complement": naive_bayes.ComplementNB,
        "bernoulli": naive_bayes.BernoulliNB,
    }[model]
    pipe = compose.Pipeline(feature_extraction.BagOfWords(), made(alpha=1.0))
    for document, label in whole_vocabulary(vocabulary):
        pipe.learn_one(document, label)
    pipe.learn_one(*stream[0])
    return timed(stream[1:], pipe.predict_proba_one, pipe.learn_one)


def shown(name: str, model: str, vocabulary: int, times: dict[str, Any]) -> list[str]:
    """A row of the table."""
    cells = [f"{vocabulary:,}", model, name]
    for values in times.values():
        cells += [f"{np.median(values):.3f}", f"{np.quantile(values, 0.999):.2f}"]
        cells += [f"{values.max():.2f}"]
    return cells


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    options = argparse.ArgumentParser(
        prog="python -m benchmarks stream",
        description="Documents predicted, then learned, one by one, with river beside. Fewer "
        "documents or other vocabularies are printed and not written, unless --output says where. "
        "The exit code is 1 if probabilities differ from river's.",
    )
    options.add_argument("--terms", type=int, nargs="+", default=list(VOCABULARIES))
    options.add_argument("--documents", type=int, default=DOCUMENTS)
    options.add_argument("--models", nargs="+", choices=list(MODELS), default=list(MODELS))
    options.add_argument("--river-up-to", type=int, default=VOCABULARIES[1], metavar="TERMS")
    options.add_argument(
        "--corpora",
        type=int,
        metavar="DOCUMENTS",
        help="SMS, Enron and 20 Newsgroups instead, so many documents of each at most, from the "
        "folder that TALLYBAYES_DATA names; SMS and Enron with bogofilter, where it is installed",
    )
    options.add_argument(
        "--tables",
        type=int,
        metavar="ROWS",
        help="tables instead, so many rows of each at most: Adult, from the folder that "
        "TALLYBAYES_DATA names, and tables with 40,000 and 100,000 levels",
    )
    options.add_argument("--output", type=Path, metavar="FOLDER")
    return options


def main(argv: list[str]) -> int:
    """Runs the command; see :func:`parser`."""
    chosen = parser().parse_args(argv)
    if chosen.corpora is not None or chosen.tables is not None:
        page = tables_page(chosen.tables) if chosen.tables else corpora_page(chosen.corpora)
        command = recorded_command("stream", argv)
        page.publish(chosen.output or RESULTS, command, machine_record(), "")
        return 0
    rows, verdicts, record, right = [], [], [], True
    medians: dict[tuple[str, str, int], float] = {}
    for vocabulary in chosen.terms:
        stream = list(documents(chosen.documents + 1, vocabulary, TOKENS, 1))
        for model in chosen.models:
            times, said = ours(MODELS[model], vocabulary, stream)
            runs = {"tallybayes": times}
            if model == "multinomial" and vocabulary <= chosen.river_up_to:
                peer_times, peer_said = of_river(model, vocabulary, stream)
                runs["river"] = peer_times
                gap = max(
                    abs(mine[label] - theirs[label])
                    for mine, theirs in zip(said, peer_said, strict=True)
                    for label in mine
                )
                right &= gap <= BOUND
                verdicts.append(verdict(gap <= BOUND, f"probabilities as river's, {gap:.0e} apart"))
                for step in times:
                    ratio = float(np.median(peer_times[step]) / np.median(times[step]))
                    about = (
                        f"{model}, {vocabulary:,} terms, {step}: {ratio:.0f} times river's speed"
                    )
                    verdicts.append(verdict(ratio >= BAR_RIVER, f"{about} (≥ {BAR_RIVER:g})"))
            for name, took in runs.items():
                rows.append(shown(name, model, vocabulary, took))
                record.append(
                    {
                        "name": name,
                        "model": model,
                        "terms": vocabulary,
                        "milliseconds": {step: quantiles(took[step]) for step in took},
                    }
                )
            for step, values in times.items():
                medians[model, step, vocabulary] = float(np.median(values))
                about = f"{model}, {vocabulary:,} terms, {step}"
                verdicts += verdicts_on_spikes(about, values)
    for (model, step, vocabulary), took in medians.items():
        about = f"{model}, {vocabulary:,} terms, {step}: {took:.3f} ms"
        if vocabulary <= VOCABULARIES[1]:
            verdicts.append(verdict(took <= BAR_MEDIAN, f"{about} (≤ {BAR_MEDIAN:g})"))
        elif (less := medians.get((model, step, VOCABULARIES[1]))) is not None:
            most = BAR_GROWTH * less
            verdicts.append(verdict(took <= most, f"{about} (≤ {most:.3f}, {BAR_GROWTH:g} times)"))
    head = ["terms", "model", "", "predict", "p99.9", "worst", "learn", "p99.9", "worst"]
    about = (
        f"Milliseconds of the processor for a document of {TOKENS} tokens: medians of "
        f"{chosen.documents:,} documents, 99.9 % of them, and the slowest"
    )
    whole = chosen.documents >= DOCUMENTS and chosen.terms == list(VOCABULARIES)
    folder = chosen.output or (RESULTS if whole else None)
    page = Page(
        "stream", "Documents as a stream", verdicts, [(about, head, rows)], {"runs": record}
    )
    partly = "" if whole else "a part of the documents or vocabularies"
    page.publish(folder, recorded_command("stream", argv), machine_record(), partly)
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
