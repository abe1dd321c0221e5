"""The models that are compared: one small adapter each.

An adapter is a class, or a function, that makes a classifier with default parameters:
``fit(X, y)`` and ``predict_proba(X)`` of a pandas frame of numbers and strings with missing values,
and ``classes_``. It is imported only when its model is asked for, so that a package that is not
installed costs its own model only. To add one: write it and name it here.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

__all__ = ["MODELS", "OURS", "TWENTY", "VARIANTS", "WEIGHTED", "Model"]

OURS = "NaiveBayes"
VARIANTS = ("NaiveBayes, temperature", "NaiveBayes, isotonic")
"""Ours with smoothing and calibration chosen on leave-one-out predictions."""

TWENTY = "twenty lines"
WEIGHTED = "WeightedNaiveBayes"


@dataclass(frozen=True)
class Model:
    """A model by name.

    Parameters
    ----------
    name : str
    what : str
        For the report: how it takes strings, numbers and missing values.
    module, maker : str
        The adapter: ``benchmarks.accuracy.models.{module}.{maker}()`` is an unfitted classifier.
    groups : tuple of str
        The groups of data sets that it runs on, unless ``--models`` names it.
    peer : bool
        Whether it is one of the peers that ours is held against.
    package : str
        What has to be installed, as imported.
    """

    name: str
    what: str
    module: str
    maker: str
    groups: tuple[str, ...] = ("tables",)
    peer: bool = True
    package: str = "sklearn"

    @property
    def installed(self) -> bool:
        return find_spec(self.package) is not None

    def make(self) -> Any:
        """An unfitted classifier."""
        return getattr(import_module(f"{__name__}.{self.module}"), self.maker)()


MISSING = 'missing values: the level "missing", or the median'

MODELS = (
    Model(
        OURS,
        "tallybayes, all defaults, straight from the frame",
        "ours",
        "naive_bayes",
        groups=("tables", "arff"),
        peer=False,
        package="tallybayes",
    ),
    *(
        Model(
            name,
            f'tallybayes, alpha="auto", calibrate="{calibrate}", straight from the frame',
            "ours",
            f"chosen_{calibrate}",
            groups=("tables", "arff"),
            peer=False,
            package="tallybayes",
        )
        for name, calibrate in zip(VARIANTS, ("temperature", "isotonic"), strict=True)
    ),
    Model(
        TWENTY,
        "naive Bayes in twenty lines: √n quantile bins, alpha=1, a missing value ignored",
        "twenty_lines",
        "TwentyLines",
        groups=("arff",),
        peer=False,
    ),
    Model(
        "OneHot+GaussianNB",
        f"scikit-learn: OneHotEncoder for strings, then GaussianNB; {MISSING}",
        "scikit",
        "one_hot_gaussian",
    ),
    Model(
        "Bins5+CategoricalNB",
        f"scikit-learn: OrdinalEncoder, KBinsDiscretizer(5, quantile), CategoricalNB; {MISSING}",
        "scikit",
        "five_bins_categorical",
    ),
    Model(
        "Bins10+CategoricalNB",
        f"scikit-learn: OrdinalEncoder, KBinsDiscretizer(10, quantile), CategoricalNB; {MISSING}",
        "scikit",
        "ten_bins_categorical",
    ),
    Model(
        "GaussianNB+CategoricalNB",
        "scikit-learn: GaussianNB of the numbers and CategoricalNB of the strings, "
        f"joint log-probabilities added, the prior once; {MISSING}",
        "scikit",
        "GaussianAndCategorical",
    ),
    Model(
        "mixed-naive-bayes",
        f"MixedNB: Gaussian numbers, categorical strings as codes; {MISSING}",
        "mixed",
        "MixedNaiveBayes",
        package="mixed_naive_bayes",
    ),
    Model(
        "wnb",
        f"GeneralNB: NORMAL numbers, CATEGORICAL strings as codes; {MISSING}",
        "wnb_general",
        "GeneralNaiveBayes",
        package="wnb",
    ),
    # run by ``python -m benchmarks weighted``, and here where --models names them
    Model(
        WEIGHTED,
        "tallybayes, all defaults, straight from the frame",
        "ours",
        "weighted_naive_bayes",
        groups=(),
        peer=False,
        package="tallybayes",
    ),
    Model(
        "Khiops SNB",
        "Khiops' selective naive Bayes: KhiopsClassifier(n_trees=0, n_pairs=0), from the frame",
        "khiops_snb",
        "KhiopsSNB",
        groups=(),
        peer=False,
        package="khiops",
    ),
    Model(
        "HistGradientBoosting",
        "scikit-learn, random_state=0; strings as pandas categories, missing values as they are",
        "strong",
        "Boosting",
        groups=(),
        peer=False,
    ),
    Model(
        "LogisticRegression",
        f"scikit-learn, max_iter=1000; strings one-hot, numbers scaled; {MISSING}",
        "strong",
        "logistic",
        groups=(),
        peer=False,
    ),
    Model(
        "RandomForest",
        f"scikit-learn, random_state=0; strings one-hot; {MISSING}",
        "strong",
        "random_forest",
        groups=(),
        peer=False,
    ),
    Model(
        "CatBoost",
        "CatBoostClassifier, all defaults but random_seed=0; strings are its categories; "
        "missing values: the "
        'level "missing", or as they are',
        "strong",
        "CatBoost",
        groups=(),
        peer=False,
        package="catboost",
    ),
    Model(
        "EBM",
        "interpret's ExplainableBoostingClassifier, all defaults but n_jobs=-1, from the frame",
        "strong",
        "explainable_boosting",
        groups=(),
        peer=False,
        package="interpret",
    ),
)
