"""The service over HTTP: routes, who may ask them, limits, errors, metrics and the audit log.

A request goes through :meth:`Service._answered` from top to bottom: token, scope, rate, load, body,
the handler of its route. Everything that it may be refused for is there, in this order.
"""

from __future__ import annotations

import asyncio
import gc
import os
import time
import warnings
from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import (
    asynccontextmanager,
    contextmanager,
    suppress,
)
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from importlib.metadata import version
from importlib.resources import files
from typing import Any
from uuid import uuid4

from fastapi import FastAPI
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
from tallybayes.serve.jobs import Jobs, reported, reweighted
from tallybayes.serve.openapi import described, operation
from tallybayes.serve.records import Audit, note
from tallybayes.serve.served import TEXT, ModelSource, Served
from tallybayes.serve.tokens import Token, Tokens
from tallybayes.threads import set_num_threads

__all__ = ["PUBLIC_SCOPES", "Service", "Settings"]

PUBLIC_SCOPES = ("predict", "explain")  # that may be open to anybody
INLINE_BYTES = 1 << 16  # of a body that is predicted at once: a thread costs more than its rows
REFRESH_SECONDS, MAX_REFRESH_SECONDS = 0.2, 0.5  # between two looks for a newer model
LOOKING_SHARE, READING_SHARE = 0.1, 0.02
"""The share of the time that looks take at most, and readings of newer models, unless these take
more than a hundredth of a second."""
REST_SECONDS = 30.0  # after weights could not be learned
MAX_KEY = 255  # characters of an Idempotency-Key
MAX_UNREAD_BYTES = 1 << 16  # of a refused body that is read after the answer; else we hang up
ANONYMOUS = 4095  # the number of all who come without a token, for their rate

