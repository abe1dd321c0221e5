"""Ctrl-C while documents come and go one by one: each is counted whole, or not at all."""

from __future__ import annotations

import _thread
import copy
import threading
import time
from contextlib import suppress
from itertools import count

import pytest
from tests.estimators.interrupts import interrupted

from tallybayes import NaiveBayes, TextNB
from tallybayes.families import Text

MODULES = {
    "tallybayes.estimators.base",
    "tallybayes.estimators.text",
    "tallybayes.models.live_documents",
    "tallybayes.tally.live_terms",
}
TABLE_MODULES = {
    "tallybayes.engines.table_score",
    "tallybayes.estimators.base",
    "tallybayes.estimators.one_row",
    "tallybayes.models.live",
    "tallybayes.tally.live_terms",
}
TEXTS = ["a b cc", "b d d", "é", "cc a", "a b", "d"]
LABELS = ["x", "y", "x", "z", "x", "y"]
ASKED = "a b é new"
CALLS = {
    "learn_one": lambda m: m.learn_one("a new one", "x"),
    "learn_one, a new class": lambda m: m.learn_one("a new one", "w"),
    "partial_fit, a new class": lambda m: m.partial_fit(["a new one", "a"], ["a", "x"]),
    "forget_one": lambda m: m.forget_one("b d d", "y"),
    "forget_one, a class": lambda m: m.forget_one("cc a", "z"),
    "forget": lambda m: m.forget(["d", "cc a"], ["y", "z"]),
}


@pytest.mark.parametrize("name", CALLS)
def test_an_interrupt_at_any_place_leaves_the_documents_of_before_or_after(name):
    fitted = TextNB(model="multinomial").fit(TEXTS, LABELS)

    def made():
        return copy.deepcopy(fitted).learn_one("b a", "x").forget_one("b a", "x")

    before, after = made(), CALLS[name](made())
    seen = set()
    for place in count():
        model = made()
        if not interrupted(lambda m=model: CALLS[name](m), place, MODULES):
            break
        shares = model.predict_proba_one(ASKED)
        expected = copy.deepcopy(before if model == before else after)
        seen.add(expected == before)
        assert model == expected, place
        assert shares == pytest.approx(expected.predict_proba_one(ASKED), abs=1e-14)
        assert model.learn_one("more", "y") == expected.learn_one("more", "y")
        assert model.predict_one("more") == expected.predict_one("more")
    assert seen == {True, False}


ROWS = [
    ({"body": text, "c": "uvw"[i % 3]}, label)
    for i, (text, label) in enumerate(zip(TEXTS * 3, LABELS * 3, strict=True))
]
ASKED_ROW = {"body": "a b é", "c": "u"}
NEW = {"body": "a new one", "c": "u"}


def part(row, columns):
    return {key: row[key] for key in columns.split()}


ROW_CALLS = {
    "learn_one": lambda m, c: m.learn_one(part(NEW, c), "x"),
    "learn_one, a new level": lambda m, c: m.learn_one(part({**NEW, "c": "new"}, c), "x"),
    "learn_one, a new class": lambda m, c: m.learn_one(part(NEW, c), "w"),
    "forget_one": lambda m, c: m.forget_one(part(ROWS[1][0], c), ROWS[1][1]),
    "partial_fit": lambda m, c: m.partial_fit([part(ROWS[0][0], c)], ["y"]),
}


@pytest.mark.parametrize(
    ("columns", "name"), [*(("body c", name) for name in ROW_CALLS), ("body", "learn_one")]
)
def test_an_interrupt_at_any_place_leaves_the_rows_of_before_or_after(columns, name):
    rows = [(part(row, columns), label) for row, label in ROWS]
    asked = part(ASKED_ROW, columns)

    fitted = NaiveBayes({"body": Text()}).fit(*map(list, zip(*rows[2:], strict=True)))

    def made():
        model = copy.deepcopy(fitted)
        for row, label in rows[:2]:
            model.learn_one(row, label).predict_one(asked)
        return model

    models = [made(), ROW_CALLS[name](made(), columns)]
    ones = [model.predict_proba_one(asked) for model in models]
    counts = [model.class_count_.tolist() for model in models]
    tables = [dict(zip(m.classes_, m.predict_proba([asked])[0], strict=True)) for m in models]
    seen = set()
    for place in count():
        model = made()
        if not interrupted(lambda m=model: ROW_CALLS[name](m, columns), place, TABLE_MODULES):
            break
        one = model.predict_proba_one(asked)
        at = counts.index(model.class_count_.tolist())
        seen.add(at)
        assert one in (pytest.approx(ones[at]), pytest.approx(tables[at])), place
        assert model.predict_proba([asked])[0].tolist() == pytest.approx([*tables[at].values()])
    assert seen == {0, 1}


@pytest.mark.parametrize("name", ["learn_one", "partial_fit", "forget_one"])
def test_an_interrupt_in_a_long_document_leaves_it_whole_or_out(name):
    words = " ".join(f"w{i}" for i in range(60_000))
    model = TextNB(model="multinomial", ngram_range=(1, 1)).fit(["a w1", "b"], ["x", "y"])
    model.learn_one("a", "x")
    if name == "forget_one":
        model.learn_one(words, "z")
    calls = {
        "learn_one": lambda: model.learn_one(words, "z"),
        "partial_fit": lambda: model.partial_fit([words, "b"], ["z", "y"]),
        "forget_one": lambda: model.forget_one(words, "z"),
    }
    before = copy.deepcopy(model)
    with suppress(KeyboardInterrupt):
        threading.Timer(0.002, _thread.interrupt_main).start()
        calls[name]()
        for _ in range(1000):  # it was quick, or Python was where it ignores what is raised
            time.sleep(0.001)
    if model != before:
        model, done = before, model
        calls[name]()
        assert done == model
