"""A classifier of documents in a file: the same model afterwards, and nothing else gets in."""

import io
import warnings

import numpy as np
import pytest
from benchmarks.files.mutations import Parts
from hypothesis import given, settings
from hypothesis import strategies as st

import tallybayes
from tallybayes import TextNB
from tallybayes.errors import ModelFileError, StaleWarning

TEXTS = [
    "lunch at noon?",
    "see you\0 at noon",
    "語 Straße",
    "",
    "cheap pills",
    "buy cheap pills now",
]
DOCUMENTS = TEXTS * 20 + ["now", "at", "cheap"] * 10  # of which a ridge is learned
LABELS = ["ham", "ham", "ham", "ham", "spam", "spam"] * 20 + ["ham", "spam", "ham"] * 10
OPTIONS = [
    {},
    {"ridge": False},
    {"n_features": 97},
    {"analyzer": "char", "ngram_range": (1, 3)},
    {"token_pattern": r"(?u)\b\w\w+\b", "stop_words": ["at"], "lowercase": False},
    {"stop_words": "english", "strip_accents": "ascii"},
]


def file_of(model):
    file = io.BytesIO()
    model.save(file)
    return file.getvalue()


def loaded(data):
    return tallybayes.load(io.BytesIO(data))


def same(a, b):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StaleWarning)
        return a.tally_ == b.tally_ and (
            a.predict_proba(DOCUMENTS).tobytes() == b.predict_proba(DOCUMENTS).tobytes()
        )


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_loaded_model_is_the_saved_one_and_goes_on_as_it_does(options):
    model = TextNB(**options).fit(DOCUMENTS, LABELS)
    again = loaded(file_of(model))
    assert file_of(again) == file_of(model)
    assert again.get_params() == model.get_params()
    assert same(again, model)
    assert again.predict(TEXTS).tolist() == model.predict(TEXTS).tolist()
    for name in ("log_loss_", "accuracy_", "log_loss_se_", "accuracy_se_", "penalty_", "analyzer_"):
        assert getattr(again, name) == getattr(model, name)
    assert again.top_terms("spam") == model.top_terms("spam")
    mine, theirs = (m.explain_one("cheap lunch") for m in (model, again))
    assert mine.contributions.tobytes() == theirs.contributions.tobytes()
    out = again.leave_one_out(DOCUMENTS, LABELS)
    assert out.tobytes() == model.leave_one_out(DOCUMENTS, LABELS).tobytes()
    for step in (
        lambda m: m.partial_fit(["new words"], ["ham"]),
        lambda m: m.forget(["cheap pills"], ["spam"]),
        lambda m: m.merge(TextNB(**options).fit(DOCUMENTS, LABELS)),
        lambda m: m.reweight(DOCUMENTS, LABELS),
    ):
        assert same(step(again), step(model))
        assert same(loaded(file_of(model)), model)


@settings(deadline=None, max_examples=25)
@given(
    st.lists(st.text(max_size=8), min_size=1, max_size=8),
    st.sampled_from(["word", "char", "char_wb", "cjk"]),
)
def test_any_text_comes_back(documents, analyzer):
    model = TextNB(analyzer=analyzer).fit(documents, np.arange(len(documents)) % 2)
    again = loaded(file_of(model))
    assert again.tally_ == model.tally_
    assert again.predict_proba(documents).tobytes() == model.predict_proba(documents).tobytes()


@pytest.mark.parametrize(
    "labels",
    [[1, 2], np.array([3, 4], np.int8), [True, False], ["é", "語"], np.array(["", "b"], object)],
    ids=str,
)
def test_labels_of_any_type_come_back(labels):
    model = TextNB().fit(["a b", "c d"] * 9, np.asarray(labels)[[0, 1] * 9])
    again = loaded(file_of(model))
    assert again.classes_.dtype == model.classes_.dtype
    assert again.classes_.tolist() == model.classes_.tolist()


def test_a_model_with_other_orders_and_classes_than_it_learned_comes_back():
    model = TextNB(ridge=False).fit(["a b", "c d"], [0, 1]).partial_fit(["x", "y"], [2, 3])
    model.forget(["a b", "c d"], [0, 1])  # all pairs of words go
    again = loaded(file_of(model))
    assert again.predict_proba(["x"]).tobytes() == model.predict_proba(["x"]).tobytes()
    assert np.isfinite(again.leave_one_out(["x", "y"], [2, 3])).all()


@pytest.mark.parametrize("analyzer", ["word", "char"])
def test_terms_of_any_size_come_back_from_a_file(analyzer):
    documents = ["é" * size + " \0 😀" for size in (1, 7, 8, 15, 16, 254, 255, 300, 70_000)]
    model = TextNB(analyzer=analyzer, ngram_range=(1, 3)).fit(documents, [*"abbaabbab"])
    again = loaded(file_of(model))
    assert again.tally_ == model.tally_
    assert again.tally_.terms.tolist() == model.tally_.terms.tolist()


def test_an_analyzer_that_is_code_is_refused():
    model = TextNB(analyzer=str.split).fit(DOCUMENTS, LABELS)
    with pytest.raises(ModelFileError, match=r"holds no code.*pickle"):
        file_of(model)
    model = TextNB().fit(DOCUMENTS, LABELS).set_params(analyzer=str.split)
    with pytest.raises(ModelFileError, match="holds no code"):
        file_of(model)


