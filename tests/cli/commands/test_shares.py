"""Class shares of a file without labels are those that Python finds, from its rows or counts."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from tallybayes import load


def sales(seed, n, sold):
    rng = np.random.default_rng(seed)
    y = rng.random(n) < sold
    channel = np.where(rng.random(n) < np.where(y, 0.7, 0.3), "web", "shop")
    frame = pd.DataFrame({"channel": channel, "age": rng.normal(np.where(y, 40, 50), 9).round(1)})
    return frame.assign(sold=np.where(y, "yes", "no"))


@pytest.fixture
def model(run, tmp_path):
    sales(0, 900, 0.3).to_csv(tmp_path / "june.csv", index=False)
    later = sales(1, 600, 0.7).drop(columns="sold")
    later.to_csv(tmp_path / "july.csv", index=False)
    for i in range(10):
        later[i::10].to_csv(tmp_path / f"part{i}.csv", index=False)
    run("count", "june.csv", "-t", "sold", "-o", "june.tally")
    return load(tmp_path / "june.tally")


def test_rows_and_counts_give_the_shares_that_python_finds(run, model, tmp_path):
    run("count", "july.csv", "--no-target", "-o", "july.tally")
    for given in ("july.csv", "july.tally"):
        kept = load(tmp_path / given).tally_ if given.endswith("tally") else str(tmp_path / given)
        found = model.estimate_class_prior(kept, 0.8)
        told = run("shares", "june.tally", given, "--confidence", 0.8, "--json").document
        assert told["classes"] == json.loads(json.dumps(found.document()["classes"]))
        assert told["measured"] == found.measured == (given == "july.csv")
        assert abs(told["classes"][1]["share"] - 0.7) < 0.1
    shown = run("shares", "june.tally", "july.tally").out
    for text in ("600 rows without labels", "0.9 interval", "yes", "approximate"):
        assert text in shown
    parts = [f"part{i}" for i in range(10)]
    for part in parts:
        run("count", f"{part}.csv", "--no-target", "-o", f"{part}.tally")
    of_parts = run("shares", "june.tally", *(f"{part}.tally" for part in parts), "--json").document
    assert of_parts["measured"]
    of_files = run("shares", "june.tally", *(f"{part}.csv" for part in parts), "--json").document
    assert of_files["rows"] == of_parts["rows"] == 600


def test_the_model_that_is_written_has_the_shares_as_its_prior(run, model, tmp_path):
    told = run("shares", "june.tally", "july.csv", "-o", "prior.tally", "--json").document
    shares = {c["class"]: c["share"] for c in told["classes"]}
    moved, rows = load(tmp_path / "prior.tally"), pd.read_csv(tmp_path / "july.csv")
    expected = model.with_class_prior(shares).predict_proba(rows)
    assert moved.predict_proba(rows) == pytest.approx(expected, abs=1e-12)
    assert moved.tally_ == model.tally_
    run("predict", "prior.tally", "july.csv", "-o", "p.csv")
    run("shares", "june.tally", "july.csv", "-o", "june.tally", "-q")  # in its own place
    assert load(tmp_path / "june.tally").class_prior == pytest.approx(list(shares.values()))


def test_columns_that_more_moved_in_are_named(run, model, tmp_path):
    rows = pd.read_csv(tmp_path / "july.csv").assign(channel="app")
    rows.to_csv(tmp_path / "odd.csv", index=False)
    assert "channel does not fit" in run("shares", "june.tally", "odd.csv").out


def test_what_gives_no_shares_is_one_line(run, model, tmp_path):
    mixed = run("shares", "june.tally", "july.csv", "june.tally", code=2).line
    assert "june.tally holds counts and july.csv rows" in mixed
    assert "confidence" in run("shares", "june.tally", "july.csv", "--confidence", 95, code=1).line
    assert "none.csv" in run("shares", "june.tally", "none.csv", code=1).line
    pd.read_csv(tmp_path / "july.csv")[["age"]].to_csv(tmp_path / "short.csv", index=False)
    assert "lacks the column(s) channel" in run("shares", "june.tally", "short.csv", code=1).line
    lines = [f"{'good' if i % 2 else 'bad'} day,{'yn'[i % 2]}" for i in range(40)]
    (tmp_path / "texts.csv").write_text("\n".join(["text,t", *lines]) + "\n")
    run("fit", "texts.csv", "--column", "text=text", "--target", "t", "-o", "t.tally")
    assert "counts documents" in run("shares", "t.tally", "texts.csv", code=1).line
