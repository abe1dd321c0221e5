"""What a back end says of a row is what the model says of it: of chosen, random and real tables."""

import datetime
import warnings

import numpy as np
import pyarrow as pa
import pytest
from benchmarks.accuracy.data import all_data_sets
from hypothesis import given, settings
from hypothesis import strategies as st

import tallybayes
from export.back_ends import BACK_ENDS
from export.databases import DATABASES, DuckDB, SQLite, check_same, scored, spread
from tallybayes import (
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    GaussianNB,
    MultinomialNB,
    NaiveBayes,
    WeightedNaiveBayes,
)
from tallybayes.errors import TallyWarning
from tallybayes.families import Categorical, Gaussian

N = 400
LEVELS = [
    "plain",
    "",
    "it's",
    'say "hi"',
    "back\\slash",
    "new\nline",
    "😀",
    "Ünï",
    " 3",
    "3",
    "NULL",
]


def levels_of(back_end):
    """LEVELS, without the empty string where that is a missing value."""
    return [level or "no string" * (not back_end.has_empty_string) for level in LEVELS]


DAY = datetime.date(2020, 1, 31)


def mixed_rows(n_classes=2, n=N, seed=3, levels=LEVELS):
    """Numbers, levels, booleans and dates with missing values, and labels."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, n_classes, n)
    numbers = rng.normal(codes, 1.0)
    skewed = np.exp(rng.normal(codes % 3, 1.0, n))
    level = (rng.integers(0, 4, n) + codes) % len(LEVELS)

    def missing(values, share):
        return [None if gone else v for v, gone in zip(values, rng.random(n) < share, strict=True)]

    table = pa.table(
        {
            "number": pa.array(missing(numbers.round(3).tolist(), 0.1), pa.float64()),
            "skewed": pa.array(skewed.tolist(), pa.float64()),
            "count": pa.array(missing(rng.poisson(1 + codes % 5, n).tolist(), 0.1), pa.int64()),
            "level": pa.array(missing([levels[i] for i in level], 0.1), pa.string()),
            "flag": pa.array(missing((rng.random(n) < 0.3 + 0.4 * (codes % 2)).tolist(), 0.1)),
            "day": pa.array(
                missing([DAY + datetime.timedelta(int(d)) for d in rng.integers(0, 90, n)], 0.1),
                pa.date32(),
            ),
        }
    )
    return table, np.array([f"class {k:03}" for k in codes])


def odd_rows(levels=LEVELS):
    """Values that training did not have, and numbers at the ends of float64."""
    numbers = [
        0.0,
        -0.0,
        5e-324,
        1e-320,
        -1e-320,
        1e-300,
        2.2e-308,
        -3.0,
        1e300,
        -1.7e308,
        None,
        0.5,
    ]
    n = len(numbers)
    return pa.table(
        {
            "number": pa.array(numbers, pa.float64()),
            "skewed": pa.array([float("nan"), *numbers[:0:-1]], pa.float64()),
            "count": pa.array([0, 1, 2, 3, 10**15, -1, None, 7, 8, 9, 2**62, 11], pa.int64()),
            "level": pa.array([*levels, "never seen"], pa.string()),
            "flag": pa.array([True, False, None] * 4),
            "day": pa.array(
                [DAY + datetime.timedelta(10**i % 40000) for i in range(n)], pa.date32()
            ),
        }
    )


MODELS = {
    "plain": lambda: NaiveBayes(),
    "missing as a level": lambda: NaiveBayes(missing="level"),
    "unseen ignored": lambda: NaiveBayes(unseen="ignore"),
    "isotonic": lambda: NaiveBayes(calibrate="isotonic"),
    "by temperature": lambda: NaiveBayes(calibrate="temperature"),
    "without smoothing": lambda: NaiveBayes(alpha=0.0, class_alpha=0.0),
    "weighted": lambda: WeightedNaiveBayes(),
}


@pytest.mark.filterwarnings("ignore::tallybayes.errors.TallyWarning")
@pytest.mark.parametrize(("back_end", "model"), spread(MODELS), indirect=["back_end"])
def test_tables(back_end, model):
    levels = levels_of(back_end)
    table, y = mixed_rows(levels=levels)
    fitted = model().fit(table, y)
    check_same(back_end, fitted, table)
    check_same(back_end, fitted, odd_rows(levels), name="odd")


@pytest.mark.filterwarnings("ignore::tallybayes.errors.TallyWarning")
def test_many_classes(back_end):
    table, y = mixed_rows(26, n=800, levels=levels_of(back_end))
    check_same(back_end, NaiveBayes().fit(table, y), table)


@pytest.mark.filterwarnings("ignore::tallybayes.errors.TallyWarning")
@pytest.mark.parametrize("back_end", ["duckdb", "postgres", "onnx"], indirect=True)
def test_500_classes(back_end):
    table, y = mixed_rows(500, n=1500, levels=levels_of(back_end))
    model = NaiveBayes(columns={"skewed": None, "number": Gaussian(), "day": None}).fit(table, y)
    check_same(back_end, model, table.slice(0, 100))


@pytest.mark.filterwarnings("ignore::tallybayes.errors.TallyWarning")
def test_three_classes_by_isotonic_calibration(back_end):
    table, y = mixed_rows(3, levels=levels_of(back_end))
    check_same(back_end, NaiveBayes(calibrate="isotonic").fit(table, y), table)


def test_three_columns(back_end):
    rng = np.random.default_rng(0)
    yes = rng.integers(0, 2, (600, 3))
    words = np.where(rng.random(yes.shape) < 0.02, None, np.where(yes, "yes", "no"))
    table = pa.table({name: pa.array(words[:, j].tolist()) for j, name in enumerate("abc")})
    y = np.where(rng.random(600) < 0.03, 0, yes[:, 0] ^ (yes[:, 1] & yes[:, 2]))
    model = WeightedNaiveBayes().fit(table, y)
    assert max(map(len, model.interactions_)) == 3
    odd = pa.table({"a": ["yes", "other", None], "b": ["yes"] * 3, "c": ["yes", "no", "yes"]})
    check_same(back_end, model, table.slice(0, 100))
    check_same(back_end, model, odd, name="odd")


def arrays():
    rng = np.random.default_rng(5)
    y = rng.integers(0, 3, N)
    numbers = rng.normal(y[:, None], 1.0, (N, 4))
    counts = rng.poisson(1 + (y[:, None] + np.arange(4)) % 3, (N, 4))
    return numbers, counts, y


def as_table(x, names="abcd"):
    return pa.table({name: pa.array(x[:, j]) for j, name in enumerate(names)})


ARRAYS = [
    GaussianNB(),
    GaussianNB(var_smoothing_of="feature"),
    MultinomialNB(),
    ComplementNB(),
    ComplementNB(norm=True),
    BernoulliNB(),
    BernoulliNB(binarize=1.0),
    BernoulliNB(alpha=0.0, binarize=0.0),
    CategoricalNB(),
    CategoricalNB(unseen="ignore"),
]


def test_every_classifier_is_tried():
    """Those of documents are in `test_texts`."""
    tried = {type(model) for model in ARRAYS} | {type(make()) for make in MODELS.values()}
    known = {getattr(tallybayes, name) for name in tallybayes.__all__}
    written = {kind for kind in known if hasattr(kind, "to_python")}
    assert written - {tallybayes.TextNB} == tried


@pytest.mark.parametrize(
    ("back_end", "model"), spread({str(model): model for model in ARRAYS}), indirect=["back_end"]
)
def test_arrays(back_end, model):
    numbers, counts, y = arrays()
    x = numbers if isinstance(model, GaussianNB) else counts
    model.fit(x, y)
    check_same(back_end, model, as_table(x), x, names=list("abcd"))


def test_levels_of_arrays_and_labels_that_are_booleans(back_end):
    levels = np.array(LEVELS, dtype=object)
    rng = np.random.default_rng(1)
    x = levels[rng.integers(0, len(levels), (N, 2))]
    y = rng.random(N) < np.where(x[:, 0] == "it's", 0.9, 0.2)
    x[:, 1] = np.where(np.isin(x[:, 1], LEVELS[:-2]), x[:, 1], "plain")
    model = CategoricalNB(levels=[LEVELS, LEVELS[:-2]]).fit(x, y)
    x[0, 1], x[1, 0] = "never seen", "neither"
    check_same(back_end, model, as_table(x, "ab"), x, names=["a", "b"])


def test_rows_without_a_prediction(back_end):
    numbers, counts, y = arrays()
    gaussian = GaussianNB().fit(numbers, y)
    bad = as_table(
        np.array([[np.inf, 0, 0, 0], [0, -np.inf, 0, 0], [0, 0, np.nan, 0], [0, 0, 0, 0]])
    )
    labels, proba = scored(back_end, gaussian, bad, names=list("abcd"))
    assert labels[:3] == [None] * 3
    assert labels[3] == gaussian.predict(np.zeros((1, 4)))[0]
    assert np.isnan(proba[:3]).all()
    multinomial = MultinomialNB().fit(counts, y)
    labels, _ = scored(
        back_end, multinomial, as_table(np.array([[0, -1, 0, 0], [0, 1, 0, 0]])), names=list("abcd")
    )
    assert labels[0] is None
    assert labels[1] is not None
    codes = CategoricalNB(unseen="error").fit(counts, y)
    rows = np.array([[0.5, 0, 0, 0], [-1, 0, 0, 0], [0, 0, 99, 0], [0, 0, 0, 0]])
    labels, _ = scored(back_end, codes, as_table(rows), names=list("abcd"))
    assert labels[:3] == [None] * 3
    assert labels[3] is not None
    levels = levels_of(back_end)
    table, labels = mixed_rows(levels=levels)
    strict = NaiveBayes(unseen="error", columns={"count": None}).fit(table, labels)
    found, _ = scored(back_end, strict, odd_rows(levels), name="odd")
    known = set(table["level"].to_pylist())
    refused = [level not in known for level in odd_rows(levels)["level"].to_pylist()]
    assert [label is None for label in found] == refused
    assert 0 < sum(refused) < len(refused)


def test_equal_scores_have_the_first_label(back_end):
    table = pa.table({"level": ["a", "b"] * 2})
    model = NaiveBayes().fit(table, ["z", "z", "y", "y"])
    labels, proba = scored(back_end, model, table)
    assert labels == ["y"] * 4
    assert (proba == 0.5).all()


@pytest.mark.parametrize("columns", [1, 2])
def test_log_odds_at_the_ends_of_what_exp_gives(back_end, columns):
    """Of one column they are within ±700, so that e^−s is a float64; of two they are not."""
    names = ["a", "b"][:columns]
    table = pa.table({name: ["u", "v", "v", None] for name in names})
    model = NaiveBayes(alpha=1e-280).fit(table.slice(0, 3), ["no", "yes", "yes"])
    assert ("ABS" in model.to_sql("t")) == (columns == 2)
    labels, proba = scored(back_end, model, table)
    assert labels == model.predict(table).tolist() == ["no", "yes", "yes", "yes"]
    expected = model.predict_proba(table)
    assert 0.0 < expected[0, 1] < 1e-250 or columns == 2
    np.testing.assert_allclose(proba, expected, rtol=1e-9, atol=1e-300)


def test_one_class(back_end):
    table = pa.table({"level": ["a", "b"], "number": [1.5, 2.5]})
    check_same(back_end, NaiveBayes().fit(table, [7, 7]), table)


def test_levels_that_are_stored_as_numbers(back_end):
    rng = np.random.default_rng(2)
    codes = rng.integers(-3, 9, N)
    y = (rng.random(N) < 0.2 + 0.05 * codes).astype(int)
    table = pa.table(
        {
            "whole": pa.array(codes),
            "real": pa.array(codes * 0.1),
            "day": pa.array([DAY + datetime.timedelta(int(c)) for c in codes], pa.date32()),
            "bit": pa.array((codes > 0).tolist()),
        }
    )

    model = NaiveBayes(columns={name: Categorical() for name in table.column_names}).fit(table, y)
    types = {"whole": "integer", "real": "number", "day": "date"}
    check_same(back_end, model, table, types=types)
    if back_end.dialect in ("mysql", "one row", "python", "javascript"):  # which take any value
        return
    with pytest.raises(Exception, match=r"(?i)type|reverse|holds|JSON"):
        scored(back_end, model, table)


NASTY = [
    '"; DROP TABLE victim; --',
    "${env:HOME}${spark.app.name}$",
    "'); DROP TABLE victim; --",
    "`; DROP TABLE victim; --",
    "\\'; DROP TABLE victim; --",
    '\\"; DROP TABLE victim; --',
    "\\`; DROP TABLE victim; --",
    "/* a comment",
    "-- a comment\n",
    "select",
    "a.b",
    "$$ || %s {0} ?",
    "line\nend\ttab",
    "\\",
    "'",
    "''",
    "😀 ',",
]


@pytest.mark.parametrize("database", [DATABASES[-1]], indirect=True)
def test_a_name_in_spark_is_no_pattern(database):
    """By a setting, a name between backticks is a regular expression."""
    table = pa.table({"a.b": ["x", "y"] * 10, "axb": ["y", "y"] * 10, "c d": [0.0, 1.0] * 10})
    model = NaiveBayes().fit(table, ["p", "q"] * 10)
    database.session.conf.set("spark.sql.parser.quotedRegexColumnNames", "true")
    try:
        check_same(database, model, table)
    finally:
        database.session.conf.unset("spark.sql.parser.quotedRegexColumnNames")


def test_names_levels_and_labels_stay_what_they_are(back_end):
    rng = np.random.default_rng(4)
    victim = pa.table({"here": [1]})
    back_end.hold("victim", victim)
    levels = np.array([*NASTY, "plain"], dtype=object)
    columns = {  # (a name in MySQL ends with no space)
        name.strip(): pa.array(levels[rng.integers(0, len(levels), N)].tolist())
        for name in NASTY[:10]
    }
    columns["numbers ' \" ` \\ ;"] = pa.array(rng.normal(size=N))
    table = pa.table(columns)
    y = np.array(NASTY[:6])[rng.integers(0, 6, N)]
    model = NaiveBayes(columns={"select": None}).fit(table, y)
    for name in (NASTY[0], NASTY[3], NASTY[5]):
        check_same(back_end, model, table, name=name)
    assert "victim" in back_end.names()
    assert back_end.select("SELECT * FROM victim")["here"].to_pylist() == [1]


FEW = st.sampled_from([None, 0.0, -0.0, 1.0, 2.5, 5e-324])
LEARNED = st.one_of(FEW, st.floats(-1e100, 1e100))  # of larger ones there are no squares
NUMBERS = st.one_of(FEW, st.floats(allow_nan=True, allow_infinity=False))
ANY_LEVEL = st.one_of(
    st.none(), st.sampled_from(["a", "b", "", "'", '"', "\\"]), st.text(max_size=3)
)
BOOLEANS = st.one_of(st.none(), st.booleans())
LABELS = st.sampled_from(["no", "yes", "it's", "4th"])
ANY_MODEL = st.sampled_from(
    [
        NaiveBayes(),
        NaiveBayes(missing="level", unseen="ignore"),
        NaiveBayes(alpha=0.0),
        NaiveBayes(estimate="mle", class_alpha=0.0),
    ]
)


def is_text(text):
    """Whether Arrow and DuckDB take a string."""
    try:
        return text is None or text.encode() is not None
    except UnicodeEncodeError:
        return False


@st.composite
def tables(draw):
    """A table to learn, its labels, and a table to score."""
    n, more = draw(st.integers(1, 12)), draw(st.integers(1, 8))

    def column(values, kind, learned=None):
        first = draw(st.lists(values if learned is None else learned, min_size=n, max_size=n))
        return pa.array([*first, *draw(st.lists(values, min_size=more, max_size=more))], kind)

    whole = pa.table(
        {
            "number": column(NUMBERS, pa.float64(), LEARNED),
            "level": column(ANY_LEVEL.filter(is_text), pa.string()),
            "flag": column(BOOLEANS, pa.bool_()),
        }
    )
    labels = draw(st.lists(LABELS, min_size=n, max_size=n))
    return whole.slice(0, n), np.array(labels), whole


def held_by(light_back_end, table):
    """A table, with another string for the empty one where that is a missing value."""
    if light_back_end.has_empty_string:
        return table
    columns = {name: table[name] for name in table.column_names}
    for name, column in columns.items():
        if pa.types.is_string(column.type):
            columns[name] = pa.array(
                ["no string" if v == "" else v for v in column.to_pylist()], column.type
            )
    return pa.table(columns)


@pytest.fixture(scope="module", params=[DuckDB, SQLite, *BACK_ENDS], ids=lambda kind: kind.dialect)
def light_back_end(request):
    found = request.param()
    yield found
    found.close()


@settings(max_examples=25)
@given(tables(), ANY_MODEL)
def test_a_back_end_says_what_the_model_says(light_back_end, table, model):
    learned, labels, asked = table
    learned, asked = held_by(light_back_end, learned), held_by(light_back_end, asked)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TallyWarning)
        model.fit(learned, labels)
        check_same(light_back_end, model, asked, ties=True)


@settings(max_examples=6)
@given(tables())
def test_weighted_models_too(light_back_end, table):
    learned, labels, asked = table
    learned, asked = held_by(light_back_end, learned), held_by(light_back_end, asked)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TallyWarning)
        check_same(light_back_end, WeightedNaiveBayes().fit(learned, labels), asked, ties=True)


QUOTES = ["'", '"', "`", "\\", "''", "$$", "U&'", "\\u0027", "\u2019"]
MARKS = [";", "--", "/*", "*/", "(", ")", "]", "?", "$1", "%s", "{0}", "\n", " "]
WORDS = ["DROP TABLE victim", "select", "😀", "é", "x" * 9999]
PIECES = st.sampled_from([*QUOTES, *MARKS, *WORDS])
ODD = st.lists(st.one_of(PIECES, st.text(max_size=2)), min_size=1, max_size=6).map("".join)
NAMES = ODD.filter(is_text).filter(lambda name: name and "\0" not in name)


@settings(max_examples=25)
@given(data=st.data())
def test_no_name_level_or_label_is_read_as_code(light_back_end, data):
    """Each is itself, and another table is left alone."""
    table_name = data.draw(NAMES)
    columns = data.draw(st.lists(NAMES, min_size=1, max_size=3, unique_by=str.casefold))
    labels = data.draw(st.lists(NAMES, min_size=2, max_size=3, unique_by=str.casefold))
    levels = data.draw(st.lists(ODD.filter(is_text), min_size=2, max_size=12, unique=True))
    victim = pa.table({"here": [1]})
    light_back_end.hold("victim", victim)
    table = pa.table({name: [*levels[i:], *levels[:i]] for i, name in enumerate(columns)})
    y = np.array([labels[i % len(labels)] for i in range(len(levels))], dtype=object)
    if table_name.casefold() == "victim" or len(set(y)) < 2:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TallyWarning)
        table = held_by(light_back_end, table)
        model = NaiveBayes(columns={name: Categorical() for name in columns}).fit(table, y)
        check_same(light_back_end, model, table, name=table_name, ties=True)
    assert light_back_end.select("SELECT * FROM victim") == victim


@pytest.fixture(scope="module")
def adult():
    """The table, and its labels."""
    [found] = [data for data in all_data_sets() if data.name == "adult"]
    if not found.paths:
        pytest.skip("TALLYBAYES_DATA names no folder with the Adult table")
    x, y = found.table
    return pa.Table.from_pandas(x.rename(columns=str), preserve_index=False), np.asarray(y)


@pytest.fixture(scope="module")
def weighted(adult):
    """The usual model of two classes."""
    return WeightedNaiveBayes(parts=1).fit(*adult)


def rows_for(back_end, table):
    """The rows: some of them for back_ends that take their time."""
    return table.slice(0, 4000) if back_end.dialect in ("sqlite", "mysql") else table


def test_every_row_has_the_label_and_the_probabilities_of_the_model(back_end, adult, weighted):
    check_same(back_end, weighted, rows_for(back_end, adult[0]))


def test_of_fifteen_classes_too(back_end, adult):
    table, _ = adult
    jobs = [job or "unknown" for job in table["occupation"].to_pylist()]
    model = NaiveBayes({"occupation": None}).fit(table, jobs)
    assert len(model.classes_) == 15
    check_same(back_end, model, rows_for(back_end, table))
