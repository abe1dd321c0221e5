"""The text of statements: every dialect can be parsed, and what cannot be said is refused."""

import re
import sys
from dataclasses import replace
from itertools import count

import numpy as np
import pyarrow as pa
import pytest
import sqlglot
from sklearn.exceptions import NotFittedError
from sqlglot import exp

from export.databases import check_same
from export.test_everywhere import NASTY, mixed_rows
from tallybayes import GaussianNB, MultinomialNB, NaiveBayes, WeightedNaiveBayes
from tallybayes.export import BACK_ENDS, ENDINGS, writer
from tallybayes.export.dialects import DIALECTS
from tallybayes.export.expression import Query
from tallybayes.families import (
    Categorical,
    Dirichlet,
    Gaussian,
    Multinomial,
    NegativeBinomial,
    Text,
)
from tallybayes.score import NumberTerm
from tallybayes.text import TextNB

TOGETHER = {("number", "skewed"): Gaussian(covariance="full"), "count": NegativeBinomial()}
POWER = {"skewed": Gaussian(transform="yeo-johnson")}


@pytest.fixture(scope="module")
def models():
    table, y = mixed_rows(n=100)
    found = [
        NaiveBayes(missing="level"),
        NaiveBayes(calibrate="temperature"),
        NaiveBayes(columns=TOGETHER),
        NaiveBayes(columns=POWER),
        WeightedNaiveBayes(),
    ]
    return [model.fit(table, y) for model in found]


def tables_of(tree: exp.Expression) -> list[exp.Table]:
    """The tables that are read, without those of WITH."""
    own = {common.alias for common in tree.find_all(exp.CTE)}
    return [table for table in tree.find_all(exp.Table) if table.name not in own]


@pytest.mark.parametrize(("dialect", "first"), [*zip(DIALECTS, count())])
def test_each_dialect_is_one_select_of_the_table_alone(models, dialect, first):
    for i in (first, first + 2):  # two models in each, and each model in several
        model = models[i % len(models)]
        statement = model.to_sql(["schema", "rows"], dialect, keep=["day"])
        [tree] = sqlglot.parse(statement, read=dialect)
        assert isinstance(tree, exp.Select)
        assert [(t.db, t.name) for t in tables_of(tree)] == [("schema", "rows")]
        names = tree.named_selects
        assert names[:2] == ["day", "prediction"]
        assert len(names) == 2 + len(model.classes_)
        read = {c.name for c in tree.find_all(exp.Column)}
        assert {"number", "level"} <= read


@pytest.mark.parametrize("dialect", DIALECTS)
def test_whatever_names_and_levels_are_there_is_one_table_and_no_more_strings(dialect):
    levels = [*NASTY, "NUL \0 inside"]
    names = NASTY if dialect == "duckdb" else NASTY[1::5]  # sqlglot takes its time
    table = pa.table({name: [*levels, None] for name in names})
    labels = [*NASTY[:5], *["other"] * (len(levels) - 4)]
    model = NaiveBayes().fit(table, labels)
    statement = model.to_sql(NASTY[3], dialect)
    [tree] = sqlglot.parse(statement, read=dialect)
    assert isinstance(tree, exp.Select)
    if dialect == "bigquery":  # sqlglot keeps escapes in its names
        return
    assert [t.name for t in tables_of(tree)] == [NASTY[3]]
    inner = {c.name for c in tree.find_all(exp.Column)} - set(tree.named_selects)
    assert set(names) <= inner | {*columns_as_strings(tree)}
    known = {*levels, *labels, *re.findall("'([^']*)'", DIALECTS[dialect].text)}
    for literal in tree.find_all(exp.Literal):
        cast = (exp.Cast, exp.Split, exp.Decode, exp.Anonymous)
        if literal.is_string and not literal.find_ancestor(*cast):
            assert literal.this in known


