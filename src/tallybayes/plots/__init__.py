"""Pictures of a fitted model and of its data, in scikit-learn's Display convention.

A Display is made by ``from_estimator``, or by ``from_predictions`` of rows and labels alone; it
holds arrays, and ``plot(ax=…)`` draws them again, into ``ax_`` and ``figure_``. Densities come from
the distributions of the model: nothing of naive Bayes is computed here. The colours suit
colour-blind readers, and classes also differ in their markers and lines.

The package needs the extra ``plots``. matplotlib and seaborn are imported when something is drawn.
A display of this package is a file and an import here.
"""

from __future__ import annotations

from tallybayes.plots.class_conditional import ClassConditionalDisplay as ClassConditionalDisplay
from tallybayes.plots.class_conditional import JointPlot as JointPlot
from tallybayes.plots.class_conditional import PairPlot as PairPlot
from tallybayes.plots.decision_region import DecisionRegionDisplay as DecisionRegionDisplay
from tallybayes.plots.learning_curve import LearningCurveDisplay as LearningCurveDisplay
from tallybayes.plots.missing import MissingDisplay as MissingDisplay
from tallybayes.plots.nomogram import NomogramDisplay as NomogramDisplay
from tallybayes.plots.prior import PosteriorDisplay as PosteriorDisplay
from tallybayes.plots.prior import PriorDisplay as PriorDisplay
from tallybayes.plots.reliability import ReliabilityDisplay as ReliabilityDisplay
from tallybayes.plots.term import TermDisplay as TermDisplay
from tallybayes.plots.term import WeightsDisplay as WeightsDisplay
from tallybayes.plots.top_terms import TopTermsDisplay as TopTermsDisplay
from tallybayes.plots.waterfall import WaterfallDisplay as WaterfallDisplay

__all__ = sorted(name for name, value in globals().items() if isinstance(value, type))
