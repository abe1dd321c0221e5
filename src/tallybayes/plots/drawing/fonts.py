"""Strings in whatever fonts are installed: names of classes and columns may be in any script.

Where the font of the picture lacks a character, an installed font that has it is added. Where none
has it, the character is written as its escape, ``\\u4e2d``: names stay different, and nothing is
warned of.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

from tallybayes.plots.drawing.libraries import library

__all__ = ["drawable"]

PREFERRED = (
    "Noto Sans CJK SC",
    "Noto Sans SC",
    "Source Han Sans SC",
    "Source Han Sans CN",
    "PingFang SC",
    "Hiragino Sans GB",
    "Microsoft YaHei",
    "WenQuanYi Micro Hei",
    "WenQuanYi Zen Hei",
    "SimHei",
    "Heiti SC",
    "Noto Sans CJK JP",
    "Droid Sans Fallback",
    "Arial Unicode MS",
    "Unifont",
)
"""Tried first, the rest in alphabetical order."""
NOT_TEXT = ("Last Resort", "cm")  # boxes, and mathematics under other code points


@cache
def _characters(path: str) -> frozenset[int]:
    """The code points that a font file has."""
    try:
        return frozenset(library("matplotlib.ft2font").FT2Font(path).get_charmap())
    except RuntimeError:  # a font that matplotlib cannot read
        return frozenset()


def _lacking(characters: set[str], path: str) -> set[str]:
    """The characters that a font file does not have."""
    here = _characters(path)
    return {c for c in characters if ord(c) not in here}


def _path(family: str) -> str:
    manager = library("matplotlib.font_manager")
    return str(manager.findfont(manager.FontProperties(family=[family])))


def _other_families() -> dict[str, str]:
    """A font file of each family, in the order in which they are tried."""
    every = library("matplotlib.font_manager").fontManager.ttflist
    upright = {f.name: str(f.fname) for f in every if f.style == "normal" and f.weight == 400}
    first = [name for name in PREFERRED if name in upright]
    rest = [name for name in sorted(upright) if not name.startswith(NOT_TEXT)]
    return {name: upright[name] for name in [*first, *rest]}


def drawable(values: Iterable[Any], *, parse_math: bool = True) -> tuple[list[str], list[str]]:
    """Strings that can be drawn, and the font families that draw them.

    Parameters
    ----------
    values : iterable
        What is to be written: the ``str`` of each.
    parse_math : bool
        Whether they are drawn where a dollar sign begins a formula, so that theirs are escaped.
    """
    families = list(library("matplotlib").rcParams["font.family"])
    strings = [str(value) for value in values]
    if parse_math:  # a name is not a formula
        strings = [one.replace("$", r"\$") for one in strings]
    lacking = {c for c in "".join(strings) if c.isprintable() and ord(c) > 126}
    for family in families if lacking else []:
        lacking = _lacking(lacking, _path(family))
    for name, path in (_other_families() if lacking else {}).items():
        left = _lacking(lacking, path)
        if left < lacking:
            families, lacking = [*families, name], left
    escapes = {ord(c): c.encode("ascii", "backslashreplace").decode() for c in lacking}
    return [one.translate(escapes) for one in strings], families