def columns_as_strings(tree: exp.Expression) -> list[str]:
    """Names of columns in IDENTIFIER('t.`name`')."""
    found = []
    for function in tree.find_all(exp.Anonymous):
        if function.name == "IDENTIFIER":
            [argument] = function.expressions
            string = argument.find(exp.HexString, exp.Literal)
            text = string.name
            if isinstance(string, exp.HexString):
                text = bytes.fromhex(f"{int(text, 16):x}").decode()
            found.append(text.removeprefix("t.`").removesuffix("`").replace("``", "`"))
    return found


REPLACED = {
    "spark": ["${"],
    "databricks": ["${"],
    "snowflake": ["&", "<%", "{{"],  # in strings
}
"""What a client or session of a dialect replaces before it parses a statement (psql replaces :name
outside quotes only)."""


@pytest.mark.parametrize("dialect", DIALECTS)
def test_nothing_is_there_for_a_client_or_session_to_replace(dialect):
    texts = ["${env:HOME}", "${x}", "$", "&x &{x}", "<% x %>", "{{ x }}", ":x :'x' %(x)s %s ? @x"]
    of_spark = DIALECTS[dialect].replaces_names
    named = texts if of_spark else ["plain"]  # Snowflake's names have no escapes
    table = pa.table({name: [*texts, "{x}"] for name in named})
    labels = [*texts[: len(texts)], "$"] if of_spark else ["a", "b"] * 4
    model = NaiveBayes().fit(table, labels)
    statement = model.to_sql("${env:HOME}" if of_spark else "rows", dialect)
    for sign in REPLACED.get(dialect, []):
        assert sign not in statement
    [tree] = sqlglot.parse(statement, read=dialect)
    assert isinstance(tree, exp.Select)
    if dialect == "snowflake":
        written = {literal.this for literal in tree.find_all(exp.Literal) if literal.is_string}
        assert {*texts} <= written


@pytest.mark.parametrize("dialect", DIALECTS)
def test_one_number_is_read_as_itself(dialect):
    query = Query(dialect)
    for x in (0.1, -0.1, 1e-320, 5e-324, -1.7976931348623157e308, 1e300, 3.0, 2.0**53 + 2.0):
        written = query.sql(exp.convert(x))
        digits = re.search(r"[0-9.]+(e[-+]?[0-9]+)?", written)
        assert float(digits[0]) == abs(x)
        assert written.startswith("-") == (x < 0.0)
        assert "." in digits[0] or "e" in digits[0]  # a whole number is an integer
    for x in (np.inf, -np.inf):
        assert query.dialect.infinity in query.sql(exp.convert(x))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_is_written_is_the_tree(dialect):
    """Which operand of a difference, a product or a quotient is itself one."""
    query, (a, b, c, d) = Query(dialect), map(exp.column, "abcd")
    for tree, written in (
        (a - (b - c), "a - (b - c)"),
        ((a + b) - (c + d), "(a + b) - (c + d)"),
        ((a * b) * (c + d), "a * b * (c + d)"),
        (a / (b / c), "a / (b / c)"),
        ((a - b) / (c * d), "(a - b) / (c * d)"),
    ):
        assert query.sql(tree) == written


def test_what_sql_does_not_say_is_refused_by_name():
    rng = np.random.default_rng(0)
    y = np.array(["a", "b"])[rng.integers(0, 2, 200)]
    counts = pa.table({"u": rng.poisson(2.0, 200), "v": rng.poisson(2.0, 200)})
    words = Multinomial(prior=Dirichlet(1.0), estimate="posterior")
    with pytest.raises(ValueError, match=r"\['u', 'v'\] are read together as"):
        NaiveBayes(columns={("u", "v"): words}).fit(counts, y).to_sql("t")
    large = pa.table({"u": [3, 2**20 + 1] * 100})
    with pytest.raises(ValueError, match="column 'u' is read as counts by a formula, which SQL"):
        NaiveBayes(columns={"u": NegativeBinomial()}).fit(large, y).to_sql("t")
    with pytest.warns(match="holds numbers in"):
        mixed = NaiveBayes().fit([{"m": 1.5}, {"m": 2.5}, {"m": "none"}], ["a", "b", "b"])
    with pytest.raises(ValueError, match="column 'm' held numbers and strings"):
        mixed.to_sql("t")
    assert mixed.to_sql("t", types={"m": "number"})


