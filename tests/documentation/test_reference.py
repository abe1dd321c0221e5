"""The pages that are made from the package have every name, family, command, error and warning."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from tallybayes import errors
from tallybayes.families import family_names

ROOT = Path(__file__).resolve().parents[2]


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
