"""The tree of the project: nothing in it belongs to one machine."""

import pytest

from package.tree import ROOT, files

# put together, so that this file does not hold what it looks for
PLACES = ["/" + "work/", "/" + "root/", "/" + "tmp/dev", "/" + "home/", "C:" + "\\Users"]


def text_of(path):
    """The text of a file, or none if it is not text."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return ""


def test_the_tree_is_found():
    names = {path.relative_to(ROOT).as_posix() for path in files()}
    assert {"pyproject.toml", "README.md", "src/tallybayes/__init__.py"} <= names
    assert not [name for name in names if name.startswith((".git/", "build/", ".venv/"))]


@pytest.mark.parametrize("place", PLACES)
def test_no_file_names_a_place_on_one_machine(place):
    found = [
        f"{path.relative_to(ROOT)}:{i}"
        for path in files()
        for i, line in enumerate(text_of(path).splitlines(), 1)
        if place in line
    ]
    assert found == []
