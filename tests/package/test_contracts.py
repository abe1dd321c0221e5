"""Nothing asks a family, a likelihood or a part of a score what it is."""

import ast
from pathlib import Path

import tallybayes
from tallybayes.engines.parts import COMPUTED, Part
from tallybayes.families.cells import CellLaw
from tallybayes.families.contract import (
    BinnedReading,
    ColumnFamily,
    DocumentLikelihood,
    GroupLikelihood,
    NumberDensity,
)

ROOT = Path(tallybayes.__file__).parent


def with_subclasses(cls):
    return {cls.__name__}.union(*map(with_subclasses, cls.__subclasses__()))


def is_call_of(node, name):
    return isinstance(node, ast.Call) and getattr(node.func, "id", None) == name


def types_asked_for(path):
    """The names in the second argument of each isinstance of a file, and those that a type(…) is
    compared with, with their lines."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        asked = []
        if is_call_of(node, "isinstance"):
            asked = node.args[1:]
        elif isinstance(node, ast.Compare) and is_call_of(node.left, "type"):
            asked = node.comparators
        for name in (name for part in asked for name in ast.walk(part)):
            if isinstance(name, ast.Name | ast.Attribute):
                yield getattr(name, "id", None) or name.attr, node.lineno


def test_both_ways_of_asking_are_found(tmp_path):
    path = tmp_path / "asking.py"
    path.write_text("isinstance(a, (B, c.D))\ntype(a) in (E, F)\ntype(a) is not G\nother(a, H)\n")
    assert [name for name, _ in types_asked_for(path) if name != "c"] == list("BDEFG")


def test_nothing_outside_families_asks_for_their_types():
    assert {Part.__name__} < with_subclasses(Part)
    assert all(kind.__name__ in with_subclasses(Part) for kind in COMPUTED.values())
    contracts = (
        Part,
        ColumnFamily,
        NumberDensity,
        DocumentLikelihood,
        GroupLikelihood,
        BinnedReading,
        CellLaw,
    )
    answering = {"Term"}.union(*map(with_subclasses, contracts))
    asked = [
        f"{path.relative_to(ROOT)}:{line} asks for {name}"
        for path in sorted(ROOT.rglob("*.py"))
        if path.relative_to(ROOT).parts[0] != "families"
        for name, line in types_asked_for(path)
        if name in answering
    ]
    assert not asked, asked
