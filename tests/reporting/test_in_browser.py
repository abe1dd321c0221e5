"""The page in a browser: it computes what Python computes, for every kind of model, and is well
made.
"""

import json
import os
import tarfile
import unicodedata
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine

import tallybayes
from reporting.conftest import NASTY, fitted, people, report, rows_of
from tallybayes import NaiveBayes, WeightedNaiveBayes
from tallybayes.families import Gaussian, NegativeBinomial, NormalInverseGamma
from tallybayes.reporting import documents as forms
from tallybayes.reporting.form import Form
from tallybayes.text import TextNB

PREDICT = "(rows) => rows.map((row) => tallybayes.predict(row))"


@pytest.mark.parametrize("name", ["plain", "temperature", "isotonic", "weighted", "arrays"])
def test_the_page_predicts_what_the_model_predicts(opened, name):
    model, X, _ = fitted(name)
    fresh = people(200, seed=9)[0][list(X.columns)]
    if name == "arrays":
        fresh = fresh.fillna(1.0)
    else:
        fresh.loc[3, "job"] = "never seen"
    found = opened(report(name).html).page.evaluate(PREDICT, rows_of(fresh))
    expected = model.predict_proba(fresh)
    np.testing.assert_allclose([row["proba"] for row in found], expected, rtol=0, atol=1e-9)
    scores = np.array([row["scores"] for row in found])
    wanted = model.predict_joint_log_proba(fresh)
    centred = [s - s.mean(axis=1, keepdims=True) for s in (scores, wanted)]
    np.testing.assert_allclose(centred[0], centred[1], rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", ["plain", "weighted"])
def test_contributions_of_the_page_are_those_of_explain(opened, name):
    model, X, _ = fitted(name)
    fresh = people(40, seed=10)[0][list(X.columns)]
    page = opened(report(name).html).page
    found = page.evaluate("(rows) => rows.map(tallybayes.contributions)", rows_of(fresh))
    names = page.evaluate(
        "tallybayes.model.terms.map("
        "(t) => t.columns.map((j) => tallybayes.model.columns[j].name).join(' × '))"
    )
    explained = model.explain(fresh)
    there = [explained.columns.index(name) for name in names]
    expected = explained.contributions[:, :, there].transpose(0, 2, 1)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
    silent = np.delete(explained.contributions, there, axis=2)
    assert not silent.any()


def test_a_pasted_row_is_predicted(opened):
    model, X, _ = fitted("plain")
    shown = opened(report("plain").html)
    row = {"age": 51, "income": 30000.5, "gain": 0, "city": "北京", "job": "chef"}
    shown.page.fill("#try textarea", json.dumps(row | {"since": "2020-05-05"}))
    shown.page.click("#try button:has-text('Fill in')")
    proba = model.predict_proba(X.iloc[:1].assign(**row, since=pd.Timestamp("2020-05-05")))
    wanted = f"{100 * proba[0].max():.1f}%"
    assert wanted in shown.page.inner_text("#try .proba li:first-child")
    shown.page.fill("#try textarea", "1,2")
    shown.page.click("#try button:has-text('Fill in')")
    assert "2 values" in shown.page.inner_text("#try .error")


def test_choosing_values_moves_the_nomogram_and_its_changes(opened):
    shown = opened(report("plain").html)
    line = shown.page.locator(".nomogram .line", has=shown.page.get_by_text("job", exact=True))
    before = shown.page.inner_text(".total .answer")
    line.locator("select").select_option("chef")
    shown.settle()
    chef = shown.page.inner_text(".total .answer")
    line.locator("select").select_option("clerk")
    shown.settle()
    assert shown.page.inner_text(".total .answer") != chef
    assert before
    found = shown.page.evaluate(
        "() => { const before = tallybayes.model.predict(R.state.values).proba;"
        " const all = R.smallestChanges(tallybayes.model, R.state.values, [0, 1, 2, 3, 4], "
        "   (m, j) => (m.columns[j].levels.map((l) => ({ label: l, value: l }))));"
        " return all.one.concat(all.two).map((c) => { const v = R.state.values.slice();"
        "   for (const { j, item } of c.changes) v[j] = item.value;"
        "   const p = tallybayes.model.predict(v).proba;"
        "   return [p.indexOf(Math.max(...p)) === c.to, c.to !== all.best]; }); }"
    )
    assert all(right and other for right, other in found)


@pytest.mark.parametrize("name", ["nasty", "nasty texts"])
def test_hostile_names_appear_as_text(opened, name):
    shown = opened(report(name).html, viewport={"width": 390, "height": 844})
    shown.page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    shown.settle()
    assert shown.page.locator("img").count() == 0
    text = shown.page.inner_text("body")
    for shown_name in NASTY[:3]:
        assert shown_name in text
    assert "(3 blanks)" in text
    assert "x" * 100 in text
    if name == "nasty":  # the page holds 4,000 letters of a document
        assert "x" * 400 not in text
    assert shown.page.evaluate("document.documentElement.scrollWidth") <= 390
    marks = (  # what turns the line is on its own within an element that turns nothing else
        "() => { const at = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);"
        " const found = []; while (at.nextNode()) { const e = at.currentNode.parentElement;"
        " if (/[\u202a-\u202e]/.test(at.currentNode.data)"
        "   && !e.closest('bdi, [dir=auto], option, script, svg, textarea'))"
        "   found.push(e.outerHTML); } return found.slice(0, 5); }"
    )
    assert shown.page.evaluate(marks) == []
    assert len(report(name).html) < 1_000_000


PRIOR = NormalInverseGamma(mean=2.0, strength=1.0, shape=2.0, scale=1.0)
FAMILIES = {
    "student": Gaussian(prior=PRIOR, estimate="posterior"),
    "student of all": Gaussian(prior=PRIOR, estimate="posterior", pooled_rows=2.0),
    "log": Gaussian(transform="log"),
    "yeo": Gaussian(transform="yeo-johnson"),
    "log student": Gaussian(prior=PRIOR, estimate="posterior", transform="log"),
    "events": NegativeBinomial(),
    "many events": NegativeBinomial(),
}


def table(n: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """A column for each family; some values are missing."""
    rng = np.random.default_rng(seed)
    y = rng.choice(["a", "b", "c"], n, p=[0.5, 0.3, 0.2])
    k = (y == "b") + 2.0 * (y == "c")
    frame = pd.DataFrame(
        {
            "student": rng.standard_t(3, n) + k,
            "student of all": rng.standard_t(3, n) - k,
            "log": np.exp(rng.normal(k, 1.0)),
            "yeo": rng.gamma(2.0, 1.0 + k) - 3.0,
            "log student": np.exp(rng.normal(-k, 0.4)),
            "events": rng.negative_binomial(2, 0.5 - 0.15 * k).astype(float),
            "many events": np.round(rng.gamma(2.0, 4000.0 * (1 + k))),
            "auto events": rng.negative_binomial(1, 0.05 + 0.02 * k).astype(float),
        }
    )
    return frame.mask(rng.random(frame.shape) < 0.05), y


@pytest.mark.parametrize("missing", ["ignore", "level"])
def test_the_page_evaluates_densities_by_their_formulas(opened, missing):
    X, y = table(500, 0)
    model = NaiveBayes(columns=FAMILIES, missing=missing).fit(X, y)
    form = Form(model._fitted()).document()
    assert "curve" not in {term["kind"] for term in form["terms"]}
    fresh = table(60, 1)[0]
    odd = fresh[:4].copy()
    odd["events"] = [0.0, 3e6, 2.5, 12.25]
    odd["many events"] = [0.0, 1e12, 16.0, 15.5]
    odd["auto events"] = [1e5, 4096.0, 0.5, 0.0]
    odd["student"] = [1e8, -1e8, 0.0, np.nan]
    odd["yeo"] = [-1e6, 1e6, 0.0, -1e-9]
    odd["log"] = [1e-300, 1e300, 1.0, np.nan]
    rows = pd.concat([fresh, odd], ignore_index=True)
    with warnings.catch_warnings():  # of events that are not whole
        warnings.simplefilter("ignore", tallybayes.errors.FamilyWarning)
        expected = model.predict_proba(rows)
        said = model.explain(rows)
    page = opened(model.report(X, y).html).page
    asked = [{k: v for k, v in row.items() if v == v} for row in rows.to_dict("records")]
    found = page.evaluate("(rows) => rows.map((row) => tallybayes.predict(row).proba)", asked)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
    parts = page.evaluate("(rows) => rows.map(tallybayes.contributions)", asked)
    names = [form["columns"][term["columns"][0]]["name"] for term in form["terms"]]
    wanted = said.contributions[:, :, [said.columns.index(name) for name in names]]
    centred = [p - p.mean(axis=2, keepdims=True) for p in (np.array(parts), wanted.swapaxes(1, 2))]
    scale = 1.0 + np.abs(centred[1]).max(axis=2, keepdims=True)
    np.testing.assert_allclose(centred[0] / scale, centred[1] / scale, rtol=0, atol=1e-9)


def test_a_number_that_the_family_refuses_is_refused_by_the_page(opened):
    X, y = table(200, 2)
    some = X[["log", "events"]]
    model = NaiveBayes(columns={n: FAMILIES[n] for n in some.columns}).fit(some, y)
    page = opened(model.report(some, y).html).page
    page.fill("#try textarea", '{"log": -1, "events": 2}')
    page.click("#try button:has-text('Fill in')")
    assert "not above 0" in page.inner_text("#try .error")
    page.fill("#try textarea", '{"log": 1, "events": -2}')
    page.click("#try button:has-text('Fill in')")
    assert "negative" in page.inner_text("#try .error")


def test_the_page_scores_what_a_row_has_of_numbers_that_are_read_together(opened):
    rng = np.random.default_rng(3)
    y = rng.choice(["a", "b"], 300)
    x = rng.normal((y == "b")[:, None], 1.0, (300, 3)) @ rng.normal(size=(3, 3))
    X = pd.DataFrame(x, columns=["u", "v", "w"]).mask(rng.random((300, 3)) < 0.2)
    model = NaiveBayes(columns={("u", "v", "w"): Gaussian(covariance="full")}).fit(X, y)
    page = opened(model.report(X, y).html).page
    asked = [{k: v for k, v in row.items() if v == v} for row in X[:60].to_dict("records")]
    assert {len(row) for row in asked} >= {1, 2, 3}
    found = page.evaluate("(rows) => rows.map((row) => tallybayes.predict(row).proba)", asked)
    np.testing.assert_allclose(found, model.predict_proba(X[:60]), rtol=0, atol=1e-9)


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


OPEN_ALL = "document.querySelectorAll('details').forEach((d) => { d.open = true; })"
NO_ALT = "document.querySelectorAll('svg.plot:not([aria-label]), svg[aria-label=\"\"]').length"
SERIOUS = ("serious", "critical")


def data(*parts: str) -> Path:
    """A file of the folder of real data."""
    folder = os.environ.get("TALLYBAYES_DATA")
    path = Path(folder or "", *parts)
    if folder is None or not path.exists():
        pytest.skip(f"needs {'/'.join(parts)} in the folder that TALLYBAYES_DATA names")
    return path


def newsgroups() -> tuple[list[str], list[str]]:
    """Each fortieth training post, in full."""
    posts, labels = [], []
    with tarfile.open(data("text", "20news-bydate.tar.gz")) as archive:
        members = [m for m in archive if m.isfile() and "-train/" in m.name]
        for member in members[::40]:
            posts.append(archive.extractfile(member).read().decode("latin-1"))
            labels.append(member.name.split("/")[-2])
    return posts, labels


def titles() -> tuple[list[str], list[str]]:
    """Each eightieth Chinese title, with the names of the classes."""
    names = data("zh", "class.txt").read_text(encoding="utf-8").split()
    lines = data("zh", "train_subset.txt").read_text(encoding="utf-8").splitlines()[::80]
    parts = [line.rpartition("\t") for line in lines]
    return [text for text, _, _ in parts], [names[int(k)] for _, _, k in parts]


def is_well_made(shown) -> None:
    """At 390 pixels: nothing serious is wrong, all charts have an alternative."""
    shown.page.evaluate(OPEN_ALL)
    shown.settle()
    assert shown.page.evaluate("document.documentElement.scrollWidth") <= 390
    assert shown.page.evaluate(NO_ALT) == 0
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe-core")
    found = axe.Axe().run(shown.page).response["violations"]
    nodes = [(v["id"], v["nodes"][0]["html"]) for v in found if v["impact"] in SERIOUS]
    assert nodes == []


@pytest.mark.parametrize(
    ("name", "lang", "scheme"), [("weighted", "en", "light"), ("plain", "zh", "dark")]
)
def test_people(opened, name, lang, scheme):
    made = report(name, lang).html
    is_well_made(opened(made, viewport={"width": 390, "height": 844}, color_scheme=scheme))


def test_wine(opened):
    X, y = load_wine(return_X_y=True, as_frame=True)
    model = WeightedNaiveBayes().fit(X, y)
    shown = opened(model.report(X, y).html, viewport={"width": 390, "height": 844})
    is_well_made(shown)
    found = shown.page.evaluate(
        "(rows) => rows.map((row) => tallybayes.predict(row).proba)", rows_of(X)
    )
    np.testing.assert_allclose(found, model.predict_proba(X), rtol=0, atol=1e-9)


@pytest.mark.parametrize(("read", "lang"), [(newsgroups, "en"), (titles, "zh")])
def test_texts(opened, read, lang):
    documents, labels = read()
    model = TextNB().fit(documents, labels)
    made = model.report(documents, labels, lang=lang)
    assert len(made.html.encode("utf-8")) < 2_000_000
    shown = opened(
        made.html,
        viewport={"width": 390, "height": 844},
        color_scheme="dark" if lang == "zh" else "light",
    )
    is_well_made(shown)
    some = documents[::10]
    rows = model._counter.rows(some, model.tally_)
    carried = np.isin(
        model.tally_.terms.tolist(), shown.page.evaluate("tallybayes.textModel.names")
    )
    held = carried[rows.terms]
    row = np.repeat(np.arange(len(some)), np.diff(rows.indptr))
    sizes = np.bincount(row[held], minlength=len(some))
    kept = type(rows)(
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        rows.terms[held],
        rows.counts[held],
        rows.n_terms,
    )
    expected = model._fitted().scorer.posterior(kept)
    found = shown.page.evaluate(
        "(texts) => texts.map((t) => tallybayes.predictText(t).proba)", some
    )
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
