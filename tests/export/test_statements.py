"""The text of statements: every dialect can be parsed, and what cannot be said is refused by
name."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
import sqlglot
from sqlglot import exp

from export.test_everywhere import NASTY, mixed_rows
from tallybayes import GaussianNB, MultinomialNB, NaiveBayes, WeightedNaiveBayes
from tallybayes.families import Dirichlet, Gaussian, Multinomial, NegativeBinomial

DIALECTS = ["duckdb", "postgres", "spark", "bigquery", "snowflake"]


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


@pytest.mark.parametrize("dialect", DIALECTS)
def test_each_dialect_is_one_select_of_the_table_alone(models, dialect):
    for model in models:
        statement = model.to_sql(["schema", "rows"], dialect, keep=["day"])
        [tree] = sqlglot.parse(statement, read=dialect)
        assert isinstance(tree, exp.Select)
        assert [(t.db, t.name) for t in tree.find_all(exp.Table)] == [("schema", "rows")]
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
    assert [t.name for t in tree.find_all(exp.Table)] == [NASTY[3]]
    inner = {c.name for c in tree.find_all(exp.Column)} - set(tree.named_selects)
    assert set(names) <= inner | {*columns_as_strings(tree)}
    known = {*levels, *labels, "string", "the model reads strings, but the column holds "}
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
    "duckdb": [],
    "postgres": [],  # psql replaces :name outside quotes only
    "spark": ["${"],
    "bigquery": [],
    "snowflake": ["&", "<%", "{{"],  # in strings
}
"""What a client or session of each dialect replaces before it parses a statement."""


@pytest.mark.parametrize("dialect", DIALECTS)
def test_nothing_is_there_for_a_client_or_session_to_replace(dialect):
    texts = ["${env:HOME}", "${x}", "$", "&x &{x}", "<% x %>", "{{ x }}", ":x :'x' %(x)s %s ? @x"]
    named = texts if dialect == "spark" else ["plain"]  # Snowflake's names have no escapes
    table = pa.table({name: [*texts, "{x}"] for name in named})
    labels = [*texts[: len(texts)], "$"] if dialect == "spark" else ["a", "b"] * 4
    model = NaiveBayes().fit(table, labels)
    statement = model.to_sql("${env:HOME}" if dialect == "spark" else "rows", dialect)
    for sign in REPLACED[dialect]:
        assert sign not in statement
    [tree] = sqlglot.parse(statement, read=dialect)
    assert isinstance(tree, exp.Select)
    if dialect == "snowflake":
        written = {literal.this for literal in tree.find_all(exp.Literal) if literal.is_string}
        assert {*texts} <= written


@pytest.mark.parametrize("dialect", DIALECTS)
def test_one_number_is_read_as_itself(dialect):
    from tallybayes.export.dialects import dialect_of

    says = dialect_of(dialect)
    for x in (0.1, -0.1, 1e-320, 5e-324, -1.7976931348623157e308, 1e300, 3.0, 2.0**53 + 2.0):
        digits = says.number(x).strip("()")
        assert repr(abs(x)).removesuffix(".0") in digits
    for x in (np.inf, -np.inf):
        assert "inf" in says.number(x).lower()


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
    assert model.to_sql("t", "duckdb", names=names)


def test_labels_are_literals_of_their_kind():
    for labels, written in (([3, -7], ["3", "-7"]), ([True, False], ["TRUE", "FALSE"])):
        model = MultinomialNB().fit([[1, 0], [0, 1]], labels)
        statement = model.to_sql("t", names=["a", "b"])
        assert all(f"THEN {text}" in statement for text in written)