NO_TOKEN = Token("", "", (), ANONYMOUS, 0)  # of a path that is open to anybody
NO_QUERY: Mapping[str, str] = {}
HEADERS = [(b"x-content-type-options", b"nosniff"), (b"cache-control", b"no-store")]
"""Of every answer."""
LANGUAGES = ("en", "zh")
SANDBOX = "sandbox allow-scripts; frame-ancestors 'none'"
"""Of a report, whose scripts see nothing of the page with the token."""


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
    reweight : float
        Where the model of a store has weights, pairs or calibration: they are learned again once
        so many rows came since, for each row that was counted then. 0 leaves it to those who ask.
    """

    source: Callable[[], ModelSource]
    tokens: str | None = None
    public: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)
    audit: str | None = None
    workers: int = 1
    counters: str | None = None
    worker: int = 0
    reweight: float = 0.5


@dataclass
class Call:
    """A request that may be answered.

    Parameters
    ----------
    request : Request
        As it arrived.
    token : Token
        Who asks.
    model : Served or None
        The model that answers; None for a store without rows.
    headers : dict of bytes to bytes
        Of the request, by names in lower case.
    body : bytes
        All of it.
    """

    request: Request
    token: Token
    model: Served | None
    headers: dict[bytes, bytes]
    body: bytes = b""

    @property
    def served(self) -> Served:
        """The model that answers.

        Raises
        ------
        Refused
            409 if the store holds no rows.
        """
        if self.model is None:
            raise Refused(409, "the store holds no rows, and a model needs some: learn rows first")
        return self.model

    @property
    def query(self) -> Mapping[str, str]:
        """What follows the path."""
        return self.request.query_params if self.request.scope["query_string"] else NO_QUERY

    @property
    def media_type(self) -> str:
        """Of the body, without parameters."""
        given = self.headers.get(b"content-type", b"").decode("latin-1")
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
    def language(self) -> str:
        """Of a page."""
        found = self.query.get("lang", "en")
        if found not in LANGUAGES:
            raise Refused(422, "?lang= is en or zh")
        return found

    @property
    def answer_type(self) -> str:
        """The type of the answer: what Accept names, otherwise that of the body."""
        for part in self.headers.get(b"accept", b"").decode("latin-1").split(","):
            kind = part.partition(";")[0].strip().lower()
            if kind in MEDIA_TYPES:
                return MEDIA_TYPES[kind]
        return MEDIA_TYPES.get(self.media_type or JSON, JSON)


def _json(value: Any) -> Response:
    return Response(as_json(value), media_type=JSON)


def _report_page(page: str) -> Response:
    return Response(page, media_type="text/html", headers={"Content-Security-Policy": SANDBOX})


BETWEEN = {JSON: ",", LINES: "\n"}  # the answers of rows


def _of_rows(served: Served, kind: str, name: str, answers: str) -> Response:
    """One answer for each row, as a document or as lines."""
    if kind == LINES:
        return Response(f"{answers}\n".encode(), media_type=LINES)
    model = as_json({"name": served.name, "version": served.version}).decode()
    return Response(f'{{"model":{model},"{name}":[{answers}]}}'.encode(), media_type=JSON)


def _refusal(refused: Refused) -> Response:
    body = as_json({"error": refused.message})
    return Response(body, refused.status, refused.headers, JSON)


def _headed(answer: Response) -> Response:
    answer.raw_headers += HEADERS
    return answer


def _for_store(store: Any, rows: Any) -> Any:
    """Rows as the store takes them: of a model of documents, strings."""
    if not store.learns_documents:
        return rows
    given = rows if isinstance(rows, list) else rows.to_pylist()
    for i, row in enumerate(given):
        if list(row) != [TEXT] or not isinstance(row[TEXT], str):
            raise Refused(422, f"a row of this store has a string {TEXT!r} alone; row {i} has not")
    return [row[TEXT] for row in given]


@contextmanager
def _refusing(status: int = 422) -> Iterator[None]:
    """What the library refuses is an error of the request."""
    try:
        yield
    except ValueError as error:
        raise Refused(status, str(error)) from None


def _hang_up(headers: Mapping[bytes, bytes]) -> dict[str, str]:
    """The header that ends the connection, where a large body would be read for nothing."""
    length = headers.get(b"content-length", b"0")
    short = length.isdigit() and len(length) < 10 and int(length) <= MAX_UNREAD_BYTES
    return {} if short and b"transfer-encoding" not in headers else {"Connection": "close"}


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


Handler = Callable[["Service", Call], Response]


@dataclass(frozen=True)
class Route:
    """A path of the service.

    Parameters
    ----------
    method, path : str
        What is asked.
    scope : str or None
        Which a token needs: "" is any token, None no token.
    handler : callable (Service, Call) -> Response
        What answers. The first line of its docstring is its summary.
    inline : int
        Bytes of a body up to which it is answered at once, and not by a thread; -1 is never.
    about : dict
        What the documentation has besides; see :func:`~tallybayes.serve.openapi.operation`.
    """

    method: str
    path: str
    scope: str | None
    handler: Handler
    inline: int
    about: dict[str, Any]


ROUTES: list[Route] = []
MODEL, VERSION = "/v2/models/{name}", "/v2/models/{name}/versions/{version}"
INFERENCE: dict[str, Any] = {"body": "inference", "answer": "inference"}


def route(
    method: str, path: str, scope: str | None, *, inline: int = INLINE_BYTES, **about: Any
) -> Callable[[Handler], Handler]:
    """Makes a method answer a path; see :class:`Route`."""

    def keep(handler: Handler) -> Handler:
        ROUTES.append(Route(method, path, scope, handler, inline, about))
        return handler

    return keep


class Service:
    """A model that answers over HTTP: an ASGI application.

    Parameters
    ----------
    settings : Settings
        How it runs.

    Attributes
    ----------
    served : Served or None
        The model that answers now; None for a store without rows.
    staleness : float
        Rows that came since its weights were learned, for each row that was counted then.
    """

    served: Served | None
    staleness: float

    def __init__(self, settings: Settings) -> None:
        wrong = [scope for scope in settings.public if scope not in PUBLIC_SCOPES]
        if wrong:
            raise ValueError(
                f"only {listed(PUBLIC_SCOPES)} can be open to anybody, got {wrong[0]!r}: make a "
                "token for it"
            )
        self._settings, self.limits = settings, settings.limits
        self.tokens: Tokens | None = None if settings.tokens is None else Tokens(settings.tokens)
        nobody = Token("", "anonymous", tuple(settings.public), ANONYMOUS, 0)
        self._anonymous = nobody if settings.public else None
        paths = [f"{route.method} {route.path}" for route in ROUTES]
        self.counters: Counters = Counters(
            [*paths, "other"], settings.workers, settings.counters, settings.worker
        )
        self._waiting = 0
        self._changed = asyncio.Event()
        self._pool = ThreadPoolExecutor(max(2, min(8, os.cpu_count() or 2)), "tallybayes")
        self._reader = ThreadPoolExecutor(1, "tallybayes-refresh")
        self._jobs = Jobs()
        self.source = settings.source()
        self._audit: Audit | None = None
        if self.tokens is not None and self.source.store is not None:
            self._audit = Audit(settings.audit, self.tokens, self._look_again)
        self._read()
        self._page, self._page_policy = _page()
        self._router = self._application()

    # ---- the model, and newer versions of it -----------------------------------------------------
    def _read(self) -> None:
        served = self.source.read()
        self.served, self.staleness = served, self.source.staleness()
        self.counters.gauge("staleness", self.staleness)
        self.counters.gauge("refreshes", 1.0, add=True)
        self.counters.gauge("alive", 1.0)
        if served is not None:
            self.counters.gauge("since", served.since)
            if self.source.store is not None:  # the version of a file is a digest
                self.counters.gauge("version", float(served.version))

    def refresh(self) -> bool:
        """Read the model again if there is a newer version. The old one answers meanwhile.

        Returns
        -------
        bool
            Whether there was one.
        """
        begin = time.perf_counter()
        if not self.source.is_newer():
            return False
        self._read()
        self.counters.gauge("refresh", time.perf_counter() - begin)
        return True

    async def _keep_fresh(self) -> None:
        loop, failed = asyncio.get_running_loop(), False
        learning: asyncio.Task[None] | None = None
        while True:
            begin, newer = loop.time(), False
            self._changed.clear()
            try:
                newer = await loop.run_in_executor(self._reader, self.refresh)
                failed = False
            except Exception as error:
                self.counters.gauge("failures", 1.0, add=True)
                if not failed:  # reported once, until it works again
                    note("the model could not be read again; the one before answers", error)
                failed = True
            if self._weights_are_due() and (learning is None or learning.done()):
                learning = asyncio.create_task(self._learn_weights())
            took = loop.time() - begin
            if newer:  # under steady learning, predictions have the processor to themselves
                await asyncio.sleep(min(MAX_REFRESH_SECONDS, took / READING_SHARE))
            rest = min(MAX_REFRESH_SECONDS, max(REFRESH_SECONDS, took / LOOKING_SHARE))
            with suppress(TimeoutError):  # what this worker learned is read at once
                async with asyncio.timeout_at(begin + took + rest):
                    await self._changed.wait()

    def _weights_are_due(self) -> bool:
        """Whether this worker, the first of all, is to have weights learned again."""
        limit = self._settings.reweight
        first = self._settings.worker == 0 and self.served is not None
        return first and 0.0 < limit <= self.staleness

    async def _learn_weights(self) -> None:
        """Has weights learned beside the service; what refreshes the model finds them."""
        loop = asyncio.get_running_loop()
        try:
            await loop.run_in_executor(
                self._pool, self._jobs.run, reweighted, self._settings.source
            )
        except Exception as error:
            if not isinstance(error, Refused):  # somebody else's job, or the end
                self.counters.gauge("failures", 1.0, add=True)
                note("weights could not be learned again; those before answer", error)
            await asyncio.sleep(REST_SECONDS)
        else:
            self._look_again()

    @asynccontextmanager
    async def _lifespan(self, _: FastAPI) -> AsyncIterator[None]:
        warnings.simplefilter("ignore", TallyWarning)  # about rows, whose values they name
        if "TALLYBAYES_NUM_THREADS" not in os.environ:
            set_num_threads(1)  # requests run side by side
        gc.collect()
        gc.freeze()  # libraries and the model stay: no collection looks at them again
        self._loop = asyncio.get_running_loop()
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
        self._jobs.close()
        self._pool.shutdown()
        self._reader.shutdown()
        self.counters.gauge("alive", 0.0)
        self.source.close()
        if self._audit is not None:
            self._audit.close()

    def _look_again(self) -> None:
        """Has the model read again at once, whichever thread asks."""
        self._loop.call_soon_threadsafe(self._changed.set)

    # ---- the application -------------------------------------------------------------------------
    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request: at once where its path has no parameters, and by FastAPI's router
        elsewhere, which takes longer than the rest of a request.

        Parameters
        ----------
        scope, receive, send
            Of ASGI.
        """
        endpoint = None
        if scope["type"] == "http":
            endpoint = self._endpoints.get((scope["method"], scope["path"]))
        if endpoint is None:
            await self._router(scope, receive, send)
        else:
            answer = await endpoint(Request(scope, receive))
            await answer(scope, receive, send)

    def _application(self) -> FastAPI:
        self._endpoints = {(r.method, r.path): self._endpoint(r) for r in ROUTES}
        app = FastAPI(
            title="tallybayes",
            openapi_url=None,
            docs_url=None,
            redoc_url=None,
            lifespan=self._lifespan,
        )
        for found in ROUTES:
            app.add_api_route(
                found.path,
                self._endpoints[found.method, found.path],
                methods=[found.method],
                response_class=Response,
                response_model=None,
                name=found.handler.__name__.strip("_"),
                summary=(found.handler.__doc__ or "").rstrip("."),
                openapi_extra=operation(found.scope, **found.about),
            )

        async def unknown(_: Request, error: Any) -> Response:
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
                note(f"{label} failed, reference {reference}", error)
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
            return route.handler(self, Call(request, NO_TOKEN, self.served, {}))
        headers: dict[bytes, bytes] = dict(request.scope["headers"])
        token = self._token(headers, route.scope)
        rate = token.rate or self.limits.rate
        wait = self.counters.wait_for(token, rate)
        if wait > 0.0:
            raise Refused(
                429,
                f"a token may ask {rate:g} times a second, and this is more: wait",
                Retry_After=str(int(wait) + 1),
                **_hang_up(headers),
            )
        if self._waiting >= self.limits.waiting:
            raise Refused(
                503,
                "the service has more to do than it can: try again",
                Retry_After="1",
                **_hang_up(headers),
            )
        self._waiting += 1
        try:
            call = Call(request, token, self.served, headers)
            if route.method == "POST":
                call.body = await self._body(request, headers)
            if len(call.body) <= route.inline:
                return route.handler(self, call)
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._pool, route.handler, self, call)
        finally:
            self._waiting -= 1

    def _token(self, headers: Mapping[bytes, bytes], scope: str) -> Token:
        """Who asks; "" is a scope that each token has.

        Raises
        ------
        Refused
            401 without a valid token, 403 for one without the scope.
        """
        scheme, _, given = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
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
                **_hang_up(headers),
            )
        if scope and scope not in token.scopes:
            raise Refused(
                403,
                f"this needs a token {needed}; this one has {listed(token.scopes)}",
                **_hang_up(headers),
            )
        return token

    async def _body(self, request: Request, headers: Mapping[bytes, bytes]) -> bytes:
        """All of the body.

        Raises
        ------
        Refused
            415 if it is compressed, 413 if it is too large, 408 if it is too slow.
        """
        if headers.get(b"content-encoding", b"identity").strip().lower() != b"identity":
            raise Refused(
                415,
                "a body is taken as it is, and this one is compressed: send it without "
                "Content-Encoding",
                **_hang_up(headers),
            )
        large = partial(
            Refused,
            413,
            f"a body has at most {self.limits.body:,} bytes, and this one has more: send it in "
            "parts, or start the service with a larger limit",
            Connection="close",
        )
        length = headers.get(b"content-length", b"0")
        if not length.isdigit() or len(length) > 18 or int(length) > self.limits.body:
            raise large()
        chunks, size = [], 0
        try:
            async with asyncio.timeout(self.limits.seconds):
                async for chunk in request.stream():
                    size += len(chunk)
                    if size > self.limits.body:
                        raise large()
                    chunks.append(chunk)
        except TimeoutError:
            raise Refused(
                408,
                f"a body arrives within {self.limits.seconds:g} seconds, and this one did not",
                Connection="close",
            ) from None
        return b"".join(chunks)

    # ---- questions -------------------------------------------------------------------------------
    @route(
        "POST",
        "/v1/predict",
        "predict",
        body="rows",
        query=("unknown", "probabilities"),
        answer="predictions",
    )
    def _predict(self, call: Call) -> Response:
        """Label and probabilities of rows."""
        served, kind = call.served, call.answer_type
        rows = self._rows_to_ask(call)
        with_shares = call.flag("probabilities", True)
        with _refusing():
            shares = served.probabilities(rows)
        self.counters.happened("predicted", len(shares))
        if kind == ARROW:
            columns: dict[str, Any] = {"label": [served.best(row) for row in shares]}
            if with_shares:
                columns |= {
                    f"p({k})": list(p)
                    for k, p in zip(served.keys, zip(*shares, strict=True), strict=True)
                }
            return Response(arrow_body(columns), media_type=ARROW)
        answers = served.written(shares, BETWEEN[kind], bare=not with_shares)
        return _of_rows(served, kind, "predictions", answers)

    @route(
        "POST",
        "/v1/explain",
        "explain",
        inline=-1,
        body="rows",
        query=("unknown",),
        answer="explanations",
    )
    def _explain(self, call: Call) -> Response:
        """What each value adds to each class, in nats."""
        served, kind = call.served, call.answer_type
        if kind == ARROW:
            raise Refused(415, f"explanations are {JSON} or {LINES}: name one of them as Accept")
        rows = self._rows_to_ask(call)
        with _refusing():
            answers = served.explained(rows)
        self.counters.happened("explained", len(answers))
        text = BETWEEN[kind].join(as_json(answer).decode() for answer in answers)
        return _of_rows(served, kind, "explanations", text)

    def _rows_to_ask(self, call: Call) -> Any:
        rows = call.rows(self.limits, known=call.served.columns).rows
        given = call.query.get("unknown", "refuse")
        if given not in ("refuse", "ignore"):
            raise Refused(422, "?unknown= is refuse or ignore")
        return call.served.need_columns(rows, ignore=given == "ignore")

    @route("GET", "/v1/model", "predict")
    def _model(self, call: Call) -> Response:
        """The model: version, classes and columns."""
        empty = {"name": self.source.name, "version": "0", "kind": None, "rows": 0.0}
        found: dict[str, Any] = {**empty, "classes": [], "columns": []}
        if call.model is not None:
            found = call.model.described()
        found |= {"learns": self.source.store is not None, "staleness": self.staleness}
        return _json({**found, "scopes": call.token.scopes})

    @route(
        "POST", "/v1/report", "explain", inline=-1, body="labelled", query=("lang",), answer="html"
    )
    def _report(self, call: Call) -> Response:
        """The page of the model, judged on the rows of the body."""
        found = call.rows(self.limits, needs=("row", "label"), allows=("weight",), names=call.query)
        rows = call.served.need_columns(found.rows, ignore=False)
        with _refusing():
            page = call.served.report(
                rows, found.beside["label"], found.beside.get("weight"), call.language
            )
        return _report_page(page)

    @route("GET", "/v1/report", "admin", inline=-1, query=("lang",), answer="html")
    def _report_of_store(self, call: Call) -> Response:
        """The page of the model of a store, judged on its rows, some of which it shows."""
        language, store = call.language, self.source.store
        if store is None or not store.keeps_rows:
            what = "a model file" if store is None else "a store with ledger='ids'"
            raise Refused(
                409,
                f"{what} keeps no rows, by which a report judges the model: POST rows with labels "
                "to /v1/report",
            )
        call.served  # noqa: B018  # it refuses where there are no rows
        _, audit = self._store()
        with audit.recorded("report", call.token, ids=None, subjects=None):
            page = self._jobs.run(reported, self._settings.source, language)
        return _report_page(page)

    # ---- learning and forgetting -----------------------------------------------------------------
    @route("POST", "/v1/learn", "learn", inline=-1, body="learn", query=("Idempotency-Key",))
    def _learn(self, call: Call) -> Response:
        """Count rows, each id once."""
        store, audit = self._store()
        known = None if call.model is None else call.model.columns
        allows = ("id", "subject", "weight", "time")
        how = {"needs": ("row", "label"), "allows": allows, "names": call.query, "known": known}
        found = call.rows(self.limits, **how)
        labels, ids = found.beside["label"], found.beside.get("id")
        key = call.headers.get(b"idempotency-key", b"").decode("latin-1")
        is_name = 0 < len(key) <= MAX_KEY and key.isascii() and key.isprintable()
        if (key or ids is None) and not is_name:
            raise Refused(
                422,
                "rows are learned with ids, or with a header Idempotency-Key of 1 to "
                f"{MAX_KEY} printable characters, so that a repeated request counts once: give "
                "one of them",
            )
        subjects = found.beside.get("subject")
        named = ids or [f"{key}/{i}" for i in range(len(labels))]
        with audit.recorded("learn", call.token, ids=named, subjects=subjects) as outcome:
            learned = store.learn(
                _for_store(store, found.rows),
                labels,
                ids=ids,
                subjects=subjects,
                weights=found.beside.get("weight"),
                times=found.beside.get("time"),
                request=key or None,
            )
            outcome.update(new=len(learned.new), version=learned.version)
        self.counters.happened("learned", len(learned.new))
        self.counters.happened("repeated", len(learned.repeated))
        return _json(
            {
                "new": learned.new,
                "repeated": learned.repeated,
                "forgotten": learned.forgotten,
                "version": str(learned.version),
            }
        )

    @route("POST", "/v1/forget", "forget", inline=-1, body="forget")
    def _forget(self, call: Call) -> Response:
        """Forget rows, by their ids or by subjects."""
        store, audit = self._store()
        allows = ("id", "subject", "row")
        found = call.rows(self.limits, needs=(), allows=allows, names=call.query)
        ids, subjects = found.beside.get("id"), found.beside.get("subject")
        if (ids is None) == (subjects is None) or not (ids or subjects):
            raise Refused(422, "forget takes ids or subjects, one of the two, of one or more rows")
        rows = None if found.rows is None else _for_store(store, found.rows)
        with audit.recorded("forget", call.token, ids=ids, subjects=subjects) as outcome:
            forgotten = store.forget(ids=ids, subjects=subjects, rows=rows)
            outcome.update(rows=forgotten.rows, version=forgotten.version)
        self.counters.happened("forgotten", forgotten.rows)
        unknown = list(forgotten.unknown)
        version = str(forgotten.version)
        return _json({"rows": forgotten.rows, "unknown": unknown, "version": version})

    @route("POST", "/v1/relabel", "learn", inline=-1, body="relabel")
    def _relabel(self, call: Call) -> Response:
        """Give rows that were learned another label."""
        store, audit = self._store()
        how = {"needs": ("id", "label"), "allows": ("row",), "names": call.query}
        found = call.rows(self.limits, **how)
        ids, labels = found.beside["id"], found.beside["label"]
        rows = None if found.rows is None else _for_store(store, found.rows)
        with audit.recorded("relabel", call.token, ids=ids, subjects=None) as outcome:
            changed = store.relabel(ids, labels, rows=rows)
            outcome.update(changed=len(changed.changed), version=changed.version)
        self.counters.happened("relabelled", len(changed.changed))
        lists = {"changed": changed.changed, "unchanged": changed.unchanged}
        return _json({**lists, "version": str(changed.version)})

    @route("POST", "/v1/reweight", "admin", inline=-1)
    def _reweight(self, call: Call) -> Response:
        """Learn weights, pairs or calibration again, on a sample of the rows."""
        store, audit = self._store()
        if not store.learns_on_rows:
            raise Refused(409, "the model learns nothing on rows but counts, which are exact")
        call.served  # noqa: B018  # it refuses where there are no rows
        with audit.recorded("reweight", call.token, ids=None, subjects=None) as outcome:
            outcome["version"] = self._jobs.run(reweighted, self._settings.source)
        return _json({"version": str(outcome["version"])})

    def _store(self) -> tuple[Any, Audit]:
        """The store, and the log of what is done with it.

        Raises
        ------
        Refused
            409 for a model file, 403 without tokens.
        """
        if self.source.store is None:
            raise Refused(
                409,
                "a model file is served for predictions alone: make a store of it with "
                "`tallybayes store init` and serve that",
            )
        if self._audit is None:  # nobody has the scope then
            raise Refused(403, "there are no tokens, and nothing is learned or forgotten without")
        return self.source.store, self._audit

    # ---- the Open Inference Protocol -------------------------------------------------------------
    @route("GET", "/v2", "predict")
    def _server(self, _: Call) -> Response:
        """Server metadata."""
        return _json({"name": "tallybayes", "version": version("tallybayes"), "extensions": []})

    @route("GET", "/v2/health/live", None)
    def _live(self, _: Call) -> Response:
        """Whether the process runs."""
        return _json({"live": True})

    @route("GET", "/readyz", None)
    @route("GET", "/v2/health/ready", None)
    def _ready(self, call: Call) -> Response:
        """Whether a model answers."""
        if call.model is None:
            raise Refused(503, "the store holds no rows, and a model needs some: learn rows first")
        return _json({"ready": True})

    @route("GET", MODEL + "/ready", "predict", query=("name",))
    @route("GET", VERSION + "/ready", "predict", query=("name", "version"))
    def _model_ready(self, call: Call) -> Response:
        """Whether the model answers."""
        return _json({"name": self._named(call).name, "ready": True})

    @route("GET", MODEL, "predict", query=("name",))
    @route("GET", VERSION, "predict", query=("name", "version"))
    def _metadata(self, call: Call) -> Response:
        """Metadata of the model."""
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

    @route("POST", MODEL + "/infer", "predict", query=("name",), **INFERENCE)
    @route("POST", VERSION + "/infer", "predict", query=("name", "version"), **INFERENCE)
    def _infer(self, call: Call) -> Response:
        """Label and probabilities of the rows of tensors."""
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
    @route("GET", "/healthz", None)
    def _health(self, _: Call) -> Response:
        """Whether the process runs."""
        return _json({"status": "ok"})

    @route("GET", "/metrics", "admin", answer="text")
    def _metrics(self, _: Call) -> Response:
        """Metrics for Prometheus."""
        return Response(self.counters.written(), media_type="text/plain; version=0.0.4")

    @route("GET", "/openapi.json", "")
    def _openapi(self, _: Call) -> Response:
        """This document."""
        return _json(described(self._router))

    @route("GET", "/", None, answer="html")
    def _index(self, _: Call) -> Response:
        """The page."""
        policy = {"Content-Security-Policy": self._page_policy}
        return Response(self._page, media_type="text/html", headers=policy)
