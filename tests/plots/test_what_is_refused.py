"""Errors that teach; and what is loaded when."""

import json

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.naive_bayes import GaussianNB as Peer

import tallybayes.plots
from package.test_imports import python
from plots.cases import X, Y, table_model, wine
from tallybayes import ComplementNB, GaussianNB, NaiveBayes
from tallybayes.plots import (
    ClassConditionalDisplay,
    DecisionRegionDisplay,
    JointPlot,
    LearningCurveDisplay,
    MissingDisplay,
    NomogramDisplay,
    PairPlot,
    PosteriorDisplay,
    PriorDisplay,
    ReliabilityDisplay,
    TermDisplay,
    TopTermsDisplay,
    WaterfallDisplay,
    WeightsDisplay,
)

CALLS = {
    "prior": lambda model: PriorDisplay.from_estimator(model),
    "conditional": lambda model: ClassConditionalDisplay.from_estimator(model, 0),
    "regions": lambda model: DecisionRegionDisplay.from_estimator(model, [0, 1]),
    "pairs": lambda model: PairPlot.from_estimator(model, X, Y),
    "joint": lambda model: JointPlot.from_estimator(model, X, Y),
    "posterior": lambda model: PosteriorDisplay.from_estimator(model, 0),
    "nomogram": lambda model: NomogramDisplay.from_estimator(model, X),
    "reliability": lambda model: ReliabilityDisplay.from_estimator(model, X, Y),
    "weights": lambda model: WeightsDisplay.from_estimator(model),
    "top terms": lambda model: TopTermsDisplay.from_estimator(model),
    "term": lambda model: TermDisplay.from_estimator(model, "hue"),
    "missing": lambda model: MissingDisplay.from_estimator(model),
    "learning curve": lambda model: LearningCurveDisplay.from_estimator(model, X, Y),
    "waterfall": lambda model: WaterfallDisplay.from_estimator(model, X.iloc[[0]]),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("estimator", [GaussianNB, NaiveBayes])
def test_what_is_not_fitted(name, estimator):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        CALLS[name](estimator())


@pytest.mark.parametrize("name", CALLS)
def test_estimators_of_others(name):
    with pytest.raises(TypeError, match=r"classifier of tallybayes.*got GaussianNB"):
        CALLS[name](Peer().fit(X, Y))


@pytest.mark.parametrize("name", ["conditional", "pairs", "joint", "posterior"])
def test_a_model_without_densities(name):
    with pytest.raises(TypeError, match="ComplementNB does not model"):
        CALLS[name](ComplementNB().fit(X, Y))


@pytest.mark.parametrize("column", ["colour", 2, -1, True, None, 1.5])
def test_a_column_that_is_not_there(column):
    with pytest.raises(ValueError, match=r"no column.*'alcohol', 'hue'"):
        ClassConditionalDisplay.from_estimator(wine(), [column])
    with pytest.raises(ValueError, match=r"no column.*'alcohol', 'hue'"):
        DecisionRegionDisplay.from_estimator(wine(), ["hue", column])


def test_columns_too_many_too_few_or_twice():
    model = wine()
    with pytest.raises(ValueError, match="each once"):
        ClassConditionalDisplay.from_estimator(model, ["hue", "hue"])
    with pytest.raises(ValueError, match="each once"):
        ClassConditionalDisplay.from_estimator(model, [])
    with pytest.raises(ValueError, match="two columns, got 'hue'"):
        DecisionRegionDisplay.from_estimator(model, "hue")
    table, _, _ = table_model()
    with pytest.raises(ValueError, match=r"too many.*name 2 at most"):
        ClassConditionalDisplay.from_estimator(table, ["age", "pay", "size"])
    with pytest.raises(ValueError, match=r"has levels.*by itself"):
        ClassConditionalDisplay.from_estimator(table, ["age", "job"])
    with pytest.raises(ValueError, match="both drawn and held"):
        DecisionRegionDisplay.from_estimator(model, [0, 1], held={"hue": 1.0})
    with pytest.raises(ValueError, match="no column 'ash'"):
        DecisionRegionDisplay.from_estimator(model, [0, 1], held={"ash": 1.0})


def test_rows_and_labels_that_do_not_fit():
    model = wine()
    with pytest.raises(ValueError, match="X lacks the column 'hue'"):
        ClassConditionalDisplay.from_estimator(model, "hue", X[["alcohol"]], Y)
    with pytest.raises(ValueError, match=r"shape \(2,\) for 178 rows"):
        ClassConditionalDisplay.from_estimator(model, "hue", X, Y[:2])
    with pytest.raises(ValueError, match="row 3 has the label 'class_9'"):
        ClassConditionalDisplay.from_estimator(
            model, "hue", X, np.where(np.arange(len(Y)) == 3, "class_9", Y)
        )
    for display in (ClassConditionalDisplay, DecisionRegionDisplay):
        with pytest.raises(ValueError, match="give X, too"):
            display.from_estimator(model, [0, 1], y=Y)
    with pytest.raises(ValueError, match="between 0 and 1"):
        ClassConditionalDisplay.from_estimator(model, [0, 1], shares=[1.0])
    counts = ComplementNB().fit([[0, 1], [1, 0]], [0, 1])
    with pytest.raises(ValueError, match="values of column 0 are unknown: give rows"):
        DecisionRegionDisplay.from_estimator(counts, [0, 1])


def test_names_that_are_not_there():
    with pytest.raises(AttributeError, match="no attribute 'RocCurve'"):
        _ = tallybayes.plots.RocCurve
    assert set(tallybayes.plots.__all__) <= set(dir(tallybayes.plots))


def test_displays_are_there_before_matplotlib_and_one_error_says_what_to_install():
    program = """
import json, sys
from tallybayes import plots
for name in plots.__all__:
    getattr(plots, name)
loaded, errors = sorted(sys.modules), []
for name in ("seaborn", "matplotlib"):
    sys.modules[name] = None
    try:
        plots.PriorDisplay.from_predictions(["a", "b"])
    except ImportError as error:
        errors.append(str(error))
    del sys.modules[name]
print(json.dumps([loaded, errors]))
"""
    loaded, errors = json.loads(python(program))
    assert {name.split(".")[0] for name in loaded}.isdisjoint({"matplotlib", "seaborn"})
    assert len(errors) == 2
    for said in errors:
        assert "pip install 'tallybayes[plots]'" in said
        assert "\n" not in said
