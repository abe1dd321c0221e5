"""Rows, labels and weights mean the same in every container, for every method of every estimator.

Each container of ``every_container.py`` is given to each method that takes rows, and the answers
are those for the same values in lists.
"""

import copy
import functools
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

import tallybayes as tb
from estimators.containers.every_container import CONTAINERS
from tallybayes.text import CountVectorizer

N = 18
LABELS = ["b", "a", "c"] * (N // 3)
WEIGHTS = [1.0, 2.0, 1.0, 1.0, 3.0, 1.0] * (N // 6)
FOLDS = [i % 2 for i in range(N)]
MIXED = {
    "word": ["x", "y", "z", "x", None, "z"] * (N // 6),
    "size": [float((7 * i) % 11) / 2 for i in range(N)],
    "count": [(5 * i) % 7 for i in range(N)],
    "gap": [None if i % 5 == 2 else float(i % 4) for i in range(N)],
    "yes": [i % 3 == 1 for i in range(N)],
}
CODES = {name: [(k * i + i // 3) % 4 for i in range(N)] for k, name in ((1, "u"), (3, "v"))}
DOCUMENTS = [
    f"{'good' if i % 3 else 'bad'} {'film' if i % 2 else 'book'} n{i % 5}" for i in range(N)
]
Answers = Iterator[tuple[str, Any]]


def plain(value: Any) -> Any:
    """A value that == compares, NaN included, whatever holds it."""
    if sparse.issparse(value):
        return (value.shape, value.toarray().tolist())
    if isinstance(value, tuple):
        return tuple(plain(item) for item in value)
    return repr(np.asarray(value).tolist())


def predictions(model: Any, X: Any) -> Answers:
    for method in ("predict", "predict_proba", "predict_log_proba", "predict_joint_log_proba"):
        yield method, getattr(model, method)(X)


def changes(model: Any, X: Any, y: Any, w: Any) -> Answers:
    """What a model says after each method that changes what it has counted."""
    probe = copy.deepcopy(X)
    yield "partial_fit", copy.copy(model).partial_fit(X, y, sample_weight=w).predict_proba(probe)
    yield "forget", copy.copy(model).partial_fit(X, y).forget(X, y).predict_proba(probe)


def left_out(model: Any, X: Any, y: Any, w: Any, folds: Any) -> Answers:
    yield "leave_one_out", tb.leave_one_out(model, X, y, w)
    yield "cross_validate", tb.cross_validate(model, X, y, 2, w)
    yield "cross_validate by folds", tb.cross_validate(model, X, y, folds, w)


def of_naive_bayes(X: Any, y: Any, w: Any, folds: Any) -> Answers:
    model = tb.NaiveBayes().fit(X, y, sample_weight=w)
    yield "classes_", model.classes_
    yield "class_count_", model.class_count_
    yield "schema_", model.schema_["family"]
    yield from predictions(model, X)
    yield "score", model.score(X, y, w)
    yield "predict_proba_interval", model.predict_proba_interval(X, n_draws=10)
    yield "explain", model.explain(X).contributions
    calibrated = tb.NaiveBayes(calibrate="temperature").fit(X, y, sample_weight=w)
    yield "recalibrate", calibrated.recalibrate(X, y, w).predict_proba(X)
    yield from left_out(model, X, y, w, folds)
    yield from changes(model, X, y, w)
    yield "first partial_fit", tb.NaiveBayes().partial_fit(X, y, sample_weight=w).predict_proba(X)


def of_weighted_naive_bayes(X: Any, y: Any, w: Any, folds: Any) -> Answers:
    model = tb.WeightedNaiveBayes(parts=1).fit(X, y, sample_weight=w)
    yield from predictions(model, X)
    yield "score", model.score(X, y, w)
    yield "explain", model.explain(X).contributions
    yield "reweight", copy.copy(model).reweight(X, y, w).predict_proba(X)
    yield "simplify", model.simplify(X, y, 2, w).predict_proba(X)
    counted = tb.NaiveBayes().fit(X, y, sample_weight=w)
    yield "count_from", tb.WeightedNaiveBayes(parts=1).count_from(counted, X, y, w).predict_proba(X)
    yield "leave_one_out", tb.leave_one_out(model, X, y, w)


def of_arrays(make: Callable[[], Any], X: Any, y: Any, w: Any, folds: Any) -> Answers:
    model = make().fit(X, y, sample_weight=w)
    yield from predictions(model, X)
    yield "score", model.score(X, y, w)
    if hasattr(model, "score_samples"):
        yield "score_samples", model.score_samples(X)
    yield from left_out(model, X, y, w, folds)
    yield from changes(model, X, y, w)
    yield "first partial_fit", make().partial_fit(X, y, ["a", "b", "c"], w).predict_proba(X)


def of_text(make: Callable[[], Any], X: Any, y: Any, w: Any, folds: Any) -> Answers:
    model = make().fit(X, y, sample_weight=w)
    yield from predictions(model, X)
    yield "score", model.score(X, y, w)
    if model.ridge and model.model == "weighted":  # all else is slow, and reads documents alike
        return
    yield "leave_one_out", model.leave_one_out(X, y, w)
    yield "explain", [str(one) for one in model.explain(X)]
    yield "first partial_fit", make().partial_fit(X, y, sample_weight=w).predict_proba(X)
    yield "partial_fit", model.partial_fit(X, y, sample_weight=w).predict_proba(X)
    if model.model == "weighted":
        yield "reweight", model.reweight(X, y, w).predict_proba(X)
    yield "forget", model.forget(X, y, w).predict_proba(X)


def of_vectorizer(X: Any, y: Any, w: Any, folds: Any) -> Answers:
    for make in (CountVectorizer, functools.partial(CountVectorizer, analyzer=str.split)):
        model = make()
        yield "fit_transform", model.fit_transform(X, y)
        yield "transform", model.transform(X)
        yield "partial_fit", make().partial_fit(X).transform(X)
        yield "vocabulary_", sorted(model.vocabulary_.items())


def of_lazy(X: Any, y: Any, w: Any, folds: Any) -> Answers:
    model = tb.LazyNaiveBayes(pl.DataFrame({**MIXED, "label": LABELS}), "label")
    yield "predict_proba", model.predict_proba(X)
    yield "score", model.score(X, y, w)
    yield "explain", model.explain(X).contributions


TABLES: dict[str, tuple[Callable[..., Answers], Any]] = {
    "NaiveBayes": (of_naive_bayes, MIXED),
    "WeightedNaiveBayes": (of_weighted_naive_bayes, MIXED),
    "LazyNaiveBayes": (of_lazy, MIXED),
    "CategoricalNB, levels": (
        functools.partial(of_arrays, lambda: tb.CategoricalNB(levels=[[0, 1, 2, 3]] * 2)),
        CODES,
    ),
}
for NB in (tb.GaussianNB, tb.MultinomialNB):  # the others of arrays read X and y alike
    TABLES[NB.__name__] = (functools.partial(of_arrays, NB), CODES)

TEXTS = {
    "TextNB": functools.partial(of_text, tb.TextNB),
    "TextNB without ridge": functools.partial(of_text, lambda: tb.TextNB(ridge=False)),
    "TextNB, multinomial": functools.partial(of_text, lambda: tb.TextNB(model="multinomial")),
    "CountVectorizer": of_vectorizer,
}


@functools.cache
def answers_of_lists(case: str, named: bool) -> dict[str, Any]:
    answers, columns = TABLES[case]
    table = CONTAINERS["dicts" if named and columns is MIXED else "list"].table(columns)
    return {name: plain(value) for name, value in answers(table, LABELS, WEIGHTS, FOLDS)}


ARRAYS = {case for case, (_, columns) in TABLES.items() if columns is CODES}
LIKE_OTHERS = {"WeightedNaiveBayes", "MultinomialNB"}  # which read rows as the others do
SOME = ("list", "array", "pandas, index: shuffled", "pandas, index: repeated", "polars, chunks",
        "Arrow, views of strings", "Arrow, a batch")  # fmt: skip
REFUSED = {"dicts", "tuple of dicts"}  # by classes of arrays, which have no names of columns


@pytest.mark.parametrize(
    ("case", "kind"),
    [
        (case, kind)
        for case in TABLES
        for kind in (SOME if case in LIKE_OTHERS else CONTAINERS)
        if not (case in ARRAYS and kind in REFUSED)
    ],
)
def test_tables(case, kind):
    answers, columns = TABLES[case]
    container = CONTAINERS[kind]
    table, column = container.table(columns), container.column
    for name, value in answers(table, column(LABELS), column(WEIGHTS), column(FOLDS)):
        assert plain(value) == answers_of_lists(case, container.named)[name], name


@functools.cache
def answers_of_texts(case: str) -> dict[str, Any]:
    found = TEXTS[case](DOCUMENTS, LABELS, WEIGHTS, FOLDS)
    return {name: plain(value) for name, value in found}


@pytest.mark.parametrize(
    ("case", "kind"),
    [(case, k) for case in TEXTS for k in (SOME if case == "TextNB" else CONTAINERS)],
)
def test_documents(case, kind):
    column = CONTAINERS[kind].column
    found = TEXTS[case](column(DOCUMENTS), column(LABELS), column(WEIGHTS), column(FOLDS))
    for name, value in found:
        assert plain(value) == answers_of_texts(case)[name], name


TOKENS = [document.split() for document in DOCUMENTS]
OF_TOKENS = (
    "list",
    "tuples",
    "array",
    "pandas, index: shuffled",
    "pandas, index: strings",
    "polars",
    "polars, chunks",
    "Arrow",
    "Arrow, chunks",
)


@pytest.mark.parametrize("kind", OF_TOKENS)
def test_documents_that_are_lists_of_tokens(kind):
    X, y = CONTAINERS[kind].column(TOKENS), CONTAINERS[kind].column(LABELS)
    expected = CountVectorizer(analyzer=str.split).fit(DOCUMENTS)
    counted = CountVectorizer(analyzer=list).fit(X)
    assert counted.vocabulary_ == expected.vocabulary_
    assert plain(counted.transform(X)) == plain(expected.transform(DOCUMENTS))
    model = tb.TextNB(analyzer=list, ridge=False).fit(X, y)
    words = tb.TextNB(analyzer=str.split, ridge=False).fit(DOCUMENTS, LABELS)
    assert plain(model.predict_proba(X)) == plain(words.predict_proba(DOCUMENTS))
    assert list(map(str, model.explain(X))) == list(map(str, words.explain(DOCUMENTS)))
    assert "good" in model.explain(X)[1]._repr_html_()
    for make in (tb.TextNB, lambda: tb.TextNB(analyzer="word"), CountVectorizer):
        with pytest.raises((ValueError, TypeError), match="lists of tokens need analyzer=list"):
            make().fit(X, y)


ROWS = {
    "dict": lambda frame, i: frame.iloc[i].to_dict(),
    "series": lambda frame, i: frame.iloc[i],
    "series of objects": lambda frame, i: frame.astype(object).iloc[i],
    "series of Arrow": lambda frame, i: frame.convert_dtypes(dtype_backend="pyarrow").iloc[i],
    "series with a name": lambda frame, i: frame.set_axis([f"r{k}" for k in range(N)]).iloc[i],
    "mapping": lambda frame, i: types.MappingProxyType(frame.iloc[i].to_dict()),
    "named tuple": lambda frame, i: next(frame.iloc[[i]].itertuples(index=False))._asdict(),
    "polars": lambda frame, i: pl.from_pandas(frame).row(i, named=True),
    "Arrow": lambda frame, i: pa.Table.from_pandas(frame, preserve_index=False).to_pylist()[i],
}


@pytest.mark.parametrize("kind", ROWS)
@pytest.mark.parametrize("make", [tb.NaiveBayes, lambda: tb.WeightedNaiveBayes(parts=1)])
def test_one_row(make, kind):
    frame = CONTAINERS["pandas, index: shuffled"].table(MIXED)
    model, rows = make().fit(frame, LABELS), CONTAINERS["dicts"].table(MIXED)
    for i in (0, 2, 4):
        row = ROWS[kind](frame, i)
        assert model.predict_one(row) == model.predict(frame.iloc[[i]])[0]
        expected = model.predict_proba(rows[i : i + 1])[0]
        np.testing.assert_allclose(list(model.predict_proba_one(row).values()), expected, rtol=1e-9)
        assert str(model.explain_one(row)) == str(model.explain(rows[i : i + 1]))
    learned = copy.copy(model).learn_one(ROWS[kind](frame, 1), "a").tally_
    assert learned == copy.copy(model).learn_one(rows[1], "a").tally_
    assert (
        copy.copy(model).forget_one(ROWS[kind](frame, 1), "a").tally_
        == copy.copy(model).forget_one(rows[1], "a").tally_
    )


@pytest.mark.parametrize("method", ["predict", "predict_proba", "explain", "partial_fit", "fit"])
def test_one_row_of_a_frame_is_not_a_table(method):
    frame = CONTAINERS["pandas, index: shuffled"].table(MIXED)
    model = tb.NaiveBayes().fit(frame, LABELS)
    labels = (["a"],) if "fit" in method else ()
    for row in (frame.iloc[0], frame[["size", "count"]].iloc[0], pl.from_pandas(frame)["size"]):
        with pytest.raises(ValueError, match=r"a Series, which is not a table: .*iloc\[\[i\]\]"):
            getattr(model, method)(row, *labels)


FRAMES = [kind for kind in CONTAINERS if kind.startswith(("pandas, ", "polars", "Arrow"))]


@pytest.mark.parametrize("kind", [kind for kind in FRAMES if kind != "Arrow, a stream"])
def test_the_source_of_a_lazy_model(kind):
    source = CONTAINERS[kind].table({**MIXED, "label": LABELS})
    model = tb.LazyNaiveBayes(source, "label")
    found = model.predict_proba(CONTAINERS["dicts"].table(MIXED))
    assert plain(found) == answers_of_lists("LazyNaiveBayes", True)["predict_proba"]


def test_a_lazy_model_refuses_what_can_be_read_only_once():
    stream = CONTAINERS["Arrow, a stream"].table({**MIXED, "label": LABELS})
    with pytest.raises(ValueError, match="can be read only once"):
        tb.LazyNaiveBayes(stream, "label").predict(CONTAINERS["dicts"].table(MIXED))


@pytest.mark.parametrize("kind", SOME)
def test_reports(kind):
    container = CONTAINERS[kind]
    labels = container.column(LABELS)
    X = container.table(MIXED)
    page = tb.NaiveBayes().fit(X, labels).report(X, labels).data
    assert page["about"].pop("target", None) == getattr(labels, "name", None)
    plain_rows = CONTAINERS["dicts" if container.named else "list"].table(MIXED)
    expected = tb.NaiveBayes().fit(plain_rows, LABELS).report(plain_rows, LABELS).data
    assert repr(page) == repr(expected)
    texts = container.column(DOCUMENTS)
    model = tb.TextNB(ridge=False).fit(texts, labels)
    expected = tb.TextNB(ridge=False).fit(DOCUMENTS, LABELS).report(DOCUMENTS, LABELS).data
    page = model.report(texts, labels).data
    assert page["about"].pop("target", None) == getattr(labels, "name", None)
    assert repr(page) == repr(expected)