def test_wrong_arguments_say_what_is_right(models):
    plain = models[0]
    with pytest.raises(ValueError, match="dialect= is one of duckdb"):
        plain.to_sql("t", "oracle")
    with pytest.raises(ValueError, match="types= names 'colour'"):
        plain.to_sql("t", types={"colour": "text"})
    with pytest.raises(ValueError, match="'number' holds 'real'"):
        plain.to_sql("t", types={"number": "real"})
    with pytest.raises(ValueError, match="column 'number' holds text in the table"):
        plain.to_sql("t", types={"number": "text"})
    with pytest.raises(ValueError, match="names= names 'colour'"):
        plain.to_sql("t", names={"colour": "COLOUR"})
    with pytest.raises(ValueError, match="names= has the names of all 6 columns"):
        plain.to_sql("t", names=["a"])
    with pytest.raises(ValueError, match="would be called 'prediction'"):
        plain.to_sql("t", keep=["prediction"])
    for name in ("", "a\0b", "half \ud83d"):
        with pytest.raises(ValueError, match="cannot be a name"):
            plain.to_sql(name)
    with pytest.raises(ValueError, match="PostgreSQL cuts names after 63"):
        plain.to_sql("é" * 40, "postgres")
    arrays = GaussianNB().fit(np.eye(3), [0, 1, 1])
    with pytest.raises(ValueError, match="3 columns without names"):
        arrays.to_sql("t")


def test_limits_of_postgres_are_said_before_it_is_asked():
    x = np.eye(1700)
    model = GaussianNB().fit(x, np.arange(1700) % 2)
    names = [f"c{i}" for i in range(1700)]
    with pytest.raises(ValueError, match=r"needs 1,7\d\d columns in a SELECT, and PostgreSQL"):
        model.to_sql("t", "postgres", names=names)


def test_a_dialect_is_a_row_of_data(models, duckdb, monkeypatch):
    """DuckDB without its ways to find a value, by another name."""
    with pytest.raises(ValueError, match="dialect= is one of"):
        models[0].to_sql("rows", "plain")
    monkeypatch.setitem(DIALECTS, "plain", replace(DIALECTS["duckdb"], has_fast_lists=False))
    duckdb.hold("rows", mixed_rows(n=100)[0])
    for model in models:
        check_same(duckdb, model, mixed_rows(n=50)[0], dialect="plain")


def test_without_sqlglot_the_error_says_what_to_install(models, monkeypatch):
    for name in ("expression", "terms", "statement"):
        monkeypatch.delitem(sys.modules, f"tallybayes.export.{name}", raising=False)
    monkeypatch.setitem(sys.modules, "sqlglot", None)
    with pytest.raises(ImportError, match=r"tallybayes\[sql\]"):
        models[0].to_sql("t")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_thousands_of_levels_are_one_expression_of_little_depth(dialect):
    """What a parser or a planner that calls itself for each level of a tree can take."""
    levels = [f"level {i}" for i in range(5000)]
    model = NaiveBayes(columns={"level": Categorical()})
    model.fit(pa.table({"level": levels}), np.arange(5000) % 3)
    statement = model.to_sql("t", dialect)
    for words, most in ((r"\bCASE\b|\bEND\b|[()]", 30), (r"\bCASE\b|\bEND\b", 15)):
        depth = deepest = 0
        for word in re.findall(words, statement):
            depth += 1 if word in ("CASE", "(") else -1
            deepest = max(deepest, depth)
        assert depth == 0
        assert deepest < most
    assert dialect != "tsql" or deepest <= 10  # which is its limit
    strings = re.findall("'([^']*)'", statement)
    assert max(map(len, strings)) <= (DIALECTS[dialect].most_digits or np.inf)


def test_labels_are_literals_of_their_kind():
    for dialect in DIALECTS:
        bits = DIALECTS[dialect].truths
        for labels, written in (([3, -7], ["3", "-7"]), ([True, False], bits)):
            model = MultinomialNB().fit([[1, 0], [0, 1]], labels)
            statement = model.to_sql("t", dialect, names=["a", "b"])
            assert all(f"THEN {text} " in statement for text in written)
            [tree] = sqlglot.parse(statement, read=dialect)
            assert tree.named_selects[0] == "prediction"


