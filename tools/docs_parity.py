"""Check that the pages of the site are in step in English and Chinese, without building them.

    python tools/docs_parity.py [FOLDER]

A page and its translation have the same headings (level and anchor), cells with the same code, code
blocks of the same languages, the same pictures and the same number of folded answers, in the same
order. Every heading has an anchor of its own, ``(name)=`` on the line before it, and every code
block a language. Each fault is a line ``FILE:LINE: what is wrong``.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

LANGUAGES = ("en", "zh")

ENGLISH_ONLY = ("reference", "why")
"""Folders whose pages are in English; the Chinese site has an index of its own for each."""

FENCE = re.compile(r"^ *(?P<fence>`{3,}|~{3,}|:{3,})(?P<info>.*)$")
ANCHOR = re.compile(r"^\((?P<name>[^)]+)\)=$")
HEADING = re.compile(r"^(?P<level>#{1,6}) +\S")
PICTURE = re.compile(r"!\[[^]]*\]\((?P<path>[^)\s]+)")


@dataclass(frozen=True)
class Part:
    """What a page and its translation have in common, of one place in the page."""

    kind: str
    value: str
    line: int


def translated(page: Path) -> bool:
    """Whether a page, by its path within the folder of a language, exists in each language."""
    return page.parts[0] not in ENGLISH_ONLY or page.parts[1:] == ("index.md",)


def parts(text: str) -> Iterator[Part]:
    """The parts of a page, from top to bottom; what breaks a rule is a part of the kind "fault"."""
    lines = text.splitlines()
    runs = "file_format: mystnb" in text.partition("\n---")[0]
    i, start = 0, 0
    if lines and lines[0] == "---":
        i = start = lines.index("---", 1) + 1
    while i < len(lines):
        line = lines[i]
        fence = FENCE.match(line)
        if fence and fence["fence"][0] in "`~":
            first, info = i, fence["info"].strip()
            i += 1
            while i < len(lines) and lines[i].strip() != fence["fence"]:
                i += 1
            body = lines[first + 1 : i]
            if i == len(lines):
                yield Part("fault", "this block has no end", first + 1)
            yield from block(info, body, first + 1, runs)
        elif fence:
            name = re.match(r"\{([\w-]+)\}", fence["info"].strip())
            if name and name[1] == "dropdown":
                yield Part("folded answer", "", i + 1)
        elif heading := HEADING.match(line):
            above = next((lines[k] for k in range(i - 1, start - 1, -1) if lines[k].strip()), "")
            anchor = ANCHOR.match(above)
            if anchor is None:
                yield Part("fault", "no anchor, (name)=, above this heading", i + 1)
            yield Part("heading", f"{heading['level']} {anchor and anchor['name']}", i + 1)
        for picture in PICTURE.finditer(line) if not fence else ():
            yield Part("picture", picture["path"], i + 1)
        i += 1


def block(info: str, body: list[str], line: int, runs: bool) -> Iterator[Part]:
    """The part that a fenced block is."""
    name = re.match(r"\{([\w-]+)\} *(.*)", info)
    if name is None:
        if not info:
            yield Part("fault", "this code block has no language", line)
        yield Part("code block", info, line)
    elif name[1] == "code-cell":
        if not runs:
            yield Part("fault", "a cell, but no `file_format: mystnb` at the top of the page", line)
        # what a picture shows is said in the language of the page
        code = (re.sub(r"^ +alt: .*", "alt:", text) for text in body)
        yield Part("cell", "\n".join(code), line)
    elif name[1] in ("image", "figure"):
        yield Part("picture", name[2], line)


def faults(folder: Path) -> Iterator[str]:
    """A line for each fault of the pages below a folder that has one folder for each language."""
    pages = {
        language: {
            page.relative_to(folder / language) for page in (folder / language).rglob("*.md")
        }
        for language in LANGUAGES
    }
    for page in sorted(set.union(*pages.values())):
        found: list[tuple[Path, list[Part]]] = []
        for language in LANGUAGES:
            path = folder / language / page
            if page in pages[language]:
                found.append((path, list(parts(path.read_text(encoding="utf-8")))))
                for part in found[-1][1]:
                    if part.kind == "fault":
                        yield f"{path}:{part.line}: {part.value}"
            elif translated(page):
                (other,) = (folder / name / page for name in LANGUAGES if name != language)
                yield f"{path}:1: this page is missing; its translation is {other}"
        if len(found) == len(LANGUAGES):
            yield from differences(*found)


def differences(one: tuple[Path, list[Part]], two: tuple[Path, list[Part]]) -> Iterator[str]:
    """The first place of each kind where a page and its translation are not in step."""
    (path, mine), (other, theirs) = one, two
    for kind in ("heading", "cell", "code block", "picture", "folded answer"):
        pairs = zip_longest(*([p for p in x if p.kind == kind] for x in (mine, theirs)))
        for a, b in pairs:
            if a is None:
                yield f"{other}:{b.line}: a {kind} that {path} does not have: {shown(b)}"
            elif b is None:
                yield f"{path}:{a.line}: a {kind} that {other} does not have: {shown(a)}"
            elif a.value != b.value:
                line = a.line + first_difference(a.value, b.value) if kind == "cell" else a.line
                yield f"{path}:{line}: a {kind} unlike that of {other}:{b.line}: {shown(a)}"
            else:
                continue
            break


def first_difference(one: str, two: str) -> int:
    """In which line, from one, two texts differ first."""
    pairs = zip_longest(one.splitlines(), two.splitlines())
    return next(i for i, (a, b) in enumerate(pairs, 1) if a != b)


def shown(part: Part) -> str:
    """The first words of a part."""
    return part.value.split("\n", 1)[0][:60] or part.kind


def main(folder: Path) -> int:
    """Print the faults, and return 1 if there are any, else 0."""
    found = list(faults(folder))
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs")))
