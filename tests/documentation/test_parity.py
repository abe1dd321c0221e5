"""The pages of the site are in step in English and Chinese, and what is out of step is named."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = """---
file_format: mystnb
---

(apples)=
# Apples

```{code-cell} ipython3
counts = 1
print(counts)
```

```sh
tallybayes fit apples.csv
```

![A tree](tree.png)

:::{dropdown} Answer
Two.
:::

(pears)=
## Pears

Pears are not apples.
"""


@pytest.fixture(scope="module")
def tool():
    """tools/docs_parity.py."""
    spec = importlib.util.spec_from_file_location("docs_parity", ROOT / "tools/docs_parity.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # for its dataclass
    spec.loader.exec_module(module)
    return module


def test_the_pages_are_in_step(tool):
    assert [line.replace(f"{ROOT}/", "") for line in tool.faults(ROOT / "docs")] == []


def site(folder, english=PAGE, chinese=PAGE):
    for language, text in (("en", english), ("zh", chinese)):
        path = folder / language / "learn" / "fruit.md"
        path.parent.mkdir(parents=True)
        if text is not None:
            path.write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ("# Apples", "# 苹果", None, ""),
        ("Two.", "两个。", None, ""),
        ("(pears)=", "(birnen)=", 24, "a heading unlike that of"),
        ("## Pears", "### Pears", 24, "a heading unlike that of"),
        ("(pears)=\n## Pears\n", "", 24, "a heading that"),
        ("(pears)=\n", "", 23, "no anchor, (name)=, above this heading"),
        ("print(counts)", "print(count)", 10, "a cell unlike that of"),
        ("```sh\n", "```\n", 13, "this code block has no language"),
        ("```sh\n", "```bat\n", 13, "a code block unlike that of"),
        ("tree.png", "bush.png", 17, "a picture unlike that of"),
        (":::{dropdown} Answer\nTwo.\n:::\n", "", 19, "a folded answer that"),
        ("file_format: mystnb\n", "a: b\n", 8, "a cell, but no `file_format: mystnb`"),
        ("csv\n```\n", "csv\n", 13, "this block has no end"),
    ],
)
def test_what_is_out_of_step_is_named_with_file_and_line(tool, tmp_path, old, new, line, said):
    assert old in PAGE
    found = list(tool.faults(site(tmp_path, chinese=PAGE.replace(old, new))))
    if line is None:
        assert found == []
    else:
        page = "learn/fruit.md"
        places = [f"{tmp_path / language / page}:{line}: {said}" for language in ("en", "zh")]
        assert any(fault.startswith(place) for fault in found for place in places), found


@pytest.mark.parametrize("missing", ["english", "chinese"])
def test_a_page_that_one_language_lacks_is_named(tool, tmp_path, missing):
    (fault,) = tool.faults(site(tmp_path, **{missing: None}))
    language = {"english": "en", "chinese": "zh"}[missing]
    assert fault.startswith(f"{tmp_path / language / 'learn' / 'fruit.md'}:1: this page is missing")


def test_the_reference_may_be_in_english_only(tool, tmp_path):
    page = tmp_path / "en" / "reference" / "api.md"
    page.parent.mkdir(parents=True)
    page.write_text("(api)=\n# Names\n")
    assert list(tool.faults(tmp_path)) == []
    (page.parent / "index.md").write_text("(reference)=\n# Reference\n")
    (fault,) = tool.faults(tmp_path)
    assert "zh/reference/index.md:1: this page is missing" in fault
