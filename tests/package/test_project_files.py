"""The files of a project say what pyproject.toml says, and link to what is there."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def text_of(name):
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_citation_is_of_this_version():
    stated = dict(re.findall(r"^([a-z-]+): (.+)$", text_of("CITATION.cff"), re.MULTILINE))
    assert stated["version"] == PROJECT["project"]["version"]
    assert stated["license"] == PROJECT["project"]["license"]
    assert PROJECT["project"]["name"] in stated["title"]


def test_contributors_read_the_layers_that_are_enforced():
    (layers,) = [
        contract["layers"]
        for contract in PROJECT["tool"]["importlinter"]["contracts"]
        if contract.get("exhaustive")
    ]
    assert " → ".join(layers).replace("(testing)", "testing") in text_of("CONTRIBUTING.md")


def test_the_oldest_versions_are_pinned_of_all_that_is_required():
    pins = dict(re.findall(r"^([a-z0-9-]+)==(\S+)$", text_of("tools/lowest.txt"), re.MULTILINE))
    extras = PROJECT["project"]["optional-dependencies"].values()
    stated = [*PROJECT["project"]["dependencies"], *PROJECT["dependency-groups"]["test"]]
    for requirement in map(Requirement, [*stated, *(one for extra in extras for one in extra)]):
        pin = pins.get(requirement.name)
        fits = pin is not None and requirement.specifier.contains(pin)
        assert fits, f"{requirement} has the pin {pin}: make lowest"


@pytest.mark.parametrize(
    "page", ["CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md", "CHANGELOG.md"]
)
def test_links_lead_somewhere(page):
    for to in re.findall(r"\]\(([^)\s#]+)", text_of(page)):
        assert "://" in to or (ROOT / to).exists(), f"{page} links to {to}"


def test_every_form_for_issues_is_validated():
    """`make workflows` does so; a form of another ending would be left out."""
    folder = ROOT / ".github" / "ISSUE_TEMPLATE"
    assert {path.suffix for path in folder.iterdir()} == {".yml"}
    recipe = text_of("Makefile").partition("\nworkflows:")[2].partition("\n\n")[0]
    for schema in ("github-issue-forms", "github-issue-config", "citation-file-format"):
        assert f"vendor.{schema}" in recipe
