"""Parts of a score as SQL: levels, densities, intervals and joint tables."""

import re
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from export.databases import SQLite, check_same, scored, spread
from tallybayes import NaiveBayes, WeightedNaiveBayes
from tallybayes.export.dialects import DIALECTS
from tallybayes.export.expression import Query
from tallybayes.export.terms import (
    JOINT_CELLS,
    Columns,
    JointTable,
    buckets_of,
    cell_of,
    joined,
    score_of,
)
from tallybayes.export.written import Powers
from tallybayes.families import (
    Categorical,
    Gaussian,
    NegativeBinomial,
    NormalInverseGamma,
    NormalInverseWishart,
)
from tallybayes.score import CellTable, CodeCells, Formula, JointCells, NumberCells, QuadraticTerms

ODD = ["", "it's", "back\\slash", "nul\0", "new\nline", "😀", "Ünï", "NULL", "(a number)"]


def rows_of(levels, n_classes=2, n=600):
    """Every level, missing values, and labels that depend on them."""
    rng = np.random.default_rng(len(levels))
    codes = rng.integers(0, len(levels), n)
    labels = (codes + rng.integers(0, 3, n)) % n_classes
    column = [None if rng.random() < 0.1 else levels[i] for i in codes]
    return pa.table({"level": pa.array(column, pa.string())}), labels


def asked_of(levels):
    """Known levels, unknown ones and missing values."""
    return pa.table({"level": pa.array([*levels, "unknown", "UNKNOWN 2", None], pa.string())})


@pytest.mark.filterwarnings("ignore::tallybayes.errors.TallyWarning")
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("n_levels", [1, 9, 127, 128, 129, 300, 1000])
def test_any_number_of_levels(duckdb, n_levels, n_classes):
    levels = [*ODD, *(f"level {i}" for i in range(n_levels))][:n_levels]
    table, y = rows_of(levels, n_classes, n=600 + 4 * n_levels)
    model = NaiveBayes(columns={"level": Categorical()}).fit(table, y)
    check_same(duckdb, model, asked_of(levels))


@pytest.mark.filterwarnings("ignore::tallybayes.errors.TallyWarning")
@pytest.mark.parametrize("n_levels", [9, 300])
def test_unseen_levels_are_refused_where_the_model_refuses_them(duckdb, n_levels):
    levels = [*ODD, *(f"level {i}" for i in range(n_levels))][:n_levels]
    table, y = rows_of(levels, n=3000)
    model = NaiveBayes(columns={"level": Categorical(unseen="error")}).fit(table, y)
    labels, proba = scored(duckdb, model, asked_of(levels))
    assert labels[n_levels : n_levels + 2] == [None, None]
    assert np.isnan(proba[n_levels : n_levels + 2]).all()
    known = asked_of(levels).take([*range(n_levels), n_levels + 2])
    check_same(duckdb, model, known)


def test_a_collation_of_the_table_does_not_change_what_a_level_is(duckdb):
    table, y = rows_of(["a", "A", "b"])
    model = NaiveBayes(columns={"level": Categorical()}).fit(table, y)
    asked = pa.table({"level": ["a", "A", "b", "B"]})
    duckdb.connection.execute("CREATE TABLE loose (i INTEGER, level VARCHAR COLLATE NOCASE)")
    duckdb.connection.execute("INSERT INTO loose VALUES (0,'a'), (1,'A'), (2,'b'), (3,'B')")
    found = duckdb.select(model.to_sql("loose", keep=["i"])).sort_by("i")
    proba = np.stack([found.column(2 + k).to_numpy() for k in range(2)], axis=1)
    np.testing.assert_allclose(proba, model.predict_proba(asked), rtol=0, atol=1e-9)


def test_a_list_in_several_strings_is_one_list(monkeypatch):
    short = replace(DIALECTS["sqlite"], most_digits=500)
    monkeypatch.setitem(DIALECTS, "sqlite", short)
    levels = [f"level {i}" for i in range(300)]
    table, y = rows_of(levels, n_classes=3, n=1500)
    model = NaiveBayes(columns={"level": Categorical()}).fit(table, y)
    strings = re.findall("'([^']*)'", model.to_sql("t", "sqlite"))
    assert max(map(len, strings)) <= 500
    database = SQLite()
    check_same(database, model, asked_of(levels))
    database.close()


