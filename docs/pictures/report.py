"""The pictures of a report in the README and the tour, of the customers that an example makes.

    python docs/pictures/report.py

It needs the extra ``report``, Playwright and Chromium.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

import pandas as pd
from playwright.sync_api import sync_playwright

from tallybayes import WeightedNaiveBayes

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "examples"))

from customers import write  # noqa: E402

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu"]
WIDTH = 1000
HEIGHT = 880  # of a picture, at most


def pages(folder: Path) -> dict[str, Path]:
    """The reports of a model of 3,000 customers, by language."""
    write(folder / "january.csv", 3000, 1)
    table = pd.read_csv(folder / "january.csv", parse_dates=["since"]).drop(columns="number")
    rows, renews = table.drop(columns="renews"), table["renews"].to_numpy()
    model = WeightedNaiveBayes().fit(rows, renews)
    found = {lang: folder / f"{lang}.html" for lang in ("en", "zh")}
    for lang, path in found.items():
        model.report(rows, renews, lang=lang).save(path)
    return found


def main() -> None:
    """Makes the pictures beside this file."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        shown = browser.new_page(viewport={"width": WIDTH, "height": 800})
        for lang, path in pages(Path(folder)).items():
            shown.goto(path.as_uri())
            shown.wait_for_timeout(500)  # until everything is drawn
            name = "report.png" if lang == "en" else f"report.{lang}.png"
            shown.screenshot(path=HERE / name, clip=_box(shown, "#glance"), full_page=True)
            if lang == "en":
                clip = _box(shown, "#nomogram")
                shown.screenshot(path=HERE / "nomogram.png", clip=clip, full_page=True)
        browser.close()


def _box(shown, selector: str) -> dict[str, float]:
    """Where a section stands on the page."""
    box = shown.locator(selector).bounding_box()
    height = min(box["height"] + 12, HEIGHT)
    return {"x": box["x"] - 16, "y": box["y"] - 12, "width": box["width"] + 32, "height": height}


if __name__ == "__main__":
    main()
