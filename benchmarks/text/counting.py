"""Counting of words and n-grams, beside scikit-learn's CountVectorizer and equal to it."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.feature_extraction.text import CountVectorizer as Peer

import tallybayes
from benchmarks.bayes.page import Page
from benchmarks.memory import PeakMeter, resident
from benchmarks.text.corpora import chinese_titles, generated, newsgroups, sms
from tallybayes.text import CountVectorizer
from tallybayes.tokens import MARKS

__all__ = ["counting_page", "medians"]

WORDS: dict[str, Any] = {}
PAIRS = {"ngram_range": (1, 2)}
SPEED = [  # name, options, bar
    ("words", WORDS, 12.0),
    ("words and pairs", PAIRS, 8.0),
    ("words, marks and pairs", {"token_pattern": MARKS, "ngram_range": (1, 2)}, 8.0),
]
HEAD = [
    *("terms", "ours from", "s", "CPU s", "scikit-learn s", "CPU s"),
    *("ratio", "CPU ratio", "MB a CPU second"),
]
EQUAL: list[dict[str, Any]] = [
    {},
    {"ngram_range": (1, 2)},
    {"token_pattern": MARKS, "ngram_range": (2, 3)},
    {"analyzer": "char", "ngram_range": (1, 3)},
    {"analyzer": "char_wb", "ngram_range": (2, 4)},
    {"lowercase": False, "strip_accents": "unicode"},
    {"strip_accents": "ascii", "stop_words": ["the", "and", "you"]},
    {"min_df": 3, "max_df": 0.5, "max_features": 5000, "binary": True},
]
HASHED = 2**20
BAR_HASHED = 250.0  # MB a second of one thread, from an Arrow column
MEMORY_LIMIT = 500e6


def _times(call: Callable[[], Any]) -> tuple[float, float]:
    gc.collect()
    wall, cpu = time.perf_counter(), time.process_time()
    call()
    return time.perf_counter() - wall, time.process_time() - cpu


def medians(calls: dict[str, Callable[[], Any]], runs: int) -> dict[str, tuple[float, float]]:
    """Median seconds and CPU seconds of calls that are made in turn."""
    seen: dict[str, list[tuple[float, float]]] = {name: [] for name in calls}
    for _ in range(runs):
        for name, call in calls.items():
            seen[name].append(_times(call))
    return {
        name: (statistics.median(w for w, _ in t), statistics.median(c for _, c in t))
        for name, t in seen.items()
    }


def _same(options: dict[str, Any], documents: list[str]) -> bool:
    """Whether vocabulary and matrix are scikit-learn's, on one thread and on three."""
    theirs = Peer(**options)
    y = theirs.fit_transform(documents)
    for threads in (1, 3):
        tallybayes.set_num_threads(threads)
        ours = CountVectorizer(**options)
        x = ours.fit_transform(documents)
        if (x != y).nnz or x.dtype != y.dtype or ours.vocabulary_ != theirs.vocabulary_:
            return False
        if (ours.transform(documents[:500]) != y[:500]).nnz:
            return False
    return True


def _equal(x: Any, y: Any) -> bool:
    return x.dtype == y.dtype and x.shape == y.shape and (x != y).nnz == 0


def _speed(posts: list[str], runs: int) -> tuple[list[list[str]], list[str], dict[str, Any]]:
    column = pa.array(posts)
    megabytes = sum(len(p.encode()) for p in posts) / 1e6
    rows, verdicts, record = [], [], {}
    for name, options, bar in SPEED:
        calls: dict[str, Callable[[], Any]] = {
            "scikit-learn": lambda o=options: Peer(**o).fit_transform(posts)
        }
        for threads in (1, 2):
            for source, documents in (("list", posts), ("Arrow", column)):

                def ours(o: Any = options, d: Any = documents, t: int = threads) -> Any:
                    tallybayes.set_num_threads(t)
                    return CountVectorizer(**o).fit_transform(d)

                calls[f"{source}, {threads} thread{'s' * (threads > 1)}"] = ours
        y = calls["scikit-learn"]()
        for call in calls.values():
            if not _equal(call(), y):
                raise SystemExit(f"{name}: the matrix is not scikit-learn's")
        times = medians(calls, runs)
        wall, cpu = times.pop("scikit-learn")
        record[name] = {"scikit-learn": [wall, cpu], **times}
        clock = min(wall / w for w, _ in times.values())
        thread = min(cpu / c for source, (_, c) in times.items() if "1 thread" in source)
        verdicts.append(
            f"- {'met' if min(clock, thread) >= bar else 'MISSED'}: {name}, at least {bar:g} times "
            f"scikit-learn's speed: {thread:.1f} by CPU time on one thread, as scikit-learn runs; "
            f"{clock:.1f} by the clock in every row"
        )
        for source, (w, c) in times.items():
            rows.append(
                [
                    *(name, source, f"{w:.3f}", f"{c:.3f}", f"{wall:.2f}", f"{cpu:.2f}"),
                    *(f"{wall / w:.1f}", f"{cpu / c:.1f}", f"{megabytes / c:.0f}"),
                ]
            )
    return rows, verdicts, record


