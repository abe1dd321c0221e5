"""The names that the package offers, and that each of them is there."""

import inspect

import pytest

import tallybayes
from package.tree import imported, modules, name_of
from tallybayes import errors


@pytest.mark.parametrize("module", modules(), ids=name_of)
def test_every_public_name_is_there_named_once_and_documented(module):
    found = imported(module)
    names = list(getattr(found, "__all__", []))
    assert len(names) == len(set(names))
    for name in names:
        value = getattr(found, name)
        if inspect.isclass(value) or inspect.isfunction(value):
            assert value.__doc__, f"{name} has no docstring"


def test_the_package_offers_what_the_readme_uses():
    promised = {"BernoulliNB", "CategoricalNB", "ComplementNB", "GaussianNB", "MultinomialNB"}
    assert promised | {"load", "__version__"} <= set(tallybayes.__all__)
    assert set(tallybayes.__all__) <= set(dir(tallybayes))


def test_the_stub_of_the_package_has_the_same_names_in_the_same_places():
    import ast

    from package.tree import SOURCE

    stub = ast.parse((SOURCE / "__init__.pyi").read_text(encoding="utf-8"))
    homes = {
        alias.name: node.module
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if node.module != "tallybayes"
    }
    assert homes == tallybayes._HOME
    lists = [ast.literal_eval(node.value) for node in stub.body if isinstance(node, ast.Assign)]
    assert lists == [tallybayes.__all__]


def test_names_that_are_not_there_are_attribute_errors():
    with pytest.raises(AttributeError, match="module 'tallybayes' has no attribute 'RandomForest'"):
        _ = tallybayes.RandomForest
    assert not hasattr(tallybayes, "nothing")


def test_the_version_is_that_of_the_installed_package():
    from importlib.metadata import version

    assert tallybayes.__version__ == version("tallybayes")


def test_the_package_is_typed():
    from package.tree import SOURCE

    assert (SOURCE / "py.typed").exists()
    assert (SOURCE / "_kernels.pyi").exists()


@pytest.mark.parametrize("name", [n for n in errors.__all__ if inspect.isclass(vars(errors)[n])])
def test_an_exception_is_one_that_code_for_scikit_learn_catches(name):
    assert issubclass(getattr(errors, name), ValueError | UserWarning)


def test_the_stub_of_the_kernels_names_what_the_compiled_module_has():
    import ast

    from package.tree import SOURCE
    from tallybayes import _kernels

    tree = ast.parse((SOURCE / "_kernels.pyi").read_text(encoding="utf-8"))
    stubbed = {
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_")
    }
    stubbed |= {
        node.target.id
        for node in tree.body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }
    assert stubbed == {name for name in dir(_kernels) if not name.startswith("_")}
