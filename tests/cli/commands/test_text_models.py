"""Models of text from the command line: folders, mailboxes and columns, in every command."""

import json
import mailbox
import random
from email.message import EmailMessage
from pathlib import Path

import numpy as np
import pytest

import tallybayes
from tallybayes import TextNB, load
from tallybayes.model_files import documents as text_learning
from tallybayes.sources.document_source import Document, DocumentBatch

SPAM = [f"cheap pills now, offer {i}: buy, buy!" for i in range(12)]
HAM = [f"lunch at noon with team {i}? see you" for i in range(12)]
TEXTS, LABELS = HAM + SPAM, ["ham"] * 12 + ["spam"] * 12


def write_folder(root, name="mail", spam=SPAM, ham=HAM):
    for label, texts in (("ham", ham), ("spam", spam)):
        (root / name / label / "more").mkdir(parents=True)
        for i, text in enumerate(texts):
            where = root / name / label / ("more" if i % 3 == 0 else "")
            (where / f"{i:02}.txt").write_text(text, encoding="utf-8")


def write_mailboxes(root):
    for label, texts in (("ham", HAM), ("spam", SPAM)):
        for name in (f"{label}.mbox", "all.mbox"):
            box = mailbox.mbox(root / name)
            for i, text in enumerate(texts):
                message = EmailMessage()
                message["Subject"] = f"número {i}"
                message["X-Label"] = label
                message.set_content(text)
                box.add(message)
            box.close()


@pytest.fixture
def corpus(tmp_path):
    """The same documents as a folder, as mailboxes and as rows."""
    write_folder(tmp_path)
    write_mailboxes(tmp_path)
    rows = [f'{label},"{text}"' for text, label in zip(TEXTS, LABELS, strict=True)]
    (tmp_path / "t.csv").write_text("\n".join(["y,body", *rows]) + "\n", encoding="utf-8")
    with open(tmp_path / "t.jsonl", "w", encoding="utf-8") as out:
        for text, label in zip(TEXTS, LABELS, strict=True):
            out.write(json.dumps({"y": label, "body": text}) + "\n")
    return tmp_path


COLUMN = ("--column", "body=text", "--target", "y")
INPUTS = {
    "folder": (("mail",), ("mail",)),
    "folder with a slash": (("mail/",), ("mail",)),
    "mailboxes": (("ham.mbox", "spam.mbox", "-o", "mail.tally"), ("ham.mbox", "spam.mbox")),
    "csv": (("t.csv", *COLUMN, "-o", "mail.tally"), ("t.csv",)),
    "json lines": (("t.jsonl", *COLUMN, "-o", "mail.tally"), ("t.jsonl",)),
}


@pytest.mark.parametrize(("train", "data"), INPUTS.values(), ids=INPUTS)
def test_every_input_makes_a_model_that_all_commands_take(run, corpus, train, data):
    out = run("fit", *train).out
    assert "24 documents counted; the model is in mail.tally" in out
    model = tallybayes.load(corpus / "mail.tally")
    assert isinstance(model, TextNB)
    assert model.tally_.documents.tolist() == [12.0, 12.0]
    predicted = run("predict", "mail.tally", *data).out.splitlines()
    assert len(predicted) == 25
    assert [row.split(",")[-1] for row in predicted[1:]] == LABELS
    assert "100.00%" in run("evaluate", "mail.tally", *data).out
    explained = run("explain", "mail.tally", *data, "--row", 20, "--json").document
    assert explained["prediction"] == "spam"
    assert "cheap pills" in [term["term"] for term in explained["terms"]]
    shown = run("show", "mail.tally").out
    assert "cheap pills" in shown
    assert "log-loss" in shown
    run("update", "mail.tally", *data)
    assert tallybayes.load(corpus / "mail.tally").tally_.documents.sum() == 48.0
    run("forget", "mail.tally", *data)
    assert tallybayes.load(corpus / "mail.tally").tally_ == model.tally_
    assert "learned on 24 documents" in run("reweight", "mail.tally", *data).out
    run("merge", "mail.tally", "mail.tally", "-o", "two.tally")
    assert tallybayes.load(corpus / "two.tally").tally_.documents.sum() == 48.0


