"""Pictures of a fitted model and of its data, in scikit-learn's Display convention.

A Display is made by ``from_estimator``, or by ``from_predictions`` of rows and labels alone; it
holds arrays, and ``plot(ax=…)`` draws them again, into ``ax_`` and ``figure_``. Densities come from
the distributions of the model: nothing of naive Bayes is computed here. The colours suit
colour-blind readers, and classes also differ in their markers and lines.

The package needs the extra ``plots``. matplotlib and seaborn are imported when something is drawn.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

_HOME = {
    "ClassConditionalDisplay": "tallybayes.plots.displays.class_conditional",
    "DecisionRegionDisplay": "tallybayes.plots.displays.decision_region",
    "JointPlot": "tallybayes.plots.displays.joint",
    "LearningCurveDisplay": "tallybayes.plots.displays.learning_curve",
    "MissingDisplay": "tallybayes.plots.displays.missing",
    "NomogramDisplay": "tallybayes.plots.displays.nomogram",
    "PairPlot": "tallybayes.plots.displays.pair",
    "PosteriorDisplay": "tallybayes.plots.displays.posterior",
    "PriorDisplay": "tallybayes.plots.displays.prior",
    "ReliabilityDisplay": "tallybayes.plots.displays.reliability",
    "TermDisplay": "tallybayes.plots.displays.term",
    "TopTermsDisplay": "tallybayes.plots.displays.top_terms",
    "WaterfallDisplay": "tallybayes.plots.displays.waterfall",
    "WeightsDisplay": "tallybayes.plots.displays.weights",
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
    from tallybayes.plots.displays.class_conditional import ClassConditionalDisplay
    from tallybayes.plots.displays.decision_region import DecisionRegionDisplay
    from tallybayes.plots.displays.joint import JointPlot
    from tallybayes.plots.displays.learning_curve import LearningCurveDisplay
    from tallybayes.plots.displays.missing import MissingDisplay
    from tallybayes.plots.displays.nomogram import NomogramDisplay
    from tallybayes.plots.displays.pair import PairPlot
    from tallybayes.plots.displays.posterior import PosteriorDisplay
    from tallybayes.plots.displays.prior import PriorDisplay
    from tallybayes.plots.displays.reliability import ReliabilityDisplay
    from tallybayes.plots.displays.term import TermDisplay
    from tallybayes.plots.displays.top_terms import TopTermsDisplay
    from tallybayes.plots.displays.waterfall import WaterfallDisplay
    from tallybayes.plots.displays.weights import WeightsDisplay


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'tallybayes.plots' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