everywhere = pytest.mark.parametrize("name", BACK_ENDS)
ROWS = pa.table({"number": [0.0, 1.0, 0.5, 2.0], "word": ["a", "b", "a", None]})
Y = ["no", "yes", "no", "yes"]


def written(model, name, **options):
    table = ["rows"] if name == "sql" else []
    return getattr(model, f"to_{name}")(*table, **options)


@everywhere
def test_a_model_that_is_not_fitted(name):
    with pytest.raises(NotFittedError):
        written(NaiveBayes(), name)


@everywhere
def test_columns_of_text(name):
    rows = pa.table({"words": ["good day", "bad night"] * 4})
    model = NaiveBayes(columns={"words": Text(n_features=64)}).fit(rows, ["a", "b"] * 4)
    rule = "column 'words' is read as text" if name == "sql" else "'words' are hashed into buckets"
    with pytest.raises(ValueError, match=rule):
        written(model, name)


@everywhere
def test_terms_that_a_function_makes(name):
    model = TextNB(analyzer=str.split).fit(["good day", "bad night"] * 4, ["a", "b"] * 4)
    if name == "sql":
        assert not hasattr(model, "to_sql")
        return
    with pytest.raises(ValueError, match="the terms of 'document' are made by a function"):
        written(model, name)


@everywhere
def test_counts_under_a_dirichlet_prior(name):
    rng = np.random.default_rng(0)
    counts = pa.table({"u": rng.poisson(2.0, 90), "v": rng.poisson(2.0, 90)})
    words = Multinomial(prior=Dirichlet(1.0), estimate="posterior")
    model = NaiveBayes(columns={("u", "v"): words}).fit(counts, rng.integers(0, 2, 90))
    with pytest.raises(ValueError, match=r"\['u', 'v'\] are read together as"):
        written(model, name)


class WithoutLaw:
    """A density of another package."""

    what = "numbers of another package"

    def log_density(self, x):
        return np.zeros((len(x), 2))


@everywhere
def test_a_density_without_a_law(name):
    formula = NaiveBayes().fit(ROWS, Y)._fitted().formula()
    formula = replace(formula, terms=[NumberTerm("number", None, WithoutLaw())])
    table = ["rows"] if name == "sql" else []
    with pytest.raises(ValueError, match="'number' is read as numbers of another package, which"):
        writer(name)(formula, *table)


@everywhere
def test_labels_that_are_no_literals(name):
    formula = NaiveBayes().fit(ROWS, Y)._fitted().formula()
    labels = np.empty(2, dtype=object)
    labels[:] = [("no", 1), ("yes", 2)]
    table = ["rows"] if name == "sql" else []
    with pytest.raises(ValueError, match=r"the label \('no', 1\) is a tuple: strings, numbers"):
        writer(name)(replace(formula, classes=labels), *table)


@everywhere
def test_names_of_columns(name):
    model = NaiveBayes().fit(ROWS, Y)
    with pytest.raises(ValueError, match="names= names 'colour', which is not a column"):
        written(model, name, names={"colour": "c"})
    with pytest.raises(ValueError, match="names= has the names of all 2 columns"):
        written(model, name, names=["c"])


@everywhere
def test_columns_without_names(name):
    model = GaussianNB().fit(np.eye(3), [0, 1, 1])
    assert written(model, name, names=["a", "b", "c"])


@everywhere
def test_a_file_is_written_by_its_ending(name, tmp_path):
    model = NaiveBayes().fit(ROWS, Y)
    endings = [ending for ending, of in ENDINGS.items() if of == name]
    assert bool(endings) == (name != "sql")
    for ending in endings:
        first, *others = model.export(tmp_path / f"model{ending}")
        assert first == str(tmp_path / f"model{ending}")
        assert all((tmp_path / path).stat().st_size for path in (first, *others))
    with pytest.raises(ValueError, match="the ending of a file says what is written, one of"):
        model.export(tmp_path / "model.txt")
