"""The code in the guides runs, and says what the text says it does."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted((ROOT / "docs").glob("*.md"))
PAGES = [page for page in DOCUMENTS if "```python" in page.read_text(encoding="utf-8")]


def test_the_pages_with_code_are_found():
    assert {"tour.md", "weighted.md"} <= {page.name for page in PAGES}


def shown(page):
    """The statements of a page's code, with the output that a comment beside or below shows."""
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    code = "\n".join(blocks)
    lines, tree = code.splitlines(), ast.parse(code)
    for node, after in zip(tree.body, [*tree.body[1:], None], strict=True):
        until = len(lines) if after is None else after.lineno - 1
        _, _, beside = lines[node.end_lineno - 1][node.end_col_offset :].partition("# ")
        below = [line[2:] for line in lines[node.end_lineno : until] if line.startswith("# ")]
        yield node, beside, " ".join(below)


def literal(comment):
    """The value that a comment begins with, as it is written; None for words."""
    found = re.match(r"(\(.*?\)|\[.*?\]|-?\d[\d.e+-]*|'[^']*')(?=:|$|;)", comment)
    return found and found[1]


def agrees(value, text):
    """Whether a value is what a text shows, numbers to the digits that it has."""
    value = value.tolist() if hasattr(value, "tolist") else value
    if repr(value) == text:
        return True
    if not isinstance(value, tuple | list):
        number = re.fullmatch(r"-?\d*\.(\d+)", text)
        if number is None:
            return False
        return abs(value - float(text)) <= 0.5000001 * 10.0 ** -len(number[1])
    parts = text[1:-1].split(", ")
    return len(parts) == len(value) and all(map(agrees, value, parts))


@pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
def test_the_outputs_that_a_page_shows_are_those_of_its_code(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names, compared = {"__name__": "page"}, 0
    for node, beside, below in shown(page):
        source = ast.unparse(node)
        if not isinstance(node, ast.Expr):
            exec(compile(source, page.name, "exec"), names)
        else:
            value = eval(compile(source, page.name, "eval"), names)
            if (text := literal(beside)) is not None:
                assert agrees(value, text), f"{source} is {value!r}, and {page.name} shows {text}"
                compared += 1
        if below and isinstance(node, ast.Assign):
            value, pattern = names[node.targets[0].id], ".*".join(map(re.escape, below.split("…")))
            assert re.fullmatch(pattern, " ".join(value.split())), f"{source} gives {value}"
            compared += 1
    assert compared >= (6 if page.name == "tour.md" else 0)


@pytest.mark.parametrize(
    ("value", "text", "same"),
    [
        (0.00057534, "0.000575", True),
        (0.0006, "0.000575", False),
        (1.0, "0.0", False),
        ((0.104, 0.31), "(0.10, 0.31)", True),
        ((0.104, 0.31), "(0.11, 0.31)", False),
        ("ham", "'ham'", True),
    ],
)
def test_shown_outputs_are_compared_to_their_digits(value, text, same):
    assert agrees(value, text) is same


def test_what_a_copy_of_a_column_does(capsys):
    """The figures of the guide to weighted models."""
    text = (ROOT / "docs" / "weighted.md").read_text(encoding="utf-8")
    (block,) = [b for b in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "copy {i}" in b]
    exec(compile(block, "weighted.md", "exec"), {"__name__": "page"})
    plain, weighted = (float(line.split()[1]) for line in capsys.readouterr().out.splitlines())
    assert f"its log-loss is {plain:.2f}" in text
    assert f"stays at {weighted:.2f}" in text
