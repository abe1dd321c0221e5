"""No module imports another that imports it, not even later or by way of others."""

from __future__ import annotations

import ast
from graphlib import TopologicalSorter

from package.tree import modules, name_of


def is_for_types_alone(node):
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)


def imports_of(node, known):
    """The modules of the package that are imported below a node, in functions too."""
    for child in ast.iter_child_nodes(node):
        if is_for_types_alone(child):
            continue
        if isinstance(child, ast.Import):
            yield from (alias.name for alias in child.names if alias.name in known)
        elif isinstance(child, ast.ImportFrom):
            assert not child.level, "relative imports are not read here"
            names = [f"{child.module}.{alias.name}" for alias in child.names]
            yield from (name if name in known else child.module for name in names)
        yield from imports_of(child, known)


def test_no_modules_import_each_other_in_a_circle():
    known = {name_of(module): module for module in modules()}
    graph = {
        name: {*imports_of(ast.parse(module.read_text(encoding="utf-8")), known)} - {name}
        for name, module in known.items()
    }
    assert graph["tallybayes.estimators.tables.naive_bayes"]
    TopologicalSorter(graph).prepare()  # CycleError names a circle
