"""``tallybayes report``: a page from a model file and rows."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from tallybayes import load


def test_the_page_shows_the_model_by_the_rows(run, model):
    found = run("report", model, "comma.csv", "-o", "page.html")
    assert "page.html shows m.tally, judged on 240 rows" in found.out
    page = Path("page.html").read_text(encoding="utf-8")
    data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.S)[1])
    assert data["model"] == "WeightedNaiveBayes"
    assert data["learned"]
    since = next(c for c in data["columns"] if c["name"] == "since")
    assert re.match(r"20\d\d-\d\d-\d\d", since["bins"][0]["label"])


def test_the_page_in_chinese_and_as_a_document(run, model):
    found = run("report", model, "rest.csv", "-o", "page.html", "--lang", "zh", "--json").document
    assert found["rows"] == 120
    assert found["headline"]["accuracy"][0] > 0.5
    assert '<html lang="zh-Hans">' in Path("page.html").read_text(encoding="utf-8")


def test_what_cannot_be_is_one_line(run, model):
    assert (
        "the languages are en and zh"
        in run("report", model, "comma.csv", "--lang", "fr", code=2).line
    )
    assert (
        "is not a directory"
        in run("report", model, "comma.csv", "-o", "none/page.html", code=1).line
    )
    Path("bare.csv").write_text("age\n3\n")
    assert "no column 'buys'" in run("report", model, "bare.csv", code=1).line
    assert not Path("report.html").exists()


def data_of(path: str) -> dict:
    """What a page shows."""
    page = Path(path).read_text(encoding="utf-8")
    return json.loads(re.search(r'id="data">(.*?)</script>', page, re.S)[1])


def test_fit_writes_a_page_of_the_rows_that_it_learned(run, files):
    words = ["fit", "comma.csv", "--target", "buys", "-o", "m.tally", "--report", "page.html"]
    found = run(*words)
    assert "page.html shows m.tally, judged on 240 rows" in found.out
    data = data_of("page.html")
    assert data["learned"]
    assert data["rowsGiven"] == 240
    about = {"target": "buys", "model": "m.tally", "data": "comma.csv"}
    assert about.items() <= data["about"].items()
    once = run("fit", "half.csv", *words[2:], "--plain", "--test", "rest.csv", "--json").document
    data = data_of("page.html")
    assert not data["learned"]
    assert data["headline"]["by"] == "new"
    assert data["headline"]["accuracy"][0] == pytest.approx(once["estimate"]["accuracy"], abs=1e-6)


@pytest.mark.parametrize("options", [[], ["--plain"], ["--parts", "1"], ["--class-weight", "ja=3"]])
def test_the_page_of_a_fit_has_the_figures_that_the_terminal_has(run, files, options):
    words = ["fit", "comma.csv", "--target", "buys", "-o", "m.tally", *options]
    estimate = run(*words, "--report", "page.html", "--json").document["estimate"]
    data = data_of("page.html")
    head, matrix = data["headline"], data["confusion"]["matrix"]
    assert head["accuracy"][0] == pytest.approx(estimate["accuracy"], rel=1e-6)
    assert head["logLoss"][0] == pytest.approx(estimate["log_loss"], rel=1e-6)
    cells = {(c["actual"], c["predicted"]): c["rows"] for c in estimate["confusion"]}
    for i, actual in enumerate(data["classes"]):
        for j, predicted in enumerate(data["classes"]):
            assert matrix[i][j] == cells.get((actual, predicted), 0)


@pytest.mark.parametrize("options", [[], ["--plain"]])
def test_the_terminal_and_the_page_say_the_same_of_columns(run, files, options):
    words = ("fit", "comma.csv", "-t", "buys", "-o", "m.tally", "--report", "page.html", "--json")
    fitted = run(*words, *options).document
    terminal = {t["column"]: t["nats"] for t in fitted["informative"]["columns"]}
    data = data_of("page.html")
    page = {name: nats for name, nats in data["terms"] if nats > 0.0}
    assert terminal == {name: pytest.approx(nats, rel=1e-6) for name, nats in page.items()}
    assert list(terminal) == list(page)
    importances = load("m.tally").feature_importances_
    if options:
        assert sorted(terminal.values()) == pytest.approx(sorted(importances[importances > 0.0]))


@pytest.fixture
def visits(tmp_path):
    """Eight rows each of 100 customers, whose number predicts the label."""
    rng = np.random.default_rng(0)
    lines = ["customer,fee,hour,renews"]
    for i in range(100):
        fee, label = rng.normal(50.0, 9.0), "yes" if rng.random() < 0.5 else "no"
        lines += [f"c{i},{fee:.2f},{rng.integers(24)},{label}" for _ in range(8)]
    (tmp_path / "visits.csv").write_text("\n".join(lines))
    return "visits.csv"


@pytest.mark.parametrize("options", [[], ["--plain"]])
def test_groups_are_left_out_whole(run, visits, options):
    words = ["fit", visits, "--target", "renews", "-o", "m.tally", *options]
    grouped = [*words, "--group", "customer", "--report", "page.html", "--json"]
    fitted = run(*grouped).document
    assert {c["column"] for c in fitted["columns"] if c["used"]} <= {"fee", "hour"}
    estimate = fitted["estimate"]
    assert estimate["log_loss"] > 0.6
    alone = run(*words, "--column", "customer=none", "--json").document["estimate"]
    assert estimate["log_loss"] > alone["log_loss"] + 0.1
    data = data_of("page.html")
    assert data["headline"]["logLoss"][0] == pytest.approx(estimate["log_loss"], rel=1e-6)
    assert np.sum(data["confusion"]["matrix"]) == 800
    run("update", "m.tally", visits)
    again = run("reweight", "m.tally", visits, "--group", "customer", code=1 if options else 0)
    if not options:
        assert "learned on 800 rows" in again.out


@pytest.mark.parametrize("options", [[], ["--plain"]])
def test_rows_in_groups_have_weights(run, visits, options):
    header, *lines = Path(visits).read_text().split("\n")
    weighed = [header + ",n", *(f"{line},{1 + i % 3}" for i, line in enumerate(lines))]
    Path("weighed.csv").write_text("\n".join(weighed))
    words = ["fit", "weighed.csv", "-t", "renews", "-o", "m.tally", "--weight", "n", *options]
    fitted = run(*words, "--group", "customer", "--report", "page.html", "--json").document
    assert {c["column"] for c in fitted["columns"] if c["used"]} <= {"fee", "hour"}
    assert fitted["rows"] == 1599
    data, estimate = data_of("page.html"), fitted["estimate"]
    assert data["headline"]["logLoss"][0] == pytest.approx(estimate["log_loss"], rel=1e-6)
    assert np.sum(data["confusion"]["matrix"]) == pytest.approx(1599)
    if not options:
        assert "holds 1,599" in run("reweight", "m.tally", "weighed.csv", "--group", "customer").out


def test_a_column_of_groups_that_cannot_be_is_one_line(run, visits):
    words = ["fit", visits, "--target", "renews", "-o", "m.tally", "--group"]
    assert "--group names 'client'" in run(*words, "client", code=1).line
    assert "--group renews is the target" in run(*words, "renews", code=2).line
    assert "is the column of weights" in run(*words, "hour", "--weight", "hour", code=2).line
    run(*words[:-1], "--no-estimate")
    again = ["reweight", "m.tally", visits, "--group"]
    assert "'fee' is a column that the model predicts from" in run(*again, "fee", code=2).line
    assert "--group names 'client'" in run(*again, "client", code=1).line


def test_a_row_without_a_group_is_named_by_its_line(run, visits):
    run("fit", visits, "-t", "renews", "-o", "m.tally", "--group", "customer", "--no-estimate")
    with open(visits, "a") as file:
        file.write("\n,50,7,yes\n")
    for words in (["fit", visits, "-t", "renews"], ["reweight", "m.tally", visits]):
        found = run(*words, "--group", "customer", code=1).line
        assert "visits.csv, line 802 has no value in 'customer'" in found


def test_a_page_judges_as_the_terminal_does_whatever_the_model_has_learned(run, model):
    estimate = run("evaluate", model, "comma.csv", "--report", "page.html", "--json").document[
        "estimate"
    ]
    head = data_of("page.html")["headline"]
    assert head["by"] == "new"
    assert head["accuracy"][0] == pytest.approx(estimate["accuracy"], rel=1e-6)


def test_fit_of_documents_writes_a_page(run, tmp_path):
    for label, text in (("good", "a fine day"), ("bad", "an awful evening")):
        (tmp_path / "mail" / label).mkdir(parents=True)
        for i in range(12):
            (tmp_path / "mail" / label / f"{i}.txt").write_text(f"{text} number {i}")
    run("fit", "mail", "-o", "m.tally", "--report", "page.html")
    assert data_of("page.html")["rowsGiven"] == 24


def test_evaluate_writes_a_page_of_the_rows_that_it_judges(run, model):
    found = run("evaluate", model, "rest.csv", "--report", "page.html")
    assert "page.html shows m.tally, judged on 120 rows" in found.out
    assert data_of("page.html")["rowsGiven"] == 120


def test_a_page_that_cannot_be_written_is_known_before_the_work(run, model):
    fit = ["fit", "comma.csv", "--target", "buys", "-o", "new.tally", "--report"]
    assert "is not a directory" in run(*fit, "none/page.html", code=1).line
    assert "where the model goes" in run(*fit, "new.tally", code=2).line
    stdin = ["fit", "-", "--target", "buys", "-o", "new.tally", "--report", "page.html"]
    assert "standard input is read once" in run(*stdin, code=2).line
    assert not Path("new.tally").exists()
    with_stdin = run("evaluate", model, "-", "--report", "page.html", stdin=b"", code=2)
    assert "standard input is read once" in with_stdin.line
