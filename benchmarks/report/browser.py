"""Headless Chromium: how soon a page is usable, and pictures of it."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

__all__ = ["chromium", "loaded", "pictured"]

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
WIDTHS = (390, 1280)
TALLEST = 12_000  # pixels of a picture
SECTIONS = ("glance", "nomogram", "rows", "columns", "quality")


@contextmanager
def chromium() -> Iterator[Any]:
    """The browser.

    Raises
    ------
    SystemExit
        Where there is no Chromium, or no Playwright to drive it.
    """
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        raise SystemExit("pages are loaded and pictured in Chromium: apt-get install chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        raise SystemExit("Playwright drives Chromium: pip install playwright") from None
    with sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=path, args=FLAGS)
        yield running
        running.close()


def loaded(browser: Any, page: Path) -> float:
    """Seconds until a page is drawn and answers."""
    shown = browser.new_page(viewport={"width": 1280, "height": 900})
    start = time.perf_counter()
    shown.goto(page.as_uri())
    shown.evaluate("globalThis.tallybayes.data.model")
    shown.evaluate(
        "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
    )
    seconds = time.perf_counter() - start
    shown.close()
    return seconds


def pictured(browser: Any, page: Path, folder: Path, name: str) -> None:
    """Pictures of a page, section by section: narrow and wide, light and dark, and its print."""
    stem = re.sub(r"\W+", "-", name).lower()
    folder.mkdir(parents=True, exist_ok=True)
    for width in WIDTHS:
        for scheme in ("light", "dark"):
            viewport = {"width": width, "height": 900}
            context = browser.new_context(viewport=viewport, color_scheme=scheme)
            shown = context.new_page()
            shown.goto(page.as_uri())
            shown.wait_for_timeout(600)  # until everything is drawn
            for section in SECTIONS:
                box = shown.locator(f"#{section}").bounding_box()
                if box is None:
                    continue
                clip = {
                    "x": 0,
                    "y": box["y"],
                    "width": width,
                    "height": min(box["height"], TALLEST),
                }
                path = folder / f"{stem}-{width}-{scheme}-{section}.png"
                shown.screenshot(path=path, clip=clip, full_page=True)
            context.close()
    shown = browser.new_page()
    shown.goto(page.as_uri())
    shown.wait_for_timeout(600)
    shown.pdf(path=folder / f"{stem}-print.pdf", format="A4", print_background=True)
    shown.close()
