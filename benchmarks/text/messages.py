"""One short message at a time: its label, its probabilities, its explanation."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

from benchmarks.bayes.page import Page
from benchmarks.text.labelled import SETS
from tallybayes import TextNB

__all__ = ["messages_page"]

BARS = {"predict": 20.0, "predict_proba": 20.0, "explain_one": 200.0}  # microseconds
MESSAGES = 200


def _microseconds(call: Callable[[Any], Any], arguments: list[Any], runs: int) -> float:
    """CPU time of a call, over all arguments: the median of the runs."""
    for argument in arguments:
        call(argument)
    times = []
    for _ in range(runs):
        begin = time.process_time()
        for argument in arguments:
            call(argument)
        times.append((time.process_time() - begin) / len(arguments) * 1e6)
    return statistics.median(times)


def messages_page(*, quick: bool = False) -> tuple[Page, bool]:
    """Measures the calls on messages that were not learned.

    Parameters
    ----------
    quick : bool
        Fewer runs.

    Returns
    -------
    page : Page
    right : bool
        Whether one message at a time has the label that it has among all.
    """
    (sms,) = (one for one in SETS if one.name == "SMS")
    fold = next(iter(sms.folds()))
    messages = fold.test[:MESSAGES]
    rows, verdicts, record, right = [], [], {}, True
    for name, ridge in (("TextNB", True), ("TextNB, ridge=False", False)):
        model = TextNB(ridge=ridge).fit(fold.train, fold.y)
        alone = [model.predict([message])[0] for message in messages]
        right &= alone == model.predict(messages).tolist()
        for call, bar in BARS.items():
            given = messages if call == "explain_one" else [[message] for message in messages]
            took = _microseconds(getattr(model, call), given, 3 if quick else 25)
            verdict = "met" if took <= bar else "MISSED"
            verdicts.append(f"- {verdict}: {name}, {call}: {took:.1f} µs (≤ {bar:g})")
            rows.append([name, call, f"{took:.1f}"])
            record[f"{name}, {call}"] = took
    verdicts.append(f"- {'met' if right else 'MISSED'}: labels are those of all messages at once")
    mean = sum(map(len, messages)) / len(messages)
    title = f"{len(messages)} SMS of {mean:.0f} characters on average, one at a time; CPU time"
    tables = [(title, ["model", "call", "µs"], rows)]
    return Page("text-messages", "Single messages", verdicts, tables, record), right
