"""A constant of a module has one value: a second one below it would silently replace the first."""

import ast
from collections import Counter

from package.tree import SOURCE, modules


def constants_of(tree: ast.Module) -> list[str]:
    """The names that the statements of a module assign, once for each time."""
    targets: list[ast.expr] = []
    for node in tree.body:
        if isinstance(node, ast.Assign):
            targets += node.targets
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            targets.append(node.target)
    names = [n for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)]
    return [name.id for name in names if isinstance(name.ctx, ast.Store)]


def test_tuples_and_annotations_assign_too():
    tree = ast.parse("A = 1\nA, B = 2, 3\nC: int\nC: int = 4\nB |= 5\nx.y = 6")
    assert Counter(constants_of(tree)) == {"A": 2, "B": 1, "C": 1}


def test_no_constant_gets_two_values():
    found = {}
    for module in modules():
        times = Counter(constants_of(ast.parse(module.read_text(encoding="utf-8"))))
        found[module.relative_to(SOURCE).as_posix()] = [name for name in times if times[name] > 1]
    assert {name: twice for name, twice in found.items() if twice} == {}