def test_a_column_of_documents_is_the_model_that_python_fits(run, corpus):
    run("fit", "t.csv", *COLUMN, "--no-ridge", "--ngrams", "1-3", "--analyzer", "char")
    model = TextNB(ridge=False, ngram_range=(1, 3), analyzer="char").fit(TEXTS, np.array(LABELS))
    ours = tallybayes.load(corpus / "t.tally")
    assert ours.get_params() == model.get_params()
    assert np.array_equal(ours.predict_proba(TEXTS), model.predict_proba(TEXTS))


def test_more_letters_than_memory_should_hold_are_counted_in_batches(run, corpus, monkeypatch):
    run("fit", "mail", "-o", "whole.tally")
    monkeypatch.setattr(text_learning, "BATCH_CHARACTERS", 100)
    monkeypatch.setattr(text_learning.DocumentSample.__init__, "__defaults__", (400,))
    run("fit", "mail", "-o", "parts.tally")
    whole, parts = (tallybayes.load(corpus / f"{n}.tally") for n in ("whole", "parts"))
    assert parts.tally_ == whole.tally_
    assert parts.ridge == whole.ridge
    assert parts.predict(TEXTS).tolist() == LABELS


def test_the_label_is_a_header_where_target_names_one(run, corpus):
    run("fit", "all.mbox", "--target", "X-Label")
    assert tallybayes.load(corpus / "all.tally").classes_.tolist() == ["ham", "spam"]
    assert "100.00%" in run("evaluate", "all.tally", "all.mbox").out
    line = run("evaluate", "all.tally", "all.mbox", "--target", "X-Other", code=1).line
    assert "all.mbox, message 1 has no label" in line
    assert "one class only, 'all'" in run("fit", "all.mbox", code=1).line


def test_one_document_is_learned_by_its_label(run, corpus):
    run("fit", "mail", "--no-ridge")
    before = tallybayes.load(corpus / "mail.tally")
    (corpus / "letter.txt").write_text("an extraordinarily unexpected letter")
    run("update", "mail.tally", "letter.txt", "--label", "ham")
    assert tallybayes.load(corpus / "mail.tally").tally_.documents.tolist() == [13.0, 12.0]
    assert "--label" in run("update", "mail.tally", "letter.txt", code=1).line
    run("forget", "mail.tally", "letter.txt", "--label", "ham")
    assert tallybayes.load(corpus / "mail.tally").tally_ == before.tally_
    line = run("forget", "mail.tally", "letter.txt", "--label", "ham", code=1).line
    assert "were not counted" in line


def test_standard_input_is_one_document_or_rows_as_were_learned(run, corpus):
    run("fit", "mail")
    assert run("predict", "mail.tally", "-", stdin=b"buy cheap pills").out == "prediction\nspam\n"
    assert "predicted spam" in run("explain", "mail.tally", "-", stdin=b"buy cheap pills").out
    run("fit", "t.csv", *COLUMN)
    rows = b"body\nlunch at noon\ncheap pills\n"
    assert run("predict", "t.tally", "-", stdin=rows).out == "prediction\nham\nspam\n"
    text = run("predict", "t.tally", "-", "--format", "text", stdin=b"see you at lunch").out
    assert text == "prediction\nham\n"
    run("fit", "-", *COLUMN, "-o", "in.tally", stdin=(corpus / "t.jsonl").read_bytes())
    assert tallybayes.load(corpus / "in.tally").tally_.documents.sum() == 24.0


def test_predictions_name_their_documents(run, corpus):
    run("fit", "mail")
    run("predict", "mail.tally", "mail/ham/01.txt", "mail/spam/01.txt", "--proba", "-o", "p.jsonl")
    rows = [json.loads(line) for line in (corpus / "p.jsonl").read_text().splitlines()]
    assert [row["document"] for row in rows] == ["mail/ham/01.txt", "mail/spam/01.txt"]
    assert [row["prediction"] for row in rows] == ["ham", "spam"]
    assert rows[0]["p(ham)"] > 0.5


def write_few_labels(root):
    """Four documents with a label, the others without: rows, and files beside the folders."""
    write_folder(root, "few", SPAM[:3], HAM[:3])
    with open(root / "few.jsonl", "w", encoding="utf-8") as out:
        for i, (text, label) in enumerate(zip(TEXTS, LABELS, strict=True)):
            known = i % 12 < 3
            out.write(json.dumps({"y": label if known else None, "body": text}) + "\n")
            if not known:
                (root / "few" / f"{i:02}.txt").write_text(text, encoding="utf-8")


