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
    "ClassConditionalDisplay": "tallybayes.plots.class_conditional",
    "DecisionRegionDisplay": "tallybayes.plots.decision_region",
    "JointPlot": "tallybayes.plots.class_conditional",
    "LearningCurveDisplay": "tallybayes.plots.learning_curve",
    "MissingDisplay": "tallybayes.plots.missing",
    "NomogramDisplay": "tallybayes.plots.nomogram",
    "PairPlot": "tallybayes.plots.class_conditional",
    "PosteriorDisplay": "tallybayes.plots.prior",
    "PriorDisplay": "tallybayes.plots.prior",
    "ReliabilityDisplay": "tallybayes.plots.reliability",
    "TermDisplay": "tallybayes.plots.term",
    "TopTermsDisplay": "tallybayes.plots.top_terms",
    "WaterfallDisplay": "tallybayes.plots.waterfall",
    "WeightsDisplay": "tallybayes.plots.term",
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
    from tallybayes.plots.class_conditional import ClassConditionalDisplay, JointPlot, PairPlot
    from tallybayes.plots.decision_region import DecisionRegionDisplay
    from tallybayes.plots.learning_curve import LearningCurveDisplay
    from tallybayes.plots.missing import MissingDisplay
    from tallybayes.plots.nomogram import NomogramDisplay
    from tallybayes.plots.prior import PosteriorDisplay, PriorDisplay
    from tallybayes.plots.reliability import ReliabilityDisplay
    from tallybayes.plots.term import TermDisplay, WeightsDisplay
    from tallybayes.plots.top_terms import TopTermsDisplay
    from tallybayes.plots.waterfall import WaterfallDisplay


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'tallybayes.plots' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
