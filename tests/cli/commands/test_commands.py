"""Each command does its work, and says the same to people and to machines."""

import csv
import io
import json
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tallybayes import NaiveBayes, collect, load
from tallybayes.cli.app import COMMANDS
from tallybayes.cli.messages import WORDS, in_ascii
from tallybayes.cli.writing import rounded, writing
from tallybayes.tally import TableTally


def test_fit_shows_what_was_understood_and_honest_numbers(run, files):
    result = run("fit", "comma.csv", "--target", "buys")
    for text in ("age", "dates", "3 levels", "adds", "comma.tally", "240 rows"):
        assert text in result.out
    for text in ("Quality (le", "accuracy", "log-loss", "Confusion", "Most informative"):
        assert text in result.out
    assert max(map(len, result.out.splitlines())) <= 80
    assert result.err == ""


def test_fit_as_a_document(run, files):
    found = run("fit", "comma.csv", "--target", "buys", "--json").document
    assert found["command"] == "fit"
    assert found["rows"] == 240
    assert set(found["classes"]) == {"ja", "nein"}
    by_name = {c["column"]: c for c in found["columns"]}
    assert by_name["since"]["holds"] == "dates"
    assert by_name["age"]["holds"] == "numbers"
    assert by_name["home"]["family"].startswith("3 levels, adds ")
    assert by_name["home"]["adds"] > 0.0
    assert 0.0 < by_name["job"]["missing"] < 0.25
    estimate = found["estimate"]
    assert estimate["measured_on"] in ("leave-one-out", "left out of the whole fit")
    assert estimate["rows"] == 240
    assert estimate["accuracy"] > estimate["baseline"]["accuracy"]
    assert estimate["log_loss"] < estimate["baseline"]["log_loss"]
    assert sum(cell["rows"] for cell in estimate["confusion"]) == 240
    assert found["informative"]["columns"][0]["column"] in ("age", "home", "pay")


def test_the_estimate_is_honest(run, tmp_path):
    """Labels that nothing tells are not foretold, even by a column of levels seen once."""
    rng = np.random.default_rng(0)
    lines = ["id,x,y"] + [f"{i % 60},{rng.random():.3f},{'ab'[i % 2]}" for i in range(400)]
    shuffled = [lines[0], *rng.permutation(lines[1:]).tolist()]
    (tmp_path / "noise.csv").write_text("\n".join(shuffled))
    estimate = run("fit", "noise.csv", "--target", "y", "--json", "--column", "id=none").document[
        "estimate"
    ]
    assert abs(estimate["accuracy"] - 0.5) < 0.1
    assert estimate["log_loss"] > 0.68


@pytest.mark.parametrize("words", [["--alpha", "auto"], ["--calibrate", "temperature"]])
def test_smoothing_and_calibration_are_chosen_on_all_rows(run, files, words):
    run("fit", "--plain", "table.parquet", "--target", "buys", "-o", "m.tally", *words)
    table = pq.read_table("table.parquet")
    x, y = table.drop_columns(["buys"]), np.array(table.column("buys").to_pylist())
    given = {words[0].strip("-"): words[1]}
    expected = NaiveBayes(**given).fit(x, y).predict_proba(x)
    np.testing.assert_allclose(load("m.tally").predict_proba(x), expected, rtol=1e-9, atol=1e-12)


def test_fit_measures_on_a_test_file(run, files):
    words = ("fit", "half.csv", "--target", "buys", "--test", "rest.csv", "--json")
    estimate = run(*words).document["estimate"]
    assert estimate["measured_on"] == "test file rest.csv"
    assert estimate["rows"] == 120
    assert estimate == {
        **run("evaluate", "half.tally", "rest.csv", "--json").document["estimate"],
        "measured_on": "test file rest.csv",
    }


