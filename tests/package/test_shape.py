"""The shape of the code only gets better: tools/shape.py measures it, tools/shape.toml holds it."""

import pytest
from tools.shape import BARS, FREE, Tree, circles, held, shape, worse

from package.tree import ROOT, modules

FILES = {
    "__init__.py": '"""Doc."""\n__all__ = ["offered"]\nfrom importlib import import_module\n',
    "errors.py": '__all__ = ["Wrong"]\n\n\nclass Wrong(ValueError):\n    """Why."""\n',
    "base.py": """
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tallybayes.estimators import NaiveBayes


class Base: ...


class Middle(Base):
    # a comment

    def longer(self, x):
        '''What it does.'''
        x += 1
        # why

        return [
            x,
        ]

    def shorter(self): return 1
""",
    "estimators.py": """
from tallybayes.base import Base as Other, Middle


class NaiveBayes(Middle, dict[str, int]): ...
""",
    "lazy.py": """
import importlib


def later(name):
    from tallybayes.errors import Wrong
    importlib.import_module("tallybayes.shown")
    importlib.import_module(f"tallybayes.deep.{name}", "here.file")
""",
    "shown.py": "import tallybayes.lazy\n",
    "deep/here/file.py": "import tallybayes.lazy\n",
    "deep/here/lower/file.py": "from tallybayes import _kernels\n",
    "quiet.py": 'GROUP = "tallybayes.shown"  # a string that nothing imports by\n',
    "cli/app.py": """
from tallybayes import offered
from tallybayes.base import Base
from tallybayes.cli.other import mine
from tallybayes.errors import Wrong, hidden


def command(model):
    return model._inside(self._own, model.__class__)
""",
}


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A package whose every figure can be counted by hand."""
    root = tmp_path_factory.mktemp("checkout")
    for name, text in FILES.items():
        path = root / "src" / "tallybayes" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (root / "tests").mkdir()
    (root / "tests" / "test_it.py").write_text("\n\n\n", encoding="utf-8")
    return Tree(root)


def test_lines_of_code_are_neither_blank_nor_comments_nor_docstrings(small):
    counted = {m.path.name: m.n_lines for m in small.modules.values() if m.path.name != "file.py"}
    assert counted["__init__.py"] == 2
    assert counted["errors.py"] == 2
    assert counted["base.py"] == 3 + 1 + 1 + 1 + 1 + 3 + 1
    assert counted["quiet.py"] == 1


def test_imports_for_types_in_functions_and_by_strings_are_imports(small):
    inner = {"tallybayes.deep.here.file", "tallybayes.lazy", "tallybayes.shown"}
    types = {"tallybayes.base", "tallybayes.estimators"}
    found = [set(names) for names in circles(small.imports)]
    assert types in found
    assert inner in found
    assert small.imports["tallybayes.quiet"] == set()
    assert "tallybayes.errors" in small.imports["tallybayes.lazy"]


def test_circles_of_any_size_are_found():
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": {"e"}, "e": {"d"}, "f": {"a"}}
    assert circles(graph) == [["a", "b", "c"], ["d", "e"]]
    assert circles({"a": {"b"}, "b": set()}) == []


def test_the_other_figures(small):
    found = shape(small)
    assert found["files"] == len(FILES)
    assert found["files deeper than two folders"] == 1
    assert found["own classes above an estimator"] == 2  # Middle and Base
    assert found["names that cli imports and are not public"] == 2  # base.Base, errors.hidden
    assert found["underscore attributes that cli uses"] == 1
    assert sorted(small.modules["tallybayes.base"].bodies) == [1, 6]
    assert found["lines of tests"] == 3
    assert "largest wheel, MB" not in found


def test_worse_is_above_a_ceiling_or_below_a_floor():
    held = {"files": 3, "median body of a function, lines": 5}
    assert worse({"files": 3, "median body of a function, lines": 5}, held) == []
    assert worse({"files": 4, "median body of a function, lines": 6}, held) == ["files: 4, was 3"]
    assert len(worse({"median body of a function, lines": 4}, held)) == 1


def test_the_shape_of_this_package_is_no_worse_than_it_was():
    """Where it got worse, make it better; where it got better, run ``tools/shape.py --hold``."""
    found = shape(Tree(ROOT))
    assert found["files"] == len(modules())
    ceilings = held()
    assert ceilings.keys() <= BARS.keys()
    assert found.keys() - set(FREE) <= ceilings.keys()
    assert worse(found, ceilings) == []