# ---- files of strangers --------------------------------------------------------------------------
GOOD = file_of(TextNB().fit(DOCUMENTS, LABELS))


def with_numbers(name, dtype, change):
    """The file with the numbers of an array changed."""
    parts = Parts.of(GOOD)
    begin, end = parts.tensors[name]["data_offsets"]
    values = np.frombuffer(bytes(parts.data[begin:end]), dtype).copy()
    change(values)
    parts.data[begin:end] = values.tobytes()
    return parts.joined()


def with_option(name, value, of="options"):
    parts = Parts.of(GOOD)
    held = dict(parts.model["dict"])[of]["dict"]
    held[:] = [[key, value if key == name else old] for key, old in held]
    return parts.joined()


def put(at, value):
    return lambda values: values.__setitem__(at, value)


@pytest.mark.parametrize(
    ("name", "dtype", "change"),
    [
        ("tally.counts", "<f8", put(0, 0.0)),
        ("tally.counts", "<f8", put(0, -1.0)),
        ("tally.counts", "<f8", put(0, 1e40)),
        ("tally.documents", "<f8", put(slice(None), 0.0)),
        ("tally.documents", "<f8", put(1, np.nan)),
        ("tally.start", "<i8", put(1, 2**40)),
        ("tally.start", "<i8", put(1, 0)),
        ("tally.start", "<i8", put(-1, 3)),
        ("tally.classes", "<i4", put(0, 2)),
        ("tally.classes", "<i4", put(slice(None), 0)),
        ("terms.text", "u1", put(0, 255)),
        ("terms.text", "u1", put(0, ord("z"))),
        ("terms.end", "<i8", put(0, 2**40)),
        ("terms.end", "<i8", put(-1, 3)),
        ("weights.bins", "<f8", put(0, -1.0)),
        ("weights.intercept", "<f8", put(0, np.inf)),
        ("ridge.column", "<i4", put(0, 10**6)),
        ("ridge.column", "<i4", put(0, -2)),
        ("ridge.idf", "<f8", put(0, np.nan)),
        ("ridge.coefficients", "<f4", put(0, np.inf)),
    ],
)
def test_numbers_that_no_model_has(name, dtype, change):
    with pytest.raises(ModelFileError, match=name.split(".")[0]):
        loaded(with_numbers(name, dtype, change))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("analyzer", "os.system"),
        ("analyzer", "cjk"),  # which has no token_pattern
        ("ngram_range", {"tuple": [2, 1]}),
        ("ngram_range", {"tuple": [0, 1]}),
        ("ngram_range", [1, 2]),
        ("n_features", 10),  # beside terms that are strings
        ("n_features", -1),
        ("token_pattern", "("),
        ("token_pattern", "(a)(b)"),
        ("stop_words", [1]),
        ("strip_accents", "all"),
        ("lowercase", 1),
    ],
)
def test_options_that_no_counter_has(name, value):
    with pytest.raises(ModelFileError, match=r"options|terms lacks 'buckets'"):
        loaded(with_option(name, value))


@pytest.mark.parametrize(
    ("name", "value"),
    [("tau", 0.0), ("tau", 1e300), ("power", 9.0), ("mean_length", 1e-300), ("share", "all")],
)
def test_readings_that_nobody_learned(name, value):
    with pytest.raises(ModelFileError, match=f"reading.{name}"):
        loaded(with_option(name, value, of="reading"))


def test_an_array_too_many_or_too_few_is_named():
    for folder, name, new in (("ridge", "idf", "other"), ("tally", "counts", "counts")):
        parts = Parts.of(GOOD)
        parts.tensors[new] = parts.tensors.pop(f"{folder}.{name}")
        with pytest.raises(ModelFileError, match=f"{folder} lacks '{name}'|has '{new}'"):
            loaded(parts.joined())
    parts = Parts.of(GOOD)
    held = dict(parts.model["dict"])
    parts.model["dict"] = [[k, None if k == "penalty" else v] for k, v in held.items()]
    with pytest.raises(ModelFileError, match="a penalty and a ridge, or neither"):
        loaded(parts.joined())


def test_long_terms_and_terms_with_nul_update_forget_and_load(tmp_path):
    # which NumPy's own searches and comparisons of variable-width strings get wrong
    first = ["extraordinarily unreasonable\0x weather", "internationalisation\0 \0 everywhere"]
    more = ["extraordinarily unreasonable\0y sea", "misunderstandings \0z internationalisation\0"]
    model = TextNB(ridge=False).fit(first, ["a", "b"])
    whole = TextNB(ridge=False).fit(first, ["a", "b"]).partial_fit(more, ["a", "b"])
    assert whole.tally_ == TextNB(ridge=False).fit(first + more, ["a", "b", "a", "b"]).tally_
    whole.save(tmp_path / "m.tally")
    again = tallybayes.load(tmp_path / "m.tally")
    assert again.tally_.terms.tolist() == whole.tally_.terms.tolist()
    assert again.forget(more, ["a", "b"]).tally_ == model.tally_