def test_fit_takes_families_and_leaves_columns_out(run, files):
    words = ("--column", "age=gaussian", "--column", "job=none", "--column", "active=categorical")
    found = run("fit", "--plain", "comma.csv", "--target", "buys", *words, "--json").document
    by_name = {c["column"]: c for c in found["columns"]}
    assert by_name["age"]["family"] == "Gaussian"
    assert by_name["age"]["why"] == "declared"
    assert not by_name["job"]["used"]
    assert run("predict", "comma.tally", "comma.csv").out.count("\n") == 241


def test_fit_of_every_row_in_one_class(run, tmp_path):
    (tmp_path / "one.csv").write_text("x,y\n1,a\n2,a\n3,a\n")
    assert "only one value" in run("fit", "one.csv", "--target", "y").err


def test_predict_keeps_the_order_and_gives_probabilities(run, model, rows, tmp_path):
    result = run("predict", model, "comma.csv", "--proba")
    found = list(csv.DictReader(io.StringIO(result.out)))
    assert list(found[0]) == ["prediction", "p(ja)", "p(nein)"]
    assert len(found) == 240
    table = pq.read_table(tmp_path / "table.parquet").drop_columns(["buys"])
    expected = load(tmp_path / model)
    assert [r["prediction"] for r in found] == expected.predict(table).tolist()
    p = np.array([[float(r["p(ja)"]), float(r["p(nein)"])] for r in found])
    np.testing.assert_allclose(p, expected.predict_proba(table), rtol=1e-12)


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "parquet", "arrow"])
def test_predict_writes_every_format(run, model, tmp_path, suffix):
    out = tmp_path / f"p.{suffix}"
    result = run("predict", model, "comma.csv", "-o", out, "--proba")
    assert result.out == ""
    assert "240 predictions" in result.err
    if suffix == "parquet":
        columns = pq.read_table(out).to_pydict()
    elif suffix == "arrow":
        columns = pa.ipc.open_file(pa.OSFile(str(out))).read_all().to_pydict()
    else:
        text = out.read_text(encoding="utf-8")
        if suffix == "jsonl":
            rows = [json.loads(line) for line in text.splitlines()]
        else:
            rows = list(csv.DictReader(io.StringIO(text), delimiter="\t" if "t" in suffix else ","))
        columns = {name: [row[name] for row in rows] for name in rows[0]}
    assert list(columns) == ["prediction", "p(ja)", "p(nein)"]
    plain = run("predict", model, "comma.csv").out.splitlines()[1:]
    assert columns["prediction"] == plain
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []


def test_predict_as_a_document(run, model):
    found = run("predict", model, "comma.csv", "--json", "--proba").document
    assert found["rows"] == len(found["predictions"]) == 240
    assert set(found["predictions"][0]) == {"prediction", "p(ja)", "p(nein)"}
    assert run("predict", model, "comma.csv", "--json", "-o", "p.csv").document["rows"] == 240


def test_evaluate_counts_classes_that_the_model_does_not_know(run, model, tmp_path):
    text = (tmp_path / "comma.csv").read_text(encoding="utf-8")
    (tmp_path / "new.csv").write_text(text.replace(",ja\n", ",vielleicht\n", 1), encoding="utf-8")
    found = run("evaluate", model, "new.csv", "--json").document["estimate"]
    assert found["unknown_class_rows"] == 1
    assert found["log_loss"] is None
    right = sum(c["rows"] for c in found["confusion"] if c["actual"] == c["predicted"])
    assert found["accuracy"] == pytest.approx(right / 240)  # no row of an unknown class is
    assert {"actual": "(unknown)"}.items() <= found["confusion"][-1].items()
    assert "infinite" in run("evaluate", model, "new.csv").out


