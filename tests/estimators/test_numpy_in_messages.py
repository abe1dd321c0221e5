"""Labels and numbers of NumPy: messages write them as Python's."""

from __future__ import annotations

import numpy as np
import pytest

from tallybayes import Hierarchy, MultiLabel, NaiveBayes, TextNB, WeightedNaiveBayes, Window
from tallybayes.errors import shown
from tallybayes.families import Text

ROWS = [{"a": i % 3, "b": "xy"[i % 2]} for i in range(8)]
Y = [0, 1] * 4
TEXTS = ["sun", "rain"] * 4
SIX, HALF = np.int64(6), np.float64(0.5)


def table():
    return NaiveBayes().fit(ROWS, Y)


def text(**options):
    return TextNB(model="multinomial", **options).fit(TEXTS, Y)


def hashed_column():
    return NaiveBayes({"a": Text(n_features=64)}).fit([{"a": words} for words in TEXTS], Y)


CALLS = {
    "a class with a weight": lambda: table().with_class_weight({SIX: 2.0}),
    "the weight of a class": lambda: table().with_class_weight({np.int64(0): np.float64(-2.0)}),
    "a class with costs": lambda: table().decide(ROWS, {np.int64(0): {"a": 1, "b": 2}}),
    "coverage": lambda: table().prediction_set(ROWS, coverage=np.float64(2.0)),
    "the level of an interval": lambda: table().predict_proba_interval(ROWS, level=SIX),
    "a factor": lambda: table().decay(np.float64(3.0)),
    "a label to learn": lambda: table().learn_one(ROWS[0], np.float64("nan")),
    "a weight to learn": lambda: text().learn_one("sun", SIX, np.float64("nan")),
    "a label of terms": lambda: text().top_terms(SIX),
    "terms of a hash": lambda: text(n_features=64).forget(["hail"], [0]),
    "terms of a hashed column": lambda: hashed_column().forget([{"a": "hail"}] * 2, Y[:2]),
    "documents to prune": lambda: text().prune(-HALF),
    "terms to keep": lambda: WeightedNaiveBayes().fit(ROWS, Y).simplify(ROWS, Y, -SIX),
    "one of many labels": lambda: MultiLabel(NaiveBayes()).fit(ROWS, [[1]] * 8).label(SIX),
    "many labels": lambda: MultiLabel(NaiveBayes()).fit(ROWS, [SIX] * 8),
    "a path": lambda: Hierarchy(NaiveBayes()).fit(ROWS, np.arange(8)),
    "days": lambda: Window(np.float64(-3.0)),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_no_message_has_the_name_of_a_type_of_numpy(call):
    with pytest.raises(ValueError, match=r"^(?!.*(np\.|array\())"):
        call()


def test_values_are_written_as_python_writes_them():
    written = {"6": SIX, "0.5": HALF, "'a'": np.str_("a"), "True": np.True_, "[6]": [6]}
    assert [shown(value) for value in written.values()] == list(written)
