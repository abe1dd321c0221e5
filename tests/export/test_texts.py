"""Texts outside of this package: whole ones in Python and JavaScript, tokens in ONNX."""

import re
import unicodedata
from itertools import cycle

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from export.back_ends import BACK_ENDS, JavaScript, Onnx, Python
from export.databases import check_same
from reporting.test_in_browser import documents, odd_texts
from tallybayes import NaiveBayes, WeightedNaiveBayes
from tallybayes.errors import StaleWarning
from tallybayes.families import Text
from tallybayes.score import TextTerm
from tallybayes.text import TextNB
from tallybayes.tokens.analyzer import CJK, stripped

pytestmark = pytest.mark.filterwarnings("ignore::tallybayes.errors.TallyWarning")


def tokens_of(text, analyzer):
    """What the guide tells users of ONNX to split a text into."""
    text = stripped(text.lower() if analyzer.lowercase else text, analyzer.strip_accents)
    if analyzer.analyzer == "char":
        return list(re.sub(r"\s\s+", " ", text))
    if analyzer.analyzer == "char_wb":
        return [c for word in text.split() for c in f" {word} "]
    return re.findall(CJK if analyzer.analyzer == "cjk" else analyzer.token_pattern, text)


class Tokens(Onnx):
    """onnxruntime, whose columns of text are split before."""

    def scored(self, model, table, name, **options):
        self.analyzers = {
            term.columns[0]: term.analyzer
            for term in model._formula().terms
            if isinstance(term, TextTerm)
        }
        return super().scored(model, table, name, **options)

    def _fed(self, put, table):
        if put.name not in self.analyzers:
            return super()._fed(put, table)
        analyzer = self.analyzers[put.name]
        rows = [[] if t is None else tokens_of(t, analyzer) for t in table[put.name].to_pylist()]
        width = max(map(len, rows), default=0)
        padded = [row + [""] * (width - len(row)) for row in rows]
        return np.array(padded, dtype=object).reshape(len(rows), width)


@pytest.fixture(scope="module", params=[Tokens, Python, JavaScript], ids=lambda kind: kind.dialect)
def back_end(request):
    found = request.param()
    yield found
    found.close()


def test_every_back_end_but_a_row_of_the_model_is_tried():
    assert {kind.dialect for kind in BACK_ENDS} == {"one row", "onnx", "python", "javascript"}


OPTIONS = [
    {},
    {"ngram_range": (1, 1), "max_terms": 60},
    {
        "analyzer": "char",
        "ngram_range": (1, 3),
        "model": "multinomial",
        "idf": True,
        "length_normalize": True,
        "lowercase": False,
    },
    {"analyzer": "char_wb", "ngram_range": (2, 5), "model": "multinomial", "tf": "log"},
    {"analyzer": "char_wb", "ngram_range": (4, 5)},
    {"analyzer": "cjk", "ridge": False},
    {
        "token_pattern": r"(?u)\b\w\w+\b",
        "strip_accents": "unicode",
        "model": "complement",
        "idf": True,
    },
    {
        "model": "bernoulli",
        "strip_accents": "ascii",
        "stop_words": ["pay", "word3", "123"],
        "ngram_range": (2, 3),
    },
]


@pytest.mark.parametrize(("options", "n_classes"), [*zip(OPTIONS, cycle([2, 3]))], ids=str)
def test_models_of_documents(back_end, options, n_classes):
    texts, labels = documents(200, 0)
    odd = odd_texts()
    texts, labels = texts + odd[::3], labels + ["c"] * len(odd[::3])
    if n_classes == 2:
        labels = ["yes" if label == "a" else "no" for label in labels]
    model = TextNB(**options).fit(texts, labels)
    fresh = [*documents(40, 1)[0], *odd[::5], "pay " * 700 + "prize", "", "never seen"]
    check_same(back_end, model, pa.table({"document": fresh}), fresh)


def rows_with_texts(seed=0, n=240):
    texts, labels = documents(n, seed)
    rng = np.random.default_rng(seed)
    numbers = rng.normal([ord(label) for label in labels], 1.5)
    held = [None if gone else t for t, gone in zip(texts, rng.random(n) < 0.1, strict=True)]
    return pa.table({"words": pa.array(held, pa.string()), "number": numbers}), labels


@pytest.mark.parametrize(
    "model",
    [
        NaiveBayes(columns={"words": Text()}),
        NaiveBayes(
            columns={"words": Text(analyzer="char_wb", ngram_range=(2, 4))}, missing="level"
        ),
        NaiveBayes(columns={"words": Text(stop_words=["pay"])}, calibrate="isotonic"),
        WeightedNaiveBayes(columns={"words": Text()}, parts=1),
    ],
    ids=["plain", "characters", "isotonic", "weighted"],
)
def test_columns_of_text(back_end, model):
    table, labels = rows_with_texts()
    check_same(back_end, model.fit(table, labels), rows_with_texts(1, 60)[0])


