"""The process that listens: one worker, or several that share a socket and are replaced when they
end, each with uvicorn.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
import ssl
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from multiprocessing.connection import wait
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from tallybayes.errors import OptionError
from tallybayes.serve.served import ModelSource, OfFile, OfStore
from tallybayes.serve.service import Service, Settings

__all__ = ["configured", "is_store", "listening", "serve", "source_of"]

SQLITE = b"SQLite format 3\0"  # what a file of SQLite begins with
MIN_LIFE = 1.0  # seconds that a worker lives at least, or it is not replaced


def source_of(model: str, name: str | None = None) -> Callable[[], ModelSource]:
    """What opens a model or a store, in each worker.

    Parameters
    ----------
    model : str
        A model file, for predictions alone; or a store: a file of SQLite or ``postgresql://…``.
    name : str, optional
        By which clients call it; by default the name of the file or database without its ending.

    Returns
    -------
    callable
        Opens it.

    Raises
    ------
    OptionError
        If an address has a password, which other users of the machine would see in the list of
        processes.
    OSError
        If there is no such file.
    """
    if model.startswith(("postgresql://", "postgres://")):
        parts = urlsplit(model)
        if parts.password is not None or "password" in dict(parse_qsl(parts.query)):
            raise OptionError(
                "an address on the command line has no password, because every user of the "
                "machine can read it in the list of processes: put it into ~/.pgpass, or into the "
                "environment variable PGPASSWORD"
            )
        return partial(OfStore, model, name or parts.path.strip("/") or "model")
    name = name or os.path.basename(model).partition(".")[0] or "model"
    return partial(OfStore if is_store(model) else OfFile, os.path.abspath(model), name)


def is_store(model: str) -> bool:
    """Whether a file holds a database of SQLite.

    Parameters
    ----------
    model : str
        A file.

    Returns
    -------
    bool
        False for a model file.

    Raises
    ------
    OSError
        If it cannot be read.
    """
    with open(model, "rb") as file:
        return file.read(len(SQLITE)) == SQLITE


def listening(address: str) -> socket.socket:
    """Bind an address.

    Parameters
    ----------
    address : str
        ``HOST:PORT``, ``[IPv6]:PORT``, or ``unix:PATH``; port 0 takes a free one.

    Returns
    -------
    socket.socket
        Bound, so that all workers accept from it.

    Raises
    ------
    OptionError
        If it is no address.
    OSError
        If it is taken.
    """
    if address.startswith("unix:"):
        found = socket.socket(socket.AF_UNIX)
        found.bind(address.removeprefix("unix:"))
        return found
    host, colon, port = address.rpartition(":")
    if not colon or not host or not port.isdecimal() or int(port) > 65_535:
        raise OptionError(
            f"an address is HOST:PORT, such as 127.0.0.1:8000, or unix:PATH; got {address!r}"
        )
    host = host.removeprefix("[").removesuffix("]")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sends at once, and not 40 ms later, where a socket names TCP
    found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((host, int(port)))
    except OSError as error:
        found.close()
        error.filename = address
        raise
    found.set_inheritable(True)
    return found


class _Protocol(H11Protocol):
    """HTTP in which the headers of a request have to arrive in time, too.

    uvicorn waits for them without end, so that a few slow clients would hold all connections.
    """

    _patience: Any = None

    def _is_between(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _watch(self) -> None:
        if not self._is_between():
            self._give_up_watching()
        elif self._patience is None:
            seconds = self.config.app_seconds  # type: ignore[attr-defined]
            self._patience = self.loop.call_later(seconds, self._too_slow)

    def _give_up_watching(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def _too_slow(self) -> None:
        self._patience = None
        if self._is_between() and not self.transport.is_closing():
            self.transport.close()

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._give_up_watching()
        super().connection_lost(exc)


def configured(service: Service, **tls: Any) -> uvicorn.Config:
    """How uvicorn runs a service.

    Parameters
    ----------
    service : Service
        What answers.
    **tls
        Certificate and key, as uvicorn calls them.

    Returns
    -------
    uvicorn.Config
        For a server.
    """
    limits = service.limits
    config = uvicorn.Config(
        service,
        http=_Protocol,
        ws="none",
        lifespan="on",
        access_log=False,
        log_level="error",
        server_header=False,
        proxy_headers=False,
        limit_concurrency=limits.connections,
        timeout_keep_alive=int(max(1.0, limits.seconds)),
        timeout_graceful_shutdown=int(max(1.0, limits.shutdown)),
        **tls,
    )
    config.app_seconds = limits.seconds  # type: ignore[attr-defined]
    return config


def _work(settings: Settings, sock: socket.socket, tls: dict[str, Any]) -> None:
    """A worker's process."""
    server = uvicorn.Server(configured(Service(settings), **tls))

    def follow() -> None:  # a parent that was killed does not leave its workers behind
        parent = multiprocessing.parent_process()
        if parent is not None:
            parent.join()
            server.should_exit = True

    threading.Thread(target=follow, daemon=True).start()
    server.run(sockets=[sock])


