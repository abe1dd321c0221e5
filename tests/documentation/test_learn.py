"""The chapters for learners: both languages are in step, and every cell and number holds."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
LANGUAGES = {"en": ("Exercise", "Answer"), "zh": ("练习", "答案")}
CHAPTERS = sorted(page.name for page in (DOCS / "en" / "learn").glob("[0-9]*.md"))

CELL = re.compile(r"^```\{code-cell\} ipython3\n(.*?)^```$", re.DOTALL | re.MULTILINE)
OPTIONS = re.compile(r"\A(---\n.*?^---\n|(:[\w-]+:.*\n)+\n)", re.DOTALL | re.MULTILINE)
EQUATION = re.compile(r"^\$\$ \((eq-learn-[\w-]+)\)$", re.MULTILINE)


def text_of(language, chapter):
    return (DOCS / language / "learn" / chapter).read_text(encoding="utf-8")


def cells(text):
    """The code of each cell with its first line, without options such as the text of a picture."""
    for cell in CELL.finditer(text):
        options = OPTIONS.match(cell[1])
        start = cell.start(1) + (options.end() if options else 0)
        yield text.count("\n", 0, start) + 1, text[start : cell.end(1)]


def prose(text):
    return CELL.sub("", text)


def anchors(text):
    """The anchor above each heading, with the depth of the heading."""
    found = re.findall(r"^(?:\(([\w-]+)\)=\n)?(#+) ", prose(text), re.MULTILINE)
    return [(anchor, len(depth)) for anchor, depth in found]


def numbers(text):
    return set(re.findall(r"(?<![\w.-])\d+\.\d+", prose(text).partition("\n# ")[2]))


def test_every_chapter_exists_in_both_languages():
    assert sorted(page.name for page in (DOCS / "zh" / "learn").glob("[0-9]*.md")) == CHAPTERS
    assert [name[:2] for name in CHAPTERS] == [f"{i:02}" for i in range(1, len(CHAPTERS) + 1)]


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_languages_are_in_step(chapter):
    english, chinese = text_of("en", chapter), text_of("zh", chapter)
    assert all(anchor for anchor, _ in anchors(english)), "a heading without an anchor"
    assert anchors(english) == anchors(chinese)
    assert EQUATION.findall(english) == EQUATION.findall(chinese)
    assert [code for _, code in cells(english)] == [code for _, code in cells(chinese)]
    assert english.count("    alt: ") == chinese.count("    alt: ") > 0
    assert numbers(english) == numbers(chinese)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("chapter", CHAPTERS)
def test_exercises_are_numbered_and_answered(language, chapter):
    text, (exercise, answer) = text_of(language, chapter), LANGUAGES[language]
    places = re.findall(rf"^\*\*{exercise} (\d)\.\*\*|^(:::\{{dropdown\}}) {answer}$", text, re.M)
    assert 3 <= len(places) / 2 <= 5
    assert places == [
        part
        for i in range(1, len(places) // 2 + 1)
        for part in [(str(i), ""), ("", ":::{dropdown}")]
    ]


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_every_equation_is_computed_by_a_cell(chapter):
    text = text_of("en", chapter)
    code = "\n".join(code for _, code in cells(text))
    labels = EQUATION.findall(text)
    assert len(labels) >= 2
    named = re.findall(r"\((\d+)\)", " ".join(re.findall(r"# .*", code)))
    lacking = [(i, label) for i, label in enumerate(labels, 1) if str(i) not in named]
    assert lacking == [], "name the equation in the comment of a cell that computes it, as # (1)"


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("chapter", CHAPTERS)
def test_links_and_references_lead_somewhere(language, chapter):
    text = text_of(language, chapter)
    folder = DOCS / language / "learn"
    for link in re.findall(r"\]\(([^)#:]+)\)", prose(text)):
        assert (folder / link).is_file(), link
    known = {anchor for name in CHAPTERS for anchor, _ in anchors(text_of(language, name))}
    assert {*re.findall(r"\]\(#([\w-]+)\)", text)} <= known
    assert {*re.findall(r"\{eq\}`([^`]+)`", text)} <= {*EQUATION.findall(text)}


def run(text, page):
    """Runs the cells of a page in order; what they raise names the page and the line."""
    names = {"__name__": "page"}
    for line, code in cells(text):
        exec(compile("\n" * (line - 1) + code, page, "exec"), names)


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_cells_run_and_the_numbers_of_the_text_hold(chapter, tmp_path, monkeypatch):
    for library in ("pandas", "seaborn", "duckdb"):
        pytest.importorskip(library)
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    try:
        run(text_of("en", chapter), (DOCS / "en" / "learn" / chapter).as_posix())
    finally:
        matplotlib.pyplot.close("all")


BROKEN = """
```{code-cell} ipython3
p = 0.5
```

```{code-cell} ipython3
---
mystnb:
  image:
    alt: A picture.
---
p += 0.1
```

```{code-cell} ipython3
:tags: [remove-cell]

assert p == 0.5
```
"""


def test_a_number_that_does_not_hold_is_named_with_page_and_line():
    with pytest.raises(AssertionError) as raised:
        run(BROKEN, "broken.md")
    place = raised.traceback[-1]
    assert (Path(place.path).name, place.lineno + 1) == ("broken.md", 18)
    assert BROKEN.splitlines()[17] == "assert p == 0.5"
