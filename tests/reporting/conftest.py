"""Models and reports that several tests read, and pages of the browser."""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tallybayes import GaussianNB, NaiveBayes, WeightedNaiveBayes
from tallybayes.reporting import Report
from tallybayes.text import TextNB

NASTY = [
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(2)</script>",
    "\"quoted\" & 'single' {{ braces }}",
    "\u202eright to left\u202c",
    "<!-- comment ]]>",
    "   ",
    "中文级别",
]


def people(n: int = 600, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """A table of numbers, levels, gaps, numbers beside strings, and a nearly constant column."""
    rng = np.random.default_rng(seed)
    y = rng.choice(["no", "yes"], n, p=[0.7, 0.3])
    yes = y == "yes"
    frame = pd.DataFrame(
        {
            "age": np.round(rng.normal(35 + 9 * yes, 10), 0),
            "income": np.round(np.exp(rng.normal(10 + 0.6 * yes, 0.5)), 2),
            "gain": np.where(rng.random(n) < 0.8, 0.0, np.round(rng.gamma(2, 800 + 900 * yes))),
            "city": rng.choice(["Bern", "Oslo", "Lima", "北京"], n, p=[0.4, 0.3, 0.2, 0.1]),
            "job": np.where(rng.random(n) < 0.7, np.where(yes, "chef", "clerk"), "pilot"),
        }
    )
    frame["mixed"] = np.where(rng.random(n) < 0.2, "unknown", frame["age"].astype(int).astype(str))
    frame["mixed"] = [v if v == "unknown" else int(v) for v in frame["mixed"]]
    days = np.where(yes, 300, 0) + rng.integers(0, 900, n)
    frame["since"] = pd.Timestamp("2019-05-01") + pd.to_timedelta(days, unit="D")
    frame.loc[rng.random(n) < 0.1, "age"] = np.nan
    frame.loc[rng.random(n) < 0.5, "city"] = None
    return frame, y


def rows_of(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows as the page takes them: null for a missing value."""
    frame = frame.copy()
    if "since" in frame:
        frame["since"] = frame["since"].dt.strftime("%Y-%m-%d")
    return [
        {name: None if value is None or value != value else value for name, value in row.items()}
        for row in frame.to_dict("records")
    ]


@cache
def fitted(name: str) -> tuple[Any, Any, Any]:
    """A model with the rows that it has learned."""
    X, y = people()
    plain = X.drop(columns="mixed")
    if name == "plain":
        return NaiveBayes().fit(plain, y), plain, y
    if name == "temperature":
        return NaiveBayes(calibrate="temperature").fit(plain, y), plain, y
    if name == "isotonic":
        return NaiveBayes(calibrate="isotonic").fit(plain, y), plain, y
    if name == "weighted":
        return WeightedNaiveBayes().fit(plain, y), plain, y
    if name == "arrays":
        numbers = X[["age", "income", "gain"]].fillna(30.0)
        return GaussianNB().fit(numbers, y), numbers, y
    if name == "nasty":
        rng = np.random.default_rng(3)
        labels = rng.choice([*NASTY, "x" * 10_000], 400)
        columns = {
            level: np.where(rng.random(400) < 0.5, labels, rng.choice(NASTY, 400))
            for level in [*NASTY[:6], "y" * 10_000]
        }
        return NaiveBayes().fit(pd.DataFrame(columns), labels), pd.DataFrame(columns), labels
    if name == "nasty texts":
        rng = np.random.default_rng(4)
        labels = rng.choice([*NASTY, "x" * 10_000], 200)
        texts = [f"{a} {b} {'z' * 10_000}" for a, b in zip(labels, rng.choice(NASTY, 200))]  # noqa: B905
        return TextNB(model="multinomial").fit(texts, labels), texts, labels
    raise KeyError(name)


@cache
def report(name: str, lang: str = "en") -> Report:
    """The report of a model on the rows that it has learned."""
    model, X, y = fitted(name)
    return model.report(X, y, lang=lang)


class Opened:
    """A page of the browser, with what went wrong in it."""

    def __init__(self, browser: Any, html: str, folder: Path, **options: Any) -> None:
        self.troubles: list[str] = []
        path = folder / "report.html"
        path.write_text(html, encoding="utf-8")
        self.context = browser.new_context(**options)
        self.page = self.context.new_page()
        self.page.route("**/*", self._only_the_file)
        self.page.on("pageerror", lambda error: self.troubles.append(f"error: {error}"))
        self.page.on("console", lambda message: self.troubles.append(f"console: {message.text}"))
        self.page.on("dialog", lambda dialog: self.troubles.append(f"dialog: {dialog.message}"))
        self.address = path.as_uri()
        self.page.goto(self.address)
        if "<script" in html:
            self.page.wait_for_function("globalThis.tallybayes !== undefined")

    def _only_the_file(self, route: Any) -> None:
        if route.request.url == self.address:
            route.continue_()
            return
        self.troubles.append(f"request: {route.request.url}")
        route.abort()

    def settle(self) -> None:
        """Waits until everything is drawn."""
        self.page.evaluate(
            "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
        )


@pytest.fixture
def opened(browser, tmp_path):
    """Opens a page; afterwards nothing may have gone wrong in it."""
    pages: list[Opened] = []

    def open_page(html: str, **options: Any) -> Opened:
        folder = tmp_path / str(len(pages))
        folder.mkdir()
        options.setdefault("viewport", {"width": 1280, "height": 900})
        pages.append(Opened(browser, html, folder, **options))
        return pages[-1]

    yield open_page
    for page in pages:
        page.context.close()
    assert [trouble for page in pages for trouble in page.troubles] == []
