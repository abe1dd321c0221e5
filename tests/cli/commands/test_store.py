"""``tallybayes store``: what the library does, from files."""

import sqlite3
from pathlib import Path

import pytest

from tallybayes import load, store

ROWS = """message,who,sky,wind,day,rain,when
1,ann,grey,3.5,2026-01-02,yes,2026-11-01
2,bob,blue,1,2026-01-03,no,2026-11-02T12:00:00+00:00
3,ann,grey,,2026-01-04,yes,1795000000
"""
LEARN = ["-t", "rain", "--id-column", "message", "--subject-column", "who", "--time-column", "when"]


@pytest.fixture
def days(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("days.csv").write_text(ROWS)
    return tmp_path


def test_rows_of_files_are_learned_relabelled_and_forgotten(run, days):
    run("store", "init", "days.db", "--subject-keys", "days.keys")
    found = run("store", "learn", "days.db", "days.csv", *LEARN, "--json").document
    assert (found["rows"], found["new"], found["version"]) == (3, 3, 3)
    again = run("store", "learn", "days.db", "days.csv", *LEARN).out
    assert again.startswith("rows: 0\nnew: 0\nrepeated: 3\n")
    run("fit", "days.csv", "-t", "rain", "--plain", "-o", "fit.tally", *left_out())
    with store.open("days.db") as opened:
        assert opened.model().tally_ == load("fit.tally").tally_
    Path("corrected.csv").write_text("message,rain\n2,yes\n3,yes\n")
    given = ("-t", "rain", "--id-column", "message", "--json")
    found = run("store", "relabel", "days.db", "corrected.csv", *given).document
    assert (found["changed"], found["unchanged"]) == (1, 1)
    assert run("store", "forget", "days.db", "--subject", "ann", "--json").document["rows"] == 2
    shown = run("store", "show", "days.db", "--json").document
    assert (shown["rows"], shown["forgotten_ids"], shown["weights"]) == (1, 2, {"yes": 1.0})
    assert shown["subject_keys"] == str(days / "days.keys")
    run("store", "forget", "days.db", "corrected.csv", "--id-column", "message")
    assert "holds no rows" in run("store", "export", "days.db", "-o", "x.tally", code=1).line


def left_out():
    return [word for name in ("message", "who", "when") for word in ("--column", f"{name}=none")]


def test_documents_are_the_column_that_has_no_other_use(run, days):
    Path("mail.csv").write_text("message,who,text,spam\n1,ann,win a prize,yes\n2,bob,lunch,no\n")
    run("store", "init", "mail.db", "--model", "text")
    used = ("-t", "spam", "--id-column", "message")
    line = run("store", "learn", "mail.db", "mail.csv", *used, code=2).line
    assert "has the columns message, who, text, spam: name that of the documents by --text" in line
    run("store", "learn", "mail.db", "mail.csv", *used, "--subject-column", "who")
    with store.open("mail.db") as opened:
        assert opened.model().tally_.terms.tolist()[:2] == ["a", "a prize"]


def test_a_store_is_verified_compacted_copied_and_exported(run, days):
    run("store", "init", "days.db", "--column", "sky=categorical", "--keep-ids", "3")
    run("store", "learn", "days.db", "days.csv", *LEARN)
    assert run("store", "verify", "days.db").out == "rows: 3\nversion: 3\n"
    assert run("store", "backup", "days.db", "copy.db", "--json").document["stale"] == 0
    run("store", "forget", "days.db", "--id", "1", "--id", "2")
    assert "copy.db may hold rows" in run("store", "backup", "days.db", "new.db").err
    assert run("store", "compact", "days.db", "--json").document["rows_too_old"] == 0
    run("store", "export", "days.db", "-o", "days.tally")
    assert load("days.tally").class_count_.tolist() == [1.0]
    run("store", "export", "days.db", "-o", "days.tally")  # every night
    run("update", "days.tally", "days.csv", "-t", "rain")
    changed = run("store", "export", "days.db", "-o", "days.tally", code=2).line
    assert "has changed since it was made" in changed
    with sqlite3.connect("days.db") as connection:
        connection.execute("UPDATE tally_ledger SET label = '\"no\"' WHERE label IS NOT NULL")
    connection.close()
    assert "not those of its ledger" in run("store", "verify", "days.db", code=1).line


def test_documents_of_files_have_their_names_as_ids(run, days):
    mails = {"ham": ["see you", "hello friend"], "spam": ["cheap pills", "buy now"]}
    for label, words in mails.items():
        Path("mail", label).mkdir(parents=True)
        for i, text in enumerate(words):
            Path("mail", label, f"{i}.txt").write_text(text)
    run("store", "init", "mail.db", "--model", "text")
    assert run("store", "learn", "mail.db", "mail", "--json").document["new"] == 4
    assert run("store", "learn", "mail.db", "mail", "--json").document["repeated"] == 4
    assert run("store", "show", "mail.db", "--json").document["staleness"] == 4.0
    assert run("store", "reweight", "mail.db", "--json").document["rows"] == 4
    assert run("store", "show", "mail.db", "--json").document["staleness"] == 0.0
    with store.open("mail.db") as opened:
        assert opened.model().tally_.documents.tolist() == [2.0, 2.0]


def test_usage(run, days):
    run("store", "init", "days.db")
    assert "exists" in run("store", "init", "days.db", code=2).line
    text = ("--model", "text", "--column", "a=none")
    assert "omit it" in run("store", "init", "x.db", *text, code=2).line
    assert "name what to forget" in run("store", "forget", "days.db", code=2).line
    labels = ("days.db", "days.csv", "-t", "rain")
    assert "--id-column" in run("store", "relabel", *labels, code=2).line
    assert "--target" in run("store", "learn", "days.db", "days.csv", code=2).line
    assert "there is no store" in run("store", "show", "none.db", code=1).line
    line = run("store", "learn", *labels, "--id-column", "mesage", code=2).line
    assert "Did you mean 'message'?" in line
    Path("bad.csv").write_text("when,x,rain\nnoon,1,yes\n")
    bad = ("days.db", "bad.csv", "-t", "rain", "--time-column", "when")
    assert "--time-column holds 'noon'" in run("store", "learn", *bad, code=1).line


@pytest.mark.parametrize(
    "command",
    [
        "init",
        "learn",
        "forget",
        "relabel",
        "reweight",
        "show",
        "verify",
        "backup",
        "compact",
        "export",
    ],
)
def test_each_help_ends_with_examples(run, command):
    text = run("store", command, "--help").out
    assert f"\nExamples:\n  tallybayes store {command} " in text
