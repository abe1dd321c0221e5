"""Expressions as trees of sqlglot: how they are made, named, and written in a dialect.

A name and a value of the data are nodes of a tree, which sqlglot quotes; the text of a statement is
put together in :meth:`Query.select` alone.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from tallybayes.export.dialects import Dialect, dialect_of

try:
    from sqlglot import Dialect as Syntax
    from sqlglot import exp, parse_one
except ImportError as error:
    raise ModuleNotFoundError(
        f"SQL is written by sqlglot ({error}): pip install 'tallybayes[sql]'", name="sqlglot"
    ) from error

__all__ = [
    "NULL",
    "Query",
    "Tree",
    "Value",
    "call",
    "case",
    "exp",
    "floor",
    "greatest",
    "integer",
    "is_null",
    "literal",
    "total",
    "zero_if_null",
]

Tree: TypeAlias = exp.Expr
Value: TypeAlias = Tree | float | None
"""A number stands for its literal, None for NULL."""

NULL = exp.Null()
CHUNK = 100  # arguments of a function, and terms of a sum: more are nested
WORD = re.compile(r"[A-Za-z0-9_]+")
TINY = 1e-300  # what is smaller is not read as itself everywhere


# ---- making expressions --------------------------------------------------------------------------
def literal(value: Value) -> Tree:
    """A number as a literal, None as NULL, an expression as it is."""
    if isinstance(value, Tree):
        return value
    if value is None:
        return NULL
    literal = exp.Literal(this=str(abs(value)), is_string=False)
    return exp.Neg(this=literal) if value < 0 else literal


def call(function: str, *arguments: Tree) -> Tree:
    """A function that sqlglot knows."""
    return exp.func(function, *arguments, copy=False)


def case(*whens: tuple[Value, Value], default: Value = None, of: Tree | None = None) -> exp.Case:
    """CASE [of] WHEN … THEN … ELSE default END."""
    ifs = [exp.If(this=literal(when), true=literal(then)) for when, then in whens]
    return exp.Case(this=of, ifs=ifs, default=None if default is None else literal(default))


def is_null(x: Tree) -> exp.Is:
    """A condition: x is missing."""
    return exp.Is(this=x, expression=NULL)


def zero_if_null(x: Tree, value: Value) -> exp.Case:
    """A value, 0 where x is missing."""
    return case((is_null(x), 0.0), default=value)


def integer(x: Tree) -> exp.Cast:
    """A condition, or a number without a fraction, as an integer."""
    return exp.cast(x, exp.DataType.Type.INT)


def floor(x: Tree) -> exp.Cast:
    """⌊x⌋ as an integer."""
    return integer(call("FLOOR", x))


def total(values: Sequence[Tree]) -> Tree:
    """The sum, in the order of the values."""
    if len(values) > CHUNK:
        parts = [values[i : i + CHUNK] for i in range(0, len(values), CHUNK)]
        return total([exp.paren(total(part), copy=False) for part in parts])
    return reduce(lambda left, right: exp.Add(this=left, expression=right), values)


def greatest(values: Sequence[Tree]) -> Tree:
    """The largest of numbers of which none, or all, are NULL."""
    if len(values) > CHUNK:
        parts = [values[i : i + CHUNK] for i in range(0, len(values), CHUNK)]
        return greatest([greatest(part) for part in parts])
    return values[0] if len(values) == 1 else call("GREATEST", *values)


# ---- writing them in a dialect -------------------------------------------------------------------
def _generator(dialect: Dialect, string: Callable[[str], str]) -> Any:
    """What writes trees: as sqlglot does, but numbers are float64, and nothing is cast or guarded
    that the tree does not say."""

    def value(_: Any, node: exp.Literal) -> str:
        return string(node.this) if node.is_string else _number(node, dialect)

    def bracketed(sign: str) -> Callable[[Any, exp.Binary], str]:
        # parentheses by the tree, which sqlglot leaves out of a − (b − c) and (a · b) · (c + d)
        def written(generator: Any, node: exp.Binary) -> str:
            left, right = node.left, node.right
            one, other = generator.sql(left), generator.sql(right)
            if sign != "-" and isinstance(left, exp.Add | exp.Sub):
                one = f"({one})"
            return f"{one} {sign} " + (f"({other})" if isinstance(right, exp.Binary) else other)

        return written

    def largest(generator: Any, node: exp.Greatest) -> str:
        name = "MAX" if dialect.syntax == "sqlite" else "GREATEST"
        return str(generator.func(name, node.this, *node.expressions))

    written: dict[Any, Any] = {
        exp.Literal: value,
        exp.Boolean: lambda _, node: dialect.truths[bool(node.this)],
        exp.Greatest: largest,
        exp.Sub: bracketed("-"),
        exp.Mul: bracketed("*"),
        exp.Div: bracketed("/"),
    }
    base: Any = Syntax.get_or_raise(dialect.syntax).generator_class
    ours = type("Generator", (base,), {"TRANSFORMS": {**base.TRANSFORMS, **written}})
    return ours(dialect=dialect.syntax)


def _number(node: exp.Literal, dialect: Dialect) -> str:
    """A whole number as it is; others as literals that are read as just this float64."""
    digits = str(node.this)
    if digits.isdecimal():
        return digits
    x = float(digits)
    if math.isinf(x):
        return dialect.extreme.format(dialect.infinity)
    text = repr(x) if "e" in repr(x) else f"{x!r}e0"
    return (dialect.number if x == 0.0 or x >= TINY else dialect.extreme).format(text)


# ---- naming them, as nested subqueries -----------------------------------------------------------
class Query:
    """Expressions named by a letter and a number, which cannot be confused with names of a table:
    each is written once, in a subquery above those whose expressions it uses.

    Parameters
    ----------
    dialect : str or Dialect
        By its name, or itself.
    """

    def __init__(self, dialect: str | Dialect) -> None:
        self.dialect: Dialect = dialect_of(dialect) if isinstance(dialect, str) else dialect
        self._generator = _generator(self.dialect, self._string)
        self._quote = Syntax.get_or_raise(self.dialect.syntax).generator()
        self._unsafe = re.compile(self.dialect.unsafe)
        self._templates: dict[str, Tree] = {}
        self._number: Counter[str] = Counter()
        self._stage: dict[str, int] = {}
        self._last_use: dict[str, int] = {}
        self._text: list[list[tuple[str, str]]] = []
        self._known: dict[tuple[str, int], str] = {}
        self._row: dict[str, str] = {}

    # ---- text ------------------------------------------------------------------------------------
    def sql(self, tree: Tree) -> str:
        """The text of an expression."""
        return str(self._generator.generate(tree, copy=False))

    def _string(self, text: str) -> str:
        """A string as a literal; of those that :meth:`holds`."""
        if self._unsafe.search(text):
            return self.dialect.hexadecimal.format(text.encode().hex().upper())
        written = str(self._quote.sql(exp.Literal.string(text)))
        for sign, escape in self.dialect.escapes.items():
            written = written.replace(sign, escape)
        return self.dialect.string.format(written)

    def holds(self, text: str) -> bool:
        """Whether a column of text can hold this string."""
        return _encodes(text) and (self.dialect.holds_nul or "\0" not in text)

    def string(self, text: str) -> Tree:
        """A string that a column of :meth:`text` is compared with."""
        if self.dialect.compares_bytes:
            return exp.HexString(this=text.encode().hex())
        return exp.Literal.string(text)

    # ---- the table -------------------------------------------------------------------------------
    def identifier(self, name: str) -> exp.Identifier:
        """A name between quotes.

        Raises
        ------
        ValueError
            For a name that the dialect cannot have.
        """
        if not name or "\0" in name or not _encodes(name):
            raise ValueError(
                f"{name!r} cannot be a name in SQL: a name has a character at least, no NUL and no "
                "half of a surrogate pair; rename it"
            )
        most = self.dialect.most_name
        if most is not None and len(name.encode()) > most:
            raise ValueError(
                f"{name!r} has {len(name.encode())} bytes, and {self.dialect.title} cuts names "
                f"after {most}: rename it"
            )
        return exp.to_identifier(name, quoted=True)

    def column(self, name: str) -> Tree:
        """A column of the table, which the statement calls t."""
        column = exp.column(self.identifier(name), table="t")
        if self.dialect.replaces_names and not WORD.fullmatch(name):
            return exp.Anonymous(this="IDENTIFIER", expressions=[exp.convert(self.sql(column))])
        return column

    def filled(self, template: str, x: Tree) -> Tree:
        """A template of the dialect with an expression in place of x."""
        if template not in self._templates:
            self._templates[template] = parse_one(template, read=self.dialect.syntax)
        return self._templates[template].transform(
            lambda node: x.copy() if isinstance(node, exp.Column) and node.name == "x" else node
        )

    # ---- constants -------------------------------------------------------------------------------
    def looked_up(self, values: ArrayLike, index: Tree, *, beside: bool = True) -> Tree:
        """The element of a constant list by an index from 1 on; whole numbers stay such.

        Parameters
        ----------
        values : array
        index : expression
        beside : bool
            Whether the list may be in the row of constants. A database that stores a column as
            codes finds an expression of that column alone once for each code.
        """
        array = np.asarray(values)
        known = {np.inf: self.dialect.infinity, -np.inf: f"-{self.dialect.infinity}"}
        digits = [known.get(x) or repr(x) for x in array.tolist()]
        kind = exp.DataType.Type.INT if array.dtype.kind in "iu" else exp.DataType.Type.DOUBLE
        if not self.dialect.array:
            width, most = 1 + max(map(len, digits)), self.dialect.most_digits
            if most is not None and width * len(array) > most:
                half = len(array) // 2
                later = self.looked_up(array[half:], index - half)
                return case((index <= half, self.looked_up(array[:half], index)), default=later)
            start = index * width - (width - 1)
            text = exp.Var(this="'" + "".join(each.ljust(width) for each in digits) + "'")
            part = exp.Substring(this=text, start=start, length=literal(width))
            return exp.cast(exp.Trim(this=part), kind)
        text = exp.Var(this=self.dialect.array.format(",".join(digits)))
        found: Tree = exp.cast(text, exp.DataType.build(f"ARRAY<{kind.value}>"))
        if self.dialect.has_fast_lists and beside:
            column = self._row.setdefault(self.sql(found), f"a{len(self._row)}")
            found = self.name("a", exp.column(column, table="w"))
        first = Syntax.get_or_raise(self.dialect.syntax).INDEX_OFFSET
        return exp.Bracket(this=exp.paren(found), expressions=[index], offset=first, safe=False)

    def place(self, strings: Sequence[Any], x: Tree) -> Tree:
        """The place of x among strings from 1 on; NULL if it is none of them."""
        # computed once for each entry where DuckDB stores a column as a dictionary
        known = exp.Var(this=f"[{', '.join(map(self.sql, strings))}]")
        return exp.Anonymous(this="list_position", expressions=[known, x])

    # ---- arithmetic that is an error in some databases -------------------------------------------
    def exponential(self, x: Tree) -> Tree:
        """eˣ of x ≤ 0, 0 where it is too small."""
        power = call("EXP", x)
        if not self.dialect.is_guarded:
            return power
        return case((x > -700, power), (x <= -700, 0.0))

    def log(self, x: Tree) -> Tree:
        """log x of x ≥ 0, −∞ for 0."""
        whens: list[tuple[Value, Value]] = [(x > 0, call("LN", x))]
        if not self.dialect.has_infinity:  # what stands for ∞ has a logarithm
            whens = [(x >= np.inf, np.inf), *whens]
        return case(*whens, default=-np.inf)

    def product(self, x: Tree, factor: float) -> Tree:
        """x·factor, which may be infinite."""
        if not self.dialect.is_guarded:
            return x * factor
        size, infinite = call("ABS", x), np.copysign(np.inf, factor)
        return case(
            (size < _bound(1e-300, factor), 0.0),
            (size > _bound(1e300, factor), call("SIGN", x) * infinite),
            default=x * factor,
        )

    def square(self, x: Tree, mean: float, scale: float) -> Tree:
        """((x − mean)·scale)², which may be infinite."""
        apart = x - mean
        if not self.dialect.is_guarded:
            return (apart * scale) * (apart * scale)
        if scale == 0.0:
            return literal(0.0)
        size = call("ABS", apart)
        return case(
            (size < _bound(1e-150, scale), 0.0),
            (size > _bound(1e150, scale), np.inf),
            default=(apart * scale) * (apart * scale),
        )

    # ---- names -----------------------------------------------------------------------------------
    def name(self, letter: str, tree: Tree) -> exp.Column:
        """The name of an expression, made of names and of the table's columns."""
        uses = self._uses(tree)
        text, stage = self.sql(tree), 1 + max((self._stage[name] for name in uses), default=-1)
        if (text, stage) not in self._known:
            self._use(uses, stage)
            while len(self._text) <= stage:
                self._text.append([])
            name = f"{letter}{self._number[letter]}"
            self._number[letter] += 1
            self._stage[name] = stage
            self._text[stage].append((name, text))
            self._known[text, stage] = name
        return exp.column(self._known[text, stage])

    def _uses(self, tree: Tree) -> set[str]:
        """The names in an expression."""
        return {column.name for column in tree.find_all(exp.Column) if not column.table}

    def _use(self, names: set[str], stage: int) -> None:
        """Keeps names until a stage."""
        for name in names:
            self._last_use[name] = max(self._last_use.get(name, 0), stage)

    def select(self, table: Sequence[str], outputs: Sequence[tuple[Tree, str]]) -> str:
        """The statement.

        Parameters
        ----------
        table : sequence of str
            The parts of its name.
        outputs : list of (expression, str)
            The columns of the result, and their names.

        Raises
        ------
        ValueError
            Where a subquery needs more columns than the dialect can have, or has no such name.
        """
        for tree, _ in outputs:
            self._use(self._uses(tree), len(self._text))
        source = ".".join(self.sql(self.identifier(part)) for part in table)
        if self.dialect.replaces_names and "$" in source:
            source = f"IDENTIFIER({self._string(source)})"
        source += " AS t"
        if self._row:
            row = ",\n  ".join(f"{array} AS {column}" for array, column in self._row.items())
            source += f", (\nSELECT\n  {row}\n) AS w"
        prefix, common = "stage", []
        while table[-1].lower().startswith(prefix):  # a name that is not the table's
            prefix += "_"
        fence = f"\n{self.dialect.fence}" if self.dialect.fence else ""
        for stage, own in enumerate(self._text):
            kept = [n for n, s in self._stage.items() if s < stage < self._last_use.get(n, 0)]
            columns = [*kept, *(f"{expression} AS {name}" for name, expression in own)]
            text = self._select(columns, source) + fence
            source = f"(\n{text}\n) AS t"
            if not self.dialect.nests:
                common.append(f"{prefix}{stage} AS (\n{text}\n)")
                source = f"{prefix}{stage} AS t"
        begin = f"WITH {', '.join(common)}\n" if common else ""
        written = [(self.sql(tree), name) for tree, name in outputs]
        quoted = [self.sql(self.identifier(name)) for _, name in outputs]
        if not (self.dialect.replaces_names and any("$" in name for _, name in outputs)):
            columns = [f"{x} AS {name}" for (x, _), name in zip(written, quoted, strict=True)]
            return begin + self._select(columns, source)
        # no name of a column can be written as a string, but the fields of a struct can
        fields = ",\n  ".join(f"{self._string(name)}, {x}" for x, name in written)
        struct = self._select([f"named_struct(\n  {fields}\n) AS r"], source)
        return f"{begin}SELECT r.*\nFROM (\n{struct}\n) AS t"

    def _select(self, columns: Sequence[str], source: str) -> str:
        most = self.dialect.most_columns
        if most is not None and len(columns) > most:
            raise ValueError(
                f"the statement needs {len(columns):,} columns in a SELECT, and "
                f"{self.dialect.title} has {most:,} at most: use a model of fewer columns or "
                "classes, or another dialect"
            )
        return "SELECT\n  " + ",\n  ".join(columns) + f"\nFROM {source}"


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _bound(t: float, scale: float) -> float:
    """The deviation at which deviation times scale is t, as far as float64 goes."""
    bound = t / abs(scale) if abs(scale) > 1e-150 else 1.7e308
    return min(max(bound, 5e-324), 1.7e308)
