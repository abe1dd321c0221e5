"""Counts released by a command are those of Python, and commands take them as a plain model."""

import json

import pytest

from tallybayes import NaiveBayes
from tallybayes.privacy import NoisedTally
from tallybayes.tally import TableTally


@pytest.fixture
def counted(run, tmp_path):
    """The counts of 600 rows, and a declared schema that has one column of theirs."""
    lines = [f"{'web' if i % 3 else 'shop'},{20 + i % 40},{'yn'[i % 3 == 0]}" for i in range(600)]
    (tmp_path / "sales.csv").write_text("\n".join(["channel,age,sold", *lines]) + "\n")
    run("count", "sales.csv", "-t", "sold", "-o", "sales.tally")
    declared = {"classes": ["n", "y"], "columns": {"channel": ["web", "shop", "app"]}}
    (tmp_path / "public.json").write_text(json.dumps(declared))
    return tmp_path


def test_counts_are_released_and_read_by_other_commands(run, counted):
    told = run(
        *("release", "sales.tally", "-o", "public.tally", "--schema", "public.json"),
        *("--epsilon", "2", "--rows-per-person", "2", "--json"),
    ).document
    assert (told["epsilon"], told["delta"], told["rows_per_person"]) == (2.0, 0.0, 2)
    assert told["columns"] == {"channel": ["web", "shop", "app"]}
    noised = NoisedTally.load(counted / "public.tally")
    assert str(noised.guarantees[0]).startswith("(2, 0)-differential privacy of at most 2 rows")
    exact = TableTally.load(counted / "sales.tally").classes.count
    assert abs(noised.read().classes.count - exact).max() < 200.0
    out = run("predict", "public.tally", "sales.csv", "--proba", "--json").out
    assert out
    model = NaiveBayes.from_tally(noised)
    assert run("show", "public.tally").out
    assert model.predict([{"channel": "web"}]).tolist() == ["y"]
    line = run("forget", "public.tally", "sales.csv", "-t", "sold", code=1).line
    assert "released counts" in line
    again = run("release", "sales.tally", "-o", "public.tally", code=2).line
    assert "a model that Python or release wrote" in again
    assert "--force" in again


def test_what_cannot_be_released_is_one_line(run, counted):
    release = ("release", "sales.tally", "-o", "public.tally")
    assert "is counted as moments of numbers" in run(*release, code=1).line
    assert (
        "epsilon is a number above 0"
        in run(*release, "--schema", "public.json", "--epsilon", "0", code=1).line
    )
    (counted / "wrong.json").write_text('{"classes": ["n"], "columns": {"channel": ["web"]}}')
    assert "class 'y' is not among 'n'" in run(*release, "--schema", "wrong.json", code=1).line
    (counted / "wrong.json").write_text('["n"]')
    assert (
        "wrong.json declares what is public" in run(*release, "--schema", "wrong.json", code=1).line
    )
    (counted / "wrong.json").write_text("{")
    assert "it is not JSON" in run(*release, "--schema", "wrong.json", code=1).line
    assert not (counted / "public.tally").exists()
