"""Files that 0.1.0 wrote: they load, and predict as they did then."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from benchmarks.files.kinds import KINDS

import tallybayes

FOLDER = Path(__file__).parent / "files" / "0.1.0"
EXPECTED = json.loads((FOLDER / "expected.json").read_text())
CHOSEN_WHEN_READ = ("table", "table-temperature")
"""Their families are chosen when the counts are read, by rules that may change."""


@pytest.mark.parametrize("name", EXPECTED)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_file_of_0_1_0_predicts_as_before(name, tmp_path):
    x, y = KINDS[name]()[1:]
    model = tallybayes.load(FOLDER / f"{name}.tally")
    expected = EXPECTED[name]
    assert model.classes_.tolist() == expected["classes"]
    assert model.class_count_.tolist() == expected["class_count"]
    if name not in CHOSEN_WHEN_READ:
        proba = np.array(expected["predict_proba"])
        np.testing.assert_allclose(model.predict_proba(x[:8]), proba, rtol=1e-9, atol=1e-12)
    model.partial_fit(x, y).forget(x, y)  # and goes on
    assert model.class_count_.tolist() == expected["class_count"]
    model.save(tmp_path / "m")
    assert tallybayes.load(tmp_path / "m").tally_ == model.tally_
