"""fit --class-weight is the model's class_weight=, for files that are counted in batches."""

import numpy as np
import pytest

from tallybayes import load


def fitted(run, *words, name="m.tally"):
    """A model of the training file."""
    run("fit", "comma.csv", "--target", "buys", "-o", name, "--no-estimate", *words)
    return load(name)


@pytest.mark.parametrize("words", [["--plain"], []], ids=["plain", "weighted"])
def test_balanced_classes_have_equal_weight_and_the_rows_are_told(run, files, words):
    model = fitted(run, "--class-weight", "balanced", *words)
    np.testing.assert_allclose(model.class_count_, 120.0)
    np.testing.assert_allclose(np.exp(model.class_log_prior_), 0.5, atol=1e-12)
    plain = fitted(run, *words, name="n.tally")
    shown = run("show", "m.tally", "--json").document
    assert shown["rows"] == 240
    expected = dict(zip(("ja", "nein"), plain.class_count_.tolist(), strict=True))
    assert shown["classes"] == expected
    said = run("show", "m.tally").out
    assert "weight" in said
    assert "240 rows" in said
    assert model.class_weight_ == pytest.approx({k: 120.0 / n for k, n in expected.items()})


def test_weights_by_label_are_those_of_the_model(run, files):
    model = fitted(run, "--plain", "--class-weight", "ja=5", "--class-weight", "nein=0.5")
    unweighted = fitted(run, "--plain", name="n.tally")
    assert model.class_weight_ == {"ja": 5.0, "nein": 0.5}
    assert model.tally_ == unweighted.with_class_weight({"ja": 5.0, "nein": 0.5}).tally_


@pytest.mark.parametrize("words", [["--plain"], []], ids=["plain", "weighted"])
def test_rows_are_added_and_removed_with_the_weights_they_have(run, files, words):
    before = fitted(run, "--class-weight", "balanced", *words)
    run("update", "m.tally", "comma.csv", "--target", "buys")
    twice = load("m.tally")
    np.testing.assert_allclose(twice.class_count_, 240.0)
    assert twice.class_weight_ == before.class_weight_
    result = run("forget", "m.tally", "comma.csv", "--target", "buys", "--json").document
    assert (result["rows"], result["rows_after"]) == (240, 240)
    np.testing.assert_allclose(load("m.tally").class_count_, 120.0)


def test_the_figures_are_measured_with_the_weights(run, files):
    words = ("fit", "comma.csv", "--target", "buys", "--json", "--plain")
    plain = run(*words).document["estimate"]
    found = run(*words, "--class-weight", "ja=1000").document["estimate"]
    of_ja = [
        sum(cell["rows"] for cell in estimate["confusion"] if cell["predicted"] == "ja")
        for estimate in (plain, found)
    ]
    assert of_ja[1] > of_ja[0] + 20
    assert found["log_loss"] > plain["log_loss"]


def test_models_of_other_class_weights_are_not_merged(run, files):
    fitted(run, "--plain", "--class-weight", "ja=5")
    fitted(run, "--plain", name="n.tally")
    result = run("merge", "m.tally", "n.tally", "-o", "o.tally", code=1)
    assert "'ja' 5 here and 1 there" in result.err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["ja"], "neither balanced nor LABEL=WEIGHT"),
        (["ja=-1"], "neither balanced nor LABEL=WEIGHT"),
        (["ja=nan"], "neither balanced nor LABEL=WEIGHT"),
        (["balanced", "ja=2"], "leave out the other"),
        (["ja=2", "ja=3"], "'ja' twice"),
    ],
)
def test_what_is_no_weight_is_a_usage_error(run, files, words, told):
    options = [part for word in words for part in ("--class-weight", word)]
    result = run("fit", "comma.csv", "--target", "buys", *options, code=2)
    assert told in result.err


@pytest.mark.parametrize("label", ["yes", "yes=1"], ids=["plain", "with an equals sign"])
def test_a_label_that_no_row_has_is_named(run, files, label):
    result = run("fit", "comma.csv", "--target", "buys", "--class-weight", f"{label}=2", code=1)
    assert f"class_weight names {label!r}, which no row has as its label" in result.err
    assert "'ja', 'nein'" in result.err
