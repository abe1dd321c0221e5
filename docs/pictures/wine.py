"""The picture of the tour, beside this file: wine told apart by two columns, three models."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine

from tallybayes import NaiveBayes, WeightedNaiveBayes
from tallybayes.families import Gaussian
from tallybayes.plots import DecisionRegionDisplay

TWO = ("alcohol", "hue")
MODELS = {
    "NaiveBayes, Gaussians": NaiveBayes({name: Gaussian() for name in TWO}),
    "one Gaussian for both": NaiveBayes({TWO: Gaussian(covariance="full")}),
    "WeightedNaiveBayes": WeightedNaiveBayes(),
}

wine = load_wine(as_frame=True)
X, y = wine.data[list(TWO)], wine.target_names[wine.target]
figure, axes = plt.subplots(1, 3, figsize=(12, 4), sharey=True, layout="constrained")
for ax, (title, model) in zip(axes, MODELS.items(), strict=True):
    DecisionRegionDisplay.from_estimator(model.fit(X, y), list(TWO), X, y, ax=ax)
    ax.set_title(title)
    if ax is not axes[0]:
        ax.set_ylabel("")
    if ax is not axes[-1] and ax.get_legend() is not None:
        ax.get_legend().remove()
for ax in axes:
    ax.set(xlim=axes[-1].get_xlim(), ylim=(0.4, 1.8))
figure.savefig(Path(__file__).with_suffix(".png"), dpi=110)
