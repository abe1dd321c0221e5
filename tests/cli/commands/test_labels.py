"""Many labels a row, and classes in a tree, on the command line."""

import csv
import io

import pytest

from tallybayes import Hierarchy, MultiLabel, NaiveBayes, load, open_model

ROWS = [
    *[(20 + i, "free", "new;trial" if i % 2 else "new") for i in range(8)],
    *[(60 + i, "pro", "paying;heavy" if i % 3 else "paying") for i in range(8)],
    *[(40 + i, "pro", "") for i in range(4)],
]


@pytest.fixture
def rows(tmp_path):
    lines = ["minutes,plan,topics", *(f"{a},{b},{c}" for a, b, c in ROWS)]
    (tmp_path / "rows.csv").write_text("\n".join(lines), encoding="utf-8")
    new = ["id,minutes,plan", "a,24,free", "b,66,pro", "c,,"]
    (tmp_path / "new.csv").write_text("\n".join(new), encoding="utf-8")
    tree = {"new": "users/new", "new;trial": "users/trial", "": "other"}
    lines = ["minutes,plan,path", *(f"{a},{b},{tree.get(c, 'payers')}" for a, b, c in ROWS)]
    (tmp_path / "tree.csv").write_text("\n".join(lines), encoding="utf-8")
    return [{"minutes": a, "plan": b} for a, b, _ in ROWS]


def predictions(outcome):
    return list(csv.DictReader(io.StringIO(outcome.out)))


def test_labels_of_a_column_are_predicted_as_python_predicts_them(run, rows, tmp_path):
    found = run("fit", "rows.csv", "-t", "topics", "--labels-separator", ";", "-o", "m.tally")
    assert "20 rows of 4 labels counted; the model is in m.tally" in found.out
    model = MultiLabel(NaiveBayes(), separator=";").fit(rows, [c for _, _, c in ROWS])
    asked = [{"minutes": 24.0, "plan": "free"}, {"minutes": 66.0, "plan": "pro"}]
    saved = load(tmp_path / "m.tally")
    assert saved.predict(asked).tolist() == model.predict(asked).tolist()
    answer = predictions(run("predict", "m.tally", "new.csv", "--proba", "--keep", "id"))
    assert [row["prediction"] for row in answer[:2]] == model.predict(asked).tolist()
    for row, proba in zip(answer, model.predict_proba(asked), strict=False):
        for label, p in zip(model.classes_, proba, strict=True):
            assert float(row[f"p({label})"]) == pytest.approx(p, rel=1e-9)
    assert answer[0]["id"] == "a"
    shown = run("show", "m.tally")
    assert "MultiLabel, 20 rows, 2 columns, 4 labels" in shown.out
    content = run("show", "m.tally", "--json").document
    assert content["labels"]["new"] == 8.0
    assert content["options"]["separator"] == ";"


def test_classes_in_a_tree(run, rows):
    run("fit", "tree.csv", "-t", "path", "--hierarchy-separator", "/", "-o", "t.tally", "--json")
    answer = predictions(run("predict", "t.tally", "new.csv"))
    assert answer[1]["prediction"] == "payers"
    assert answer[0]["prediction"].startswith("users/")
    assert "Hierarchy, 20 rows" in run("show", "t.tally").out


def test_a_model_of_python_is_predicted_with(run, rows, tmp_path):
    MultiLabel(NaiveBayes(), k=1).fit(rows, [c.split(";") for _, _, c in ROWS]).save(
        tmp_path / "p.tally"
    )
    found = predictions(run("predict", "p.tally", "new.csv"))
    assert all(";" not in row["prediction"] for row in found)
    tree = Hierarchy(NaiveBayes()).fit(rows, ["a/x"] * 8 + ["b"] * 12)
    tree.save(tmp_path / "h.tally")
    assert predictions(run("predict", "h.tally", "new.csv"))[0]["prediction"] == "a/x"
    file = open_model(str(tmp_path / "h.tally"), labels=True)
    assert file.class_rows.tolist() == [8.0, 12.0]
    assert not hasattr(file, "learn")
    assert not hasattr(file, "report")


def test_a_model_is_replaced_as_it_was_made_and_not_once_it_has_learned(run, rows, tmp_path):
    words = "fit", "rows.csv", "-t", "topics", "--labels-separator", ";", "-o", "m.tally"
    run(*words)
    run(*words)
    load(tmp_path / "m.tally").partial_fit(rows[:1], ["new"]).save(tmp_path / "m.tally")
    assert "has changed since it was made; it holds 21 rows" in run(*words, code=2).err


def test_one_note_says_all_that_was_chosen_with_other_counts(run, rows, tmp_path):
    labels = [c.split(";") if c else [] for _, _, c in ROWS]
    model = MultiLabel(NaiveBayes(), threshold="f1", smoothing="auto").fit(rows, labels)
    model.partial_fit(rows[:3], labels[:3]).save(tmp_path / "m.tally")
    notes = run("predict", "m.tally", "new.csv").err.splitlines()
    assert [note for note in notes if "before the counts changed" in note] == [
        "warning: thresholds and smoothing were chosen before the counts changed: load the model "
        "in Python, and tune(X, y) chooses again"
    ]


FIT = ("fit", "rows.csv", "-t", "topics", "--labels-separator")


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ([*FIT, ""], 2, "give it a character"),
        ([*FIT, ";", "--hierarchy-separator", "/"], 2, "one of the two"),
        ([*FIT, ";", "--calibrate", "isotonic"], 2, "--calibrate is for one class a row"),
        ([*FIT, ";", "--test", "rows.csv"], 2, "--test is for one class a row"),
        ([*FIT, ";", "--alpha", "auto"], 2, "--alpha auto is for one class a row"),
        ([*FIT, ";", "--target", "topic"], 1, "topic"),
        ([*FIT, ";", "--no-ridge"], 2, "--no-ridge is for models of text"),
        (["evaluate", "m.tally", "rows.csv"], 1, "holds a MultiLabel"),
        (["update", "m.tally", "rows.csv"], 1, "holds a MultiLabel"),
        (["predict", "m.tally", "new.csv", "--costs", "new.csv"], 2, "--costs"),
    ],
)
def test_what_labels_do_not_have_is_refused(run, rows, tmp_path, words, code, message):
    model = MultiLabel(NaiveBayes(), separator=";").fit(rows, [c for _, _, c in ROWS])
    model.save(tmp_path / "m.tally")
    assert message in run(*words, code=code).line


def test_documents_have_one_class(run, tmp_path):
    for name in ("a", "b"):
        (tmp_path / "mails" / name).mkdir(parents=True)
        (tmp_path / "mails" / name / "1.txt").write_text("hello", encoding="utf-8")
    found = run("fit", "mails", "--labels-separator", ";", code=2)
    assert "--labels-separator is for rows" in found.line
