"""``python -m benchmarks serve``: rate, latency, memory, overload and refreshing; and mail."""

from __future__ import annotations

import argparse
import statistics
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from benchmarks.bayes.page import Page
from benchmarks.machine import machine_record
from benchmarks.pages import RESULTS, recorded_command, say
from benchmarks.serve.load import (
    EMPTY,
    RIVER,
    Load,
    ask,
    free_port,
    handler,
    loaded,
    memory,
    process,
    request,
)
from benchmarks.serve.mail import mail_page
from tallybayes import NaiveBayes, store
from tallybayes.serve import SCOPES, Tokens

__all__ = ["main"]

ROUNDS, REQUESTS = 15, 1_000_000
CAPACITY = 64  # connections that the service takes; twice as many ask
MAX_GROWTH = 20.0  # MB of memory over all requests
HEAD = ["", "answers a second", "p50 ms", "p99 ms", "processor µs", "statuses"]


class Verdict(NamedTuple):
    """A number, the least and the largest of its rounds, and whether it keeps to its bar."""

    name: str
    value: float
    least: float
    largest: float
    bar: str
    holds: bool


def verdict(name: str, values: Sequence[float], bar: str) -> Verdict:
    """The median of some rounds beside a bar such as "≥ 0.7"."""
    value, bound = statistics.median(values), float(bar[1:])
    holds = value >= bound if bar[0] == "≥" else value <= bound
    return Verdict(name, value, min(values), max(values), bar, holds)


def table(n: int) -> tuple[pd.DataFrame, np.ndarray]:
    """14 columns of 20 levels and 2 classes."""
    rng = np.random.default_rng(0)
    y = rng.choice(["no", "yes"], n)
    levels = np.array([f"level {i}" for i in range(20)])
    shift = np.where(y == "yes", 3, 0)[:, None]
    codes = (rng.integers(0, 20, (n, 14)) + shift) % 20
    return pd.DataFrame(levels[codes], columns=[f"column {i}" for i in range(14)]), y