def test_explain_adds_up_to_the_prediction(run, model):
    found = run("explain", model, "comma.csv", "--row", 5, "--json").document
    total = {
        c: found["base"][c] + sum(x["contribution"][c] for x in found["columns"])
        for c in ("ja", "nein")
    }
    p = 1.0 / (1.0 + np.exp(total["nein"] - total["ja"]))
    share = load(model)._model.prior_share
    p += share * (np.exp(load(model).class_log_prior_[0]) - p)
    assert p == pytest.approx(found["probability"]["ja"], rel=1e-9)
    sizes = [abs(c["contribution"]["ja"] - c["contribution"]["nein"]) for c in found["columns"]]
    assert sizes == sorted(sizes, reverse=True)
    text = run("explain", model, "comma.csv", "--row", 5).out
    assert f"predicted buys = {found['prediction']}" in text
    assert "(class prior)" in text


def test_explain_reads_into_a_later_batch(run, model):
    words = ("explain", model, "comma.csv", "--row", 239, "--json")
    assert run(*words).document == run(*words, "--block", 600).document


def test_one_row_is_no_plural(run, files, tmp_path):
    run("fit", "half.csv", "--target", "buys", "-o", "a.tally", "--plain", "--no-estimate")
    head, *lines = (tmp_path / "rest.csv").read_text("utf-8").splitlines(keepends=True)
    whole = next(line for line in lines if line.count('"') == 0)
    (tmp_path / "one.csv").write_text(head + whole, "utf-8")
    assert "1 row added; a.tally holds 121 now" in run("update", "a.tally", "one.csv").out
    assert "1 row removed; a.tally holds 120 now" in run("forget", "a.tally", "one.csv").out


def test_update_and_forget_are_inverse(run, files, tmp_path):
    run("fit", "half.csv", "--target", "buys", "-o", "a.tally", "--no-estimate")
    before = load(tmp_path / "a.tally").tally_
    found = run("update", "a.tally", "rest.csv", "--json").document
    assert (found["rows"], found["rows_before"], found["rows_after"]) == (120, 120, 240)
    assert "120 rows removed" in run("forget", "a.tally", "rest.csv").out
    after = load(tmp_path / "a.tally").tally_
    assert after.classes == before.classes
    proba = [
        run("predict", m, "comma.csv", "--proba").out for m in ("a.tally", _fitted(run, "half.csv"))
    ]
    assert _numbers(proba[0]) == pytest.approx(_numbers(proba[1]), rel=1e-9)


def test_tallies_of_python_merge_with_counts_of_the_command_line(run, files):
    run("count", "comma.csv", "--target", "buys", "-o", "a.tally")
    counted = TableTally.load("a.tally")
    assert counted == collect("comma.csv", "buys")
    counted.save("b.tally")
    run("merge", "b.tally", "a.tally", "-o", "c.tally")
    assert TableTally.load("c.tally") == counted + counted
    run("merge", "b.tally", "b.tally", "-o", "d.tally")
    assert run("evaluate", "d.tally", "comma.csv", "--json", code=2).line
    assert run("evaluate", "d.tally", "comma.csv", "--target", "buys", "--json").document


def test_merge_is_fit_of_all(run, files):
    run("fit", "--plain", "half.csv", "--target", "buys", "-o", "a.tally")
    run("fit", "--plain", "rest.csv", "--target", "buys", "-o", "b.tally")
    assert run("merge", "a.tally", "b.tally", "-o", "c.tally", "--json").document["rows"] == 240
    merged = run("predict", "c.tally", "comma.csv", "--proba").out
    run("fit", "--plain", "comma.csv", "--target", "buys", "-o", "whole.tally", "--no-estimate")
    whole = run("predict", "whole.tally", "comma.csv", "--proba").out
    assert _numbers(merged) == pytest.approx(_numbers(whole), rel=1e-9)


def test_show(run, files):
    run("fit", "comma.csv", "--plain", "--target", "buys", "-o", "p.tally", "--no-estimate")
    text = run("show", "p.tally", "--tables").out
    for part in ("240 rows, 6 columns", "alpha=1.0", "工程师", "P(level | class)"):
        assert part in text
    found = run("show", "p.tally", "--tables", "--json").document
    assert found["target"] == "buys"
    tables = {t["column"]: t for t in found["tables"]}
    assert sum(tables["home"]["values"]["ja"]) == pytest.approx(1.0)
    assert "tables" not in run("show", "p.tally", "--json").document