def serve(
    settings: Settings,
    sock: socket.socket,
    *,
    certificate: str | None = None,
    key: str | None = None,
    on_start: Callable[[], None] | None = None,
) -> None:
    """Serve until SIGTERM or SIGINT; requests that were accepted are finished.

    Parameters
    ----------
    settings : Settings
        How. With several workers each is a process of its own.
    sock : socket.socket
        As :func:`listening` binds it.
    certificate, key : str, optional
        Files in PEM, for TLS.
    on_start : callable, optional
        Called when the model was read.

    Raises
    ------
    ValueError, OSError
        If the model, the tokens or the certificate cannot be read.
    """
    tls: dict[str, Any] = {}
    if certificate is not None:
        tls = {"ssl_certfile": certificate, "ssl_keyfile": key}
        ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(certificate, key)
    if settings.workers == 1:
        service = Service(settings)
        if on_start is not None:
            on_start()
        with _ending(lambda *_: None):  # uvicorn sends the signal that ended it once more
            uvicorn.Server(configured(service, **tls)).run(sockets=[sock])
        return
    with tempfile.TemporaryDirectory(prefix="tallybayes-") as folder:
        counters = os.path.join(folder, "counters")
        with open(counters, "wb"):
            pass
        settings = replace(settings, counters=counters)
        Service(replace(settings, workers=1, counters=None)).close()  # refuses what would fail
        if on_start is not None:
            on_start()
        _supervise(settings, sock, tls)


def _supervise(settings: Settings, sock: socket.socket, tls: dict[str, Any]) -> None:
    """Keeps all workers running until a signal ends them."""
    spawn = multiprocessing.get_context("spawn")
    ends: list[int] = []
    receiver, sender = os.pipe()
    os.set_blocking(sender, False)

    def end(number: int, _: Any) -> None:
        ends.append(number)
        with suppress(OSError):
            os.write(sender, b".")

    def started(number: int) -> Any:
        own = replace(settings, worker=number)
        process = spawn.Process(target=_work, args=(own, sock, tls), name=f"worker-{number}")
        process.start()
        return process

    with _ending(end):
        workers = [started(number) for number in range(settings.workers)]
        try:
            while not ends:
                wait([receiver, *(worker.sentinel for worker in workers)])
                for number, worker in enumerate(workers):
                    if not ends and not worker.is_alive():
                        threading.Event().wait(MIN_LIFE)  # one that fails at once: no busy loop
                        workers[number] = started(number)
        finally:
            for worker in workers:
                worker.terminate()
            for worker in workers:
                worker.join(settings.limits.shutdown + 5.0)
                if worker.is_alive():
                    worker.kill()
                    worker.join()
            os.close(receiver)
            os.close(sender)


@contextmanager
def _ending(handler: Callable[..., None]) -> Iterator[None]:
    """Handles the signals that end the service; they are its usual end, and no error."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = (signal.SIGTERM, signal.SIGINT)
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)