@pytest.mark.parametrize("model", [NaiveBayes(), WeightedNaiveBayes(parts=1)])
def test_names_of_the_statement_may_be_names_of_the_table(database, model):
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 300)
    names = ["a0", "w", "t", "s0", "c0", "x0"]
    table = pa.table({name: [f"v{i}" for i in (y + rng.integers(0, 4, 300))] for name in names})
    model.fit(table, y)
    check_same(database, model, table, name="w")
    check_same(database, model, table, name="t")
    check_same(database, model, table, name="stage0")


def test_rows_of_duckdb_come_in_the_order_of_the_table():
    import duckdb

    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, 500)
    level = np.array([f"v{i}" for i in (y + rng.integers(0, 5, 500))])
    model = NaiveBayes().fit(pa.table({"level": level, "x": rng.normal(y)}), y)
    with duckdb.connect(config={"threads": 4}) as connection:
        connection.execute(
            "CREATE TABLE many AS SELECT i, 'v' || (i % 7) AS level, i * 0.001 AS x "
            "FROM range(500000) AS r(i)"
        )
        found = connection.sql(model.to_sql("many", keep=["i"])).to_arrow_table()
    np.testing.assert_array_equal(found["i"].to_numpy(), np.arange(500_000))


N = 300
ENDS = [0.0, -0.0, 5e-324, 1e-300, 1e-12, -1e-12, 0.5, 1e8, -1e8, 1e150, 1e300, -1.7e308]


