"""The README in both languages: its code prints what stands below it, its figures are those of the
benchmarks, its links lead somewhere, and the two are in step."""

import re
import tomllib
from pathlib import Path
from statistics import median

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = ["README.md", "README.zh-CN.md"]
MOST_WORDS = 900
MEMORY = "a million rows, peak of the whole process, GB"
FENCED = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)\s]+)\)")


@pytest.fixture
def tool(monkeypatch):
    """tools/readme.py."""
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    import readme

    return readme


def text_of(page):
    return (ROOT / page).read_text(encoding="utf-8")


def outline(text):
    """The levels of headings, the code and the shapes of tables, in order: what both share."""
    found = []
    for part in re.split(f"({FENCED.pattern})", text, flags=FENCED.flags):
        if part.startswith("```"):
            found.append(part)
            continue
        for line in part.splitlines():
            if line.startswith("#"):
                found.append(line.partition(" ")[0])
            elif line.startswith(("|", "- ", "![", "<!--")):
                found.append((line[:2], line.count("|")))
    return found


def links(text):
    """The addresses of a page in order, without its language."""
    found = LINK.findall(FENCED.sub("", text))
    found = [to.replace(".zh.png", ".png").replace(".zh-CN.md", ".md") for to in found]
    return [re.sub(r"^docs/(en|zh)/", "docs/LANGUAGE/", to) for to in found]


def anchors(page):
    """What a link to a page may name behind #: its headings, as GitHub writes them."""
    headings = re.findall(r"^#+ (.*)$", FENCED.sub("", text_of(page)), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading).lower().replace(" ", "-") for heading in headings}


def test_it_is_read_in_a_minute():
    assert len(text_of("README.md").split()) <= MOST_WORDS


def test_its_code_prints_what_it_shows(tool, tmp_path):
    pytest.importorskip("typer")
    pytest.importorskip("jinja2")
    found = list(tool.blocks(text_of("README.md")))
    assert [block.language for block in found if block.output] == ["sh", "python"]
    for i, block in enumerate(found):
        said = tool.printed(block, tmp_path / str(i))
        assert block.output is None or tool.agrees(block.output, said), (
            f"README.md:{block.line}: the code prints\n{said}"
        )


@pytest.mark.parametrize("page", PAGES)
def test_its_figures_are_those_of_the_benchmarks(tool, page):
    text = text_of(page)
    assert [match[1] for match in tool.TABLE.finditer(text)] == list(tool.FIGURES)
    assert tool.with_figures(text) == text, "run `python tools/readme.py --write`"
    machine = tool.results("speed-gaussian")["machine"]
    assert machine["cpu"] in text
    assert re.search(rf"\b{machine['cores']} (cores|核)", text)


def test_the_comparison_with_other_tools_is_of_the_benchmarks(tool):
    text = text_of("docs/en/why/compared.md")
    compared = tool.results("weighted-compared")["data_sets"]
    assert f"On {len(compared)} sets" in text
    assert max(one["by_peer"] for one in compared) <= 1.05, "within 5 % of the best"
    lowest = sum(one["by_peer"] < 1.0 for one in compared)
    assert f"on {lowest} of them it was the lowest" in text
    assert "more than a hundred times as fast" in text
    for one in tool.results("ebm/weighted-sets")["data_sets"]:
        ours, ebm = (sum(one["figures"][m]["fit_by_fold"]) for m in ("WeightedNaiveBayes", "EBM"))
        assert ebm > 100.0 * ours, one["name"]
    (renamed,) = [
        x for x in tool.results("weighted-robust")["verdicts"] if "renamed: mean log-loss" in x
    ]
    here, elsewhere = (f"{float(x):.3f}" for x in re.findall(r"0\.\d+(?= →|,)", renamed))
    assert f"is {here}; learned on other parts of the same rows it is {elsewhere}" in text
    scale = {bar["what"]: bar["value"] for bar in tool.results("weighted-scale")["bars"]}
    time, memory = scale["a million rows, seconds"], scale[MEMORY]
    assert f"take {time:.1f} seconds and {memory:.1f} GB" in text
    adult = tool.results("weighted-adult")["adult"]["WeightedNaiveBayes"]["seconds"]
    assert f"rows take {median(adult):.2f} seconds" in text


@pytest.mark.parametrize("page", PAGES)
def test_its_links_lead_somewhere(page):
    for to in LINK.findall(FENCED.sub("", text_of(page))):
        path, _, anchor = to.partition("#")
        assert (ROOT / path).exists(), f"{page} links to {to}"
        assert not anchor or anchor in anchors(path), f"{page} links to {to}"


def test_the_languages_are_in_step():
    english, chinese = map(text_of, PAGES)
    assert outline(chinese) == outline(english)
    assert links(chinese) == links(english)
    assert "docs/en/" not in chinese.replace("docs/en/why/exact.md", "")


def test_every_extra_is_explained():
    project = tomllib.loads(text_of("pyproject.toml"))["project"]
    rows = re.findall(r"^\| `(\w+)` \|", text_of("docs/install.md"), re.MULTILINE)
    assert rows == sorted(project["optional-dependencies"]), "docs/install.md lists the extras"


@pytest.mark.parametrize(
    ("shown", "said", "same"),
    [
        ("a\nb\n", "a  \nb\n\n", True),
        ("a\nb\n", "a\nc\n", False),
        ("a\n…\nd\n", "a\nb\nc\nd\n", True),
        ("a\n…\nd\n", "a\nd\n", False),
        ("…\n1.5\n…\n", "x\n1.6\ny\n", False),
        ("1.5", "1x5", False),
    ],
)
def test_outputs_are_compared_line_by_line(tool, shown, said, same):
    assert tool.agrees(shown, said) is same


def test_a_figure_that_does_not_hold_is_found(tool):
    text = text_of("README.md")
    figure = tool.accuracy()[0][-1]
    wrong = text.replace(figure, "0.001", 1)
    assert wrong != text
    assert tool.with_figures(wrong) == text


def test_a_table_with_another_number_of_rows_is_refused(tool):
    text = "<!-- figures: accuracy -->\n\n| a | b |\n|---|---|\n| x | 1 |\n"
    with pytest.raises(SystemExit, match="1 rows, and figures for 5"):
        tool.with_figures(text)


def test_code_that_fails_is_named(tool, tmp_path):
    with pytest.raises(SystemExit, match="exit code 1"):
        tool.printed(tool.Block("python", "1 / 0", None, 1), tmp_path)
