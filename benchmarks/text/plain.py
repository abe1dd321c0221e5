"""The plain models of TextNB, from raw strings to fitted, beside scikit-learn's pipelines."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import BernoulliNB, ComplementNB, MultinomialNB
from sklearn.pipeline import make_pipeline

from benchmarks.bayes.page import Page
from benchmarks.text.counting import medians
from benchmarks.text.labelled import SETS
from tallybayes import TextNB
from tallybayes.tokens import MARKS
from tallybayes.tokens.analyzer import WORDS

__all__ = ["plain_page"]

MODELS = {"multinomial": MultinomialNB, "complement": ComplementNB, "bernoulli": BernoulliNB}
TOKENS: dict[str, dict[str, Any]] = {
    "words": {"token_pattern": WORDS, "ngram_range": (1, 1)},
    "words, marks and pairs": {"token_pattern": MARKS, "ngram_range": (1, 2)},
}
BAR = 12.0  # times the speed of scikit-learn's pipeline
HEAD = [
    "terms",
    "model",
    "ours from",
    "s",
    "CPU s",
    "scikit-learn s",
    "CPU s",
    "ratio",
    "CPU ratio",
]


def plain_page(*, quick: bool = False) -> tuple[Page, bool]:
    """Measures and compares.

    Parameters
    ----------
    quick : bool
        Fewer documents and runs.

    Returns
    -------
    page : Page
    right : bool
        Whether the probabilities are scikit-learn's.
    """
    fold = next(next(one for one in SETS if one.name == "20 Newsgroups").folds())
    some = slice(2000 if quick else None)
    documents, y, test = fold.train[some], fold.y[some], fold.test[:500]
    column = pa.array(documents)
    rows, verdicts, record, right = [], [], {}, True
    for terms, tokens in TOKENS.items():
        for name, peer in MODELS.items():

            def theirs(tokens: Any = tokens, peer: Any = peer) -> Any:
                return make_pipeline(CountVectorizer(**tokens), peer()).fit(documents, y)

            def ours(given: Any, tokens: Any = tokens, name: Any = name) -> Any:
                return TextNB(model=name, analyzer="word", **tokens).fit(given, y)

            expected = theirs().predict_proba(test)
            right &= np.allclose(ours(documents).predict_proba(test), expected, atol=1e-9)
            calls = {"scikit-learn": theirs, "list": partial(ours, documents)}
            calls["Arrow"] = partial(ours, column)
            times = medians(calls, 1 if quick else 3)
            wall, cpu = times.pop("scikit-learn")
            record[f"{terms}, {name}"] = {"scikit-learn": [wall, cpu], **times}
            least = min(wall / w for w, _ in times.values())
            verdicts.append(
                f"- {'met' if least >= BAR else 'MISSED'}: {terms}, {name}, at least {BAR:g} times "
                f"scikit-learn's speed: {least:.1f}"
            )
            for given, (w, c) in times.items():
                rows.append(
                    [
                        *(terms, name, given, f"{w:.3f}", f"{c:.3f}", f"{wall:.2f}", f"{cpu:.2f}"),
                        *(f"{wall / w:.1f}", f"{cpu / c:.1f}"),
                    ]
                )
    verdicts.append(f"- {'met' if right else 'MISSED'}: probabilities are scikit-learn's to 1e-9")
    title = "20 Newsgroups bydate, training posts: from raw strings to fitted, medians in turn"
    page = Page("text-plain", "Plain text classifiers", verdicts, [(title, HEAD, rows)], record)
    return page, right
