"""Look at the built pages as readers do: ``make docs-look``, after ``make docs``.

    python tools/docs_look.py [--pages PATTERN] [--pictures FOLDER] [--output FOLDER]

Opens every page in headless Chromium, 390 and 1280 pixels wide, light and dark, and reports script
errors, requests to another host, files that are missing, broken formulas, pages that scroll
sideways, and what axe-core finds serious or critical. Then it types the queries of
``docs/queries.toml`` into the search page of each language: the page named there has to be among
the first three results.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import threading
import time
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import docs
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, sync_playwright

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
WIDTHS = (390, 1280)
SCHEMES = ("light", "dark")
SEEN_BY_AXE = {390: "dark", 1280: "light"}
WIDE = """() => {
    const width = document.documentElement.clientWidth;
    if (document.documentElement.scrollWidth <= width) return null;
    const wide = [...document.querySelectorAll("main *")].filter(
        (x) => x.getBoundingClientRect().right > width + 1);
    const tag = wide.length ? wide[wide.length - 1].outerHTML.slice(0, 120) : "?";
    return `${document.documentElement.scrollWidth} pixels of ${width}: ${tag}`;
}"""


def main() -> int:
    """Print what is wrong, and return 1 if there is anything, else 0."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--output", type=Path, default=docs.ROOT / "build" / "docs")
    parser.add_argument("--queries", type=Path, default=docs.ROOT / "docs" / "queries.toml")
    parser.add_argument("--pages", default="*", help="such as 'zh/start/*'; or none")
    parser.add_argument("--pictures", type=Path, help="a folder for a screenshot of each")
    asked = parser.parse_args()
    if CHROMIUM is None:
        print("Chromium is needed: apt-get install chromium", file=sys.stderr)
        return 1
    start, count = time.monotonic(), 0
    with docs.server(asked.output) as server, sync_playwright() as driver:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_address[1]}/"
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        for fault in [*pages(browser, address, asked), *searches(browser, address, asked)]:
            print(fault, flush=True)
            count += 1
        browser.close()
        server.shutdown()
    print(f"{count} faults, {time.monotonic() - start:.0f} s")
    return 1 if count else 0


def pages(browser: Browser, address: str, asked: argparse.Namespace) -> Iterator[str]:
    """What is wrong with the pages, a line for each fault."""
    names = sorted(
        path.relative_to(asked.output).as_posix()
        for path in asked.output.rglob("*.html")
        if "_static" not in path.parts and "_downloads" not in path.parts
    )
    axe = Axe()
    for width in WIDTHS:
        for scheme in SCHEMES:
            context = browser.new_context(
                viewport={"width": width, "height": 900}, color_scheme=scheme
            )
            page = context.new_page()
            said: list[str] = []
            watch(page, address, said)
            for name in names:
                if not fnmatch(name, asked.pages):
                    continue
                said.clear()
                page.goto(address + name)
                faults = list(said)
                page.wait_for_function("!globalThis.MathJax?.startup || MathJax.startup.promise")
                if broken := page.locator("mjx-merror").all():
                    faults.append(f"formula: {broken[0].get_attribute('title')}")
                if wide := page.evaluate(WIDE):
                    faults.append(f"scrolls sideways, {wide}")
                seen = SEEN_BY_AXE[width] == scheme
                for found in axe.run(page).response["violations"] if seen else ():
                    if found["impact"] in ("serious", "critical"):
                        where = found["nodes"][0]["html"][:160]
                        faults.append(f"axe {found['id']} ({len(found['nodes'])}): {where}")
                yield from (f"{name} {width} {scheme}: {fault}" for fault in faults)
                if asked.pictures:
                    asked.pictures.mkdir(parents=True, exist_ok=True)
                    picture = re.sub(r"\W+", "-", name.removesuffix(".html"))
                    path = asked.pictures / f"{picture}-{width}-{scheme}.png"
                    height = min(4000, page.evaluate("document.documentElement.scrollHeight"))
                    clip = {"x": 0, "y": 0, "width": width, "height": height}
                    page.screenshot(path=path, full_page=True, clip=clip)
            context.close()


def watch(page: Any, address: str, said: list[str]) -> None:
    """Notes script errors, requests to another host and answers that are errors."""

    def request(asked: Any) -> None:
        if not asked.url.startswith((address, "data:", "blob:")):
            said.append(f"requests {asked.url}")

    def response(answer: Any) -> None:
        if answer.status >= 400:
            said.append(f"{answer.status} for {answer.url}")

    page.on("pageerror", lambda error: said.append(f"script error: {error}"))
    page.on("console", lambda x: x.type == "error" and said.append(f"console: {x.text}"))
    page.on("request", request)
    page.on("response", response)


def searches(browser: Browser, address: str, asked: argparse.Namespace) -> Iterator[str]:
    """The queries whose page is not among the first three results."""
    if asked.pages not in ("*", "none") or not asked.queries.exists():
        return
    queries = tomllib.loads(asked.queries.read_text(encoding="utf-8"))
    page = browser.new_page()
    for language, wanted in queries.items():
        good = 0
        for query, expected in wanted.items():
            page.goto(f"{address}{language}/search.html?q={query}")
            try:
                page.wait_for_selector(
                    ".pagefind-ui__result-link, .pagefind-ui__message", timeout=9000
                )
                page.wait_for_function(
                    "!document.querySelector('.pagefind-ui__message')?.textContent.includes('…')"
                )
                page.wait_for_selector(".pagefind-ui__result-link", timeout=2000)
            except Exception:
                pass
            titles = page.locator(".pagefind-ui__result-inner > .pagefind-ui__result-title a")
            found = [
                re.sub(rf".*/{language}/", "", str(link.get_attribute("href"))).split("#")[0]
                for link in titles.all()[:3]
            ]
            if f"{expected}.html" in found:
                good += 1
            else:
                yield f"search {language} {query!r}: {expected} is not among {found}"
        print(f"search {language}: {good} of {len(wanted)}")
    page.close()


if __name__ == "__main__":
    sys.exit(main())
