"""The pages of the site: in step in English and Chinese, and complete; and tools/docs.py without a
build.
"""

import importlib.util
import inspect
import subprocess
import sys
from pathlib import Path, PurePosixPath

import pytest

from tallybayes import errors
from tallybayes.families import family_names

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


@pytest.fixture(scope="module")
def pages():
    """By name, the text of each page."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "tools"))
        import check_docstrings
        import docs_reference

        found = {name: text for name, (_, text) in docs_reference.pages().items()}
        classes = {name for name, (of, _) in check_docstrings.public_names().items() if of is None}
    return found, {name.rpartition(".")[2] for name in classes}


def test_every_public_name_is_on_a_page(pages):
    text, names = "\n".join(pages[0].values()), pages[1]
    left_out = {name for name in names if f".{name}\n" not in text}
    assert left_out == set()


def test_every_family_command_error_and_warning_is_described(pages):
    found, _ = pages
    for name in family_names():
        assert f"## {name}\n" in found["reference/families.md"]
    for name in ("fit", "predict", "doctor", "sql"):
        assert f"## tallybayes {name}\n" in found["reference/command-line.md"]
        assert f"Usage: tallybayes {name}" in found["reference/command-line.md"]
    for name in errors.__all__:
        if inspect.isclass(getattr(errors, name)):
            assert f"tallybayes.errors.{name}`" in found["reference/errors.md"]


def test_every_error_and_warning_has_a_cause_and_a_cure(pages):
    rows = [x for x in pages[0]["reference/errors.md"].splitlines() if x.startswith("| {py:class}")]
    assert len(rows) == len([x for x in errors.__all__ if inspect.isclass(getattr(errors, x))])
    for row in rows:
        _, _, cause, cure, _ = row.split("|")
        assert cause.strip().endswith(".")
        assert cure.strip().endswith(".")


@pytest.fixture
def docs(monkeypatch):
    """tools/docs.py."""
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    import docs

    return docs


def test_a_python_without_the_extras_is_told_what_to_install(docs, monkeypatch):
    monkeypatch.setattr(docs, "find_spec", lambda name: None if name == "duckdb" else True)
    assert "needs duckdb" in docs.missing_modules()
    assert "pip install '.[duckdb]'" in docs.missing_modules()
    assert "--group" not in docs.missing_modules()
    monkeypatch.setattr(docs, "find_spec", lambda name: None)
    assert "pip install '.[cli,duckdb,onnx,plots,report,sql]' and" in docs.missing_modules()
    assert "pip install --group docs" in docs.missing_modules()
    monkeypatch.setattr(docs, "find_spec", lambda name: True)
    assert docs.missing_modules() == ""


@pytest.mark.parametrize(
    ("link", "shown"),
    [
        ("[tables](decisions/0007-tables.md#why)", "[tables](decisions/0007-tables.md#why)"),
        ("[a guide](scale.md)", "[a guide](../reference/scale.md)"),
        ("[here](#below)", "[here](#below)"),
        ("[the tests](../tests/golden)", "the tests (`tests/golden`)"),
        ("[broken](nowhere.md)", "[broken](nowhere.md)"),
        ("[there](https://example.org/x.md)", "[there](https://example.org/x.md)"),
        ("![plan](pictures/architecture.svg)", "![plan](docs/pictures/architecture.svg)"),
        ("```python\nx[0](scale.md)\n```", "```python\nx[0](scale.md)\n```"),
    ],
)
def test_links_of_the_repository_s_pages_hold_within_the_site(docs, link, shown):
    places = {
        "docs/architecture.md": "why/architecture.md",
        "docs/scale.md": "reference/scale.md",
        "docs/decisions/0007-tables.md": "why/decisions/0007-tables.md",
    }
    original, name = PurePosixPath("docs/architecture.md"), PurePosixPath("why/architecture.md")
    assert docs.relinked(link, original, name, places, set()) == shown


def test_links_are_listed_with_their_places():
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "docs.py"), "links"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "https://docs.python.org" in done.stdout
    assert "docs/origin.md:" in done.stdout
    assert "CHANGELOG.md:" in done.stdout


def test_nothing_is_served_before_it_is_built(tmp_path):
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "docs.py"), "serve", "--output", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "run `make docs`" in done.stderr
