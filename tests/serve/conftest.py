"""Models, and services that answer over sockets on loopback while a test runs."""

from __future__ import annotations

import http.client
import io
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import uvicorn
from typer.testing import CliRunner

from tallybayes import CategoricalNB, GaussianNB, NaiveBayes, WeightedNaiveBayes, store
from tallybayes.cli.app import app
from tallybayes.serve import Limits, Service, Settings, Tokens, jobs, listening, source_of
from tallybayes.serve.server import configured
from tallybayes.text import TextNB

ALL = ("predict", "explain", "learn", "forget", "admin")
ARROW = "application/vnd.apache.arrow.stream"
LINES = "application/x-ndjson"
PATIENCE = 60.0  # seconds


def table(n: int = 300, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Numbers, levels, booleans and missing values."""
    rng = np.random.default_rng(seed)
    y = rng.choice(["no", "yes"], n, p=[0.6, 0.4])
    yes = y == "yes"
    frame = pd.DataFrame(
        {
            "age": np.round(rng.normal(35 + 8 * yes, 9), 1),
            "city": rng.choice(["Bern", "Oslo", "北京"], n),
            "member": rng.random(n) < 0.3 + 0.4 * yes,
        }
    )
    frame.loc[rng.random(n) < 0.2, "age"] = np.nan
    return frame, y


@cache
def fitted(kind: str) -> Any:
    """A model of each kind that a file can hold."""
    frame, y = table()
    numbers = frame[["age"]].fillna(40.0)
    if kind == "weighted":
        return WeightedNaiveBayes(parts=1).fit(frame, y)
    if kind == "calibrated":
        return NaiveBayes(calibrate="isotonic").fit(frame, y)
    if kind == "text":
        words = np.where(y == "yes", "good offer 奖", "meeting on monday")
        return TextNB().fit([f"{w} {c}" for w, c in zip(words, frame["city"], strict=True)], y)
    if kind == "arrays":
        return GaussianNB().fit(numbers, y)
    if kind == "codes":
        return CategoricalNB().fit(frame["member"].to_numpy()[:, None].astype(int), y == "yes")
    if kind == "whole labels":
        return NaiveBayes().fit(frame, np.where(y == "yes", 7, 3))
    if kind == "odd labels":
        return NaiveBayes().fit(frame, np.where(y == "yes", '100 % "北"', "%r\n"))
    return NaiveBayes().fit(frame, y)


def rows_of(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows as JSON has them."""
    return json.loads(frame.to_json(orient="records", double_precision=15))


def stream_of(frame: Any, **options: Any) -> bytes:
    """A frame, or a table, as an Arrow stream."""
    if isinstance(frame, pd.DataFrame):
        frame = pa.Table.from_pandas(frame, preserve_index=False)
    sink = io.BytesIO()
    how = pa.ipc.IpcWriteOptions(**options)
    with pa.ipc.new_stream(sink, frame.schema, options=how) as stream:
        stream.write_table(frame)
    return sink.getvalue()


@dataclass
class Answer:
    """What came back."""

    status: int
    body: bytes
    headers: dict[str, str]

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)

    @property
    def error(self) -> str:
        """The message of a refusal."""
        found: str = self.json["error"]
        return found


@dataclass
class Client:
    """A client of a service on loopback."""

    port: int
    token: str = ""
    service: Service | None = None
    tokens: Tokens | None = None
    extra: dict[str, str] = field(default_factory=dict)

    def ask(
        self, method: str, path: str, body: Any = None, *, token: str | None = None, **headers: str
    ) -> Answer:
        """One request on a connection of its own."""
        sent = {**self.extra, **{k.replace("_", "-"): v for k, v in headers.items()}}
        given = self.token if token is None else token
        if given:
            sent.setdefault("Authorization", f"Bearer {given}")
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
            sent.setdefault("Content-Type", "application/json")
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            connection.request(method, path, body, sent)
            got = connection.getresponse()
            return Answer(got.status, got.read(), {k.lower(): v for k, v in got.getheaders()})
        finally:
            connection.close()

    def get(self, path: str, **how: Any) -> Answer:
        """A GET."""
        return self.ask("GET", path, **how)

    def post(self, path: str, body: Any, **how: Any) -> Answer:
        """A POST."""
        return self.ask("POST", path, body, **how)

    def raw(self, *pieces: bytes, wait: float = 5.0) -> bytes:
        """Bytes as they are; what came back until the end of the connection."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=wait) as sock:
            for piece in pieces:
                sock.sendall(piece)
            found = b""
            try:
                while chunk := sock.recv(65_536):
                    found += chunk
            except (TimeoutError, ConnectionResetError):
                pass
            return found


def caught_up(client, version):
    """The model when it has a version; by the clock, because a machine may be slow."""
    end = time.monotonic() + PATIENCE
    while int((found := client.get("/v1/model").json)["version"]) < int(version):
        assert time.monotonic() < end, found
        time.sleep(0.02)
    return found


@contextmanager
def running(settings: Settings) -> Iterator[tuple[int, Service]]:
    """A service in a thread of this process: its port, and itself."""
    sock = listening("127.0.0.1:0")
    service = Service(settings)
    server = uvicorn.Server(configured(service))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]}, daemon=True)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive(), "the service ended"
            thread.join(0.01)
        yield sock.getsockname()[1], service
    finally:
        server.should_exit = True
        thread.join(20)
        sock.close()
        assert not thread.is_alive()


@pytest.fixture
def jobs_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports and weights are made in this process, which takes less time to begin."""
    monkeypatch.setattr(jobs.Jobs, "_asked", lambda _, job, given: (job(*given), None))


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Runs the command line in this process, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    return lambda *words: CliRunner().invoke(app, list(words))


@pytest.fixture(scope="session")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Starts services that run until the end of the block."""

    @contextmanager
    def start(
        kind: str | Any = "plain", *, scopes: Any = ALL, limits: Limits | None = None, **how: Any
    ) -> Iterator[Client]:
        folder = tmp_path_factory.mktemp("served")
        path = folder / "mail.tally"
        (fitted(kind) if isinstance(kind, str) else kind).save(path)
        tokens = Tokens(folder / "tokens.json")
        token = tokens.make("test", scopes)
        limits = limits or Limits(rate=1e6)
        settings = Settings(source_of(str(path)), str(tokens.path), limits=limits, **how)
        with running(settings) as (port, service):
            yield Client(port, token, service, tokens)

    return start


@pytest.fixture(scope="session")
def storing(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Starts services, over new stores or that of a URL, that run until the end of the block."""

    @contextmanager
    def start(
        model: Any = None,
        *,
        url: str | None = None,
        limits: Limits | None = None,
        ledger: Any = "rows",
        **how: Any,
    ) -> Iterator[Client]:
        folder = tmp_path_factory.mktemp("store")
        if url is None:
            url = str(folder / "mail.db")
            store.open(url, create=model or NaiveBayes(), ledger=ledger).close()
        tokens = Tokens(folder / "tokens.json")
        token = tokens.make("test", ALL)
        limits = limits or Limits(rate=1e6)
        how.setdefault("audit", str(folder / "audit"))
        settings = Settings(source_of(url), str(tokens.path), limits=limits, **how)
        with running(settings) as (port, service):
            yield Client(port, token, service, tokens)

    return start


@pytest.fixture(scope="module")
def client(serving: Any) -> Iterator[Client]:
    """Of a plain model, with a token of all scopes."""
    with serving() as found:
        yield found
