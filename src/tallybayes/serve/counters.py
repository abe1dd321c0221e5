"""What the workers of a service count together: metrics for Prometheus, and the rate of each token.

All workers map one file of float64 into memory. A worker writes its own part, so that nothing is
locked, and whichever worker is asked adds all parts up.
"""

from __future__ import annotations

import mmap
import os
import time
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Final

from tallybayes.serve.tokens import Token

__all__ = ["EVENTS", "SECONDS", "STATUSES", "Counters"]

STATUSES: Final = (200, 400, 401, 403, 404, 405, 408, 409, 413, 415, 422, 429, 499, 500, 503)
"""Statuses that are counted; another one counts as 500."""

SECONDS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
"""Upper bounds of the latency's histogram."""

EVENTS: Final = ("predicted", "explained", "learned", "repeated", "forgotten", "relabelled")
GAUGES: Final = ("version", "since", "staleness", "refresh", "refreshes", "failures", "alive")
RATE_SLOTS: Final = 4096
DOUBLE: Final = 8  # bytes


class Counters:
    """Numbers of all workers.

    Parameters
    ----------
    routes : sequence of str
        What requests are counted by.
    workers : int
        How many processes count.
    path : str, optional
        A file that they share; a single worker needs none.
    worker : int
        The number of this one.
    """

    def __init__(
        self, routes: Sequence[str], workers: int = 1, path: str | None = None, worker: int = 0
    ) -> None:
        self._routes = {route: i for i, route in enumerate(routes)}
        self._per_route = len(STATUSES) + len(SECONDS) + 2
        self._part = len(routes) * self._per_route + len(EVENTS) + len(GAUGES)
        self._workers = workers
        size = DOUBLE * (RATE_SLOTS + workers * self._part)
        if path is None:
            memory = mmap.mmap(-1, size)
        else:
            with open(path, "r+b") as file:
                if os.fstat(file.fileno()).st_size < size:
                    file.truncate(size)
                memory = mmap.mmap(file.fileno(), size)
        self._held = memoryview(memory).cast("d")
        self._at = RATE_SLOTS + worker * self._part
        self._events = self._at + len(routes) * self._per_route
        self._gauges = self._events + len(EVENTS)

    def answered(self, route: str, status: int, seconds: float) -> None:
        """Count an answer.

        Parameters
        ----------
        route : str
            Which was asked.
        status : int
            Of HTTP.
        seconds : float
            It took.
        """
        at = self._at + self._routes[route] * self._per_route
        code = STATUSES.index(status if status in STATUSES else 500)
        self._held[at + code] += 1.0
        at += len(STATUSES)
        self._held[at + bisect_left(SECONDS, seconds)] += 1.0
        self._held[at + len(SECONDS) + 1] += seconds

    def happened(self, event: str, number: float) -> None:
        """Count rows.

        Parameters
        ----------
        event : str
            What was done with them, of :data:`EVENTS`.
        number : float
            How many.
        """
        self._held[self._events + EVENTS.index(event)] += number

    def gauge(self, name: str, value: float, *, add: bool = False) -> None:
        """Note a number of this worker.

        Parameters
        ----------
        name : str
            Of :data:`GAUGES`.
        value : float
            What it is now.
        add : bool
            Whether the value is added to the one before.
        """
        at = self._gauges + GAUGES.index(name)
        self._held[at] = value + (self._held[at] if add else 0.0)

    def wait_for(self, token: Token, rate: float) -> float:
        """Take one request out of what a token may ask; workers share it.

        The rule is the generic cell rate algorithm: requests are `rate` to a second on average, and
        as many may come at once.

        Parameters
        ----------
        token : Token
            Who asks.
        rate : float
            Requests a second.

        Returns
        -------
        float
            0, or the seconds to wait where this request is one too many.
        """
        slot, now = token.number % RATE_SLOTS, time.monotonic()
        due = max(self._held[slot], now)
        early = due - now - (max(1.0, rate) - 1.0) / rate
        if early > 0.0:
            return early
        self._held[slot] = due + 1.0 / rate
        return 0.0

    def written(self) -> str:
        """Write all numbers.

        Returns
        -------
        str
            In Prometheus' text format.
        """
        return "\n".join(self._lines()) + "\n"

    def _sum(self, at: int) -> float:
        starts = range(RATE_SLOTS, RATE_SLOTS + self._workers * self._part, self._part)
        return sum(self._held[start + at] for start in starts)

    def _lines(self) -> Iterator[str]:
        yield "# HELP tallybayes_requests_total Requests that were answered."
        yield "# TYPE tallybayes_requests_total counter"
        for route, i in self._routes.items():
            for j, status in enumerate(STATUSES):
                if n := self._sum(i * self._per_route + j):
                    labels = f'route="{route}",status="{status}"'
                    yield f"tallybayes_requests_total{{{labels}}} {n:.0f}"
        name = "tallybayes_request_seconds"
        yield f"# HELP {name} Time from the headers of a request to its answer."
        yield f"# TYPE {name} histogram"
        for route, i in self._routes.items():
            at, n = i * self._per_route + len(STATUSES), 0.0
            counts = [self._sum(at + j) for j in range(len(SECONDS) + 1)]
            if not sum(counts):
                continue
            for bound, count in zip((*map(str, SECONDS), "+Inf"), counts, strict=True):
                n += count
                yield f'{name}_bucket{{route="{route}",le="{bound}"}} {n:.0f}'
            yield f'{name}_sum{{route="{route}"}} {self._sum(at + len(SECONDS) + 1):.6f}'
            yield f'{name}_count{{route="{route}"}} {n:.0f}'
        at = len(self._routes) * self._per_route
        yield "# HELP tallybayes_events_total Rows that were predicted, explained, learned, …"
        yield "# TYPE tallybayes_events_total counter"
        for j, event in enumerate(EVENTS):
            yield f'tallybayes_events_total{{event="{event}"}} {self._sum(at + j):.0f}'
        at += len(EVENTS)
        now = time.time()
        gauges = {
            "version": ("tallybayes_model_version", "gauge", "Version of the store's model."),
            "since": ("tallybayes_model_age_seconds", "gauge", "Since the model was read."),
            "staleness": (
                "tallybayes_weights_staleness",
                "gauge",
                "Rows that came since weights were learned, for each row that was counted then.",
            ),
            "refresh": ("tallybayes_refresh_seconds", "gauge", "What the last refresh took."),
            "refreshes": ("tallybayes_refreshes_total", "counter", "Versions that were read."),
            "failures": ("tallybayes_refresh_failures_total", "counter", "Refreshes that failed."),
        }
        alive = at + GAUGES.index("alive")
        for gauge, (name, kind, meaning) in gauges.items():
            yield f"# HELP {name} {meaning}"
            yield f"# TYPE {name} {kind}"
            for worker in range(self._workers):
                start = RATE_SLOTS + worker * self._part
                if self._held[start + alive]:
                    value = self._held[start + at + GAUGES.index(gauge)]
                    value = now - value if gauge == "since" else value
                    yield f'{name}{{worker="{worker}"}} {value:.6f}'