@pytest.mark.parametrize("train", [("few",), ("few.jsonl", *COLUMN)], ids=["folder", "rows"])
def test_documents_without_a_label_are_learned_from(run, corpus, train):
    write_few_labels(corpus)
    notes = run("fit", *train, "--unlabelled", "0.5").err
    assert "18 documents without a label counted" in notes
    assert "each as 0.5 of a document" in notes
    given = [label if i % 12 < 3 else None for i, label in enumerate(LABELS)]
    model = TextNB(unlabelled=0.5).fit(TEXTS, np.array(given, dtype=object))
    ours = tallybayes.load(corpus / "few.tally")
    assert ours.tally_ == model.tally_
    assert np.array_equal(ours.predict_proba(TEXTS), model.predict_proba(TEXTS))
    assert run("fit", *train, "--unlabelled", "0.5", "--json").document["unlabelled_weight"] == 0.5
    run("update", "few.tally", "mail")
    assert tallybayes.load(corpus / "few.tally").tally_.documents.sum() > 24.0


def test_what_documents_without_a_label_do_is_said(run, corpus, monkeypatch):
    write_few_labels(corpus)
    assert "18 documents without a label not counted" in run("fit", "few", "--unlabelled=auto").err
    assert "every document has a label" in run("fit", "mail", "--unlabelled", "auto").err
    assert "18 files beside the folders" in run("fit", "few").err
    line = run("fit", "few.jsonl", *COLUMN, code=1).line
    assert "line 4 has no label" in line
    (corpus / "none.jsonl").write_text('{"y": null, "body": "a b"}\n')
    line = run("fit", "none.jsonl", *COLUMN, "--unlabelled", "1", code=1).line
    assert "label some of each class" in line
    monkeypatch.setattr(text_learning.DocumentSample.__init__, "__defaults__", (300,))
    assert "as a whole" in run("fit", "few", "--unlabelled", "1", code=1).line


def test_documents_fade_in_fit_update_and_reweight(run, corpus, monkeypatch):
    texts, labels = TEXTS[::5] + TEXTS, LABELS[::5] + LABELS
    lines = [f'{label},"{text}"' for text, label in zip(texts, labels, strict=True)]
    (corpus / "two.csv").write_text("\n".join(["y,body", *lines[:14]]) + "\n", encoding="utf-8")
    (corpus / "rest.csv").write_text("\n".join(["y,body", *lines[14:]]) + "\n", encoding="utf-8")
    (corpus / "all.csv").write_text("\n".join(["y,body", *lines]) + "\n", encoding="utf-8")
    options = (*COLUMN, "--no-ridge", "--half-life", "7.5")
    whole = TextNB(ridge=False, half_life=7.5, analyzer="word").fit(texts, labels)
    run("fit", "all.csv", *options, "-o", "m.tally")
    assert tallybayes.load(corpus / "m.tally").set_params(analyzer="word") == whole
    run("fit", "two.csv", *options, "-o", "m.tally")
    assert "15 documents added" in run("update", "m.tally", "rest.csv", "--target", "y").out
    assert run("update", "m.tally", "rest.csv", "--target", "y", "--json").document["rows"] == 15
    run("fit", "two.csv", *options, "-o", "m.tally", "--force")
    run("update", "m.tally", "rest.csv", "--target", "y")
    # of a sample, each document weighs by its own age
    monkeypatch.setattr(text_learning.DocumentSample.__init__, "__defaults__", (500,))
    run("reweight", "m.tally", "all.csv", "--target", "y")
    monkeypatch.setattr(text_learning, "BATCH_CHARACTERS", 200)
    run("fit", "all.csv", *options, "-o", "n.tally")
    models = [tallybayes.load(corpus / name) for name in ("m.tally", "n.tally")]
    for model in models:
        np.testing.assert_allclose(model.tally_.documents, whole.tally_.documents, rtol=1e-12)
        np.testing.assert_allclose(model.tally_.counts, whole.tally_.counts, rtol=1e-12)
    first, second = (model.predict_proba(TEXTS) for model in models)
    np.testing.assert_allclose(first, second, atol=1e-6)


