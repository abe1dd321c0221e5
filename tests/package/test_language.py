"""The project's prose uses the field's terms: private words stay out of code and documentation."""

import io
import re
import tokenize
from functools import cache
from pathlib import Path

import pytest

from package.tree import ROOT, SOURCE, modules

PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
GLOSSARY = ROOT / "docs" / "glossary.md"

NAMES = {
    "AT_ONCE": "MAX_… or CHUNK_… of something",
    "Asked": "FitOptions",
    "Doubt": "Finding",
    "ENOUGH": "MIN_… of something",
    "FEWEST": "MIN_… of something",
    "HARDLY": "a share with a name",
    "LEAST": "MIN_… of something",
    "LONGEST": "MAX_…_CHARACTERS",
    "LOOKED": "MAX_… of something",
    "MOST": "MAX_… of something",
    "NARROWEST": "MIN_WIDTH",
    "SILENT": "NULL_TERM",
    "WIDEST": "MAX_… of something",
    "Wish": "FitRequest",
    "Wishes": "FitOptions",
    "believed": "shrunk",
    "doubts": "findings, data quality",
    "hopeless": "stops_early",
    "loudest": "top_columns_by_effect",
    "said": "contributions, labels, or the word for what it holds",
    "told": "the word for what is stated",
    "texts": "strings",
    "trust_beyond_chance": "shrinkage_factor",
}
"""Private names that the field has another word for, and that word."""

WORDS = {
    r"\b[Gg]aps?\b": "missing value",
    r"\btexts\b": "strings, categories or documents",
    r"\b(is|are|was|were) no part of\b": "is not part of",
    r"\bheard\b": "used, selected",
    r"\bbeliev(e|ed|es|ing)\b": "shrink, trust, assume",
    r"\btold\b": "reported, given, distinguished",
    r"\blearnings\b": "fits",
    r"\bof old\b": "classic",
    r"\b(take|takes|taken|taking) away\b": "remove, forget, subtract",
    r"\bat hand\b": "available, present",
    r"\bdoubts?\b": "data-quality finding",
    r"\bwhich (is|are) no\b": "which is not a",
    r"\bnor is it\b": "and it is not",
    r"\btelling (word|term)s?\b": "most informative",
    r"\bsimplest guess\b": "baseline",
    r"\btoo sure\b": "overconfident",
    r"\bfalls? away\b": "is skipped",
    r"\bas \w+ (has|have) (it|them)\b": "as in",
    r"\blies above\b": "is in a layer above",
    r"\bis not so\b": "does not",
    r"\bso many letters\b": "so many characters",
    r"\bleave \S+ away\b": "omit",
    r"\btoo kind\b": "optimistically biased",
    r"\bafresh\b": "from scratch",
    r"\b(say|says|said) (nothing|little|more|most|nearly)\b": "add, predict or contribute",
    r"\bkeep their word\b": "calibrated",
    r"\bin (its|their) stead\b": "representative",
    r"\b[Ss]eed articles?\b": "a citation that a reader can resolve",
}
"""Private words of prose, and the field's."""

CODE_SPANS = re.compile(r"``[^`]*``|`[^`\n]*`|\]\([^)]*\)")


@cache
def tokens_of(module: Path) -> list[tokenize.TokenInfo]:
    source = module.read_text(encoding="utf-8")
    return list(tokenize.generate_tokens(io.StringIO(source).readline))


@cache
def prose_of(module: Path) -> list[tuple[int, str]]:
    """Comments, docstrings and messages of a file, with their lines, without code in backticks."""
    found = []
    for token in tokens_of(module):
        message = token.type == tokenize.STRING and " " in token.string
        if token.type == tokenize.COMMENT or message:
            text = re.sub(r"\{[^{}]*\}", "", token.string) if message else token.string
            for i, line in enumerate(CODE_SPANS.sub("", text).splitlines()):
                if not re.match(r"\s*(\w+, )*\w+ : ", line):  # the name of a parameter
                    found.append((token.start[0] + i, line))
    return found


@pytest.mark.parametrize("word", WORDS)
def test_code_says_it_in_the_field_s_words(word):
    found = [
        f"{module.relative_to(SOURCE)}:{line}"
        for module in modules()
        for line, text in prose_of(module)
        if re.search(word, text)
    ]
    assert found == [], f"say: {WORDS[word]}"


@pytest.mark.parametrize("word", WORDS)
def test_pages_say_it_in_the_field_s_words(word):
    found = []
    for page in PAGES:
        if page == GLOSSARY:  # which names the words that are not used
            continue
        text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        text = CODE_SPANS.sub("", text)
        found += [f"{page.name}: {hit.group()}" for hit in re.finditer(word, text)]
    assert found == [], f"say: {WORDS[word]}"


@pytest.mark.parametrize("name", NAMES)
def test_no_name_is_a_private_word(name):
    found = [
        module.relative_to(SOURCE).as_posix()
        for module in modules()
        if any(token.type == tokenize.NAME and token.string == name for token in tokens_of(module))
    ]
    assert found == [], f"it is called {NAMES[name]}"


def test_the_glossary_names_what_the_code_has():
    source = "\n".join(module.read_text(encoding="utf-8") for module in modules())
    rows = [line for line in GLOSSARY.read_text("utf-8").splitlines() if line.startswith("| ")]
    names = {
        name
        for row in rows
        for span in re.findall(r"`([^`]+)`", row)
        for name in re.findall(r"[A-Za-z_]\w+", span)
    }
    assert len(names) > 60
    assert sorted(name for name in names if not re.search(rf"\b{name}\b", source)) == []
