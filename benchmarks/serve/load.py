"""Clients that ask as fast as they are answered, and servers in processes of their own."""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

__all__ = [
    "EMPTY",
    "RIVER",
    "Load",
    "ask",
    "free_port",
    "handler",
    "loaded",
    "memory",
    "process",
    "request",
]

EMPTY = """
answer = json.loads(sys.argv[2])

def predict(document):
    return answer
"""
"""A handler that parses what comes and writes the same JSON as the service."""

RIVER = """
from river import naive_bayes, preprocessing

model = preprocessing.OneHotEncoder() | naive_bayes.MultinomialNB()

def predict(document):
    found = [model.predict_proba_one(row) for row in document["rows"]]
    return {"predictions": [{"label": max(p, key=p.get), "probabilities": p} for p in found]}

def learn(document):
    for row, label in zip(document["rows"], document["labels"]):
        model.learn_one(row, label)
    return {"new": len(document["rows"])}
"""
"""A model of river, which is in memory alone."""

HANDLERS = """
import json, sys
import uvicorn
from fastapi import FastAPI, Request, Response

app = FastAPI()
{functions}

@app.post("/v1/predict")
async def ask(request: Request):
    answer = predict(json.loads(await request.body()))
    return Response(json.dumps(answer).encode(), media_type="application/json")

@app.post("/v1/learn")
async def teach(request: Request):
    answer = learn(json.loads(await request.body()))
    return Response(json.dumps(answer).encode(), media_type="application/json")

uvicorn.run(app, port=int(sys.argv[1]), http="h11", access_log=False, log_level="warning")
"""


@dataclass
class Load:
    """What a load has found: answers a second, latencies in ms, processor time of the server for
    an answer in µs, and how often each status came."""

    rate: float
    p50: float
    p99: float
    cpu: float
    statuses: dict[int, int]


def request(path: str, document: Any, token: str) -> bytes:
    """A request as it is sent."""
    body = json.dumps(document).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    head += f"Authorization: Bearer {token}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def ask(port: int, path: str, document: Any = None, token: str = "") -> Any:
    """One answer as JSON: of a POST, or of a GET without a document."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    method, body = ("GET", None) if document is None else ("POST", json.dumps(document))
    connection.request(method, path, body, headers)
    answer = connection.getresponse()
    found = json.loads(answer.read())
    assert answer.status == 200, found
    connection.close()
    return found


@contextmanager
def process(port: int, *words: str) -> Iterator[int]:
    """A server, until the end of the block: the number of its process."""
    running = subprocess.Popen([sys.executable, *words], env=os.environ)
    try:
        for _ in range(1200):
            if running.poll() is not None:
                raise RuntimeError("the server ended")
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                time.sleep(0.05)
        yield running.pid
    finally:
        running.terminate()
        running.wait(60)


def handler(port: int, functions: str, answer: Any = None) -> tuple[str, ...]:
    """What starts a handler of FastAPI; `answer` is that of an empty one."""
    return ("-c", HANDLERS.replace("{functions}", functions), str(port), json.dumps(answer))


def memory(pid: int) -> float:
    """Resident memory, in MB."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def _processor_seconds(pid: int) -> float:
    """Of a process, since it began."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def loaded(port: int, pid: int, sent: bytes, *, connections: int, seconds: float) -> Load:
    """Asks over some connections, each of which sends when it has its answer."""
    spent = _processor_seconds(pid)
    end, lock = time.perf_counter() + seconds, threading.Lock()
    statuses: Counter[int] = Counter()
    times: list[float] = []

    def ask() -> None:
        own, found = [], Counter[int]()
        sock = socket.create_connection(("127.0.0.1", port), timeout=60)
        while (begin := time.perf_counter()) < end:
            try:
                sock.sendall(sent)
                status, closes = _answer(sock)
            except OSError:
                status, closes = 0, True
            own.append(time.perf_counter() - begin)
            found[status] += 1
            if closes:
                sock.close()
                sock = socket.create_connection(("127.0.0.1", port), timeout=60)
        sock.close()
        with lock:
            times.extend(own)
            statuses.update(found)

    threads = [threading.Thread(target=ask) for _ in range(connections)]
    begin = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    rate = (statuses.total() - statuses[0]) / (time.perf_counter() - begin)
    cpu = (_processor_seconds(pid) - spent) / max(1, statuses.total() - statuses[0]) * 1e6
    p50, p99 = np.quantile(times, [0.5, 0.99]) * 1e3
    return Load(rate, p50, p99, cpu, dict(sorted(statuses.items())))


def _answer(sock: socket.socket) -> tuple[int, bool]:
    """The status of an answer, and whether the server closes the connection."""
    found = b""
    while b"\r\n\r\n" not in found:
        chunk = sock.recv(65_536)
        if not chunk:
            raise ConnectionResetError
        found += chunk
    head, _, body = found.partition(b"\r\n\r\n")
    lower = head.lower()
    length = int(lower.partition(b"content-length:")[2].split(b"\r\n")[0])
    while len(body) < length:
        body += sock.recv(65_536)
    return int(head[9:12]), b"connection: close" in lower
