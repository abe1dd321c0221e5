"""Small models and rows that pictures are tested on."""

import numpy as np
import pandas as pd
from sklearn.datasets import load_wine

from tallybayes import GaussianNB, NaiveBayes
from tallybayes.families import Gaussian, NormalInverseGamma, Poisson

WINE = load_wine(as_frame=True)
X = WINE.data[["alcohol", "hue"]]
Y = WINE.target_names[WINE.target]
CLASSES = ["class_0", "class_1", "class_2"]


def wine():
    """Gaussians of two columns, three classes."""
    return GaussianNB(var_smoothing=0.0).fit(X, Y)


def table(n=120):
    """Rows of a table with levels, counts, numbers, dates and missing values; and labels."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "job": rng.choice(["engineer", "artist", "nurse"], n),
            "age": rng.normal(40, 10, n).round(),
            "visits": rng.poisson(3, n),
            "pay": np.exp(rng.normal(3, 0.5, n)),
            "size": rng.normal(0, 1, n),
            "member": rng.random(n) < 0.4,
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 500, n), "D"),
        }
    )
    y = np.where(frame.age + 5 * frame.visits + 9 * (frame.job == "artist") > 57, "yes", "no")
    frame.loc[3:9, "job"] = None
    frame.loc[5:12, "age"] = np.nan
    return frame, y


COLUMNS = {
    "visits": Poisson(),
    "age": Gaussian(prior=NormalInverseGamma(40, 1, 2, 100)),
    "pay": Gaussian(transform="log"),
    "since": Gaussian(),
    "size": Gaussian(),
}


def table_model(**settings):
    """NaiveBayes of the table, and the table."""
    frame, y = table()
    return NaiveBayes(COLUMNS, **settings).fit(frame, y), frame, y
