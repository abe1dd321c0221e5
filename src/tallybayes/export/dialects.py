"""The dialects of SQL that a model can be written in: one row of data each.

sqlglot knows how a dialect quotes names and spells functions, types and casts. A row has what it
does not know: how a number is written that is read as just this float64, what compares strings
byte by byte, the days of a date, limits, and what is an error in one database alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

__all__ = ["DIALECTS", "Dialect", "dialect_of", "sql_dialects"]


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """What a dialect has besides what sqlglot knows of it.

    A template is an expression in the dialect's own SQL, in which x is a column.

    Parameters
    ----------
    syntax : str
        What sqlglot calls it.
    title : str
    days : str
        Template: a date or time as days since 1970, a float64.
    number : str
        Format of the digits of a float64 with their exponent.
    extreme : str
        Format of infinite numbers, and of those below 1e-300.
    infinity : str
        ∞ in that format; a finite number where the database has no infinite ones.
    is_nan : str
        Template: whether x is NaN. Empty where the database has none.
    text : str
        Template: a column of text, compared byte by byte; a column of another type is an error, if
        it can be one.
    compares_bytes : bool
        Whether that is binary, so that levels are written in hexadecimal digits.
    boolean : str
        Template: a column of booleans as 1 and 0, a float64.
    truths : (str, str)
        The booleans, false first.
    unsafe : str
        Regular expression of characters that depend on a setting in a string, or end it.
    hexadecimal : str
        Format of the hexadecimal digits of a string with such characters.
    string : str
        Format of other strings between their quotes.
    escapes : mapping of str to str
        Characters of them that a client replaces, and what is written for each.
    holds_nul : bool
        Whether text can hold the character NUL.
    array : str
        Format of the string, or list of strings, that is cast to an array of numbers. Empty where
        there are no arrays: then a number is cut out of a string.
    most_digits : int or None
        How many characters such a string can have; of more numbers it is several.
    has_fast_lists : bool
        Whether finding a value in a constant list takes less time than comparisons do. Then arrays
        are columns of a table of one row beside the rows, since a constant in an expression is
        built again and again.
    most_cells : int
        How many numbers the scores of one joint table have, for all classes.
    leaf : int
        How many levels are compared one after another; of more, a tree has fewer comparisons.
    fan : int
        How many branches a node of a tree of comparisons has.
    is_guarded : bool
        Whether arithmetic that would be infinite or underflow is an error.
    fence : str
        What ends a subquery that is not to be merged into the one around it.
    nests : bool
        Whether subqueries stand in one another, or else in WITH. In a database that reads WITH at
        the beginning of a statement only, the statement could not stand in FROM (…).
    most_columns : int or None
        How many columns a SELECT can have.
    most_name : int or None
        How many bytes a name can have; longer names are cut.
    replaces_names : bool
        Whether ${name} is replaced, in quotes, too, and a name can be read as a regular expression:
        then a name that is more than a word is the argument of IDENTIFIER().
    has_plain_titles : bool
        Whether names of a result have letters, digits and _ only, and capitals do not tell them
        apart.
    """

    syntax: str
    title: str
    days: str
    number: str = "{}"
    extreme: str = "CAST('{}' AS DOUBLE)"
    infinity: str = "Infinity"
    is_nan: str = ""
    text: str = "x"
    compares_bytes: bool = False
    boolean: str = "CASE WHEN x THEN 1.0 WHEN NOT x THEN 0.0 END"
    truths: tuple[str, str] = ("FALSE", "TRUE")
    unsafe: str = "(?!)"
    hexadecimal: str = ""
    string: str = "{}"
    escapes: Mapping[str, str] = field(default_factory=dict)
    holds_nul: bool = True
    array: str = ""
    most_digits: int | None = None
    has_fast_lists: bool = False
    most_cells: int = 128
    leaf: int = 8
    fan: int = 2
    is_guarded: bool = False
    fence: str = ""
    nests: bool = True
    most_columns: int | None = None
    most_name: int | None = None
    replaces_names: bool = False
    has_plain_titles: bool = False

    @property
    def has_infinity(self) -> bool:
        return math.isinf(float(self.infinity))


# A string with $, a quote or a backslash: Spark replaces ${name} before it parses a statement, and
# a setting says whether a string has escapes.
SPARK = Dialect(
    syntax="spark",
    title="Spark",
    days="timestampdiff(MICROSECOND, TIMESTAMP_NTZ '1970-01-01 00:00:00', "
    "CAST(x AS TIMESTAMP_NTZ)) / 1e6 / 86400.0",
    number="{}D",
    is_nan="isnan(x)",
    text="CASE WHEN typeof(x) = 'string' THEN CAST(x AS STRING) ELSE CAST(raise_error(concat("
    "'the model reads strings, but the column holds ', typeof(x))) AS STRING) END",
    unsafe=r"[\x00-\x1f\x7f'\"\\$]",
    hexadecimal="CAST(X'{}' AS STRING)",
    # one literal, which Spark folds: a node for each number takes it seconds
    array="SPLIT('{}', ',')",
    replaces_names=True,
)

POSTGRES = Dialect(
    syntax="postgres",
    title="PostgreSQL",
    days="CAST(EXTRACT(EPOCH FROM x) AS double precision) / 86400.0",
    number="'{}'::float8",
    extreme="'{}'::float8",
    is_nan="x = 'NaN'::float8",
    text='x COLLATE "C"',  # an error for a column of another type
    unsafe=r"\\",  # by a setting, an escape
    hexadecimal="convert_from(decode('{}', 'hex'), 'UTF8')",
    holds_nul=False,
    array="'{{{}}}'",
    is_guarded=True,
    fence="OFFSET 0",
    most_columns=1664,
    most_name=63,
)

DIALECTS: dict[str, Dialect] = {
    "duckdb": Dialect(
        syntax="duckdb",
        title="DuckDB",
        days="CAST(epoch_us(x) AS DOUBLE) / 1e6 / 86400.0",
        infinity="inf",
        is_nan="isnan(x)",
        # the first branch is never taken, but its function takes no other type
        text='(CASE WHEN FALSE THEN reverse(x) ELSE CAST(x AS VARCHAR) END) COLLATE "C"',
        unsafe=r"\x00",
        hexadecimal="decode(unhex('{}'))",
        array="'[{}]'",
        has_fast_lists=True,
        most_cells=4096,
        leaf=128,
    ),
    "postgres": POSTGRES,
    "spark": SPARK,
    "bigquery": Dialect(
        syntax="bigquery",
        title="BigQuery",
        days="UNIX_MICROS(CAST(x AS TIMESTAMP)) / 1e6 / 86400.0",
        extreme="CAST('{}' AS FLOAT64)",
        infinity="inf",
        is_nan="IS_NAN(x)",
        has_plain_titles=True,
    ),
    # Snowflake's clients replace &name, <% name %> and {{ name }} in strings.
    "snowflake": Dialect(
        syntax="snowflake",
        title="Snowflake",
        days="DATE_PART(EPOCH_MICROSECOND, CAST(x AS TIMESTAMP_NTZ)) / 1e6 / 86400.0",
        number="CAST('{}' AS DOUBLE)",
        infinity="inf",
        is_nan="x = CAST('NaN' AS DOUBLE)",
        escapes={"&": r"\x26", "<": r"\x3c", "{": r"\x7b"},
        most_name=255,
    ),
    "sqlite": Dialect(
        syntax="sqlite",
        title="SQLite",
        days="julianday(x) - 2440587.5",
        extreme="{}",
        infinity="9e999",
        # a value that is no text is an error of json(), the only function that has one here
        text="CASE WHEN typeof(x) IN ('text', 'null') THEN x ELSE json('the model reads strings') "
        "END COLLATE BINARY",
        unsafe=r"\x00",
        hexadecimal="CAST(X'{}' AS TEXT)",
        fence="LIMIT -1 OFFSET 0",
        nests=False,  # the parser's stack has 100 entries
        most_columns=2000,
    ),
    # A string of MySQL has escapes, unless a setting says otherwise.
    "mysql": Dialect(
        syntax="mysql",
        title="MySQL",
        days="TIMESTAMPDIFF(MICROSECOND, '1970-01-01', x) / 1e6 / 86400.0",
        extreme="{}",
        infinity="1e300",
        text="CAST(CONVERT(x USING utf8mb4) AS BINARY)",
        unsafe=r"[\x00-\x1f\x7f\\]",
        hexadecimal="CONVERT(X'{}' USING utf8mb4)",
        is_guarded=True,
        fence="LIMIT 18446744073709551615",
        most_columns=4096,
    ),
    "clickhouse": Dialect(
        syntax="clickhouse",
        title="ClickHouse",
        days="toUnixTimestamp64Micro(toDateTime64(x, 6, 'UTC')) / 1e6 / 86400.0",
        extreme="CAST('{}' AS Float64)",
        infinity="inf",
        is_nan="isNaN(x)",
    ),
    "trino": Dialect(
        syntax="trino",
        title="Trino",
        days="to_unixtime(CAST(x AS TIMESTAMP(6))) / 86400.0",
        is_nan="is_nan(x)",
        array="SPLIT('{}', ',')",
    ),
    "redshift": replace(
        POSTGRES,
        syntax="redshift",
        title="Redshift",
        days="DATEDIFF(microsecond, CAST('1970-01-01' AS TIMESTAMP), CAST(x AS TIMESTAMP)) "
        "/ 1e6 / 86400.0",
        text="x",
        unsafe="(?!)",
        array="",
        most_digits=65535,
        most_columns=1600,
        most_name=127,
    ),
    "databricks": replace(SPARK, syntax="databricks", title="Databricks"),
    "tsql": Dialect(
        syntax="tsql",
        title="SQL Server",
        days="DATEDIFF_BIG(MICROSECOND, '1970-01-01', x) / 1e6 / 86400.0",
        extreme="{}",
        infinity="1e300",
        string="N{}",
        # strings are compared without the spaces at their ends, bytes with them
        text="CAST(CAST(x COLLATE Latin1_General_100_BIN2_UTF8 AS VARCHAR(8000)) "
        "AS VARBINARY(8000))",
        compares_bytes=True,
        boolean="CAST(x AS FLOAT)",
        truths=("CAST(0 AS BIT)", "CAST(1 AS BIT)"),
        fan=32,  # CASE has ten levels at most
        is_guarded=True,
        most_columns=4096,
    ),
}
"""By name; sqlglot has to know the syntax of each."""


def sql_dialects() -> list[str]:
    """The dialects that a model can be written in; see :meth:`tallybayes.NaiveBayes.to_sql`.

    Returns
    -------
    list of str
        Their names.

    Examples
    --------
    >>> import tallybayes
    >>> tallybayes.sql_dialects()[:3]
    ['duckdb', 'postgres', 'spark']
    """
    return list(DIALECTS)


def dialect_of(name: str) -> Dialect:
    """The dialect of this name.

    Raises
    ------
    ValueError
        For a name that is none of theirs.
    """
    if name not in DIALECTS:
        raise ValueError(f"dialect= is one of {', '.join(DIALECTS)}, got {name!r}")
    return DIALECTS[name]