def correlated_rows(d, n_classes=3, missing=0.15, n=N, seed=2):
    """Numbers of several scales with a covariance in each class, and labels."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    mixing = rng.normal(size=(n_classes, d, d))
    x = np.einsum("nij,nj->ni", mixing[y], rng.normal(size=(n, d))) + 0.7 * y[:, None]
    x = x * 10.0 ** np.arange(-3, d - 3) + 5.0
    gone = rng.random((n, d)) < missing
    columns = {f"c{j}": pa.array(np.where(gone[:, j], np.nan, x[:, j])) for j in range(d)}
    return pa.table(columns), y


def with_every_pattern(table):
    """The rows, each with another of all patterns of missing values."""
    columns = {}
    for j, name in enumerate(table.column_names):
        gone = np.arange(len(table)) >> j & 1
        columns[name] = np.where(gone, np.nan, table[name].to_numpy())
    return pa.table(columns)


WISHART = {2: NormalInverseWishart((0.0, 1.0), 1.0, 5.0, np.diag([1e-6, 1e-3]))}
GROUPS = {
    "2": (2, Gaussian(covariance="full")),
    "4": (4, Gaussian(covariance="full")),
    "Student-t": (3, Gaussian(covariance="full", estimate="posterior")),
    "under a prior": (2, Gaussian(covariance="full", prior=WISHART[2], estimate="posterior")),
}


@pytest.mark.filterwarnings("ignore::tallybayes.errors.TallyWarning")
@pytest.mark.parametrize(("back_end", "group"), spread(GROUPS), indirect=["back_end"])
def test_columns_with_their_covariance_and_every_pattern_of_missing_values(back_end, group):
    d, family = group
    table, y = correlated_rows(d)
    names = tuple(table.column_names)
    model = NaiveBayes(columns={names: family}).fit(table, y)
    check_same(back_end, model, with_every_pattern(table))
    far = {name: pa.array(np.roll(ENDS[:9], 2 * j)) for j, name in enumerate(names)}
    check_same(back_end, model, pa.table(far), name="far")


@pytest.mark.filterwarnings("ignore::tallybayes.errors.TallyWarning")
def test_of_many_columns_with_their_covariance_whole_rows_alone_have_a_prediction(back_end):
    table, y = correlated_rows(9, missing=0.0)
    group = tuple(table.column_names)
    model = NaiveBayes(columns={group: Gaussian(covariance="full")}).fit(table, y)
    check_same(back_end, model, table)
    lacking, _ = correlated_rows(9, missing=0.05)
    if back_end.dialect == "one row":  # which has all of them
        check_same(back_end, model, lacking)
        return
    labels, proba = scored(back_end, model, lacking, name="lacking")
    whole = ~np.isnan(np.array([c.to_numpy() for c in lacking])).any(axis=0)
    assert [label is not None for label in labels] == whole.tolist()
    assert 0 < whole.sum() < N
    assert (np.isnan(proba).all(axis=1) == ~whole).all()


def skewed_rows(seed=5):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, N)
    positive = np.exp(rng.normal(y, 1.0))
    both = rng.normal(y - 1.0, 1.0) ** 3
    tiny = 1e-9 * rng.gamma(1.0 + y)
    gone = rng.random(N) < 0.1
    columns = {"positive": positive, "both": both, "tiny": tiny}
    return pa.table({k: np.where(gone, np.nan, v) for k, v in columns.items()}), y


PRIOR = NormalInverseGamma(0.0, 1.0, 2.0, 1.0)


@pytest.mark.filterwarnings("ignore::tallybayes.errors.RuledOutWarning")
@pytest.mark.parametrize("options", [{}, {"prior": PRIOR, "estimate": "posterior"}], ids=str)
def test_numbers_after_a_transform(back_end, options):
    table, y = skewed_rows()
    yeo_johnson = Gaussian(transform="yeo-johnson", **options)
    columns = {
        "positive": Gaussian(transform="log", **options),
        "both": yeo_johnson,
        "tiny": yeo_johnson,
    }
    model = NaiveBayes(columns=columns).fit(table, y)
    check_same(back_end, model, table)
    ends = pa.table({"positive": np.abs(ENDS[2:]), "both": ENDS[2:], "tiny": ENDS[:1:-1]})
    check_same(back_end, model, ends, name="ends")
    refused = pa.table({"positive": [0.0, -1.0, 1.0], "both": [0.0] * 3, "tiny": [0.0] * 3})
    labels, _ = scored(back_end, model, refused, name="refused")
    assert labels[:2] == [None] * 2
    assert labels[2] is not None


@pytest.mark.parametrize("exponent", [-3.0, 0.0, 1e-9, 1.0, 2.0, 5.5])
def test_powers_of_every_exponent(duckdb, exponent, monkeypatch):
    from tallybayes.families import gaussian, normal

    fixed = normal.Transform("yeo-johnson", exponent)
    monkeypatch.setattr(gaussian, "transform_of", lambda kind, grid: fixed)
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, N)
    x = rng.normal(y, 1.0)
    model = NaiveBayes(columns={"x": Gaussian(transform="yeo-johnson")}).fit(pa.table({"x": x}), y)
    statement = model.to_sql("t")
    check_same(duckdb, model, pa.table({"x": np.concatenate([x, 1e-9 * x, 1e3 * x])}))
    assert statement.count("LN(") >= 1


COUNTS = [
    *range(20),
    *(2**i + j for i in range(6, 20) for j in (-1, 0, 1)),
    2**20,
]


@pytest.mark.parametrize(
    ("back_end", "most"), spread({str(n): n for n in (3, 40, 300, 5000)}), indirect=["back_end"]
)
def test_counts_beyond_those_that_were_learned(back_end, most):
    rng = np.random.default_rng(6)
    y = rng.integers(0, 3, N)
    learned = np.minimum(rng.negative_binomial(2, 0.05 + 0.2 * y), most)
    learned[0] = most
    model = NaiveBayes(columns={"u": NegativeBinomial()}).fit(pa.table({"u": learned}), y)
    check_same(back_end, model, pa.table({"u": [*map(float, COUNTS), None]}))


@pytest.mark.parametrize(
    ("back_end", "most"), spread({str(n): n for n in (20, 90, 300)}), indirect=["back_end"]
)
def test_chosen_counts_beyond_those_that_were_learned(back_end, most):
    rng = np.random.default_rng(6)
    y = rng.integers(0, 3, 3000)
    x = rng.negative_binomial(1.5, 1.0 / (1.0 + 0.02 * most * (1 + y)))
    model = NaiveBayes().fit(pa.table({"u": x}), y)
    assert "negative binomial" in str(list(model.schema_["family"]))
    check_same(back_end, model, pa.table({"u": [*map(float, COUNTS), None]}))


def test_counts_of_classes_like_poissons(back_end):
    rng = np.random.default_rng(6)
    y = rng.integers(0, 2, N)
    model = NaiveBayes(columns={"u": NegativeBinomial()})
    model.fit(pa.table({"u": rng.poisson(200.0 + y)}), y)
    check_same(back_end, model, pa.table({"u": [*map(float, range(300))]}))


def test_counts_that_have_no_prediction(back_end):
    rng = np.random.default_rng(6)
    y = rng.integers(0, 2, N)
    rows = pa.table({"u": rng.negative_binomial(2, 0.2 + 0.2 * y)})
    model = NaiveBayes(columns={"u": NegativeBinomial()}).fit(rows, y)
    odd = pa.table({"u": [2.0**20 + 1, 1e15, 1.5, -1.0, 1.0]})
    if back_end.dialect in ("one row", "python", "javascript"):  # which refuse the negative one
        labels, _ = scored(back_end, model, odd.slice(3))
        assert labels[0] is None
        assert labels[1] is not None
        return
    labels, proba = scored(back_end, model, odd)
    assert labels[:4] == [None] * 4
    assert np.isnan(proba[:4]).all()
    assert labels[4] is not None


WHOLE = st.lists(st.integers(-3000, 3000).map(float), min_size=6, max_size=30, unique=True)
QUARTERS = WHOLE.map(lambda starts: [x / 4 for x in starts])
ANY = st.lists(st.floats(-1e6, 1e6), min_size=6, max_size=30, unique=True)
STARTS = st.one_of(WHOLE, QUARTERS, ANY).map(lambda starts: np.sort(np.array(starts)))


def nearby(starts):
    """Starts, the numbers just below and above them, and numbers between."""
    edges = np.concatenate([starts, np.nextafter(starts, -np.inf), np.nextafter(starts, np.inf)])
    tiny = np.array([0.0, -0.0, 5e-324, -5e-324, 1e-20, -1e-20, 1e300, -1e300])
    return np.concatenate([edges, (starts[1:] + starts[:-1]) / 2.0, tiny])


def said(duckdb, starts, x, *, scores=None):
    """The cells of numbers as DuckDB finds them, or their scores."""
    formula = Formula(
        classes=np.array(["a", "b"]),
        offset=np.zeros(2),
        terms=[],
        ruled_out=np.zeros(2),
        fallback=0,
        kinds={"x": "number"},
    )
    query = Query("duckdb")
    columns, cells = Columns(formula, query, {}, formula.kinds), NumberCells("x", starts)
    if scores is None:
        name = cell_of(cells, columns)
    else:
        name = query.name("s", score_of(cells, scores, columns))
    order = query.name("k", query.column("i"))
    duckdb.hold("numbers", pa.table({"i": np.arange(len(x)), "x": x}))
    found = duckdb.select(query.select(["numbers"], [(order, "i"), (name, "c")]))
    return found.sort_by("i")["c"].to_numpy()


@given(STARTS)
def test_cells_are_those_of_a_search(starts):
    from export.databases import DuckDB as Database

    database, x = Database(), nearby(starts)
    try:
        expected = 1 + np.searchsorted(starts, x, side="right")
        np.testing.assert_array_equal(said(database, starts, x), 1 + expected)
        scores = np.random.default_rng(0).normal(size=len(starts) + 2)
        np.testing.assert_array_equal(said(database, starts, x, scores=scores), scores[expected])
    finally:
        database.close()


@pytest.mark.parametrize(
    ("starts", "exact"),
    [
        (np.arange(18.0, 91.0), True),
        (np.arange(-8.0, 8.0) / 64.0, True),
        (np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.75]), False),
        (2.0 ** np.arange(0.0, 12.0), True),
        (2.0**60 + 2.0**12 * np.arange(8.0), False),
    ],
)
def test_what_lies_on_multiples_of_a_power_of_two_is_not_compared(duckdb, starts, exact):
    found = buckets_of(starts)
    assert (found is not None and found.exact) is exact
    x = nearby(starts)
    expected = 2 + np.searchsorted(starts, x, side="right")
    np.testing.assert_array_equal(said(duckdb, starts, x), expected)


def test_starts_that_no_buckets_tell_apart_are_compared():
    assert buckets_of(np.array([0.0, *(1.0 + 1e-15 * np.arange(1, 8)), 1e9])) is None
    assert buckets_of(np.arange(3.0)) is None


SIZES = st.lists(st.integers(2, JOINT_CELLS + 20), max_size=8)


def tables_of(sizes, n_classes=3):
    """A table of each size, of columns x0, x1 …; every second rules a class out."""
    rng = np.random.default_rng(len(sizes))
    tables = [
        CellTable(CodeCells(f"x{i}", size), rng.normal(size=(n_classes, size)))
        for i, size in enumerate(sizes)
    ]
    for table in tables[::2]:
        table.scores[0, 0] = -np.inf
    return tables


def added(terms, row):
    """What the terms add to each class, for a row of cells by column."""
    total = np.zeros(len(terms[0].scores) if terms else 1)
    for term in terms:
        if isinstance(term, JointTable):
            cell = 0
            for part in term.cells:
                cell = cell * part.size + row[part.column]
        elif isinstance(term.cells, JointCells):
            each = zip(term.cells.maps, term.cells.columns, strict=True)
            coarse = [coarser[row[name]] for coarser, name in each]
            cell = np.ravel_multi_index(coarse, term.cells.sizes)
        else:
            cell = row[term.cells.column]
        total += term.scores[:, cell]
    return total


@given(SIZES, st.randoms(use_true_random=False))
def test_scores_are_the_sums(sizes, random):
    tables = tables_of(sizes)
    row = {f"x{i}": random.randrange(size) for i, size in enumerate(sizes)}
    np.testing.assert_allclose(added(joined(tables), row), added(tables, row), atol=1e-12)


@given(SIZES)
def test_each_table_is_in_one_and_none_is_too_large(sizes):
    found = joined(tables_of(sizes))
    columns = []
    for term in found:
        parts = term.cells if isinstance(term, JointTable) else [term.cells]
        columns += [part.column for part in parts]
        assert term.scores.shape[1] == np.prod([part.size for part in parts])
        assert len(parts) == 1 or term.scores.shape[1] <= JOINT_CELLS
    assert sorted(columns) == sorted(f"x{i}" for i in range(len(sizes)))


def joint_of(tables, places, n_classes):
    """A table for each two or three places, of coarser cells."""
    rng = np.random.default_rng(len(places))
    found = []
    for of_one in places:
        singles, sizes = tuple(tables[i].cells for i in of_one), (3, 2, 4)[: len(of_one)]
        maps = tuple(
            rng.integers(0, n, cells.size) for cells, n in zip(singles, sizes, strict=True)
        )
        cells = JointCells(singles, maps, sizes)
        found.append(CellTable(cells, rng.normal(size=(n_classes, cells.size))))
    return found


PLACES = st.lists(st.integers(0, 5), min_size=2, max_size=3, unique=True)


@given(
    st.lists(st.integers(2, 40), min_size=6, max_size=6),
    st.lists(PLACES, max_size=8),
    st.sampled_from([1, 3]),
    st.sampled_from([1, 600, 5000]),
    st.randoms(use_true_random=False),
)
def test_pairs_are_added_to_the_tables_of_their_columns(sizes, places, n_classes, most, random):
    tables = tables_of(sizes, n_classes)
    terms = [*tables[::2], *joint_of(tables, places, n_classes), *tables[1::2]]
    row = {f"x{i}": random.randrange(size) for i, size in enumerate(sizes)}
    found = joined(terms, most)
    np.testing.assert_allclose(added(found, row), added(terms, row), atol=1e-12)
    for term in found:
        cells = term.scores.shape[1]
        assert not isinstance(term, JointTable) or cells <= max(JOINT_CELLS, most // n_classes)


def test_a_pair_of_few_cells_is_looked_up_with_its_columns():
    tables = tables_of([10, 10], n_classes=1)
    [found] = joined([*tables, *joint_of(tables, [(1, 0)], 1)])
    assert [cells.column for cells in found.cells] == ["x0", "x1"]


def test_a_pair_of_many_cells_and_numbers_stay_as_they_are_and_in_their_order():
    tables = tables_of([20, 30])
    [pair] = joint_of(tables, [(0, 1)], 3)
    number = Powers("x9", QuadraticTerms(*np.zeros((4, 3))))
    assert joined([pair, tables[0], number, tables[1]]) == [pair, tables[0], number, tables[1]]


def test_single_scores_are_looked_up_one_by_one():
    tables = tables_of([2, 3], n_classes=1)
    assert joined(tables) == tables
