"""What the scripts of the five articles share: printing and pictures. Nothing of naive Bayes."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

IN_A_NOTEBOOK = "ipykernel" in sys.modules

import matplotlib  # noqa: E402

if not IN_A_NOTEBOOK:
    matplotlib.use("Agg")


def title(text: str) -> None:
    """A heading."""
    print(f"\n{text}\n{'-' * len(text)}")


def beside(what: str, article: str, ours: str) -> None:
    """A number of the article beside ours."""
    print(f"{what:<58} article: {article:<12} ours: {ours}")


def table(heads: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Rows under their heads, in columns."""
    cells = [[c if isinstance(c, str) else f"{c:.5g}" for c in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(heads, *cells, strict=True)]
    for row in [heads, *cells]:
        print("  " + "  ".join(f"{c:>{w}}" for c, w in zip(row, widths, strict=True)))


def save(figure: Any, name: str) -> None:
    """Saves a picture in the folder that the command line names, or in a temporary one."""
    named = [] if IN_A_NOTEBOOK else sys.argv[1:2]
    folder = Path(named[0]) if named else Path(tempfile.gettempdir()) / "tallybayes-pictures"
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / name, dpi=150, bbox_inches="tight")
    print(f"picture: {folder / name}")
