"""The service over HTTP: routes, who may ask them, limits, errors, metrics and the audit log.

A request goes through :meth:`Service._answered` from top to bottom: token, scope, rate, load, body,
the handler of its route. Everything that it may be refused for is there, in this order.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
import traceback
import warnings
from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from importlib.metadata import version
from importlib.resources import files
from typing import Any, TypeVar
from uuid import uuid4

from fastapi import FastAPI
from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from tallybayes.errors import TallyWarning, listed
from tallybayes.serve import inference
from tallybayes.serve.bodies import (
    ARROW,
    JSON,
    LINES,
    MEDIA_TYPES,
    Limits,
    Refused,
    Rows,
    arrow_body,
    as_json,
    parsed,
    read_rows,
)
from tallybayes.serve.counters import Counters
from tallybayes.serve.openapi import described, operation
from tallybayes.serve.served import ModelSource, Served
from tallybayes.serve.tokens import Token, Tokens
from tallybayes.threads import set_num_threads

__all__ = ["PUBLIC_SCOPES", "Service", "Settings"]

log = logging.getLogger("tallybayes.serve")
audit_log = logging.getLogger("tallybayes.audit")

PUBLIC_SCOPES = ("predict", "explain")  # that may be open to anybody
INLINE_BYTES = 1 << 14  # of a body that is predicted at once: a thread costs more than its rows
REFRESH_SECONDS = 0.2  # between two looks for a newer model
MAX_UNREAD_BYTES = 1 << 16  # of a refused body that is read after the answer; else we hang up
ANONYMOUS = 4095  # the number of all who come without a token, for their rate

NO_TOKEN = Token("", "", (), ANONYMOUS, 0)  # of a path that is open to anybody
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
}
"""Of every answer."""
SANDBOX = "sandbox allow-scripts; frame-ancestors 'none'"
"""Of a report, whose scripts see nothing of the page with the token."""

T = TypeVar("T")


@dataclass(frozen=True)
class Settings:
    """How a service runs; each worker makes one of its own by them.

    Parameters
    ----------
    source : callable () -> ModelSource
        Opens the model or the store.
    tokens : str or None
        The file of tokens; None if there are none.
    public : tuple of str
        Scopes that need no token, of "predict" and "explain".
    limits : Limits
        What is taken.
    audit : str or None
        The file of the audit log; None is the logger ``tallybayes.audit``.
    workers : int
        How many processes answer.
    counters : str or None
        The file that they count in.
    worker : int
        The number of this one.
    """

    source: Callable[[], ModelSource]
    tokens: str | None = None
    public: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)
    audit: str | None = None
    workers: int = 1
    counters: str | None = None
    worker: int = 0


@dataclass
class Call:
    """A request that may be answered.

    Parameters
    ----------
    request : Request
        As it arrived.
    token : Token
        Who asks.
    served : Served
        The model that answers.
    body : bytes
        All of it.
    """

    request: Request
    token: Token
    served: Served
    body: bytes = b""

    @property
    def query(self) -> QueryParams:
        """What follows the path."""
        return self.request.query_params

    @property
    def media_type(self) -> str:
        """Of the body, without parameters."""
        given = self.request.headers.get("content-type", "")
        return given.partition(";")[0].strip().lower()

    def rows(self, limits: Limits, **how: Any) -> Rows:
        """The rows of the body."""
        return read_rows(self.body, self.media_type, limits, **how)

    def flag(self, name: str, default: bool) -> bool:
        """A parameter of the query that is "true" or "false"."""
        given = self.query.get(name)
        if given in (None, "true", "false"):
            return default if given is None else given == "true"
        raise Refused(422, f"?{name}= is true or false")

    @property
    def answer_type(self) -> str:
        """The type of the answer: what Accept names, otherwise that of the body."""
        for part in self.request.headers.get("accept", "").split(","):
            kind = part.partition(";")[0].strip().lower()
            if kind in MEDIA_TYPES:
                return MEDIA_TYPES[kind]
        return MEDIA_TYPES.get(self.media_type or JSON, JSON)


def _json(value: Any) -> Response:
    return Response(as_json(value), media_type=JSON)


def _of_rows(served: Served, kind: str, name: str, answers: list[dict[str, Any]]) -> Response:
    """One answer for each row, as a document or as lines."""
    if kind == LINES:
        return Response(b"".join(as_json(answer) + b"\n" for answer in answers), media_type=LINES)
    return _json({"model": {"name": served.name, "version": served.version}, name: answers})


def _refusal(refused: Refused) -> Response:
    body = as_json({"error": refused.message})
    return Response(body, refused.status, refused.headers, JSON)


def _headed(answer: Response) -> Response:
    for name, value in HEADERS.items():
        answer.headers.setdefault(name, value)
    return answer


@contextmanager
def _refusing(status: int = 422) -> Iterator[None]:
    """What the library refuses is an error of the request."""
    try:
        yield
    except ValueError as error:
        raise Refused(status, str(error)) from None


def _hang_up(request: Request) -> dict[str, str]:
    """The header that ends the connection, where a large body would be read for nothing."""
    length = request.headers.get("content-length", "0")
    short = length.isdecimal() and len(length) < 10 and int(length) <= MAX_UNREAD_BYTES
    return {} if short and "transfer-encoding" not in request.headers else {"Connection": "close"}


def _note(what: str, error: BaseException) -> None:
    """Logs an error by where it was raised; its message could name values of rows."""
    frames = "".join(traceback.format_tb(error.__traceback__))
    log.error("%s: %s\n%s", what, type(error).__name__, frames)


def _page() -> tuple[bytes, str]:
    """The page at /, and the policy that lets its own style and script run, and nothing else."""
    html = files("tallybayes.serve").joinpath("page.html").read_text("utf-8")

    def allowed(tag: str) -> str:
        text = html.partition(f"<{tag}>")[2].partition(f"</{tag}>")[0]
        return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"

    policy = (
        f"default-src 'none'; style-src {allowed('style')}; script-src {allowed('script')}; "
        "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    )
    return html.encode(), policy


class Service:
    """A model that answers over HTTP, as an ASGI application in :attr:`app`.

    Parameters
    ----------
    settings : Settings
        How it runs.

    Attributes
    ----------
    app : FastAPI
        The application.
    served : Served
        The model that answers now.
    """

    app: FastAPI
    served: Served

    def __init__(self, settings: Settings) -> None:
        wrong = [scope for scope in settings.public if scope not in PUBLIC_SCOPES]
        if wrong:
            raise ValueError(
                f"only {listed(PUBLIC_SCOPES)} can be open to anybody, got {wrong[0]!r}: make a "
                "token for it"
            )
        self._settings, self.limits = settings, settings.limits
        self.tokens = None if settings.tokens is None else Tokens(settings.tokens)
        nobody = Token("", "anonymous", tuple(settings.public), ANONYMOUS, 0)
        self._anonymous = nobody if settings.public else None
        self._audit = None
        if settings.audit is not None:
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
            self._audit = os.open(settings.audit, flags, 0o600)
        self.routes = self._routes()
        paths = [f"{route.method} {route.path}" for route in self.routes]
        self.counters = Counters(
            [*paths, "other"], settings.workers, settings.counters, settings.worker
        )
        self._waiting = 0
        self._pool = ThreadPoolExecutor(max(2, min(8, os.cpu_count() or 2)), "tallybayes")
        self._reader = ThreadPoolExecutor(1, "tallybayes-refresh")
        self.source = settings.source()
        self._read()
        self._page, self._page_policy = _page()
        self.app = self._application()

    # ---- the model, and newer versions of it -----------------------------------------------------
    def _read(self) -> None:
        begin = time.perf_counter()
        served = self.source.read()
        self.served = served
        self.counters.gauge("refresh", time.perf_counter() - begin)
        self.counters.gauge("refreshes", 1.0, add=True)
        self.counters.gauge("since", served.since)
        self.counters.gauge("alive", 1.0)
        with suppress(ValueError):  # the version of a file is a digest
            self.counters.gauge("version", float(int(served.version)))

    def refresh(self) -> bool:
        """Read the model again if there is a newer version. The old one answers meanwhile.

        Returns
        -------
        bool
            Whether there was one.
        """
        if not self.source.is_newer():
            return False
        self._read()
        return True

    async def _keep_fresh(self) -> None:
        loop, failed = asyncio.get_running_loop(), False
        while True:
            try:
                await loop.run_in_executor(self._reader, self.refresh)
                failed = False
            except Exception as error:
                self.counters.gauge("failures", 1.0, add=True)
                if not failed:  # said once, until it works again
                    _note("the model could not be read again; the one before answers", error)
                failed = True
            await asyncio.sleep(REFRESH_SECONDS)

    @asynccontextmanager
    async def _lifespan(self, _: FastAPI) -> AsyncIterator[None]:
        warnings.simplefilter("ignore", TallyWarning)  # about rows, whose values they name
        if "TALLYBAYES_NUM_THREADS" not in os.environ:
            set_num_threads(1)  # requests run side by side
        refresher = asyncio.create_task(self._keep_fresh())
        try:
            yield
        finally:
            refresher.cancel()
            with suppress(asyncio.CancelledError):
                await refresher
            self.close()

    def close(self) -> None:
        """End what the service holds. The application does it at its shutdown."""
        self._pool.shutdown()
        self._reader.shutdown()
        self.counters.gauge("alive", 0.0)
        self.source.close()
        if self._audit is not None:
            os.close(self._audit)
            self._audit = None

    # ---- the application -------------------------------------------------------------------------
    def _application(self) -> FastAPI:
        app = FastAPI(
            title="tallybayes",
            openapi_url=None,
            docs_url=None,
            redoc_url=None,
            lifespan=self._lifespan,
        )
        for route in self.routes:
            app.add_api_route(
                route.path,
                self._endpoint(route),
                methods=[route.method],
                response_class=Response,
                response_model=None,
                include_in_schema=route.extra is not None,
                name=route.name,
                summary=route.summary,
                openapi_extra=route.extra,
            )

        async def unknown(request: Request, error: Exception) -> Response:
            assert isinstance(error, HTTPException)
            rule = "the paths are listed in /openapi.json"
            self.counters.answered("other", error.status_code, 0.0)
            refused = Refused(error.status_code, f"{error.detail}: {rule}")
            refused.headers.update(error.headers or {})
            return _headed(_refusal(refused))

        app.add_exception_handler(HTTPException, unknown)
        return app

    def _endpoint(self, route: Route) -> Callable[[Request], Awaitable[Response]]:
        label, count = f"{route.method} {route.path}", self.counters.answered

        async def endpoint(request: Request) -> Response:
            begin = time.perf_counter()
            try:
                answer = await self._answered(route, request)
            except Refused as refused:
                answer = _refusal(refused)
            except ClientDisconnect:
                answer = Response(status_code=499)
            except Exception as error:
                reference = uuid4().hex[:12]
                _note(f"{label} failed, reference {reference}", error)
                answer = _refusal(Refused(500, f"unexpected error, reference {reference}"))
            count(label, answer.status_code, time.perf_counter() - begin)
            return _headed(answer)

        return endpoint

    async def _answered(self, route: Route, request: Request) -> Response:
        """The answer, if the request may have one.

        Raises
        ------
        Refused
            401 or 403 for who may not ask, 429 or 503 for too much, 408, 413 or 415 for a body that
            is not taken, and whatever the handler refuses.
        """
        if route.scope is None:
            return await route.handler(Call(request, NO_TOKEN, self.served))
        token = self._token(request, route.scope)
        rate = token.rate or self.limits.rate
        wait = self.counters.wait_for(token, rate)
        if wait > 0.0:
            raise Refused(
                429,
                f"a token may ask {rate:g} times a second, and this is more: wait",
                Retry_After=str(int(wait) + 1),
                **_hang_up(request),
            )
        if self._waiting >= self.limits.waiting:
            raise Refused(
                503,
                "the service has more to do than it can: try again",
                Retry_After="1",
                **_hang_up(request),
            )
        self._waiting += 1
        try:
            call = Call(request, token, self.served)
            if route.method == "POST":
                call.body = await self._body(request)
            return await route.handler(call)
        finally:
            self._waiting -= 1

    def _token(self, request: Request, scope: str) -> Token:
        """Who asks; "" is a scope that each token has.

        Raises
        ------
        Refused
            401 without a valid token, 403 for one without the scope.
        """
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        token = None
        if scheme.lower() == "bearer" and self.tokens is not None:
            token = self.tokens.check(given.strip())
        elif not scheme:
            token = self._anonymous
        needed = f"with the scope {scope!r}" if scope else "of any scope"
        if token is None or (token is self._anonymous and scope not in ("", *token.scopes)):
            state = "was given, and it is unknown, revoked or expired" if given else "is missing"
            raise Refused(
                401,
                f"this needs a token {needed}, which {state}: send `Authorization: Bearer TOKEN` "
                "with one that `tallybayes token make` printed",
                WWW_Authenticate="Bearer",
                **_hang_up(request),
            )
        if scope and scope not in token.scopes:
            raise Refused(
                403,
                f"this needs a token {needed}; this one has {listed(token.scopes)}",
                **_hang_up(request),
            )
        return token

    async def _body(self, request: Request) -> bytes:
        """All of the body.

        Raises
        ------
        Refused
            415 if it is compressed, 413 if it is too large, 408 if it is too slow.
        """
        coding = request.headers.get("content-encoding", "identity").strip().lower()
        if coding != "identity":
            raise Refused(
                415,
                "a body is taken as it is, and this one is compressed: send it without "
                "Content-Encoding",
                **_hang_up(request),
            )
        large = Refused(
            413,
            f"a body has at most {self.limits.body:,} bytes, and this one has more: send it in "
            "parts, or start the service with a larger limit",
            Connection="close",
        )
        length = request.headers.get("content-length", "0")
        if not length.isdecimal() or len(length) > 18 or int(length) > self.limits.body:
            raise large
        chunks, size = [], 0
        try:
            async with asyncio.timeout(self.limits.seconds):
                async for chunk in request.stream():
                    size += len(chunk)
                    if size > self.limits.body:
                        raise large
                    chunks.append(chunk)
        except TimeoutError:
            raise Refused(
                408,
                f"a body arrives within {self.limits.seconds:g} seconds, and this one did not",
                Connection="close",
            ) from None
        return b"".join(chunks)

    async def _in_thread(self, do: Callable[..., T], *given: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._pool, partial(do, *given))

    # ---- questions -------------------------------------------------------------------------------
    async def _predict(self, call: Call) -> Response:
        if len(call.body) <= INLINE_BYTES:
            return self._predicted(call)
        return await self._in_thread(self._predicted, call)

    def _predicted(self, call: Call) -> Response:
        served, kind = call.served, call.answer_type
        rows = self._rows_to_ask(call)
        with_shares = call.flag("probabilities", True)
        with _refusing():
            shares = served.probabilities(rows)
        self.counters.happened("predicted", len(shares))
        labels = [served.best(row) for row in shares]
        if kind == ARROW:
            columns: dict[str, Any] = {"label": labels}
            if with_shares:
                columns |= {
                    f"p({k})": list(p)
                    for k, p in zip(served.keys, zip(*shares, strict=True), strict=True)
                }
            return Response(arrow_body(columns), media_type=ARROW)
        answers: list[dict[str, Any]] = [{"label": label} for label in labels]
        if with_shares:
            keys = served.keys
            for answer, row in zip(answers, shares, strict=True):
                answer["probabilities"] = dict(zip(keys, row, strict=True))
        return _of_rows(served, kind, "predictions", answers)

    async def _explain(self, call: Call) -> Response:
        return await self._in_thread(self._explained, call)

    def _explained(self, call: Call) -> Response:
        served, kind = call.served, call.answer_type
        if kind == ARROW:
            raise Refused(415, f"explanations are {JSON} or {LINES}: name one of them as Accept")
        rows = self._rows_to_ask(call)
        with _refusing():
            answers = served.explained(rows)
        self.counters.happened("explained", len(answers))
        return _of_rows(served, kind, "explanations", answers)

    def _rows_to_ask(self, call: Call) -> Any:
        rows = call.rows(self.limits, known=call.served.columns).rows
        given = call.query.get("unknown", "refuse")
        if given not in ("refuse", "ignore"):
            raise Refused(422, "?unknown= is refuse or ignore")
        return call.served.need_columns(rows, ignore=given == "ignore")

    async def _model(self, call: Call) -> Response:
        store = self.source.store is not None
        return _json({**call.served.described(), "learns": store, "scopes": call.token.scopes})

    async def _report(self, call: Call) -> Response:
        return await self._in_thread(self._reported, call)

    def _reported(self, call: Call) -> Response:
        found = call.rows(self.limits, needs=("row", "label"), allows=("weight",), names=call.query)
        rows = call.served.need_columns(found.rows, ignore=False)
        language = call.query.get("lang", "en")
        if language not in ("en", "zh"):
            raise Refused(422, "?lang= is en or zh")
        with _refusing():
            page = call.served.report(
                rows, found.beside["label"], found.beside.get("weight"), language
            )
        return Response(page, media_type="text/html", headers={"Content-Security-Policy": SANDBOX})

    # ---- the Open Inference Protocol -------------------------------------------------------------
    async def _server(self, _: Call) -> Response:
        return _json({"name": "tallybayes", "version": version("tallybayes"), "extensions": []})

    async def _live(self, _: Call) -> Response:
        return _json({"live": True})

    async def _ready(self, _: Call) -> Response:
        return _json({"ready": True})

    async def _model_ready(self, call: Call) -> Response:
        return _json({"name": self._named(call).name, "ready": True})

    async def _metadata(self, call: Call) -> Response:
        return _json(inference.metadata(self._named(call)))

    def _named(self, call: Call) -> Served:
        """The model, if the path names it.

        Raises
        ------
        Refused
            404 if it names another model, or a version that does not answer.
        """
        path, served = call.request.path_params, call.served
        if path["name"] != served.name:
            raise Refused(404, f"the model is {served.name!r}: ask for it")
        if path.get("version", served.version) != served.version:
            raise Refused(404, f"the version is {served.version!r}: ask for it, or for none")
        return served

    async def _infer(self, call: Call) -> Response:
        if len(call.body) <= INLINE_BYTES:
            return self._inferred(call)
        return await self._in_thread(self._inferred, call)

    def _inferred(self, call: Call) -> Response:
        served = self._named(call)
        if call.media_type not in ("", JSON):
            raise Refused(415, f"an inference request is {JSON}")
        document = parsed(call.body)
        rows = inference.asked(served, document, self.limits)
        with _refusing(400):
            shares = served.probabilities(rows)
        answer = inference.answered(served, document, shares)
        self.counters.happened("predicted", len(shares))
        return _json(answer)

    # ---- for people and machines -----------------------------------------------------------------
    async def _health(self, _: Call) -> Response:
        return _json({"status": "ok"})

    async def _metrics(self, _: Call) -> Response:
        return Response(self.counters.written(), media_type="text/plain; version=0.0.4")

    async def _openapi(self, _: Call) -> Response:
        return _json(described(self.app))

    async def _index(self, _: Call) -> Response:
        policy = {"Content-Security-Policy": self._page_policy}
        return Response(self._page, media_type="text/html", headers=policy)

    # ---- routes ----------------------------------------------------------------------------------
    def _routes(self) -> list[Route]:
        """Every path, whom it is open to (None is anybody), and what the documentation says."""
        ask = {"body": "rows", "query": ("unknown",)}
        v2 = "/v2/models/{name}"
        table: list[tuple[str, str, str | None, Any, str, dict[str, Any] | None]] = [
            ("GET", "/healthz", None, self._health, "Whether the process runs", {}),
            ("GET", "/readyz", None, self._health, "Whether a model answers", {}),
            ("GET", "/", None, self._index, "The page", None),
            ("GET", "/openapi.json", "", self._openapi, "This document", {}),
            (
                "GET",
                "/metrics",
                "admin",
                self._metrics,
                "Metrics for Prometheus",
                {"answer": "text"},
            ),
            ("GET", "/v1/model", "predict", self._model, "The model: classes and columns", {}),
            (
                "POST",
                "/v1/predict",
                "predict",
                self._predict,
                "Label and probabilities of rows",
                {**ask, "query": ("unknown", "probabilities"), "answer": "predictions"},
            ),
            (
                "POST",
                "/v1/explain",
                "explain",
                self._explain,
                "What each column adds, in nats",
                {**ask, "answer": "explanations"},
            ),
            (
                "POST",
                "/v1/report",
                "explain",
                self._report,
                "The model's page, judged on rows",
                {"body": "labelled", "query": ("lang",), "answer": "html"},
            ),
            ("GET", "/v2", "predict", self._server, "Server metadata", {}),
            ("GET", "/v2/health/live", None, self._live, "Whether the process runs", {}),
            ("GET", "/v2/health/ready", None, self._ready, "Whether a model answers", {}),
        ]
        for path in (v2, f"{v2}/versions/{{version}}"):
            query = ("name", "version") if path != v2 else ("name",)
            named = {"query": query}
            table += [
                ("GET", path, "predict", self._metadata, "Metadata of the model", named),
                ("GET", f"{path}/ready", "predict", self._model_ready, "Whether it answers", named),
                (
                    "POST",
                    f"{path}/infer",
                    "predict",
                    self._infer,
                    "Label and probabilities of rows",
                    {"query": query, "body": "inference", "answer": "inference"},
                ),
            ]
        return [
            Route(*row[:5], None if row[5] is None else operation(row[2], **row[5]))
            for row in table
        ]


@dataclass(frozen=True)
class Route:
    """A path of the service.

    Parameters
    ----------
    method, path : str
        What is asked.
    scope : str or None
        Which a token needs: "" is any token, None no token.
    handler : callable (Call) -> Response
        What answers.
    summary : str
        For the documentation.
    extra : dict or None
        What the documentation has besides; None keeps it out.
    """

    method: str
    path: str
    scope: str | None
    handler: Callable[[Call], Awaitable[Response]]
    summary: str
    extra: dict[str, Any] | None

    @property
    def name(self) -> str:
        """For the documentation."""
        return self.handler.__name__.strip("_")