def test_show_a_weighted_model(run, model):
    text = run("show", model, "--tables").out
    for part in ("240 rows, 6 columns", "interactions='auto'", "工程师", "weight", "in nats"):
        assert part in text
    found = run("show", model, "--tables", "--json").document
    tables = {t["column"]: t for t in found["tables"]}
    values = load(model).tables_["home"]
    assert tables["home"]["rows"] == values["home"].tolist()
    assert tables["home"]["values"]["ja"] == pytest.approx(values["ja"].tolist())
    assert "moves the scores of the classes apart" in found["informative"]["measure"]


@pytest.fixture
def exclusive(tmp_path):
    """Two columns that tell by their pair alone."""
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 2, (2, 400))
    lines = [
        f"{i},{j},{i ^ j if rng.random() < 0.9 else 1 - (i ^ j)}" for i, j in zip(a, b, strict=True)
    ]
    (tmp_path / "xor.csv").write_text("\n".join(["a,b,y", *lines]))
    (tmp_path / "first.csv").write_text("\n".join(["a,b,y", *lines[:200]]))
    (tmp_path / "second.csv").write_text("\n".join(["a,b,y", *lines[200:]]))


def test_pairs_are_found_shown_and_explained(run, exclusive):
    words = ("--column", "a=categorical", "--column", "b=categorical")
    estimate = run("fit", "xor.csv", "-t", "y", *words, "--json").document["estimate"]
    assert estimate["accuracy"] > 0.85
    assert "a × b" in run("show", "xor.tally").out
    told = run("explain", "xor.tally", "xor.csv", "--row", 0, "--json").document
    by_name = {c["column"]: c for c in told["columns"]}
    row = (by_name["a"]["value"], by_name["b"]["value"])
    assert by_name["a × b"]["value"] == [str(value) for value in row]
    total = told["base"]["1"] + sum(c["contribution"]["1"] for c in told["columns"])
    other = told["base"]["0"] + sum(c["contribution"]["0"] for c in told["columns"])
    odds = told["probability"]["1"] / told["probability"]["0"]
    assert total - other == pytest.approx(np.log(odds), abs=0.02)  # the prior has its share
    assert "a × b" in run("explain", "xor.tally", "xor.csv", "--row", 0).out
    run("fit", "xor.csv", "-t", "y", *words, "--interactions", 0, "-o", "none.tally")
    assert "a × b" not in run("show", "none.tally").out


def test_weights_are_learned_again(run, exclusive):
    run("fit", "first.csv", "-t", "y", "--no-estimate")
    run("update", "first.tally", "second.csv")
    assert "reweight" in run("predict", "first.tally", "second.csv").err
    assert "400" in run("reweight", "first.tally", "xor.csv").out
    assert run("predict", "first.tally", "second.csv").err == ""
    run("fit", "xor.csv", "-t", "y", "--no-estimate")
    np.testing.assert_array_equal(
        load("first.tally").predict_proba([{"a": 1, "b": 0}]),
        load("xor.tally").predict_proba([{"a": 1, "b": 0}]),
    )
    run("fit", "xor.csv", "-t", "y", "--plain", "-o", "plain.tally")
    assert "is a plain model" in run("reweight", "plain.tally", "xor.csv", code=1).line
    line = run("reweight", "first.tally", "xor.csv", "--target", "z", code=1).line
    assert "no column 'z'" in line


def test_a_model_from_python_needs_its_target_named(run, files, tmp_path):
    table = pq.read_table(tmp_path / "table.parquet")
    y = np.array([v == "ja" for v in table["buys"].to_pylist()]).astype(int)
    NaiveBayes().fit(table.drop_columns(["buys", "since"]), y).save(tmp_path / "py.tally")
    labelled = table.append_column("label", pa.array(y))
    pq.write_table(labelled, tmp_path / "labelled.parquet")
    assert "--target" in run("evaluate", "py.tally", "labelled.parquet", code=2).line
    words = ("py.tally", "labelled.parquet", "--target", "label")
    assert run("evaluate", *words, "--json").document["estimate"]["accuracy"] > 0.7
    assert run("update", *words, "--json").document["rows_after"] == 480
    assert load(tmp_path / "py.tally").classes_.dtype.kind == "i"


