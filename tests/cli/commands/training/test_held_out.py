"""The figures that fit prints are those of rows that took part in no choice."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tallybayes import WeightedNaiveBayes, cross_validation, load
from tallybayes.model_files import figures, tables
from tallybayes.models import weighted_fit as weighted_learning
from tallybayes.weighted.average import learn
from tallybayes.weighted.rows import fold_of


@pytest.mark.parametrize("words", [["--plain"], ["--plain", "--calibrate", "isotonic"]])
def test_the_estimate_is_of_rows_held_out_of_all_learning(run, files, words):
    found = run("fit", *words, "table.parquet", "--target", "buys", "--json").document["estimate"]
    table = pq.read_table("table.parquet")
    y = np.array(table.column("buys").to_pylist())
    x = table.drop_columns(["buys"])
    fold = fold_of(y, 10, seed=0)
    model = load("table.tally")
    others = [type(model)(**model.get_params()) for _ in range(10)]
    losses = []
    for i, other in enumerate(others):
        other.fit(x.take(np.flatnonzero(fold != i)), y[fold != i])
        test = np.flatnonzero(fold == i)
        log_proba = other.predict_log_proba(x.take(test))
        losses.extend(-log_proba[np.arange(len(test)), np.searchsorted(other.classes_, y[test])])
    assert found["measured_on"] == "10-fold cross-validation"
    assert found["log_loss"] == pytest.approx(np.mean(losses), rel=1e-6)


@pytest.mark.parametrize("words", [[], ["--parts", 1], ["--parts", 3]])
def test_a_weighted_model_tells_what_its_learning_measured(run, files, words):
    found = run("fit", *words, "comma.csv", "--target", "buys", "--json").document["estimate"]
    model = load("comma.tally")
    assert model.parts == (words[1] if words else "auto")
    left_out = model._model.chosen.weighting.figures.left_out
    assert found["measured_on"] == ("left out of the whole fit" if left_out else "leave-one-out")
    told = model.accuracy_, model.accuracy_se_, model.log_loss_, model.log_loss_se_
    assert (
        found["accuracy"],
        found["accuracy_standard_error"],
        found["log_loss"],
        found["log_loss_standard_error"],
    ) == told
    assert found["rows"] == sum(cell["rows"] for cell in found["confusion"]) == 240
    right = sum(c["rows"] for c in found["confusion"] if c["actual"] == c["predicted"])
    assert right / 240 == pytest.approx(model.accuracy_)
    shares = model.class_count_ / 240
    assert found["baseline"]["accuracy"] == pytest.approx(shares.max())
    assert found["baseline"]["log_loss"] == pytest.approx(-(shares * np.log(shares)).sum())
    text = run("fit", *words, "comma.csv", "--target", "buys").out
    assert f"{model.accuracy_:.2%}" in text
    assert f"± {model.log_loss_se_:.4f}" in text


def test_nothing_is_learned_again_to_measure_a_weighted_model(run, files, monkeypatch):
    calls = []

    def counted(*args, **asked):
        calls.append(asked)
        return learn(*args, **asked)

    monkeypatch.setattr(weighted_learning, "learn", counted)
    run("fit", "comma.csv", "--target", "buys")
    assert len(calls) == 1


def test_figures_of_weighted_classes_are_weighted_and_their_rows_counted(run, files):
    words = ("fit", "comma.csv", "--target", "buys", "--json", "--class-weight", "ja=3")
    found = run(*words).document["estimate"]
    model = load("comma.tally")
    assert found["measured_on"].endswith(", weighted by class")
    assert found["rows"] == sum(cell["rows"] for cell in found["confusion"]) == 240
    assert found["accuracy"] == model.accuracy_
    right = {c["actual"]: c["rows"] for c in found["confusion"] if c["actual"] == c["predicted"]}
    weight = model.class_count_.sum()
    assert (3 * right["ja"] + right["nein"]) / weight == pytest.approx(model.accuracy_)


def test_of_one_class_there_is_nothing_to_measure(run):
    pq.write_table(pa.table({"a": list("uvuv"), "y": ["no"] * 4}), "one.parquet")
    result = run("fit", "one.parquet", "--target", "y", "--json")
    assert result.document["estimate"] is None
    assert "it takes rows of two classes" in result.err


def test_parts_of_a_file_that_is_learned_again(run, files):
    run("fit", "comma.csv", "--target", "buys", "--parts", 1, "--no-estimate")
    run("reweight", "comma.tally", "comma.csv")
    assert load("comma.tally").parts == 1
    run("reweight", "comma.tally", "comma.csv", "--parts", 2)
    assert load("comma.tally").parts == 2
    for option in ("0", "some", "1.5"):
        words = ("comma.tally", "comma.csv", "--parts", option)
        assert "neither a whole number from 1 on nor auto" in run("reweight", *words, code=2).err
    plain = ("fit", "comma.csv", "--target", "buys", "--plain", "-o", "p.tally")
    assert "--parts is for weighted models" in run(*plain, "--parts", 3, code=2).err
    run(*plain, "--calibrate", "temperature", "--no-estimate")
    again = run("reweight", "p.tally", "comma.csv", "--parts", 3, code=2)
    assert "p.tally is a plain one" in again.err


@pytest.mark.parametrize("words", [[], ["--plain", "--alpha", "auto", "--calibrate", "isotonic"]])
def test_of_coin_flips_nothing_is_claimed(run, words):
    """Origin: 300 rows × 40 columns; printed 62.7 % and .687, fresh rows 49.9 % and .888."""
    rng = np.random.default_rng(0)
    columns = {f"c{j}": rng.choice(list("abcd"), 300) for j in range(40)}
    pq.write_table(pa.table({**columns, "y": rng.choice(["no", "yes"], 300)}), "flips.parquet")
    found = run("fit", *words, "flips.parquet", "--target", "y", "--json").document["estimate"]
    assert found["accuracy"] < 0.5 + 3 * found["accuracy_standard_error"]
    assert found["log_loss"] > np.log(2.0) - 0.01


@pytest.mark.parametrize("words", [[], ["--plain"]])
def test_of_many_rows_a_sample_is_held_out(run, monkeypatch, words):
    """Origin: above 20,000 rows leave-one-out was printed, 25.5 % and 1.962; truth 17.8 %, 2.084:
    10 classes, 2 informative columns and 118 of noise. Here with fewer rows and columns."""
    for place in (figures, tables):
        monkeypatch.setattr(place, "MAX_SAMPLE_ROWS", 1_000)
    monkeypatch.setattr(WeightedNaiveBayes, "sample_size", 1_000)
    monkeypatch.setattr(cross_validation, "FOLDS", ((100, 10), (200, 5)))
    rng = np.random.default_rng(0)
    y = rng.integers(0, 10, 6_000)
    told = np.where(rng.random((6_000, 2)) < 0.2, y[:, None], rng.integers(0, 10, (6_000, 2)))
    columns = {f"c{j}": v.astype(str) for j, v in enumerate(told.T)}
    columns |= {f"noise{j}": rng.choice(list("abcdefgh"), 6_000) for j in range(30)}
    table = pa.table({**columns, "y": [f"class {k}" for k in y]})
    pq.write_table(table.slice(0, 3_000), "rows.parquet")
    pq.write_table(table.slice(3_000), "fresh.parquet")
    found = run("fit", *words, "rows.parquet", "--target", "y", "--json").document["estimate"]
    true = run("evaluate", "rows.tally", "fresh.parquet", "--json").document["estimate"]
    assert "sample of" in found["measured_on"]
    error = np.hypot(found["log_loss_standard_error"], true["log_loss_standard_error"])
    assert found["log_loss"] > true["log_loss"] - 3.0 * error
    assert found["rows"] < 1_001
