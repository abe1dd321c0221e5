"""tools/docs.py without a build: what it needs, which links it changes, what it lists."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def tool(monkeypatch):
    """tools/docs.py."""
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    import docs

    return docs


def test_a_python_without_the_extras_is_told_what_to_install(tool, monkeypatch):
    monkeypatch.setattr(tool, "find_spec", lambda name: None if name == "duckdb" else True)
    assert "needs duckdb" in tool.missing_modules()
    assert "pip install '.[duckdb]'" in tool.missing_modules()
    assert "--group" not in tool.missing_modules()
    monkeypatch.setattr(tool, "find_spec", lambda name: None)
    assert "pip install '.[cli,duckdb,onnx,plots,report,sql]' and" in tool.missing_modules()
    assert "pip install --group docs" in tool.missing_modules()
    monkeypatch.setattr(tool, "find_spec", lambda name: True)
    assert tool.missing_modules() == ""


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
def test_links_of_the_repository_s_pages_hold_within_the_site(tool, link, shown):
    places = {
        "docs/architecture.md": "why/architecture.md",
        "docs/scale.md": "reference/scale.md",
        "docs/decisions/0007-tables.md": "why/decisions/0007-tables.md",
    }
    original, name = PurePosixPath("docs/architecture.md"), PurePosixPath("why/architecture.md")
    assert tool.relinked(link, original, name, places, set()) == shown


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
