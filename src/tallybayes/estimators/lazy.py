"""Naive Bayes without training: each question counts what it needs."""

from __future__ import annotations

import datetime
import os
from collections.abc import Hashable, Mapping, Sequence
from glob import has_magic
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import accuracy_score

from tallybayes import scoring
from tallybayes.engines.contract import (
    Condition,
    Counting,
    CountLevels,
    CountNumbers,
)
from tallybayes.engines.registry import engine_of
from tallybayes.estimators.base import class_prior_of, draw_waterfall
from tallybayes.estimators.naive_bayes import NaiveBayes
from tallybayes.explain.explanation import Explanation, explanation_of
from tallybayes.families.choice import UNDECLARED
from tallybayes.models.class_weights import by_class, by_label, resolved
from tallybayes.models.data_warnings import Watched, warn_of_odd_values, warn_of_unknown_keys
from tallybayes.models.declarations import Declared, Reading, declared, names_declared
from tallybayes.models.rows import Held, Names, arranged, as_scored
from tallybayes.models.table import TableModel
from tallybayes.score import Unseen
from tallybayes.sources.contract import Source, SourceColumn
from tallybayes.sources.databases import is_file, is_url
from tallybayes.sources.files import (
    is_in_database,
    is_relation,
    is_source,
    is_spark_frame,
    source_of,
)
from tallybayes.sources.opening import folder_of_pattern
from tallybayes.tables import Column, Mixed, Numbers, Strings, Table, read_table
from tallybayes.tally import TableTally
from tallybayes.threads import get_num_threads
from tallybayes.validation import labels_and_codes, labels_given, warn_of_other_order

__all__ = [
    "LazyNaiveBayes",
    "Where",
    "condition",
    "need_names",
    "rows_asked",
]

Array = NDArray[np.float64]


