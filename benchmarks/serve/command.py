"""``python -m benchmarks serve``: rate, latency, memory, overload and refreshing."""

from __future__ import annotations

import argparse
import http.client
import json
import statistics
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.serve.load import (
    Load,
    empty_handler,
    free_port,
    loaded,
    memory,
    process,
    request,
)
from tallybayes import NaiveBayes, store
from tallybayes.serve import SCOPES, Tokens

__all__ = ["main"]


def table(n: int) -> tuple[pd.DataFrame, np.ndarray]:
    """14 columns of 20 levels and 2 classes."""
    rng = np.random.default_rng(0)
    y = rng.choice(["no", "yes"], n)
    levels = np.array([f"level {i}" for i in range(20)])
    shift = np.where(y == "yes", 3, 0)[:, None]
    codes = (rng.integers(0, 20, (n, 14)) + shift) % 20
    return pd.DataFrame(levels[codes], columns=[f"column {i}" for i in range(14)]), y


def ask(port: int, path: str, document: Any, token: str) -> Any:
    """One answer as JSON."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    connection.request("POST", path, json.dumps(document), headers)
    answer = connection.getresponse()
    body = json.loads(answer.read())
    assert answer.status == 200, body
    connection.close()
    return body


def shown(name: str, load: Load) -> str:
    """A line of the table."""
    return f"| {name} | {load.rate:,.0f} | {load.p50:.2f} | {load.p99:.2f} | {load.statuses} |"


def main(argv: list[str]) -> int:
    """Runs the loads and prints a table; 1 if an answer was wrong or a bar was missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks serve", description=__doc__)
    parser.add_argument("--seconds", type=float, default=4.0, help="of each load")
    parser.add_argument("--rounds", type=int, default=3, help="of both sides in turn")
    parser.add_argument("--connections", type=int, default=4)
    parser.add_argument("--requests", type=int, default=20_000, help="over which memory is watched")
    given = parser.parse_args(argv)
    frame, y = table(5_000)
    rows = frame.to_dict("records")
    verdicts: dict[str, tuple[float, bool]] = {}
    with tempfile.TemporaryDirectory() as folder:
        url = str(Path(folder, "mail.db"))
        with store.open(url, create=NaiveBayes()) as held:
            held.learn(rows, y.tolist(), ids=[str(i) for i in range(len(rows))])
            model = held.model()
        token = Tokens(f"{url}.tokens").make("load", SCOPES, rate=1e6)
        ours, theirs = free_port(), free_port()
        serve = ("-m", "tallybayes", "serve", url, "--listen", f"127.0.0.1:{ours}")
        print("| | requests a second | p50 ms | p99 ms | statuses |\n|-|-|-|-|-|")
        with process(ours, *serve, "--connections", "64") as pid:
            how: dict[str, Any] = {"connections": given.connections, "seconds": given.seconds}
            for n_rows in (1, 100):
                sent = {"rows": rows[:n_rows]}
                answer = ask(ours, "/v1/predict", sent, token)
                found = [list(p["probabilities"].values()) for p in answer["predictions"]]
                np.testing.assert_allclose(found, model.predict_proba(rows[:n_rows]), rtol=1e-9)
                bytes_sent = request("/v1/predict", sent, token)
                rates, tails = [], []
                with process(theirs, *empty_handler(theirs, answer)):
                    for _ in range(given.rounds):
                        base = loaded(theirs, bytes_sent, **how)
                        load = loaded(ours, bytes_sent, **how)
                        rates.append(load.rate / base.rate)
                        tails.append(load.p99 / base.p99)
                        print(shown(f"empty handler, {n_rows} rows", base))
                        print(shown(f"tallybayes serve, {n_rows} rows", load), flush=True)
                rate, tail = statistics.median(rates), statistics.median(tails)
                verdicts[f"rate beside the empty handler, {n_rows} rows"] = rate, rate >= 0.7
                verdicts[f"p99 beside the empty handler, {n_rows} rows"] = tail, tail <= 2.0
            sent_one = request("/v1/predict", {"rows": rows[:1]}, token)
            before, asked = memory(pid), 0
            while asked < given.requests:
                load = loaded(ours, sent_one, **how)
                asked += sum(load.statuses.values())
            grown = memory(pid) - before
            verdicts[f"MB that memory grew over {asked:,} requests"] = grown, grown <= 20.0
            over = loaded(ours, sent_one, connections=128, seconds=given.seconds)
            print(shown("128 connections where 64 are allowed", over))
            fine = set(over.statuses) <= {200, 429, 503}
            verdicts["statuses but 200, 429 and 503 at overload"] = float(not fine), fine
            quiet, busy = [], []
            for i in range(given.rounds):
                quiet.append(loaded(ours, sent_one, **how).p99)
                stop = threading.Event()

                def learn(first: int, stop: threading.Event = stop) -> None:
                    n = first
                    while not stop.is_set():
                        ids = [f"new {n + j}" for j in range(10)]
                        body = {"rows": rows[:10], "labels": y[:10].tolist(), "ids": ids}
                        ask(ours, "/v1/learn", body, token)
                        n += 10
                        time.sleep(0.3)

                learner = threading.Thread(target=learn, args=(1_000_000 * i,))
                learner.start()
                load = loaded(ours, sent_one, **how)
                stop.set()
                learner.join()
                busy.append(load.p99)
                print(shown("while it learns and refreshes", load), flush=True)
            slower = statistics.median(np.divide(busy, quiet))
            verdicts["p99 while refreshing, beside quiet"] = slower, slower <= 1.5
    print("\n| | found | holds |\n|-|-|-|")
    for name, (value, holds) in verdicts.items():
        print(f"| {name} | {value:.2f} | {'yes' if holds else 'no'} |")
    return 0 if all(holds for _, holds in verdicts.values()) else 1