def test_a_column_that_is_read_as_prose(back_end):
    rng = np.random.default_rng(0)
    words = np.array(["the", "cat", "dog", "sits", "runs", "on", "under", "mat", "tree", "sleeps"])
    texts = [" ".join(rng.choice(words, 9)) + "." for _ in range(300)]
    labels = ["cat" if text.count("cat") > text.count("dog") else "dog" for text in texts]
    model = NaiveBayes().fit(pa.table({"words": texts}), labels)
    assert any(isinstance(term, TextTerm) for term in model._formula().terms)
    check_same(back_end, model, pa.table({"words": [*texts[:40], None, "", "unknown words"]}))


@pytest.mark.parametrize("kind", [NaiveBayes, WeightedNaiveBayes])
def test_a_class_without_rows(back_end, kind):
    table, labels = rows_with_texts()
    model = kind(columns={"words": Text()})
    model.partial_fit(table, labels, classes=[*"abc", "none yet"])
    check_same(back_end, model, rows_with_texts(1, 40)[0])


@pytest.mark.parametrize("kind", [Python, JavaScript], ids=lambda kind: kind.dialect)
def test_other_values_in_a_column_of_text_are_their_words(kind):
    back_end, (table, labels) = kind(), rows_with_texts()
    try:
        model = NaiveBayes(columns={"words": Text(), "number": None})
        model.fit(table.set_column(0, "words", pa.array(["5.5 7"] * 100 + ["9"] * 140)), labels)
        for values in ([5.5, 7.0, 9.0], [True, False, None]):
            check_same(back_end, model, pa.table({"words": values, "number": [0.0] * 3}))
    finally:
        back_end.close()


PIECES = st.sampled_from(
    ["</script", "`${x}", "\\", '"', "'", "\u2028", "\n", "__proto__", "\ud7ff"]
)
STRANGE = st.lists(st.one_of(PIECES, st.text(max_size=2)), max_size=5).map("".join)
TEXTS = STRANGE.filter(lambda text: not any("\ud800" <= c < "\ue000" for c in text))
ASSIGNED = TEXTS.filter(lambda text: all(unicodedata.category(c) != "Cn" for c in text))


@settings(max_examples=25)
@given(
    st.lists(ASSIGNED, min_size=2, max_size=8),
    st.sampled_from([{}, {"analyzer": "char", "ngram_range": (1, 2)}, {"stop_words": ["'", "x"]}]),
    st.integers(0, 3),
)
def test_no_term_is_read_as_code(back_end, texts, options, n):
    labels = ["a", "b"] * len(texts)
    options = {"model": "multinomial", **options}
    model = TextNB(**options).fit([*texts, *texts[::-1]], labels)
    asked = [*texts, " ".join(texts), "".join(texts) * n]
    check_same(back_end, model, pa.table({"document": asked}), asked)


def test_a_document_is_taken_by_itself():
    model = TextNB(model="multinomial").fit(["good day", "bad night"] * 3, ["a", "b"] * 3)
    module = Python.module(model.to_python())
    assert module["predict"]("good") == module["predict"]({"document": "good"}) == "a"
    assert Python.module(model.to_python(names=["mail"]))["predict"]({"mail": "bad"}) == "b"
    assert model.to_onnx(names=["mail"]).graph.input[0].name == "mail"
    assert '"document"?: string | null;' in model.to_javascript().types


def test_what_onnx_and_javascript_do_not_cut():
    texts, labels = ["ab, cd", "ef, gh"] * 3, ["a", "b"] * 3
    own = TextNB(token_pattern=r"[^,]+", model="multinomial").fit(texts, labels)
    with pytest.raises(ValueError, match="is a regular expression of Python, of which JavaScript"):
        own.to_javascript()
    with pytest.raises(ValueError, match="may have blanks within a token"):
        own.to_onnx()
    table = pa.table({"document": texts})
    check_same(Python(), own, table, texts)
    single = TextNB(token_pattern=r"[^,]+", ngram_range=(1, 1), model="multinomial")
    check_same(Tokens(), single.fit(texts, labels), table, texts)
    empty = TextNB(token_pattern=r"\w*", ngram_range=(1, 1), model="multinomial").fit(texts, labels)
    with pytest.raises(ValueError, match="has the term '', and in ONNX"):
        empty.to_onnx()


@pytest.mark.filterwarnings("default::tallybayes.errors.StaleWarning")
def test_a_ridge_of_other_counts_is_told():
    texts, labels = documents(500, 2)
    model = TextNB().fit(texts, ["yes" if label == "a" else "no" for label in labels])
    assert model.penalty_ is not None
    model.partial_fit(["pay prize"] * 20, ["yes"] * 20)
    with pytest.warns(StaleWarning):
        model.to_python()


@pytest.mark.parametrize("kind", ["py", "mjs"])
def test_terms_are_a_few_times_the_model_file(kind, tmp_path):
    rng = np.random.default_rng(0)
    words = np.array([f"w{i}" for i in range(3000)])
    texts = [" ".join(rng.choice(words, 40)) for _ in range(1500)]
    model = TextNB().fit(texts, rng.integers(0, 5, 1500).astype(str))
    model.save(tmp_path / "model.tally")
    model.export(tmp_path / f"model.{kind}")
    sizes = [(tmp_path / name).stat().st_size for name in ("model.tally", f"model.{kind}")]
    assert sizes[1] < 3 * sizes[0]