def _hashing(posts: list[str], runs: int) -> tuple[list[list[str]], str, dict[str, float]]:
    tallybayes.set_num_threads(1)
    column = pa.array(posts)
    megabytes = sum(len(p.encode()) for p in posts) / 1e6
    calls = {
        name: lambda o=options: CountVectorizer(n_features=HASHED, **o).transform(column)
        for name, options, _ in SPEED
    }
    times = medians(calls, 3 * runs)
    speed = {name: megabytes / cpu for name, (_, cpu) in times.items()}
    first = speed["words"]
    verdict = (
        f"- {'met' if first >= BAR_HASHED else 'MISSED'}: words hashed from an Arrow column at "
        f"{BAR_HASHED:g} MB a second of one thread's CPU time: {first:.0f}"
    )
    return [[name, f"{mb:.0f}"] for name, mb in speed.items()], verdict, speed


def _memory(megabytes: int) -> tuple[str, dict[str, float]]:
    """Peak memory above that before, of hashing generated text in batches."""
    tallybayes.set_num_threads(2)
    vectorizer = CountVectorizer(n_features=HASHED, ngram_range=(1, 2))
    totals = np.zeros(HASHED)
    meter, before, peak = PeakMeter(), resident(), 0
    for batch in generated(megabytes):
        meter.start()
        here = resident()
        x = vectorizer.transform(batch)
        totals += np.asarray(x.sum(axis=0)).ravel()
        peak = max(peak, here - before + (meter.stop() or 0))
    verdict = (
        f"- {'met' if peak <= MEMORY_LIMIT else 'MISSED'}: {megabytes} MB of generated text in "
        f"batches, words and pairs hashed, within {MEMORY_LIMIT / 1e6:.0f} MB: {peak / 1e6:.0f} MB"
    )
    return verdict, {"megabytes": megabytes, "peak": peak, "tokens": float(totals.sum())}


def counting_page(*, quick: bool = False) -> tuple[Page, bool]:
    """Measures and compares.

    Parameters
    ----------
    quick : bool
        Fewer documents and runs.

    Returns
    -------
    page : Page
    right : bool
        Whether every matrix was scikit-learn's.
    """
    corpora = {"20 Newsgroups": newsgroups(), "SMS": sms(), "Chinese titles": chinese_titles()}
    posts = corpora["20 Newsgroups"]
    runs = 1 if quick else 2
    CountVectorizer(strip_accents="unicode").fit(posts[:10])  # the tables are made once
    rows, verdicts, record = _speed(posts[: 1000 if quick else None], runs)
    hashed, verdict, speeds = _hashing(posts, runs)
    memory, used = _memory(100 if quick else 1000)
    equal, right = [], True
    for name, documents in corpora.items():
        for options in EQUAL:
            same = _same(options, documents[: 200 if quick else 1000])
            equal.append([name, repr(options), "equal" if same else "DIFFERENT"])
            right &= same
    verdicts += [verdict, memory]
    verdicts.append(f"- {'met' if right else 'MISSED'}: every matrix and vocabulary is equal")
    tables = [
        (
            "20 Newsgroups bydate, training posts: fit_transform, medians of runs in turn",
            HEAD,
            rows,
        ),
        (f"Hashed into {HASHED} columns, one thread, Arrow", ["terms", "MB a CPU second"], hashed),
        ("Beside scikit-learn, 1 and 3 threads", ["corpus", "options", "result"], equal),
    ]
    notes = {"speed": record, "hashing": speeds, "memory": used, "equal": equal}
    return Page("text-counting", "Counting text", verdicts, tables, notes), right
