"""Corpora as streams: each message is predicted, and then learned, beside river and bogofilter."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from benchmarks.bayes.page import Page
from benchmarks.stream.bogofilter import Bogofilter, installed_bogofilter, processor_seconds
from benchmarks.text.labelled import SETS
from tallybayes import TextNB
from tallybayes.errors import StaleWarning
from tallybayes.tokens import MARKS

__all__ = ["corpora_page"]

NAMES = ("SMS", "enron1", "20 Newsgroups")
FIRST_REWEIGHTED = 64  # documents; the weights are learned again at each doubling
MIN_PROBABILITY = 1e-15  # of a label, in a loss
MAIL = {"ham", "spam"}  # the labels of corpora that bogofilter reads
DEFAULT = "default, learned again at each doubling"
PEERS = ("river, multinomial", "bogofilter")


class Run(NamedTuple):
    """A way through a stream: accuracy, log-loss in nats, and milliseconds of the processor for a
    document."""

    accuracy: float
    log_loss: float
    predict: float
    learn: float


def run(
    stream: list[tuple[str, str]],
    predict: Callable[[str], dict[str, float]],
    learn: Callable[[str, str], Any],
    after: Callable[[int], Any] | None = None,
    clock: Callable[[], float] = time.thread_time,
) -> Run:
    """Predicts and learns; nothing is predicted of the first two documents."""
    right, said, spent = 0, [], np.zeros(2)
    for i, (document, label) in enumerate(stream):
        begin = clock()
        found = predict(document) if i > 1 else {}
        between = clock()
        learn(document, label)
        spent += between - begin, clock() - between
        if after is not None:
            after(i + 1)
        said.append(found.get(label, 0.0))
        right += bool(found) and max(found, key=lambda k: found[k]) == label
    proba = np.array(said[2:])
    loss = float(-np.log(np.maximum(proba, MIN_PROBABILITY)).mean())
    predicted, learned = (spent / len(stream) * 1e3).tolist()
    return Run(right / len(proba), loss, predicted, learned)


def learned_again(model: TextNB, stream: list[tuple[str, str]]) -> Run:
    """The run of a weighted model, whose weights are learned again at each doubling."""

    def reweight(n: int) -> None:
        if n >= FIRST_REWEIGHTED and n & (n - 1) == 0:
            model.reweight(*map(list, zip(*stream[:n], strict=True)))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StaleWarning)  # the ridge is that of the last doubling
        return run(stream, model.predict_proba_one, model.learn_one, reweight)


def ways(stream: list[tuple[str, str]]) -> dict[str, Run]:
    """The runs by name; bogofilter reads words, and the others words and pairs of words."""
    from river import compose, feature_extraction, naive_bayes

    bag = feature_extraction.BagOfWords(tokenizer_pattern=MARKS, ngram_range=(1, 2))
    pipe = compose.Pipeline(bag, naive_bayes.MultinomialNB(alpha=1.0))
    plain = TextNB(model="multinomial", analyzer="word")
    found = {
        DEFAULT: learned_again(TextNB(), stream),
        "without a ridge, as often": learned_again(TextNB(ridge=False), stream),
        "multinomial": run(stream, plain.predict_proba_one, plain.learn_one),
        "river, multinomial": run(stream, pipe.predict_proba_one, pipe.learn_one),
    }
    if installed_bogofilter() and {label for _, label in stream} == MAIL:
        with Bogofilter() as program:
            learn, predict = program.learn_one, program.predict_proba_one
            found["bogofilter"] = run(stream, predict, learn, clock=processor_seconds)
    return found


def corpora_page(most: int) -> Page:
    """The page of the corpora.

    Parameters
    ----------
    most : int
        Documents of a corpus, drawn at random.
    """
    rows, verdicts, record = [], [], {}
    for corpus in (one for one in SETS if one.name in NAMES):
        fold = next(iter(corpus.folds()))
        texts, labels = [*fold.train, *fold.test], [*fold.y, *fold.expected]
        order = np.random.default_rng(0).permutation(len(texts))[:most]
        stream = [(texts[i], labels[i]) for i in order.tolist()]
        found = ways(stream)
        ours = found[DEFAULT]
        for peer, theirs in found.items():
            if peer not in PEERS:
                continue
            lines = {
                f"accuracy {ours.accuracy:.4f} (≥ {theirs.accuracy:.4f}, {peer})": (
                    ours.accuracy >= theirs.accuracy
                ),
                f"log-loss {ours.log_loss:.4f} (≤ {theirs.log_loss:.4f}, {peer})": (
                    ours.log_loss <= theirs.log_loss
                ),
            }
            verdicts += [
                f"- {'met' if met else 'MISSED'}: {corpus.name}, {about}"
                for about, met in lines.items()
            ]
        record[corpus.name] = {name: one._asdict() for name, one in found.items()}
        for name, one in found.items():
            cells = [f"{one.accuracy:.4f}", f"{one.log_loss:.4f}"]
            cells += [f"{one.predict:.3f}", f"{one.learn:.3f}"]
            rows.append([corpus.name, f"{len(stream):,}", name, *cells])
    program = installed_bogofilter()
    record["bogofilter"] = None if program is None else program._asdict()
    if program is None:
        verdicts.append("- not measured: bogofilter, which is not installed")
    head = ["corpus", "documents", "model", "accuracy", "log-loss", "predict", "learn"]
    about = (
        "Each document predicted, then learned; words and pairs of words, and bogofilter by its "
        "own settings. The weights of the default, and its ridge, are learned again whenever the "
        "documents have doubled, which is not part of the times. River's score counts terms that "
        "no document had, and that of TextNB leaves them out. Milliseconds of the processor, mean; "
        "bogofilter is a process for each prediction and for each message that it learns"
    )
    if program is not None:
        about += f" ({program.version}; {program.start:.1f} ms of it are its start)"
    return Page("stream-corpora", "Corpora as streams", verdicts, [(about, head, rows)], record)
