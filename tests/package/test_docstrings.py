"""The examples in docstrings run, and print what they say."""

import doctest
import inspect

import pytest

import tallybayes
from package.tree import imported, modules, name_of

WITH_EXAMPLES = [module for module in modules() if ">>> " in module.read_text(encoding="utf-8")]
CLASSIFIERS = [
    "BernoulliNB",
    "CategoricalNB",
    "ComplementNB",
    "GaussianNB",
    "LazyNaiveBayes",
    "MultinomialNB",
    "NaiveBayes",
    "TextNB",
    "WeightedNaiveBayes",
]


@pytest.mark.parametrize("module", WITH_EXAMPLES, ids=name_of)
def test_examples_print_what_they_say(module):
    finder = doctest.DocTestFinder(exclude_empty=True)
    tests = finder.find(imported(module), name_of(module))
    examples = [test for test in tests if test.examples]
    assert examples, "there is >>> in this file, but no example was found"
    runner = doctest.DocTestRunner(verbose=False)
    said: list[str] = []
    for test in examples:
        runner.run(test, out=said.append)
    assert runner.summarize(verbose=False).failed == 0, "".join(said)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_every_classifier_has_an_example(name):
    finder = doctest.DocTestFinder(recurse=False)
    assert any(test.examples for test in finder.find(getattr(tallybayes, name), name))


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_every_parameter_is_documented(name):
    cls = getattr(tallybayes, name)
    for parameter in inspect.signature(cls).parameters:
        assert f"\n{parameter} : " in inspect.getdoc(cls), parameter


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_every_public_method_and_property_is_documented(name):
    cls = getattr(tallybayes, name)
    for attribute in dir(cls):
        if attribute.startswith("_") or attribute.endswith("_request"):
            continue
        assert inspect.getdoc(getattr(cls, attribute)), attribute
