"""The page of a model of documents splits and scores texts as Python does."""

from __future__ import annotations

import unicodedata
from functools import cache

import numpy as np
import pytest

from tallybayes.reporting import documents as forms
from tallybayes.text import TextNB

WORDS = "pay prize 123 free café naïve Straße ΟΔΟΣ İstanbul don't meeting 早上 天气 hello_x lunch"
ODD = (
    "\u00a0 \u2028 \x1c \t\n ﬁne e\u0301te \U0001d400 \U00020001 ー・ ½ ² _ ٣ ǅ ϓ \u200b !? 한국어"
)

TYPED = "pay pay word3 word6 word9"


def documents(n: int, seed: int) -> tuple[list[str], list[str]]:
    """Texts of words whose shares depend on the class, in two classes or more."""
    rng = np.random.default_rng(seed)
    words = [*WORDS.split(" "), *(f"word{i}" for i in range(30)), *ODD.split(" "), "  ", "\n\n"]
    found, labels = [], []
    for _ in range(n):
        k = int(rng.integers(0, 3))
        p = 1.0 + 3.0 * (np.arange(len(words)) % 3 == k)
        some = rng.choice(words, int(rng.integers(0, 25)), p=p / p.sum())
        found.append("".join(w + rng.choice([" ", " ", "  ", "", ". "]) for w in some))
        labels.append("abc"[k])
    return found, labels


@cache
def odd_texts() -> list[str]:
    """All characters that have other small letters, and some of all kinds, between letters."""
    rng = np.random.default_rng(5)
    known = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    known = [c for c in known if unicodedata.category(c) not in ("Cn", "Co")]
    cased = [c for c in known if c.lower() != c]
    words = [f"a{c}b {c}" for c in [*cased, *rng.choice(known, 1500)]]
    sigmas = ["ΑΣ", "ΑΣ.", "Α.Σ", "Σ", "ΑΣΑ", "Α\u0301Σ\u0301", "ΑΣ'Α", "xΣ yΣz İΣ"]
    texts = [" ".join(words[i : i + 40]) for i in range(0, len(words), 40)]
    return [*texts, *sigmas, "", " ", "\n", "a", "a b", "  a"]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {
            "analyzer": "char",
            "ngram_range": (1, 3),
            "model": "multinomial",
            "idf": True,
            "length_normalize": True,
            "lowercase": False,
        },
        {"analyzer": "char_wb", "ngram_range": (2, 5), "model": "multinomial", "tf": "log"},
        {"analyzer": "cjk", "ridge": False},
        {"token_pattern": r"(?u)\b\w\w+\b", "strip_accents": "unicode", "model": "complement"},
        {
            "model": "bernoulli",
            "strip_accents": "ascii",
            "stop_words": ["pay", "word3"],
            "ngram_range": (2, 3),
        },
    ],
    ids=str,
)
def test_the_page_splits_and_scores_texts_as_python_does(opened, options):
    texts, labels = documents(300, 0)
    odd = odd_texts()
    texts, labels = texts + odd[::3], labels + ["c"] * len(odd[::3])
    model = TextNB(**options).fit(texts, labels)
    page = opened(model.report(texts[:200], labels[:200], learned=False).html).page
    fresh = documents(60, 1)[0] + (odd if not options or "strip_accents" in options else odd[::8])
    found = page.evaluate("(texts) => texts.map((t) => tallybayes.predictText(t))", fresh)
    np.testing.assert_allclose(
        [row["proba"] for row in found], model.predict_proba(fresh), rtol=0, atol=1e-9
    )
    rows = model._counter.rows(fresh, model.tally_)
    terms = page.evaluate("(texts) => texts.map((t) => tallybayes.termsOf(t))", fresh)
    names = model.tally_.terms.tolist()
    for i, said in enumerate(terms):
        some = slice(rows.indptr[i], rows.indptr[i + 1])
        expected = [(names[t], n) for t, n in zip(rows.terms[some], rows.counts[some], strict=True)]
        assert sorted(map(tuple, said)) == expected


def test_two_classes_and_a_page_without_room_for_all_terms(opened, monkeypatch):
    texts, labels = documents(500, 2)
    labels = ["yes" if label == "a" else "no" for label in labels]
    model = TextNB().fit(texts, labels)
    assert model.penalty_ is not None
    monkeypatch.setattr(forms, "MAX_CHARACTERS", 4_000)
    made = model.report(texts, labels, lang="zh")
    page = opened(made.html).page
    carried = set(page.evaluate("tallybayes.textModel.names"))
    assert len(carried) == made.data["textCut"]["terms"] < model.tally_.n_terms
    fresh = documents(60, 3)[0]
    form = forms.text_form(model, model._counter.rows(texts, model.tally_))
    kept = form.kept(model._counter.rows(fresh, model.tally_))
    assert set(model.tally_.terms[np.unique(kept.terms)].tolist()) <= carried
    expected = model._fitted().scorer.posterior(kept)
    found = page.evaluate("(texts) => texts.map((t) => tallybayes.predictText(t).proba)", fresh)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
    cut = made.data["textCut"]
    whole = model.predict_proba(texts)
    there = page.evaluate("(texts) => texts.map((t) => tallybayes.predictText(t).proba)", texts)
    apart = np.abs(whole - there)[np.arange(500), whole.argmax(axis=1)]
    assert cut["documents"] == 500
    np.testing.assert_allclose([cut["mean"], cut["largest"]], [apart.mean(), apart.max()], 1e-6)
    same = (whole.argmax(axis=1) == np.argmax(there, axis=1)).mean()
    assert cut["same"] == pytest.approx(same)
    assert str(cut["terms"]) in page.inner_text("#try .note")


def test_typing_a_text_moves_the_nomogram_and_its_changes(opened):
    texts, labels = documents(300, 4)
    model = TextNB(ridge=False).fit(texts, labels)
    shown = opened(model.report(texts, labels).html)
    page = shown.page
    page.fill("#try textarea", TYPED)
    proba = model.predict_proba([TYPED])[0]
    for place in ("#try", ".total"):
        first = page.locator(f"{place} .proba li:first-child")
        first.get_by_text(f"{100 * proba.max():.1f}%").wait_for()
    assert page.locator("#try mark").count() >= 4
    line = page.locator(".nomogram .line", has=page.get_by_text("word3", exact=True)).first
    line.locator("input").fill("4")
    line.locator("input").press("Enter")
    shown.settle()
    found = page.evaluate("R.textModel.predict(R.bag.counts).proba")
    counts = page.evaluate("Array.from(R.bag.counts, ([t, n]) => [R.textModel.names[t], n])")
    assert dict(counts)["word3"] == 4
    assert max(found) != pytest.approx(proba.max())
    changes = page.evaluate("R.smallestTextChanges(R.textModel, R.bag.text)")
    for change in [*changes["one"], *changes["two"]]:
        units = [u for u in TYPED.split(" ") if u not in change["gone"]]
        expected = model.predict_proba([" ".join(units)])[0]
        assert expected.argmax() == change["to"] != changes["best"]
        assert change["p"] == pytest.approx(expected.max(), abs=1e-9)


def test_terms_without_names_and_own_patterns_have_no_form_and_the_page_says_so(opened):
    texts, labels = documents(200, 5)
    for options, reason in (
        ({"n_features": 500}, "buckets"),
        ({"analyzer": str.split}, "analyzer"),
    ):
        model = TextNB(model="multinomial", ngram_range=(1, 1), **options).fit(texts, labels)
        made = model.report(texts, labels)
        assert made.data["noForm"] == reason
        assert "no form to type in" in opened(made.html).page.inner_text("#rows")