# ---- the estimator -------------------------------------------------------------------------------
class LazyNaiveBayes(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Naive Bayes without fitting: each call counts in the present state of the source.

    Each call of a method that predicts runs one SQL statement in DuckDB, which counts only what the
    rows of the call need: the levels that occur in them, the classes, the number of levels, and the
    moments of columns of numbers. No row of the source reaches Python. Files of text and other
    sources that are read part by part are read as :class:`NaiveBayes` reads them, each time, and
    counted in this process. The answers are those of a :class:`NaiveBayes` fitted to the source at
    that moment with the same declared columns. Here undeclared numbers and dates are
    ``Gaussian(var_smoothing=0, ddof=1, pooled_rows=1)``, and a column that is missing in all rows
    of the call is not read.

    Needs DuckDB, but for sources that are read part by part without `where`:
    ``pip install 'tallybayes[duckdb]'``.

    Parameters
    ----------
    source : frame, relation, source of rows, path or str
        A pandas or polars frame, a pyarrow table, a DuckDB relation, a table or query of a database
        (:func:`tallybayes.table`, :func:`tallybayes.sql`), a source that :meth:`NaiveBayes.fit`
        takes and that can be read again (paths, folders, :func:`tallybayes.csv`, data sets, lazy
        frames), or with `connection` the name of a table or view, or SQL text. From PostgreSQL the
        columns of the question are read, and counted in this process.
        A name with a character besides letters, digits and _ is one name, dots included; plain
        names joined by dots are a table in a schema or database.
    target : str
        The column of the class. A row without a label is an error, as it is in
        :meth:`NaiveBayes.fit`; `where` can leave it out.
    columns : mapping or list of pairs, optional
        Families by column name or type, as for :class:`NaiveBayes`: Categorical, Gaussian (without
        a transform), Poisson, or None to leave the column out. By default every other column of the
        source counts: strings, categories and booleans as levels, numbers and dates as Gaussian.
    where : str or tuple (str, values), optional
        A condition in SQL that the rows of the source have to meet to count as evidence. Values for
        its markers ``?`` may be given, but not for PostgreSQL. The text becomes part of the
        statement: pass untrusted input as values only. For rows that are read part by part all of
        them are in memory while DuckDB judges the condition.
    connection : duckdb.DuckDBPyConnection, optional
        Where a table's name or SQL text is looked up. It sees what its own open transaction has
        changed.
    alpha : float, default=1.0
        Smoothing of level counts: in rows of weight 1 where `columns` names the family, else in
        effective rows where these weigh more than 1.
    class_alpha : float, default=1.0
        Smoothing of the class prior: (count + class_alpha) / (m + K·class_alpha).
    class_prior : array-like (n_classes,) or dict, optional
        A fixed class prior, classes in sorted order or by label; class_alpha has to be 0 or its
        default.
    class_weight : "balanced" or dict, optional
        The weight of a row by its label, as for :class:`NaiveBayes`; "balanced" gives all classes
        of the evidence the same weight. Smoothing is in units of this weight.
    missing : {"ignore", "level"}, default="ignore"
        Missing values, NULL or NaN, are left out of the product, or are a level.
    unseen : {"smooth", "ignore", "error"}, default="smooth"
        The treatment of a level that the evidence does not have: it gets the probability
        α / (n_cj + α·N_j), its column is left out of the product, or it is an error.

    Attributes
    ----------
    classes_ : array (n_classes,)
        The classes that the last call found, sorted: the columns of the probabilities.
    class_count_ : float64 array (n_classes,)
    tally_ : TableTally
        All that the last call counted.
    statement_ : str
        The SQL that it ran; empty where rows are read and counted in this process.

    Raises
    ------
    ImportError
        Without DuckDB.
    TypeError, ValueError
        For bad parameters, or something that is not a source.

    See Also
    --------
    NaiveBayes : The same model, counted once.

    Examples
    --------
    >>> import duckdb
    >>> from tallybayes import LazyNaiveBayes
    >>> db = duckdb.connect()
    >>> _ = db.sql("CREATE TABLE days (outlook VARCHAR, humidity DOUBLE, play VARCHAR)")
    >>> _ = db.sql("INSERT INTO days VALUES ('sunny', 85, 'no'), ('rain', 70, 'yes')")
    >>> model = LazyNaiveBayes("days", "play", connection=db)
    >>> model.predict([{"outlook": "sunny"}]).tolist()
    ['no']
    >>> _ = db.sql("INSERT INTO days VALUES ('sunny', 65, 'yes'), ('sunny', 70, 'yes')")
    >>> model.predict([{"outlook": "sunny"}]).tolist()
    ['yes']
    """

    _reads = "sources"

    def __init__(
        self,
        source: Any,
        target: str,
        *,
        columns: Any = None,
        where: Where | None = None,
        connection: Any = None,
        alpha: float = 1.0,
        class_alpha: float = 1.0,
        class_prior: ArrayLike | None = None,
        class_weight: Literal["balanced"] | Mapping[Any, float] | None = None,
        missing: Literal["ignore", "level"] = "ignore",
        unseen: Unseen = "smooth",
    ) -> None:
        self.source = source
        self.target = target
        self.columns = columns
        self.where = where
        self.connection = connection
        self.alpha = alpha
        self.class_alpha = class_alpha
        self.class_prior = class_prior
        self.class_weight = class_weight
        self.missing = missing
        self.unseen = unseen
        self._prepare()

    def _prepare(self) -> None:
        """Checks the parameters, and opens the way to the source."""
        need_choice("missing", self.missing, ("ignore", "level"))
        need_choice("unseen", self.unseen, ("smooth", "ignore", "error"))
        need_strength("alpha", self.alpha)
        if self.class_weight != "balanced":
            by_label(self.class_weight)  # raises for what is not weights
        need_strength("class_alpha", self.class_alpha)
        if not isinstance(self.target, str):
            raise TypeError(f"target is the name of a column, got {self.target!r}")
        self._families = {} if self.columns is None else self.columns
        names_declared(self._families)  # raises for what is not a family
        self._where = condition(self.where)
        self._opened: Any = None
        self._rows: RowsAsked | None = None
        if are_read_here(self.source, self.connection):
            self._rows = RowsAsked(self.source, self.connection)
        else:
            passing = () if is_in_database(self.source) else ("stream",)
            self._engine = engine_of(self.source, "duckdb", passing)
            self._opened = self._engine.open(self.source, self.connection)
        self._last: tuple[TableModel, str] | None = None
        self._warned: set[Hashable] = set()

    # ---- as an estimator -------------------------------------------------------------------------
    def set_params(self, **params: Any) -> Self:
        """Change parameters; after an error they are as they were.

        Parameters
        ----------
        **params : Any
            Parameters by name.

        Returns
        -------
        self
            The estimator itself.

        Raises
        ------
        TypeError, ValueError
            As for the parameters of the class.
        """
        before = dict(self.__dict__)
        try:
            super().set_params(**params)
            self._prepare()
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
        return self

    def __sklearn_clone__(self) -> Self:
        """The same question about the same source, which is not copied, nor is its connection."""
        return type(self)(**self.get_params(deep=False))

    def score(
        self,
        rows: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        where: Where | None = None,
    ) -> float:
        """The share of rows whose label :meth:`predict` gives.

        Parameters
        ----------
        rows : table (n_rows, n_columns)
            Rows to predict; see :meth:`predict`.
        y : array-like (n_rows,)
            The labels that are right.
        sample_weight : array-like (n_rows,), optional
            How much each row counts; 1 by default.
        where : str or tuple (str, values), optional
            As for :meth:`predict`.

        Returns
        -------
        float
            The share of rows whose label is predicted, by weight.

        Raises
        ------
        ValueError
            For a row without a label.
        """
        warn_of_other_order(rows, y, sample_weight)
        labels = labels_given(y)
        return float(accuracy_score(labels, self.predict(rows, where), sample_weight=sample_weight))

    # ---- what is asked ---------------------------------------------------------------------------
    def _ask(self, rows: Any, where: Where | None) -> tuple[TableModel, Table]:
        """Counts what the rows need; the model that is read from the counts, and the rows."""
        conditions = [*self._where, *condition(where)]
        if self._rows is not None:
            model, x = self._rows.model(
                rows,
                self.target,
                self._families,
                conditions,
                self._warned,
                alpha=self.alpha,
                class_alpha=self.class_alpha,
                class_prior=self.class_prior,
                class_weight=self.class_weight,
                missing=self.missing,
                unseen=self.unseen,
            )
            self._last = model, ""
            return model, x
        there = self._engine.columns(self._opened)
        columns, what = columns_that_count(there, self.target, self._families)
        x = rows_asked(rows, columns, what, self.unseen, self._warned)
        asked = counts_needed(x, what, self.missing)
        tally = self._engine.collect(Counting(asked, where=conditions), self._opened, self.target)
        classes = tally.schema.classes
        labels_and_codes(classes)  # raises for what is not a class
        weights = resolved(self.class_weight, classes, tally.classes.count)
        if weights:
            tally = tally.weighted(by_class(weights, classes))
        alpha = float(self.class_alpha)
        prior = class_prior_of(self.class_prior, classes, alpha, False, "class_prior", default=1.0)
        model = TableModel(tally, prior, type(self).__name__)
        model.warned = self._warned  # once for this object, not for each question
        model.seen = Names(list(asked), frozenset(asked))
        model.reading = Reading(what, float(self.alpha), "mean", self.unseen, self.missing)
        model.reads_prose = False  # databases count no terms
        self._last = model, getattr(self._opened, "statement", None) or ""
        return model, x

    # ---- answers ---------------------------------------------------------------------------------
    def predict(self, rows: Any, where: Where | None = None) -> NDArray[Any]:
        """The most probable class of each row, by the source as it is now.

        Parameters
        ----------
        rows : table (n_rows, n_columns)
            pandas, polars or pyarrow table, list of dicts (a key that is lacking is a missing
            value), or an array with the source's columns in their order, without the target.
        where : str or tuple (str, values), optional
            A further condition on the evidence: a time window, a segment.

        Returns
        -------
        array (n_rows,)
            Labels; of equally probable classes the first.

        Raises
        ------
        ValueError
            If the source cannot be read or lacks a column, there is no evidence, or a value is not
            admitted.
        """
        model, x = self._ask(rows, where)
        return model.schema.classes[scoring.best_class(model.score, x)]

    def predict_joint_log_proba(self, rows: Any, where: Where | None = None) -> Array:
        """log P(c) + log p(x | c), in nats, float64 (n_rows, n_classes); −inf where a class rules a
        row out. Parameters and errors are those of :meth:`predict`; the order of the classes is
        that of `classes_`.

        Parameters
        ----------
        rows : table, list of dicts or array (n_rows, n_columns)
            Rows to predict; see :meth:`predict`.
        where : str or tuple, optional
            A condition in SQL that the evidence has to meet; see :meth:`predict`.

        Returns
        -------
        float64 array (n_rows, n_classes)
            Joint log-likelihoods, in nats.
        """
        model, x = self._ask(rows, where)
        return scoring.joint_log_likelihood(model.score, x)

    def predict_log_proba(self, rows: Any, where: Where | None = None) -> Array:
        """log P(c | x), in nats, float64 (n_rows, n_classes), as :meth:`predict_proba`.

        Parameters
        ----------
        rows : table, list of dicts or array (n_rows, n_columns)
            Rows to predict; see :meth:`predict`.
        where : str or tuple, optional
            A condition in SQL that the evidence has to meet; see :meth:`predict`.

        Returns
        -------
        float64 array (n_rows, n_classes)
            Log-probabilities of the classes, in nats.
        """
        model, x = self._ask(rows, where)
        return scoring.posterior(model.score, x, model.log_prior, log=True)

    def predict_proba(self, rows: Any, where: Where | None = None) -> Array:
        """P(c | x), float64 (n_rows, n_classes).

        A row that every class rules out gets the class prior, with a RuledOutWarning. Parameters
        and errors are those of :meth:`predict`; the order of the classes is that of `classes_`.

        Parameters
        ----------
        rows : table, list of dicts or array (n_rows, n_columns)
            Rows to predict; see :meth:`predict`.
        where : str or tuple, optional
            A condition in SQL that the evidence has to meet; see :meth:`predict`.

        Returns
        -------
        float64 array (n_rows, n_classes)
            Probabilities of the classes.
        """
        model, x = self._ask(rows, where)
        return scoring.posterior(model.score, x, model.log_prior)

    def explain(self, rows: Any, where: Where | None = None) -> Explanation:
        """What each column adds to the score of each class, by the source as it is now.

        Parameters and errors are those of :meth:`predict`. A column that is missing in all the rows
        is not read, and not reported.

        Parameters
        ----------
        rows : table, list of dicts or array
            Rows to explain; see :meth:`predict`.
        where : str or tuple, optional
            A condition in SQL that the evidence has to meet; see :meth:`predict`.

        Returns
        -------
        Explanation
            ``base + contributions.sum(axis=2)`` is :meth:`predict_joint_log_proba`.
        """
        model, x = self._ask(rows, where)
        return explanation_of(model, x, draw_waterfall)

    # ---- what was counted ------------------------------------------------------------------------
    def _answered(self, name: str) -> tuple[TableModel, str]:
        if self._last is None:
            raise AttributeError(f"{name} is of the last question, and none has been asked yet")
        return self._last

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes that the last call found, sorted, (n_classes,)."""
        return self._answered("classes_")[0].schema.classes

    @property
    def class_count_(self) -> Array:
        """The rows of each class that the last call found, float64 (n_classes,)."""
        return self._answered("class_count_")[0].tally.classes.count.copy()

    @property
    def tally_(self) -> TableTally:
        """All that the last call counted."""
        return self._answered("tally_")[0].tally

    @property
    def statement_(self) -> str:
        """The SQL that the last call ran."""
        return self._answered("statement_")[1]

    def summary(self, max_display: int = 10) -> str:
        """What the last call counted, in words; see :meth:`NaiveBayes.summary`.

        Parameters
        ----------
        max_display : int, default=10
            How many columns are listed.

        Returns
        -------
        str
            Some lines of text.

        Raises
        ------
        AttributeError
            Before the first question.
        """
        from tallybayes.explain.summary import summary_of

        return summary_of(self._answered("summary")[0], max_display, ranks=False)

    def __repr__(self) -> str:
        shown = repr(self.source) if isinstance(self.source, str) else type(self.source).__name__
        return f"LazyNaiveBayes({shown}, {self.target!r})"


# ---- its questions: the relevant columns, and their counts ---------------------------------------
Where = str | tuple[str, Sequence[Any]]

LEVELS = ("text", "category", "boolean")
"""Kinds of columns that are levels unless they are declared otherwise; others are numbers."""


def condition(where: Any) -> list[Condition]:
    """A condition in SQL as the engine takes it; raises ValueError for anything else."""
    if where is None:
        return []
    text, values = (where, ()) if isinstance(where, str) else (where[0], tuple(where[1]))
    if not isinstance(text, str) or not text.strip() or "\0" in text:
        raise ValueError(
            "where= is a condition in SQL, such as 'age > 30', or with values of its own "
            f"('age > ?', [30]); got {where!r}"
        )
    return [Condition(text, values)]


def need_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    """Raises ValueError for a parameter that is not one of its choices."""
    if value not in choices:
        raise ValueError(f"{name} is one of {', '.join(map(repr, choices))}; got {value!r}")


def need_strength(name: str, value: Any) -> None:
    """Raises ValueError for a smoothing that is not a number of rows."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < np.inf:
        raise ValueError(f"{name} is a finite number from 0 on, in rows; got {value!r}")


def _need_family(name: str, family: Any) -> None:
    """Raises ValueError for a family that needs more than the counts of the levels in question."""
    if family is not None and family.together is None and not family.needs_values:
        return
    if family is not None and family.needs_levels:
        raise ValueError(
            f"columns= gives {name!r} a Dirichlet with a probability for each level, but not the "
            "levels: declare them, Categorical(levels=[…], prior=…)"
        )
    raise ValueError(
        f"columns= gives {name!r} the family {family!r}: LazyNaiveBayes reads Categorical, "
        "Gaussian without a transform, and Poisson, whose counts or moments one statement brings. "
        "Fit a NaiveBayes for the others."
    )


def need_names(there: Sequence[str], target: str, given: Any) -> None:
    """Raises ValueError where a source lacks the target, or a column that is declared."""
    if target not in there:
        raise ValueError(
            f"the source has no column {target!r}, the target; its columns are {list(there)}"
        )
    names = [name for name in there if name != target]
    for name in names_declared(given):
        if name not in names:
            why = "is the target" if name == target else "the source does not have"
            raise ValueError(f"columns= names {name!r}, which {why}; it has {names}")


def need_families(given: Any) -> None:
    """Raises ValueError for a family that needs more than counts of levels and moments."""
    what = declared(given)
    families = [*what.groups.items(), *what.families.items(), *what.by_type]
    for name, family in families:
        if family is not None:
            _need_family(str(name), family)


def columns_that_count(
    there: Mapping[str, SourceColumn], target: str, given: Any
) -> tuple[dict[str, SourceColumn], Declared]:
    """The columns of a source that count, without the target, and their families.

    Parameters
    ----------
    there : mapping
        The columns of the source.
    target : str
    given : mapping or list of pairs
        Families by column name or type.
    """
    need_names(list(there), target, given)
    names = [name for name in there if name != target]
    what = declared(given)
    if what.groups:
        _need_family(str(next(iter(what.groups))), next(iter(what.groups.values())))
    columns: dict[str, SourceColumn] = {}
    for name in names:
        column = there[name]
        if name in what.columns_left_out:
            continue
        if column.kind is None:
            raise ValueError(
                f"column {name!r} of the source is of the type {column.type}, neither number, "
                f"text, boolean nor date: leave it out, columns={{{name!r}: None}}"
            )
        columns[name] = column
    return columns, _with_families(columns, what)


def _with_families(columns: Mapping[str, SourceColumn], what: Declared) -> Declared:
    """With the families that types give, and Gaussian for other numbers."""
    kinds = {n: "float" if c.kind == "decimal" else str(c.kind) for n, c in columns.items()}
    typed: dict[str, Column] = {
        name: Strings(np.empty(0, np.int32), [], kind)
        if kind in LEVELS
        else Numbers(np.empty(0), kind)
        for name, kind in kinds.items()
    }
    what = what.resolved(Table(typed, 0, True))
    families = dict(what.families)
    assumed = [n for n, kind in kinds.items() if n not in families and kind not in LEVELS]
    for name in kinds:
        if families.get(name) is not None:
            _need_family(name, families[name])
    families |= dict.fromkeys(assumed, UNDECLARED)
    return Declared(families, {}, assumed=frozenset(assumed))


def counts_needed(
    x: Table, what: Declared, missing: Literal["ignore", "level"]
) -> dict[str, CountLevels | CountNumbers]:
    """What has to be counted for these rows: levels, then numbers.

    Parameters
    ----------
    x : Table
    what : Declared
    missing : {"ignore", "level"}
        Whether a column without a value in any of the rows is left out.
    """
    levels: dict[str, CountLevels | CountNumbers] = {}
    numbers: dict[str, CountLevels | CountNumbers] = {}
    for name, column in x.columns.items():
        if isinstance(column, Numbers):
            there = not np.isnan(column.values.astype(np.float64, copy=False)).all()
        else:
            there = isinstance(column, Strings) and bool((column.codes >= 0).any())
        if not there and missing == "ignore":
            continue
        if what.reads.get(name) == "numbers":
            numbers[name] = CountNumbers(non_negative=what.least(name) == 1)
            continue
        all_of_them = what.levels(name)
        if all_of_them is not None:
            levels[name] = CountLevels(all_of_them, closed=True)
            continue
        found: list[str] = []
        if isinstance(column, Strings):
            used = np.unique(column.codes)
            found = [column.levels[code] for code in used.tolist() if code >= 0]
        levels[name] = CountLevels(found)
    return levels | numbers


def table_asked(rows: Any, columns: Sequence[str], warned: set[Hashable]) -> Table:
    """The rows of the question; those of an array have the source's columns in their order."""
    table = read_table(rows, get_num_threads())
    if not table.n_rows:
        raise ValueError("no row is asked about: give at least one")
    if table.named:
        if isinstance(rows, list | tuple):
            warn_of_unknown_keys(rows, columns, warned)
        return table
    if len(table.columns) != len(columns):
        raise ValueError(
            f"the rows are an array of {len(table.columns)} columns, but the source has "
            f"{len(columns)} beside the target: {list(columns)}"
        )
    return Table(dict(zip(columns, table.columns.values(), strict=True)), table.n_rows, True)


def rows_asked(
    rows: Any,
    columns: Mapping[str, SourceColumn],
    what: Declared,
    unseen: Unseen,
    warned: set[Hashable],
) -> Table:
    """The rows of the question, each column as the source counts it.

    Parameters
    ----------
    rows : table, list of dicts or array (n_rows, n_columns)
    columns : mapping
        The columns of the source that count.
    what : Declared
    unseen : {"smooth", "ignore", "error"}
        With "error" booleans are not watched for odd values: they are refused.
    warned : set
        What was warned of.
    """
    table = table_asked(rows, list(columns), warned)
    holds = {
        name: Held(numbers=True, dates=column.kind == "date")
        if what.reads.get(name) == "numbers"
        else Held(strings=True, booleans=column.kind == "boolean")
        for name, column in columns.items()
    }
    records = isinstance(rows, list | tuple)
    names = list(columns)
    x = as_scored(arranged(table, names, names, what, records), holds, what)
    counts = [n for n in names if (f := what.families.get(n)) is not None and f.whole]
    booleans = [name for name in names if holds[name].booleans and unseen != "error"]
    times = [
        c for name, c in columns.items() if holds[name].dates and c.type.startswith("TIMESTAMP")
    ]
    zoned = tuple(column.name for column in times if "TIME ZONE" in column.type)
    local = tuple(column.name for column in times if column.name not in zoned)
    warn_of_odd_values(x, Watched(tuple(counts), tuple(booleans), zoned, local), warned)
    return x


# ---- questions to rows that are read part by part ------------------------------------------------
# A file of text is read as :class:`NaiveBayes` reads it, and a model is fitted to the columns that
# the question needs.
SCANNED = (".parquet", ".pq")
"""Files whose columns have types, which DuckDB scans."""


def are_read_here(source: Any, connection: Any) -> bool:
    """Whether a source is read as :class:`NaiveBayes` reads it, rather than by a database."""
    if is_relation(source) or is_in_database(source) or is_spark_frame(source):
        return False
    if not isinstance(source, str | os.PathLike):
        return is_source(source)
    path = os.fspath(source)
    if not isinstance(path, str) or "\0" in path:
        return False
    if path.lower().endswith(SCANNED):  # DuckDB takes keys before a pattern, too
        return has_magic(path) and "=" in folder_of_pattern(path)
    from tallybayes.sources.opening import FORMATS, suffix_of

    if suffix_of(path) in FORMATS:
        return True
    return connection is None and os.path.exists(path) and not (is_url(path) or is_file(path))


class RowsAsked:
    """A source that is read anew for each question.

    Parameters
    ----------
    source : path, list of paths, Source or other source of rows
    connection : duckdb.DuckDBPyConnection, optional
        Where conditions look other tables up.

    Raises
    ------
    ValueError
        If it can be read only once.
    """

    def __init__(self, source: Any, connection: Any = None) -> None:
        self._source, self._connection = source, connection
        are_paths = isinstance(source, str | os.PathLike | list | tuple)
        opened = None if are_paths else source_of(source)
        if opened is not None and opened.once:
            raise ValueError(
                f"{opened.name} can be read only once, and LazyNaiveBayes reads its "
                "source at each question: save the rows to a file first, or fit a NaiveBayes"
            )

    def model(
        self,
        rows: Any,
        target: str,
        given: Any,
        where: Sequence[Condition],
        warned: set[Hashable],
        **parameters: Any,
    ) -> tuple[TableModel, Table]:
        """The model of the rows as they are now, and the rows of the question as it reads them.

        Parameters
        ----------
        rows : table, list of dicts or array
        target : str
        given : mapping or list of pairs
            Families by column name or type.
        where : sequence of Condition
        warned : set
            What was warned of.
        **parameters
            Of :class:`NaiveBayes`.
        """
        source: Source = source_of(self._source)
        there = list(source.columns())
        need_names(there, target, given)
        need_families(given)
        columns = [name for name in there if name != target]
        table = table_asked(rows, columns, warned)
        records = isinstance(rows, list | tuple)
        unread: set[str] = set()
        if parameters["missing"] == "ignore":
            unread = {n for n in columns if _is_empty(table.columns.get(n), records)}
        named = given.items() if isinstance(given, Mapping) else given
        pairs: list[Any] = [(kind, UNDECLARED) for kind in (float, int, datetime.date)]
        pairs += [(key, family) for key, family in named if key not in unread]
        pairs += [(name, None) for name in unread]
        if where:
            from tallybayes.sources.database_rows import RowsThatMeet

            conditions = [(condition.text, condition.values) for condition in where]
            source = RowsThatMeet(source, conditions, self._connection)
        fitted = _Asked(pairs, **parameters)
        fitted._warned_before = warned
        fitted.fit(source, target)
        return fitted._fitted(), fitted._read_rows(rows if records and table.named else table)


class _Asked(NaiveBayes):
    """A model for one question."""

    _name = "LazyNaiveBayes"


def _is_empty(column: Column | None, records: bool) -> bool:
    """Whether no row of the question has a value; a frame must have the column."""
    if column is None:
        return records
    if isinstance(column, Mixed):
        return False
    if isinstance(column, Strings):
        return bool((column.codes < 0).all())
    if isinstance(column, Numbers):
        return bool(np.isnan(column.values.astype(np.float64, copy=False)).all())
    return True