class Bench:
    """A service that runs, its peers, and what was found."""

    def __init__(self, rounds: int, seconds: float, connections: int) -> None:
        self.rounds = rounds
        self.how: dict[str, Any] = {"connections": connections, "seconds": seconds}
        frame, self.y = table(5_000)
        self.rows = frame.to_dict("records")
        self.found: dict[str, list[Load]] = {}
        self.verdicts: list[Verdict] = []

    @contextmanager
    def serving(self) -> Iterator[None]:
        """The service, over a store with the rows of the table."""
        with tempfile.TemporaryDirectory() as folder:
            url = str(Path(folder, "mail.db"))
            with store.open(url, create=NaiveBayes()) as held:
                ids = [str(i) for i in range(len(self.rows))]
                held.learn(self.rows, self.y.tolist(), ids=ids)
                self.model = held.model()
            self.tokens = Tokens(f"{url}.tokens")
            self.token = self.tokens.make("load", SCOPES, rate=1e6)
            self.port = free_port()
            serve = ("-m", "tallybayes", "serve", url, "--listen", f"127.0.0.1:{self.port}")
            with process(self.port, *serve, "--connections", str(CAPACITY)) as self.pid:
                yield

    def load(self, name: str, port: int, pid: int, sent: bytes, **how: Any) -> Load:
        """One load, which is kept under its name."""
        load = loaded(port, pid, sent, **{**self.how, **how})
        self.found.setdefault(name, []).append(load)
        say(f"{name}: {load}")
        return load

    def ours(self, name: str, sent: bytes, **how: Any) -> Load:
        """One load on the service."""
        return self.load(name, self.port, self.pid, sent, **how)

    def beside_empty(self, n_rows: int) -> None:
        """Rate and latency beside an empty handler, in turns."""
        sent = {"rows": self.rows[:n_rows]}
        answer = ask(self.port, "/v1/predict", sent, self.token)
        found = [list(p["probabilities"].values()) for p in answer["predictions"]]
        expected = self.model.predict_proba(self.rows[:n_rows])
        np.testing.assert_allclose(found, expected, rtol=1e-9)
        bytes_sent, port = request("/v1/predict", sent, self.token), free_port()
        about = f"{n_rows} row{'s' if n_rows > 1 else ''}"
        pairs = []
        with process(port, *handler(port, EMPTY, answer)) as pid:
            for _ in range(self.rounds + 1):
                base = self.load(f"empty handler, {about}", port, pid, bytes_sent)
                pairs.append((self.ours(f"service, {about}", bytes_sent), base))
        del pairs[0]  # the first round warms up
        for what, bar, ratios in (
            ("rate", "≥ 0.7", [ours.rate / base.rate for ours, base in pairs]),
            ("processor time", "≤ 1.43", [ours.cpu / base.cpu for ours, base in pairs]),
            ("p99", "≤ 2", [ours.p99 / base.p99 for ours, base in pairs]),
        ):
            self.verdicts.append(verdict(f"{what} beside the empty handler, {about}", ratios, bar))

    def beside_river(self) -> None:
        """One row predicted, and one learned, beside river in a handler of FastAPI."""
        port = free_port()
        with process(port, *handler(port, RIVER)) as pid:
            ask(port, "/v1/learn", {"rows": self.rows, "labels": self.y.tolist()})
            one = {"rows": self.rows[:1]}
            asked = request("/v1/predict", one, self.token)
            taught = request("/v1/learn", {**one, "labels": ["no"], "ids": ["known"]}, self.token)
            ask(self.port, "/v1/learn", {**one, "labels": ["no"], "ids": ["known"]}, self.token)
            for _ in range(min(3, self.rounds)):
                self.load("river, 1 row", port, pid, asked)
                self.ours("service, 1 row, beside river", asked)
                self.load("river, 1 row learned in memory", port, pid, taught)
                self.ours("service, 1 row that was learned before", taught)

    def overloaded(self) -> None:
        """Twice as many connections as are taken, and twice the rate of a token."""
        one = {"rows": self.rows[:1]}
        sent = request("/v1/predict", one, self.token)
        twice = self.ours("twice the connections that are taken", sent, connections=2 * CAPACITY)
        rate = self.found["service, 1 row"][-1].rate / 2.0
        slow = request("/v1/predict", one, self.tokens.make("slow", ["predict"], rate=rate))
        limited = self.ours("twice the rate of the token", slow, seconds=8.0)
        others = sum(
            n
            for load in (twice, limited)
            for status, n in load.statuses.items()
            if status not in (200, 429, 503)
        )
        self.verdicts.append(
            verdict("answers but 200, 429 and 503 at twice the capacity", [others], "≤ 0")
        )

    def refreshing(self) -> None:
        """Latency while rows are learned and newer versions of the model are read."""
        sent = request("/v1/predict", {"rows": self.rows[:1]}, self.token)
        ratios = []
        for i in range(self.rounds):
            quiet = self.ours("service, 1 row, quiet", sent)
            stop = threading.Event()

            def learn(first: int, stop: threading.Event = stop) -> None:
                n = first
                while not stop.is_set():
                    ids = [f"new {n + j}" for j in range(10)]
                    body = {"rows": self.rows[:10], "labels": self.y[:10].tolist(), "ids": ids}
                    ask(self.port, "/v1/learn", body, self.token)
                    n += 10
                    stop.wait(0.3)

            learner = threading.Thread(target=learn, args=(1_000_000 * i,))
            learner.start()
            busy = self.ours("service, 1 row, while it learns", sent)
            stop.set()
            learner.join()
            ratios.append(busy.p99 / quiet.p99)
        self.verdicts.append(verdict("p99 while refreshing beside quiet", ratios, "≤ 1.5"))

    def remembered(self, requests: int) -> int:
        """Memory over many requests: how many there were."""
        sent = request("/v1/predict", {"rows": self.rows[:1]}, self.token)
        asked, before, seen = 0, memory(self.pid), [memory(self.pid)]
        while asked < requests:
            load = loaded(self.port, self.pid, sent, connections=4, seconds=10.0)
            asked += sum(load.statuses.values())
            seen.append(memory(self.pid))
            say(f"{asked:,} requests, {seen[-1] - before:+.2f} MB")
        self.verdicts.append(
            verdict(
                f"MB that memory grew over {asked:,} requests",
                [seen[-1] - before],
                f"≤ {MAX_GROWTH:g}",
            )
        )
        return asked

    def page(self, requests: int, *, whole: bool = True) -> Page:
        """Everything, or refreshing alone, as a page."""
        with self.serving():
            if whole:
                self.beside_empty(1)
                self.beside_empty(100)
                self.beside_river()
            self.refreshing()
            if whole:
                self.overloaded()
                self.remembered(requests)
        lines = [
            f"- {'met' if v.holds else 'missed'}: {v.name} {v.value:.2f} ({v.bar}"
            + (f"; rounds from {v.least:.2f} to {v.largest:.2f})" if v.least < v.largest else ")")
            for v in self.verdicts
        ]
        cells = []
        for name, loads in self.found.items():
            rounds = [np.array([load.rate, load.p50, load.p99, load.cpu]) for load in loads]
            rate, p50, p99, cpu = np.median(rounds, axis=0)
            statuses = sorted({status for load in loads for status in load.statuses})
            cells.append(
                [name, f"{rate:,.0f}", f"{p50:.2f}", f"{p99:.2f}", f"{cpu:,.0f}", f"{statuses}"]
            )
        about = (
            f"Medians of up to {self.rounds} rounds of {self.how['seconds']:g} s, in which both "
            f"sides take turns, over {self.how['connections']} connections that ask as fast as "
            "they are answered. Processor time is that of the server for an answer, and depends "
            "least on what else the machine does. River learns in memory alone; the service "
            "answers a row under an id that it has learned before, and writes the audit log"
        )
        record = {name: [asdict(load) for load in loads] for name, loads in self.found.items()}
        return Page("serve", "A service under load", lines, [(about, HEAD, cells)], record)


def main(argv: list[str]) -> int:
    """Runs the loads and writes a page; 1 if an answer was wrong or a bar was missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks serve", description=__doc__)
    parser.add_argument("what", nargs="?", choices=["load", "refresh", "mail"], default="load")
    parser.add_argument("--seconds", type=float, default=1.0, help="of each load")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="of both sides in turn")
    parser.add_argument("--connections", type=int, default=4)
    parser.add_argument(
        "--requests", type=int, default=REQUESTS, help="over which memory is watched"
    )
    parser.add_argument("--output", type=Path, metavar="FOLDER")
    given = parser.parse_args(argv)
    if given.what == "load" and find_spec("river") is None:
        parser.error("the peer is river: pip install --group bench")
    machine = machine_record(["fastapi", "uvicorn", "h11", "river"])
    command = recorded_command("serve", argv)
    if given.what == "mail":
        mail_page().publish(given.output or RESULTS, command, machine, "")
        return 0
    bench = Bench(given.rounds, given.seconds, given.connections)
    page = bench.page(given.requests, whole=given.what == "load")
    partly = "" if given.rounds >= ROUNDS else f"{given.rounds} of {ROUNDS} rounds"
    folder = given.output or (RESULTS if given.what == "load" and not partly else None)
    page.publish(folder, command, machine, partly)
    return 0 if all(v.holds for v in bench.verdicts) else 1
