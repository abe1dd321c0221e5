"""Clients that ask as fast as they are answered, and servers in processes of their own."""

from __future__ import annotations

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

__all__ = ["Load", "empty_handler", "free_port", "loaded", "memory", "process", "request"]

EMPTY = """
import json, sys
import uvicorn
from fastapi import FastAPI, Request, Response

answer, app = json.loads(sys.argv[2]), FastAPI()

@app.post("/v1/predict")
async def empty(request: Request):
    json.loads(await request.body())
    return Response(json.dumps(answer).encode(), media_type="application/json")

@app.get("/healthz")
async def health():
    return {}

uvicorn.run(app, port=int(sys.argv[1]), http="h11", access_log=False, log_level="warning")
"""


@dataclass
class Load:
    """What a load has found: answers a second, latencies in ms, and how often each status came."""

    rate: float
    p50: float
    p99: float
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


def empty_handler(port: int, answer: Any) -> tuple[str, ...]:
    """What starts the empty handler."""
    return ("-c", EMPTY, str(port), json.dumps(answer))


def memory(pid: int) -> float:
    """Resident memory, in MB."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def loaded(port: int, sent: bytes, *, connections: int, seconds: float) -> Load:
    """Asks over some connections, each of which sends when it has its answer."""
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
    p50, p99 = np.quantile(times, [0.5, 0.99]) * 1e3
    answered = statuses.total() - statuses[0]
    return Load(answered / (time.perf_counter() - begin), p50, p99, dict(sorted(statuses.items())))


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
