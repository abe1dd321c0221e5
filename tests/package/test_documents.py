"""The code in the README and in the guides runs, and says what the text says it does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PAGES = [page for page in DOCUMENTS if "```python" in page.read_text(encoding="utf-8")]


def test_the_pages_with_code_are_found():
    assert {"README.md", "weighted.md"} <= {page.name for page in PAGES}


@pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
def test_the_code_of_a_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    exec(compile("\n".join(blocks), page.name, "exec"), {"__name__": "page"})


def test_what_a_copy_of_a_column_does(capsys):
    """The figures of the guide to weighted models."""
    text = (ROOT / "docs" / "weighted.md").read_text(encoding="utf-8")
    (block,) = [b for b in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "copy {i}" in b]
    exec(compile(block, "weighted.md", "exec"), {"__name__": "page"})
    plain, weighted = (float(line.split()[1]) for line in capsys.readouterr().out.splitlines())
    assert f"its log-loss is {plain:.2f}" in text
    assert f"stays at {weighted:.2f}" in text