def _fitted(run, data):
    run("fit", data, "--target", "buys", "-o", "whole.tally", "--no-estimate")
    return "whole.tally"


def _numbers(text):
    return [float(row["p(ja)"]) for row in csv.DictReader(io.StringIO(text))]


@pytest.fixture
def identifiers(run, tmp_path):
    """A model of a table with an identifier and a column without a value."""
    lines = ["id,void,x,y", *(f"r{i},,{i % 6},{'ab'[i % 2 if i % 9 else 0]}" for i in range(80))]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    return run("fit", "t.csv", "-t", "y")


def test_a_column_that_is_left_out_is_told_once(run, identifiers):
    assert identifiers.err == ""
    assert "all strings are different" in identifiers.out
    assert "no value was seen" in identifiers.out
    for words in (("predict", "t.csv"), ("evaluate", "t.csv"), ("explain", "t.csv", "--row", 0)):
        result = run(words[0], "t.tally", *words[1:])
        assert result.err == ""
        assert "id" not in result.out.split()


def test_what_says_nothing_may_be_lacking_but_not_for_learning(run, identifiers, tmp_path):
    (tmp_path / "new.csv").write_text("x,y\n1,a\n2,b\n")
    run("predict", "t.tally", "new.csv")
    run("evaluate", "t.tally", "new.csv")
    run("explain", "t.tally", "new.csv", "--row", 0)
    assert "lacks the column(s) id, void" in run("update", "t.tally", "new.csv", code=1).line
    (tmp_path / "less.csv").write_text("id,y\n1,a\n2,b\n")
    assert "lacks the column(s) x " in run("predict", "t.tally", "less.csv", code=1).line


@pytest.mark.parametrize("delimiter", [",", "\t"])
def test_predictions_as_csv_are_read_as_they_were(tmp_path, delimiter):
    """Labels with any letters, probabilities to the last bit."""
    p = np.array([[1.0, 0.0], [1e-300, 1.0 - 1e-16], [1 / 3, 2 / 3], [1e-7, 0.5]])
    for labels in (["ja", "nein", "工程师", " x "], ['a"b', "a,b", "a\tb", "a\nb"]):
        path = tmp_path / f"p{labels[0][0]}.{'csv' if delimiter == ',' else 'tsv'}"
        with writing(str(path), ["prediction", "p(a,b)", 'p(")']) as out:
            out.write([labels[:2]], p[:2])
            out.write([labels[2:]], p[2:])
        with path.open(encoding="utf-8", newline="") as file:
            head, *rows = csv.reader(file, delimiter=delimiter)
        assert head == ["prediction", "p(a,b)", 'p(")']
        assert [row[0] for row in rows] == labels
        np.testing.assert_array_equal([[float(v) for v in row[1:]] for row in rows], p)


@pytest.mark.parametrize("digits", [1, 3, 17])
def test_probabilities_have_as_many_digits_as_are_asked_for(digits):
    rng = np.random.default_rng(0)
    p = np.concatenate([rng.random(500), 10.0 ** -rng.uniform(0, 300, 500), [0.0, 1.0, 0.9996]])
    found = rounded(p[:, None], digits)[:, 0]
    for value, exact in zip(found.tolist(), p.tolist(), strict=True):
        assert value == pytest.approx(exact, rel=0.5 * 10.0 ** (1 - digits) * (1 + 1e-9))
        assert float(f"{value:.{digits}g}") == value


