"""Run the code of README.md, README.zh-CN.md and docs/tour.md, and compare what they show.

    python tools/readme.py            the code, each block by itself, and its outputs
    python tools/readme.py --write    the figures of the tables, from benchmarks/results

A block ``sh`` or ``python`` that a block ``text`` follows prints what stands in it; a line ``…``
stands for any lines. A table below the comment ``<!-- figures: NAME -->`` ends in columns of
figures: those that :data:`FIGURES` reads from the results of benchmarks.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean, median
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", ROOT / "README.zh-CN.md"]
TOUR = ROOT / "docs" / "tour.md"
FENCED = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
INSTALLERS = {"pip", "pipx", "uv", "make"}


class Block(NamedTuple):
    """A fenced block of code, and the block ``text`` that follows it, if one does."""

    language: str
    code: str
    output: str | None
    line: int


def blocks(text: str) -> Iterator[Block]:
    """The blocks of code of a page, but for those that install."""
    found = list(FENCED.finditer(text))
    for block, after in zip(found, [*found[1:], None], strict=True):
        installs = block[1] == "sh" and shlex.split(block[2], comments=True)[0] in INSTALLERS
        if block[1] in ("sh", "python") and not installs:
            shows = after is not None and after[1] == "text"
            output = after[2] if after is not None and shows else None
            yield Block(block[1], block[2], output, text.count("\n", 0, block.start()) + 1)


def printed(block: Block, folder: Path) -> str:
    """What a block prints in a folder that has the data of the repository."""
    shutil.copytree(ROOT / "docs" / "data", folder / "docs" / "data", dirs_exist_ok=True)
    environment = os.environ | {"COLUMNS": "80", "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"}
    environment["TALLYBAYES_PROGRESS"] = "0"
    said = ""
    commands = [["-c", block.code]]
    if block.language == "sh":
        lines = [shlex.split(line, comments=True) for line in block.code.splitlines()]
        commands = [["-m", *words] for words in lines if words]
    for command in commands:
        done = subprocess.run(
            [sys.executable, "-P", "-W", "error", *command],
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            check=False,
        )
        said += done.stdout
        if done.returncode:
            raise SystemExit(f"{shlex.join(command)}: exit code {done.returncode}\n{said}")
    return said


def agrees(shown: str, said: str) -> bool:
    """Whether an output is the one that a page shows, but for blanks at the ends of lines."""
    lines = [line.rstrip() for line in shown.strip("\n").splitlines()]
    pattern = "\n".join(r"(?:.*\n)*?.*" if line == "…" else re.escape(line) for line in lines)
    text = "\n".join(line.rstrip() for line in said.strip("\n").splitlines())
    return re.fullmatch(pattern, text) is not None


# ---- figures: every one is read from the results of a command of benchmarks ---------------------
def results(name: str) -> Any:
    """What a benchmark wrote."""
    path = ROOT / "benchmarks" / "results" / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8"))


def log_losses(name: str, peer: str, but: str = "") -> list[str]:
    """The data sets of a run, and the mean log-loss of WeightedNaiveBayes and of a peer."""
    figures = [one["figures"] for one in results(name)["data_sets"] if one["name"] != but]
    models = ("WeightedNaiveBayes", peer)
    means = [f"{fmean(one[model]['log_loss'] for one in figures):.3f}" for model in models]
    return [str(len(figures)), *means]


def accuracy() -> list[list[str]]:
    """How many data sets, and log-losses in nats a row: ours, and a peer's."""
    compared = [one for one in results("weighted-compared")["data_sets"] if one["catboost"]]
    means = [f"{fmean(one[key] for one in compared):.3f}" for key in ("now", "catboost")]
    news = results("text-sets")["20 Newsgroups"]
    return [
        log_losses("weighted-sets", "HistGradientBoosting", but="letter"),
        log_losses("weighted-sets", "LogisticRegression", but="letter"),
        log_losses("ebm/weighted-sets", "EBM"),
        [str(len(compared)), *means],
        ["1", *(f"{news[model]['log_loss']:.3f}" for model in ("TextNB", "LogisticRegression"))],
    ]


def seconds(value: float) -> str:
    """A time to two or three digits, in its unit."""
    unit, of = next(
        (unit, of) for unit, of in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)) if value >= of
    )
    return f"{value / of:.3g} {unit}"


def speed() -> list[list[str]]:
    """Times of scikit-learn and ours, and their ratio."""
    rows = []
    for name, case in (
        ("speed-gaussian", "gaussian/float64/fit"),
        ("speed-gaussian", "gaussian/float64/predict"),
        ("speed-categorical", "categorical/10-classes/fit"),
        ("speed-text-20", "multinomial/20-classes/fit"),
        ("speed-tables", "tables/str/fit/one-hot"),
    ):
        (found,) = [one for one in results(name)["cases"] if one["name"] == case]
        times = [median(found[whose]["seconds"]) for whose in ("peer", "ours")]
        ratio = times[0] / times[1]
        rows.append([*map(seconds, times), f"{ratio:.0f}" if ratio >= 10.0 else f"{ratio:.1f}"])
    return rows


FIGURES = {"accuracy": accuracy, "speed": speed}
TABLE = re.compile(r"(?<=<!-- figures: )(\w+)( -->\n(?:\n*)(?:\|.*\n){2})((?:\|.*\n?)+)")


def with_figures(text: str) -> str:
    """A page with the figures of its tables as the results have them."""

    def filled(match: re.Match[str]) -> str:
        rows, figures = match[3].splitlines(), FIGURES[match[1]]()
        if len(rows) != len(figures):
            raise SystemExit(f"{match[1]}: {len(rows)} rows, and figures for {len(figures)}")
        for i, numbers in enumerate(figures):
            cells = rows[i].strip("|").split("|")[: -len(numbers)]
            rows[i] = "|".join(["", *cells, *(f" {number} " for number in numbers), ""])
        return match[1] + match[2] + "\n".join(rows) + "\n"

    return TABLE.sub(filled, text)


def main() -> None:
    """What the command line asks for."""
    if sys.argv[1:] == ["--write"]:
        for page in PAGES:
            text = page.read_text(encoding="utf-8")
            page.write_text(with_figures(text), encoding="utf-8")
        return
    count = 0
    for page in PAGES:
        for block in blocks(page.read_text(encoding="utf-8")):
            with tempfile.TemporaryDirectory() as folder:
                said = printed(block, Path(folder))
            if block.output is not None and not agrees(block.output, said):
                raise SystemExit(f"{page.name}:{block.line}: the code prints\n{said}")
            count += 1
    tour = "\n".join(block.code for block in blocks(TOUR.read_text(encoding="utf-8")))
    warnings.simplefilter("error")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        exec(compile(tour, TOUR.name, "exec"), {"__name__": "page"})
        os.chdir(ROOT)
    print(f"README: {count} blocks run, and the tour")


if __name__ == "__main__":
    main()