def test_a_sample_weighs_documents_by_their_places_among_all():
    documents = [Document(f"text {i}", "x", "", i) for i in range(50)]
    sample = text_learning.DocumentSample(120)
    for start in range(0, 50, 10):
        sample.add(DocumentBatch(documents[start : start + 10], start))
    assert 0 < len(sample.strings) < 50
    ages = [49 - int(text.split()[1]) for text in sample.strings]
    assert sample.weights(4.0).tolist() == [0.5 ** (age / 4.0) for age in ages]
    assert sample.weights(None) is None


WRONG = [
    (("fit", "mail", "--unlabelled", "2"), 2, "at most 1"),
    (("fit", "mail", "--unlabelled", "1", "--skip-unlabelled"), 2, "one of the two"),
    (("fit", "t.csv", "-t", "y", "--unlabelled", "1"), 2, "--unlabelled is for models of text"),
    (("fit", "mail", "--half-life", "0"), 2, "a number above 0"),
    (("fit", "mail", "--half-life", "9", "--unlabelled", "1"), 2, "one of the two"),
    (("fit", "t.csv", "-t", "y", "--half-life", "9"), 2, "--half-life is for models of text"),
    (("fit", "mail", "--target", "y"), 2, "--target is for rows and mailboxes"),
    (("fit", "mail", "--plain"), 2, "--no-ridge"),
    (("fit", "mail", "--alpha", "1"), 2, "--alpha is for models of tables"),
    (("fit", "mail", "--analyzer", "wrod"), 2, "Did you mean 'word'?"),
    (("fit", "mail", "--ngrams", "2-1"), 2, "such as 1-2"),
    (("fit", "mail", "--ngrams", "0-1"), 2, "from 1 on"),
    (("fit", "mail", "--n-features", "0"), 2, "n-features"),
    (("fit", "mail", "--max-terms", "1"), 2, "max-terms"),
    (("fit", "t.csv", "-t", "y", "--max-terms", "9"), 2, "--max-terms is for models of text"),
    (("fit", "mail", "--column", "body=text"), 2, "--column is for rows"),
    (("fit", "ham.mbox", "spam.mbox"), 2, "add -o MODEL"),
    (("fit", "mail", "t.csv", "-o", "x.tally"), 2, "one folder"),
    (("fit", "mail/ham"), 1, "has documents of one class only, 'more'"),
    (("fit", "t.csv", "--column", "body=text"), 2, "--target"),
    (("fit", "t.csv", "-t", "y", "--ngrams", "1-2"), 2, "--column body=text"),
    (("fit", "t.csv", "-t", "body", "--column", "body=text"), 1, "is the target"),
    (("fit", "t.csv", "-t", "y", "--column", "bodi=text"), 1, "Did you mean 'body'?"),
    (("show", "mail.tally", "--tables"), 2, "--tables is for models of tables"),
    (("reweight", "mail.tally", "mail", "--parts", "3"), 2, "--parts is for models of tables"),
    (("explain", "mail.tally", "mail"), 2, "--row N"),
    (("explain", "mail.tally", "mail", "--row", "99"), 1, "from 0 to 23"),
    (("predict", "mail.tally", "t.csv"), 2, "--text"),
    (("predict", "mail.tally", "t.csv", "--text", "bodi"), 1, "Did you mean 'body'?"),
    (("predict", "mail.tally", "mail.tally"), 1, "is a tallybayes model"),
    (("evaluate", "mail.tally", "t.csv", "--text", "body"), 2, "--target"),
]


@pytest.mark.parametrize("train", [("mail",), ("t.csv", *COLUMN)], ids=["folder", "rows"])
def test_a_model_keeps_so_many_terms_at_most(run, corpus, train):
    run("fit", *train, "--max-terms", "60", "-o", "few.tally")
    model = tallybayes.load(corpus / "few.tally")
    assert model == TextNB(max_terms=60).fit(TEXTS, LABELS)
    shown = run("show", "few.tally").out
    assert f"each of which may lack {model.tally_.pruned:g} of its documents" in shown
    assert run("show", "few.tally", "--json").document["options"]["max_terms"] == 60
    (corpus / "more.csv").write_text("y,body\nham," + " ".join(f"w{i}" for i in range(60)) + "\n")
    run("update", "few.tally", "more.csv", "--target", "y", "--text", "body")
    tally = tallybayes.load(corpus / "few.tally").tally_
    assert tally.n_terms <= 60
    assert tally.pruned > model.tally_.pruned


