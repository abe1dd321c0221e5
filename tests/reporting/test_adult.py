"""The report of Adult, where the folder of real data is there: what the page computes, its size."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from reporting.conftest import rows_of
from tallybayes import NaiveBayes, WeightedNaiveBayes

COLUMNS = [
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education-num",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "native-country",
    "income",
]


@pytest.fixture(scope="module")
def adult():
    """The rows of Adult's training file, and their labels."""
    folder = os.environ.get("TALLYBAYES_DATA")
    if folder is None or not (Path(folder) / "adult.data.gz").exists():
        pytest.skip("needs adult.data.gz in the folder that TALLYBAYES_DATA names")
    path = Path(folder) / "adult.data.gz"
    rows = pd.read_csv(path, header=None, names=COLUMNS, skipinitialspace=True, na_values="?")
    return rows.drop(columns="income"), rows["income"].to_numpy()


@pytest.mark.parametrize("kind", [NaiveBayes, WeightedNaiveBayes])
def test_200_random_rows_of_adult_are_predicted_as_by_python(opened, adult, kind):
    X, y = adult
    model = kind().fit(X, y)
    made = model.report(X, y)
    assert len(made.html.encode("utf-8")) < 2_000_000
    some = X.sample(200, random_state=0)
    shown = opened(made.html, viewport={"width": 390, "height": 844})
    found = shown.page.evaluate(
        "(rows) => rows.map((row) => tallybayes.predict(row).proba)", rows_of(some)
    )
    np.testing.assert_allclose(found, model.predict_proba(some), rtol=0, atol=1e-9)
    assert shown.page.evaluate("document.documentElement.scrollWidth") <= 390
    copies = [{d["about"], d["value"]} for d in made.data["findings"] if d["kind"] == "copy"]
    assert copies == [{"education", "education-num"}]
