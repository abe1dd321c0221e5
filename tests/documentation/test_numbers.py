"""What pages measure, run and name: figures have their command, commands parse, files are there.

A measured figure is a number with a unit (of time, memory, share, ratio or nats) or with a decimal
point, in prose or a table. The section that has it runs the code that gives it, names the command
that measures it, or links to a page of benchmarks/results, which begins with its command. A
decision keeps the figures of its day: there a paragraph says where those of the page come from.
"""

import argparse
import re
import shlex
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest
from benchmarks.__main__ import COMMANDS

ROOT = Path(__file__).resolve().parents[2]
ROOT_PAGES = ("README.md", "README.zh-CN.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
PAGES = [*(ROOT / name for name in ROOT_PAGES), *sorted((ROOT / "docs").rglob("*.md"))]
DECISIONS = [page for page in PAGES if re.match(r"\d{4}-", page.name)]
RESULTS = sorted((ROOT / "benchmarks" / "results").rglob("*.md"))
SAYS_WHERE = "**Where the figures come from.** "

UNITS = (
    "%|×|µs|ms|s|nats?|kB|MB|GB|[KMG]iB|bytes|times|lines|files|seconds?|minutes?|hours?"
    "|微秒|毫秒|秒|分钟|小时|倍|字节|奈特"
)
FIGURE = re.compile(
    rf"(?<![\w./])\d[\d,]*(?:\.\d+)?\s?(?:{UNITS})(?![a-z])"  # 3.2 ms, 20 %
    r"|(?<![\w./])\d[\d,]*\.\d+(?![\w.])"  # 0.313
    r"|(?<![\w./])\.\d+"  # .313
)
NOT_MEASURED = (  # versions, values that somebody chooses, examples, and what a word means
    *(f"3.{minor}" for minor in range(10, 15)),
    "Before 1.0",
    "The version is 0.1",
    "当前版本是 0.1",
    "scikit-learn ≥ 1.6",
    "in the form of NumPy 2.0",
    "numbers such as 0.37 or 5.1",
    "| 0.3 for w,",
    "Accuracy is then 98 % for a model that never says",
    "的模型准确率就有 98%",
    "useful if 70 % means 7 of 10",
    "说 70% 时",
    "Whether 70 % means right in 70 of 100",
    "一奈特使几率变为 2.7 倍",
    "at most 1 % of the rows have",
    "section 4.4 of the third article",
    "第三篇文章的 4.4 节",
    "knows only that a share is 0.25",
    "只知道比例是 0.25",
)

FENCE = re.compile(r"^( *)(`{3,}|~{3,})([^\n]*)\n(.*?)^\1\2 *$", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"`([^`\n]+)`")
NOT_PROSE = re.compile(
    r"\$\$.*?\$\$|`[^`\n]*`|\$[^$\n]+\$|\]\([^)\s]*\)|^(?: {4}|#)[^\n]*$", re.M | re.S
)
RUNS = re.compile(r"^```(\{code-cell\}|python)", re.MULTILINE)
LINK = re.compile(r"\]\([^)\s]*results/[\w/-]+\.md\)")
COMMAND = re.compile(r"python -m benchmarks|python tools/|make |tallybayes ")
MEASURES = re.compile(r"python -m benchmarks|python tools/|make ")
FILES = re.compile(r"(?<![\w./-])((?:benchmarks|docs|src|tests|tools)/[\w./*-]*\w)")


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def sections(text: str) -> Iterator[tuple[int, str]]:
    """The parts of a page from one heading to the next, with the line where each begins."""
    hidden = FENCE.sub(lambda block: re.sub(r"[^\n]", " ", block[0]), text)
    starts = [0, *(match.start() for match in re.finditer(r"^#+ ", hidden, re.MULTILINE))]
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        yield text.count("\n", 0, start) + 1, text[start:end]


def figures(section: str) -> list[str]:
    """The figures of prose and tables: not those of code, formulas and addresses."""
    prose = NOT_PROSE.sub(" ", FENCE.sub("", section))
    for words in NOT_MEASURED:
        prose = prose.replace(words, " ")
    return [match[0] for match in FIGURE.finditer(prose)]


def commands(text: str) -> list[str]:
    """The commands of a page, in code spans and in blocks of a shell."""
    blocks = [block[4] for block in FENCE.finditer(text) if block[3].strip() == "sh"]
    lines = [line.strip() for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    spans = SPAN.findall(FENCE.sub("", text))
    return [words.partition(" #")[0].strip() for words in (*spans, *lines) if COMMAND.match(words)]


def is_measured(section: str) -> bool:
    named = any(MEASURES.match(command) for command in commands(section))
    return named or bool(RUNS.search(section) or LINK.search(section))


def unmeasured(text: str) -> list[str]:
    """The sections of a page with figures that nothing beside them measures."""
    found = [(line, figures(part)) for line, part in sections(text) if not is_measured(part)]
    return [f"line {line}: {', '.join(shown[:5])}" for line, shown in found if shown]


@pytest.mark.parametrize("page", [page for page in PAGES if page not in DECISIONS], ids=name_of)
def test_a_measured_figure_has_its_command_beside_it(page):
    assert unmeasured(text_of(page)) == [], "name the command, or link to its results"


@pytest.mark.parametrize("page", DECISIONS, ids=name_of)
def test_a_decision_with_figures_says_where_they_come_from(page):
    text = text_of(page)
    shown = [figure for _, part in sections(text) for figure in figures(part)]
    assert text.count(f"\n{SAYS_WHERE}") == (1 if shown else 0), shown[:5]


@pytest.mark.parametrize(
    ("section", "found"),
    [
        ("It takes 3.2 ms.", ["line 1: 3.2 ms"]),
        ("| a | .313 |", ["line 1: .313"]),
        ("内存为 20 MB。", ["line 1: 20 MB"]),
        ("# A\n\n`make docs`\n\n# B\n\n99 % are found.", ["line 5: 99 %"]),
        ("It takes 3.2 ms (`python -m benchmarks start`).", []),
        ("[0.313](../benchmarks/results/weighted-sets.md)", []),
        ("```{code-cell} ipython3\nprint(0.5)\n```\n\nIt is 0.5.", []),
        ("```text\n# 3.2 ms\n```\n\n`alpha=0.5` in Python 3.11, $x = 0.5$", []),
    ],
)
def test_figures_and_what_measures_them_are_found(section, found):
    assert unmeasured(section) == found


def test_each_exception_is_of_some_page():
    texts = "".join(map(text_of, PAGES))
    assert [words for words in NOT_MEASURED if words not in texts] == []


# ---- commands -----------------------------------------------------------------------------------
ALL_COMMANDS = sorted(
    {command for page in (*PAGES, *RESULTS) for command in commands(text_of(page))}
)


def arguments(program: str) -> dict[str, list[str]]:
    """The commands of pages that begin with these words, and what follows the words."""
    found = [command for command in ALL_COMMANDS if command.startswith(program)]
    return {command: shlex.split(command.removeprefix(program)) for command in found}


@pytest.mark.parametrize("page", RESULTS, ids=name_of)
def test_results_begin_with_their_command(page):
    assert re.match(r"# .+\n\n- Command: `python (-m benchmarks|tools/)[^`]+`\n", text_of(page))


class Parsed(Exception):
    """A command line was accepted."""


def test_commands_of_benchmarks_are_accepted(monkeypatch):
    parse = argparse.ArgumentParser.parse_args

    def parse_alone(self, args=None, namespace=None):
        raise Parsed(parse(self, args, namespace))

    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", parse_alone)
    asked = arguments("python -m benchmarks")
    assert len(asked) > 50
    for command, words in asked.items():
        assert not words or words[0] in COMMANDS, command
        if len(words) > 1:
            with pytest.raises(Parsed) as accepted:
                import_module(COMMANDS[words[0]][0]).main(words[1:])
            if words[0] == "weighted":
                for part in accepted.value.args[0].only.split(","):
                    import_module(f"benchmarks.weighted.{part}")


def test_cases_of_speed_that_pages_name_are_measured():
    cases = import_module("benchmarks.speed.command").main
    for words in arguments("python -m benchmarks speed").values():
        if any("one-by-one" in word for word in words) and find_spec("river") is None:
            continue  # a case has its peer
        assert cases([*words, "--list"]) == 0


def test_tools_are_there_with_their_options():
    for command, (name, *words) in arguments("python tools/").items():
        source = text_of(ROOT / "tools" / name)
        options = [word.partition("=")[0] for word in words if word.startswith("--")]
        assert [option for option in options if f'"{option}"' not in source] == [], command


def test_targets_of_make_are_there():
    makefile = text_of(ROOT / "Makefile")
    for command, words in arguments("make ").items():
        for word in words:
            name, value, _ = word.partition("=")
            place = rf"\b{name}\b" if value else rf"^{re.escape(name)}:"
            assert re.search(place, makefile, re.MULTILINE), command


def test_commands_of_the_command_line_are_there_with_their_options():
    typer = pytest.importorskip("typer.main")
    from tallybayes.cli.app import app

    root = typer.get_command(app)
    asked = arguments("tallybayes ")
    assert len(asked) > 50
    for command, words in asked.items():
        place = root
        while words and hasattr(place, "get_command") and words[0].islower() and words[0][0] != "-":
            name = words.pop(0)
            place = place.get_command(None, name)
            assert place is not None, command
        if place is root and words[0].isupper():
            continue  # tallybayes COMMAND --help
        known = {"--help", "--"}.union(
            *(param.opts + param.secondary_opts for param in place.params)
        )
        given = {word.partition("=")[0] for word in words if word.startswith("-") and word != "-"}
        assert given <= known, command


# ---- files --------------------------------------------------------------------------------------
@pytest.mark.parametrize("page", [*PAGES, *RESULTS], ids=name_of)
def test_files_that_a_page_names_are_there(page):
    named = set(FILES.findall(text_of(page)))
    if page.stem == "mutants":  # it names tests below their folder
        named |= {
            f"tests/{words}" for words in SPAN.findall(text_of(page)) if words.endswith(".py")
        }
    gone = [one for one in named if not any(ROOT.glob(one)) and not any(ROOT.glob(f"{one}.*"))]
    assert sorted(gone) == []
