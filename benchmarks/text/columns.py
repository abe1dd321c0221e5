"""Text beside other columns: 20 Newsgroups as a table of what headers say, and bodies."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from benchmarks.bayes.page import Page
from benchmarks.text.labelled import SETS
from tallybayes import NaiveBayes, WeightedNaiveBayes
from tallybayes.families import Text

__all__ = ["columns_page"]

TABLE = ["lines", "length", "subject", "reader", "domain", "organization", "distribution", "reply"]
KINDS = {"table": TABLE, "text": ["body"], "both": [*TABLE, "body"]}
QUICK = 1_500  # posts
HIDDEN = ("newsgroups", "xref", "path", "references", "followup-to", "message-id", "subject")


class Measured(NamedTuple):
    """How good a model is on the test posts, and how long it took."""

    accuracy: float
    log_loss: float
    se: float
    of_fit: float
    seconds: float


def _row(post: str) -> dict[str, Any]:
    """A post as a row: numbers and categories from its headers, none of which names the group, and
    its body, without quoted headers that do. These posts have no dates."""
    head, _, body = post.partition("\n\n")
    unfolded = re.sub(r"\n[ \t]+", " ", head)
    pairs = (line.partition(":") for line in unfolded.split("\n"))
    header = {name.strip().lower(): value.strip() for name, _, value in pairs}
    sender = re.search(r"@([\w.-]+)", header.get("from", ""))
    reader = header.get("x-newsreader") or header.get("x-mailer") or header.get("news-software")
    lines = body.split("\n")
    kept = [line for line in lines if line.partition(":")[0].strip(" >|").lower() not in HIDDEN]
    return {
        "lines": float(len(lines)),
        "length": float(len(body)),
        "subject": float(len(header.get("subject", ""))),  # its length
        "reader": None if reader is None else re.split(r"[\W\d_]", reader)[0].lower(),
        "domain": None if sender is None else ".".join(sender[1].lower().split(".")[-2:]),
        "organization": header.get("organization") or None,
        "distribution": header.get("distribution") or None,
        "reply": header.get("subject", "").lower().startswith("re:"),
        "body": "\n".join(kept),
    }


def _measured(model: Any, names: list[str], data: Any) -> Measured:
    (rows, y), (new, expected) = data
    train = [{name: row[name] for name in names} for row in rows]
    test = [{name: row[name] for name in names} for row in new]
    begin = time.process_time()
    model.fit(train, y)
    log_proba = model.predict_log_proba(test)
    seconds = time.process_time() - begin
    own = np.searchsorted(model.classes_, expected)
    losses = -log_proba[np.arange(len(own)), own]
    right = log_proba.argmax(axis=1) == own
    of_fit = getattr(model, "log_loss_", np.nan)
    se = float(losses.std() / np.sqrt(len(losses)))
    return Measured(float(right.mean()), float(losses.mean()), se, float(of_fit), seconds)


def _models() -> Iterator[tuple[str, str, Any]]:
    for kind in KINDS:
        columns: Any = "auto" if kind == "table" else {"body": Text()}
        yield "NaiveBayes", kind, NaiveBayes(columns)
        yield "NaiveBayes, calibrated", kind, NaiveBayes(columns, calibrate="temperature")
        yield "WeightedNaiveBayes", kind, WeightedNaiveBayes(columns)


def columns_page(*, quick: bool = False) -> tuple[Page, bool]:
    """Accuracy and log-loss of the other columns, the text and both.

    Parameters
    ----------
    quick : bool
        Whether a part of the posts will do.

    Returns
    -------
    page : Page
    right : bool
        Always True: there is a bar, and no exact answer to check.
    """
    fold = next(SETS[0].folds())
    most = QUICK if quick else len(fold.train)
    some = np.random.default_rng(0).permutation(len(fold.train))[:most]
    train = [_row(fold.train[i]) for i in some], np.array([fold.y[i] for i in some])
    test = [_row(post) for post in fold.test], np.array(fold.expected)
    table: list[list[str]] = []
    record: dict[str, dict[str, float]] = {}
    for name, kind, model in _models():
        got = _measured(model, KINDS[kind], (train, test))
        record[f"{name}, {kind}"] = got._asdict()
        of_test = [f"{got.accuracy:.4f}", f"{got.log_loss:.3f} ± {got.se:.3f}"]
        of_fit = "" if np.isnan(got.of_fit) else f"{got.of_fit:.3f}"
        table.append([name, kind, *of_test, of_fit, f"{got.seconds:.1f}"])
        print(*table[-1], sep="\t", flush=True)
    verdicts = [_verdict(name, record) for name in dict.fromkeys(row[0] for row in table)]
    head = ["model", "columns", "accuracy", "log-loss", "log_loss_", "CPU s"]
    title = f"{len(train[0]):,} posts to learn, {len(test[0]):,} later ones; fit and predictions"
    return Page(
        "text-columns", "Text beside other columns", verdicts, [(title, head, table)], record
    ), True


def _verdict(name: str, record: dict[str, dict[str, float]]) -> str:
    """Whether the text and the other columns each lower the log-loss of the other."""
    both, table, text = (
        record[f"{name}, {kind}"]["log_loss"] for kind in ("both", "table", "text")
    )
    word = "met" if both < min(table, text) else "missed"
    return f"- {name}: {word}: both {both:.3f}, text {text:.3f}, other columns {table:.3f}"
