"""Pictures of a fitted model and of its data, in scikit-learn's Display convention.

A Display is made by ``from_estimator``, or by ``from_predictions`` of rows and labels alone; it
holds what is drawn as arrays, and ``plot(ax=…)`` draws it again, into ``ax_`` and ``figure_``. What
a model says is asked of its distributions: nothing of naive Bayes is computed here. Colours can be
distinguished by colour-blind people, and classes also differ in their markers and lines.

It needs the extra ``plots``, matplotlib and seaborn, which are imported when something is drawn.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

_HOME = {
    "ClassConditionalDisplay": "tallybayes.plots.class_conditional",
    "DecisionRegionDisplay": "tallybayes.plots.decision_region",
    "JointPlot": "tallybayes.plots.joint",
    "LearningCurveDisplay": "tallybayes.plots.learning_curve",
    "MissingDisplay": "tallybayes.plots.missing",
    "NomogramDisplay": "tallybayes.plots.nomogram",
    "PairPlot": "tallybayes.plots.pair",
    "PosteriorDisplay": "tallybayes.plots.posterior",
    "PriorDisplay": "tallybayes.plots.prior",
    "ReliabilityDisplay": "tallybayes.plots.reliability",
    "TermDisplay": "tallybayes.plots.term",
    "TopTermsDisplay": "tallybayes.plots.top_terms",
    "WaterfallDisplay": "tallybayes.plots.waterfall",
    "WeightsDisplay": "tallybayes.plots.weights",
}

__all__ = [
    "ClassConditionalDisplay",
    "DecisionRegionDisplay",
    "JointPlot",
    "LearningCurveDisplay",
    "MissingDisplay",
    "NomogramDisplay",
    "PairPlot",
    "PosteriorDisplay",
    "PriorDisplay",
    "ReliabilityDisplay",
    "TermDisplay",
    "TopTermsDisplay",
    "WaterfallDisplay",
    "WeightsDisplay",
]

if TYPE_CHECKING:
    from tallybayes.plots.class_conditional import ClassConditionalDisplay
    from tallybayes.plots.decision_region import DecisionRegionDisplay
    from tallybayes.plots.joint import JointPlot
    from tallybayes.plots.learning_curve import LearningCurveDisplay
    from tallybayes.plots.missing import MissingDisplay
    from tallybayes.plots.nomogram import NomogramDisplay
    from tallybayes.plots.pair import PairPlot
    from tallybayes.plots.posterior import PosteriorDisplay
    from tallybayes.plots.prior import PriorDisplay
    from tallybayes.plots.reliability import ReliabilityDisplay
    from tallybayes.plots.term import TermDisplay
    from tallybayes.plots.top_terms import TopTermsDisplay
    from tallybayes.plots.waterfall import WaterfallDisplay
    from tallybayes.plots.weights import WeightsDisplay


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'tallybayes.plots' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
