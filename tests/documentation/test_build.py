"""A page that is broken fails the build with its file and line: link, anchor, reference, picture,
cell, docstring. The site here is a small one under the settings of ours."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytest.importorskip("myst_nb", reason="needs what builds the site: pip install --group docs")

INDEX = """(home)=
# Home

$p(c) = \\frac{1}{2}$

```{toctree}
PAGES
```
"""
CELL = "---\nfile_format: mystnb\nkernelspec:\n  name: python3\n---\n\n(here)=\n# Here\n\n"
FAULTY = {
    "link": ("(link)=\n# Here\n\nSee [there](nowhere.md).\n", 4, "nowhere.md"),
    "anchor": ("(anchor)=\n# Here\n\nSee [there](index.md#nowhere).\n", 4, "nowhere"),
    "reference": ("(reference-1)=\n# Here\n\n\nSee {ref}`nowhere`.\n", 5, "nowhere"),
    "name": ("(name)=\n# Here\n\nSee {class}`tallybayes.Nobody`.\n", 4, "tallybayes.Nobody"),
    "picture": ("(picture)=\n# Here\n\n![A tree](tree.png)\n", 4, "tree.png"),
    "cell": (f"{CELL}```{{code-cell}} ipython3\nx = 1\n1 / 0\n```\n", 12, "ZeroDivisionError"),
    "docstring": (
        "(docstring)=\n# Here\n\n```{eval-rst}\n.. autofunction:: broken_docstring.f\n```\n",
        None,
        "broken_docstring.f",
    ),
}


def build(folder, pages):
    """Builds a site of these pages, and returns the exit code and what was said."""
    docs = folder / "docs"
    for name in ("_static", "_templates", "inventories"):
        shutil.copytree(ROOT / "docs" / name, docs / name)
    for name in ("conf.py", "_startup.py"):
        shutil.copy(ROOT / "docs" / name, docs / name)
    for language in ("en", "zh"):
        (docs / language).mkdir()
        (docs / language / "index.md").write_text(INDEX.replace("PAGES", "\n".join(pages)))
        for name, (text, *_) in pages.items():
            (docs / language / f"{name}.md").write_text(text)
    (folder / "broken_docstring.py").write_text(
        'def f():\n    """Do nothing.\n\n    A ``literal without end.\n    """\n'
    )
    command = [sys.executable, str(ROOT / "tools" / "docs.py"), "build", "--bare"]
    command += [
        "--docs",
        str(docs),
        "--output",
        str(folder / "out"),
        "--work",
        str(folder / "work"),
    ]
    path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    done = subprocess.run(
        command,
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def test_a_site_without_faults(tmp_path):
    pages = {"cell": (f"{CELL}```{{code-cell}} ipython3\nprint(6 * 7)\n```\n",)}
    code, said = build(tmp_path, pages)
    assert code == 0, said
    for language, other in (("en", "zh"), ("zh", "en")):
        page = (tmp_path / "out" / language / "cell.html").read_text(encoding="utf-8")
        assert "42" in page
        assert f'href="../{other}/cell.html"' in page
        assert (tmp_path / "out" / language / "notebooks" / "cell.ipynb").exists()
    home = (tmp_path / "out" / "en" / "index.html").read_text(encoding="utf-8")
    assert "_static/mathjax/tex-chtml.js" in home
    assert (tmp_path / "out/en/_static/mathjax/tex-chtml.js").exists()
    assert (tmp_path / "out" / "pagefind" / "pagefind.js").exists()


def test_every_fault_is_named_with_file_and_line(tmp_path):
    code, said = build(tmp_path, FAULTY)
    assert code != 0
    lines = said.splitlines()
    for name, (_, line, word) in FAULTY.items():
        page = tmp_path / "docs" / "en" / f"{name}.md"
        place = f"{page}:{line}:" if line else "broken_docstring.py:docstring of"
        assert any(place in x and word in x for x in lines), f"{place} {word}\n{said}"