def test_digits_round_what_is_written_and_nothing_else(run, files):
    run("fit", "comma.csv", "--target", "buys", "-o", "m.tally", "--no-estimate")
    words = ("predict", "m.tally", "comma.csv")
    *_, whole = csv.reader(run(*words, "--proba").out.splitlines())
    *_, some = csv.reader(run(*words, "--proba", "--digits", 3).out.splitlines())
    assert some == [whole[0], *(f"{float(v):.3g}" for v in whole[1:])]
    assert "add --proba" in run(*words, "--digits", 3, code=2).line
    told = run("predict", "--help").out
    assert "as many digits as" in re.sub(r"[\s│]+", " ", told)


def test_weights_older_than_the_counts_are_told_by_the_command(run, files, tmp_path):
    run("fit", "comma.csv", "--target", "buys", "--no-estimate")
    told = run("update", "comma.tally", "comma.csv", "-o", "u.tally").err
    assert "tallybayes reweight u.tally DATA" in told
    told = run("predict", "u.tally", "comma.csv").err
    assert "tallybayes reweight" in told
    assert "reweight(X, y)" not in told
    run("reweight", "u.tally", "comma.csv")
    assert run("predict", "u.tally", "comma.csv").err == ""
    run("fit", "--plain", "comma.csv", "--target", "buys", "--no-estimate")
    assert run("update", "comma.tally", "comma.csv").err == ""


def test_a_document_begins_with_its_first_row(run, model, tmp_path):
    (tmp_path / "less.csv").write_text("nothing\n1\n")
    result = run("predict", model, "less.csv", "--json", code=1)
    assert result.out == ""
    assert result.line


def test_the_simplest_guess_is_a_class_that_can_be_guessed(run, tmp_path):
    (tmp_path / "t.csv").write_text("x,y\n" + "1,a\n2,b\n" * 20)
    (tmp_path / "new.csv").write_text("x,y\n" + "1,c\n" * 5 + "1,a\n2,b\n2,b\n")
    run("fit", "--plain", "t.csv", "--target", "y")
    found = run("evaluate", "t.tally", "new.csv", "--json").document["estimate"]
    assert found["baseline"]["class"] == "b"
    assert found["baseline"]["accuracy"] == 2 / 8


def test_why_a_column_is_left_out_is_said(run, tmp_path):
    rows = [f"7,{i % 3},{'ab'[i % 2]}" for i in range(60)]
    (tmp_path / "t.csv").write_text("same,x,y\n" + "\n".join(rows) + "\n")
    result = run("fit", "t.csv", "--target", "y", "--no-estimate")
    assert result.out.count("no better than chance") == 1
    assert result.out.count("the same in every row") == 1
    assert "Most informative" not in result.out
    (tmp_path / "one.csv").write_text("x,y\n" + "1,a\n2,a\n" * 20)
    result = run("fit", "one.csv", "--target", "y")
    assert "needs two classes" in result.out
    assert "-0.0000" not in result.out


def test_a_missing_target_is_reported_with_the_columns(run, tmp_path):
    """And after a file that is not there."""
    (tmp_path / "t.csv").write_text("a,b,label\n1,2,u\n")
    expected = "Missing option '--target' / '-t': the label's column. The columns of t.csv are"
    assert run("fit", "t.csv", code=2).line.endswith(f"{expected} a, b, label")
    assert run("fit", "t.csv", "--column", "a=text", code=2).line.endswith("a, b, label")
    given = run("fit", "-", "-o", "m.tally", stdin=b"a,label\n1,u\n", code=2)
    assert given.line.endswith("The columns of standard input are a, label")
    assert run("fit", "nothere.csv", code=1).line.endswith("nothere.csv: No such file or directory")
    assert not (tmp_path / "m.tally").exists()


ROWS = [f"K{i},{i % 7},{'yn'[i % 7 > 3]}" for i in range(60)]


@pytest.fixture
def keyed(run):
    Path("t.csv").write_text("\n".join(["id,value,t", *ROWS]) + "\n")
    run("fit", "t.csv", "-t", "t", "--column", "id=none", "--plain", "-o", "m.tally")
    return "m.tally"


