"""Files of earlier formats: they load, and predict as they did then.

``0.1.0`` are files of the first format; ``one-learning`` those of weighted models before they were
averaged over several fits.
"""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from benchmarks.files.kinds import KINDS

import tallybayes

FOLDER = Path(__file__).parent / "files"
EXPECTED = {
    (version, name): expected
    for version in ("0.1.0", "one-learning")
    for name, expected in json.loads((FOLDER / version / "expected.json").read_text()).items()
}
CHOSEN_WHEN_READ = ("table", "table-temperature")
"""Their families are chosen when the counts are read, by rules that may change."""


def corrected_rows():
    """Of a model that has a pair, corrections, a copy and a near-copy of a column."""
    rng = np.random.default_rng(0)
    a, b, c = rng.integers(0, 3, (3, 200))
    y = ((a + b >= c + 1) & ((a != 1) | (b == 2))).astype(int)
    x = pd.DataFrame(
        {
            "a": np.array(list("uvw"))[a],
            "b": np.array(list("pqr"))[b],
            "c": 1.5 * c,
            "twin": 1.5 * c,
        }
    )
    return x.assign(near=x["a"].where(np.arange(200) % 60 > 0, "u")), y


@pytest.mark.parametrize(("version", "name"), EXPECTED)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_file_of_an_earlier_format_predicts_as_before(version, name, tmp_path):
    x, y = KINDS[name]()[1:] if name in KINDS else corrected_rows()
    model = tallybayes.load(FOLDER / version / f"{name}.tally")
    expected = EXPECTED[version, name]
    assert model.classes_.tolist() == expected["classes"]
    assert model.class_count_.tolist() == expected["class_count"]
    if name not in CHOSEN_WHEN_READ:
        proba = np.array(expected["predict_proba"])
        np.testing.assert_allclose(model.predict_proba(x[:8]), proba, rtol=1e-9, atol=1e-12)
    model.partial_fit(x, y).forget(x, y)  # and goes on
    assert model.class_count_.tolist() == expected["class_count"]
    model.save(tmp_path / "m")
    assert tallybayes.load(tmp_path / "m").tally_ == model.tally_


def test_a_near_copy_that_an_earlier_fit_left_out_is_told():
    """Since then near-copies are columns like others."""
    model = tallybayes.load(FOLDER / "one-learning" / "weighted-corrected.tally")
    assert model.schema_.set_index("column").loc["near", "why"] == "nearly the same as 'a'"
    assert "near (nearly the same as 'a')" in model.summary()
