"""A saved model predicts the same after an upgrade: models of each kind, written by a past version.

``make.py`` wrote them. What is compared is what that version answered: joint log-probabilities,
posteriors and classes, to 1e-9.
"""

import csv
import io
import re

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import tallybayes
from golden import kinds
from golden.make import answers, cases, decoded
from tallybayes.cli.app import app
from tallybayes.tally import TableTally

VERSIONS = ("ed6e383", "44adcab")
FILES = [
    pytest.param(file, known, id=f"{version}-{name}")
    for version in VERSIONS
    for name, file, known in cases(version)
]
MODELS = [p for p in FILES if "answers" in p.values[1] and "tallies/" not in p.id]
TALLIES = [p for p in FILES if "tallies/" in p.id]
PRINTED = [p for p in FILES if "printed" in p.values[1]]
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # of stale models, and of odd rows


def same(found, expected):
    """Log-probabilities, probabilities or labels are those of the other version."""
    if expected.dtype.kind == "f":
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    else:
        assert found.tolist() == expected.tolist()


def predicts_as(model, known):
    x = decoded(known["asked"])
    found = answers(model, x)
    for name, expected in known["answers"].items():
        same(found[name], decoded(expected))


def test_every_kind_of_a_version_is_asked():
    """And goes on to be written: new kinds join, none leaves."""
    every = {*kinds.KINDS, *kinds.TALLIES, *kinds.COMMANDS}
    for version in VERSIONS:
        names = {name for name, _, _ in cases(version)}
        assert names <= every
        assert names == {p.id.partition("-")[2] for p in FILES if p.id.startswith(version)}


@pytest.mark.parametrize(("file", "known"), MODELS)
def test_a_saved_model_predicts_as_it_did(file, known):
    model = tallybayes.load(io.BytesIO(file))
    same(model.classes_, decoded(known["classes"]))
    if known["class_count"]:
        np.testing.assert_allclose(model.class_count_, known["class_count"], rtol=1e-12)
    predicts_as(model, known)
    again = io.BytesIO()
    model.save(again)
    predicts_as(tallybayes.load(io.BytesIO(again.getvalue())), known)


@pytest.mark.parametrize(("file", "known"), MODELS)
def test_one_row_is_answered_as_the_batch_was(file, known):
    model, asked = tallybayes.load(io.BytesIO(file)), decoded(known["asked"])
    expected = decoded(known["answers"]["predict_proba"])
    for i, row in enumerate(rows_of(asked)):
        if isinstance(row, dict) and hasattr(model, "predict_proba_one"):
            found = [model.predict_proba_one(row)[label] for label in model.classes_.tolist()]
        else:
            (found,) = model.predict_proba(asked[i : i + 1])
        same(np.array(found), expected[i])


def rows_of(x):
    return x.to_dict("records") if isinstance(x, pd.DataFrame) else list(x)


@pytest.mark.parametrize(("file", "known"), MODELS)
def test_a_saved_model_learns_and_forgets(file, known):
    model = tallybayes.load(io.BytesIO(file))
    x, y, asked = decoded(known["x"]), decoded(known["y"]), decoded(known["asked"])
    before = answers(model, asked)["predict_proba"]
    if model.get_params().get("class_weight") == "balanced":  # weights of all rows, not of these
        with pytest.raises(ValueError, match="'balanced' is not supported"):
            model.partial_fit(x, y)
        return
    model.partial_fit(x, y)
    after = model.predict_proba(asked)
    assert np.isfinite(after).all()
    if not isinstance(model, tallybayes.MultiLabel):
        np.testing.assert_allclose(after.sum(axis=1), 1.0, rtol=1e-6)
    assert not np.array_equal(after, before)
    if (
        getattr(model, "half_life", None) is None
    ):  # else the rows have faded, and cannot be taken out
        same(model.forget(x, y).predict_proba(asked), before)


@pytest.mark.parametrize(("file", "known"), TALLIES)
def test_a_model_of_a_saved_tally_predicts_as_it_did(file, known):
    model = tallybayes.NaiveBayes.from_tally(TableTally.load(io.BytesIO(file)))
    predicts_as(model, known)


@pytest.mark.parametrize(("file", "known"), PRINTED)
def test_the_command_line_prints_as_it_did(file, known, tmp_path):
    model, asked = tmp_path / "a.tally", tmp_path / "asked.csv"
    model.write_bytes(file)
    asked.write_text(known["asked"], encoding="utf-8")
    words = ["predict", str(model), str(asked), *known["predict"]]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    found, expected = (list(csv.reader(io.StringIO(t))) for t in (done.stdout, known["printed"]))
    assert found[0] == expected[0]
    for mine, theirs in zip(found[1:], expected[1:], strict=True):
        for a, b in zip(mine, theirs, strict=True):
            if re.fullmatch(r"[\d.e-]+", b):
                assert float(a) == pytest.approx(float(b), rel=1e-9, abs=1e-9)
            else:
                assert a == b