def test_what_is_wrong_is_said_in_one_line(run, corpus):
    run("fit", "mail")
    there = sorted(corpus.iterdir())
    for words, code, part in WRONG:
        *notes, line = run(*words, code=code).err.splitlines()
        assert part in line, words
        assert all(note.startswith("note: ") for note in notes), words
    assert sorted(corpus.iterdir()) == there


def test_models_of_tables_refuse_what_is_for_text(run, corpus):
    run("fit", "t.csv", "-t", "y", "-o", "table.tally", "--no-estimate")
    run("fit", "mail")
    for words in (("--label", "ham"), ("--text", "body"), ("--format", "mbox")):
        assert "for models of text" in run("update", "table.tally", "t.csv", *words, code=2).line
    assert "one kind" in run("merge", "mail.tally", "table.tally", "-o", "x.tally", code=1).line
    assert "is a directory" in run("predict", "table.tally", "mail", code=1).line


def test_a_failed_fit_leaves_the_model(run, corpus):
    run("fit", "mail")
    before = (corpus / "mail.tally").read_bytes()
    (corpus / "mail" / "spam" / "99.txt").write_bytes(b"caf\xe9")
    line = run("fit", "mail", code=1).line
    assert "mail/spam/99.txt is not utf-8 text (line 1, byte 0xe9)" in line
    assert "--encoding latin-1" in line
    assert "99.txt" in run("update", "mail.tally", "mail", code=1).line
    assert (corpus / "mail.tally").read_bytes() == before
    run("fit", "mail", "--encoding", "latin-1")


TABLE = """body,n,y
"good film, really good",1,a
"bad film",2,b
"12",3,b
"a good one",1,a
,2,a
"""


def test_a_declared_text_is_counted_by_its_terms(run):
    Path("t.csv").write_text(TABLE, encoding="utf-8")
    declared = "body=text(ngram_range=[1,1], alpha=0.5)"
    run("fit", "--plain", "t.csv", "--target", "y", "--column", declared, "--json")
    model = load("t.tally")
    family = model.columns["body"]
    assert (family.ngram_range, family.alpha) == ((1, 1), 0.5)
    assert "12" in model.tally_.groups[0].held.terms.tolist()
    assert run("predict", "t.tally", "t.csv").out.split()[1:3] == ["a", "b"]
    run("update", "t.tally", "t.csv")
    assert load("t.tally").tally_.groups[0].documents.sum() == 8.0


def _prose(n: int) -> str:
    rng = random.Random(0)
    things, good, bad = ["parcel", "letter", "phone"], ["quick", "perfect"], ["late", "broken"]
    lines = ["body,n,y"]
    for i in range(n):
        words = [*rng.choices(things, k=3), *rng.choices(good if i % 2 else bad, k=3)]
        lines.append(f"{' '.join(rng.sample(words, 6))} {rng.random()},{i % 5},{'ab'[i % 2]}")
    return "\n".join([*lines, ""])


def test_prose_is_found_and_its_words_are_explained(run):
    Path("p.csv").write_text(_prose(80), encoding="utf-8")
    out = run("fit", "--plain", "p.csv", "--target", "y", "--no-estimate").out
    assert "its strings are prose" in out
    informative = out[out.index("Most informative") :].split()
    apart = dict(zip(["body", "n"], load("p.tally").feature_importances_, strict=True))
    assert float(informative[informative.index("body") + 1]) == pytest.approx(
        apart["body"], abs=1e-4
    )
    assert "moves the scores of the classes apart" in " ".join(informative)
    out = run("explain", "p.tally", "p.csv", "--row", 1).out
    assert "Words of 'body'" in out
    assert "(the rest)" in out
    found = run("explain", "p.tally", "p.csv", "--row", 1, "--json").document
    [body] = [c for c in found["columns"] if c["column"] == "body"]
    for label, nats in body["contribution"].items():
        assert abs(sum(t["contribution"][label] for t in body["terms"]) - nats) < 1e-5
    run("fit", "--plain", "p.csv", "--target", "y", "--column", "body=categorical", "--no-estimate")
    assert "Words of" not in run("explain", "p.tally", "p.csv", "--row", 1).out