@pytest.mark.parametrize("plain", [(), ("--plain",)])
def test_the_last_line_of_a_fit_is_its_accuracy(run, keyed, plain):
    out = run("fit", "t.csv", "-t", "t", *plain, "-o", "n.tally").out
    assert out.splitlines()[-1].startswith("accuracy ")
    out = run("fit", "t.csv", "-t", "t", *plain, "--test", "t.csv", "-o", "n.tally").out
    assert "(test file t.csv); always 'y': 60.00%" in out.splitlines()[-1]


@pytest.mark.parametrize("command", COMMANDS)
def test_each_help_ends_with_examples(run, command):
    text = run(command, "--help").out
    examples = text.partition("\nExamples:\n")[2].splitlines()
    assert examples
    assert all(f"tallybayes {command} " in line for line in examples if line[2] != " ")


def test_quiet_commands_print_results_and_errors_only(run, keyed):
    quiet = run("fit", "t.csv", "-t", "t", "-o", "q.tally", "-q")
    assert (quiet.out, quiet.err) == ("", "")
    assert run("fit", "t.csv", "-t", "t", "-o", "q.tally").out
    alone = run("predict", keyed, "t.csv").out
    assert run("predict", keyed, "t.csv", "-q").out == alone
    run("predict", keyed, "t.csv", "-o", "p.csv", "--quiet")
    assert run("evaluate", keyed, "t.csv", "--json", "-q").document["estimate"]["rows"] == 60
    assert "no column" in run("evaluate", keyed, "t.csv", "-t", "x", "-q", code=1).line


def test_several_rows_are_explained_by_number_and_by_key(run, keyed):
    one = run("explain", keyed, "t.csv", "--row", 3, "--json").document
    by_key = run("explain", keyed, "t.csv", "--key", "id=K3", "--key", "value=6", "--json").document
    assert [row["row"] for row in by_key["rows"]] == [3, *range(6, 60, 7)]
    assert {"command": "explain", **by_key["rows"][0]} == one
    text = run("explain", keyed, "t.csv", "--row", 5, "--row", 2).out
    assert [line.split(":")[0] for line in text.splitlines() if "predicted" in line] == [
        "Row 2 (line 4)",
        "Row 5 (line 7)",
    ]
    assert "no row has id=K60" in run("explain", keyed, "t.csv", "--key", "id=K60", code=1).line
    assert "there is no row 60" in run("explain", keyed, "t.csv", "--row", 60, code=1).line
    assert "COL=VALUE" in run("explain", keyed, "t.csv", "--key", "K3", code=2).line
    assert "Did you mean 'id'" in run("explain", keyed, "t.csv", "--key", "ids=1", code=1).line


def test_several_documents_are_explained(run):
    rows = "".join(
        f"K{i},{['good day', 'bad mess'][i % 2]} {i % 3},{'yn'[i % 2]}\n" for i in range(20)
    )
    Path("d.csv").write_text("id,text,t\n" + rows)
    fit = ("fit", "d.csv", "-t", "t", "--column", "text=text", "--column", "id=none", "--no-ridge")
    run(*fit, "-o", "d.tally")
    found = run("explain", "d.tally", "d.csv", "--key", "id=K4", "--row", 1, "--json").document
    assert [(row["row"], row["prediction"]) for row in found["rows"]] == [(1, "n"), (4, "y")]


def test_a_renamed_column_of_data_is_recognised(run, keyed):
    Path("new.csv").write_text("id,values\nK1,3\n")
    line = run("predict", keyed, "new.csv", code=1).line
    assert "Did you mean 'values'? Rename it to 'value'." in line


def test_signs_are_words_where_a_stream_takes_ascii_only(process, keyed):
    narrow = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    found = process("evaluate", keyed, "t.csv", **narrow).out
    assert found.isascii()
    assert "?" not in found
    assert "+/-" in found
    assert all(in_ascii(sign).isascii() for sign in WORDS)
    assert in_ascii("工 → 2") == "\\u5de5 -> 2"
