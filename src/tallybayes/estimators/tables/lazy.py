"""Naive Bayes without training: the counts that a question needs, when it is asked."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
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
    SourceColumn,
)
from tallybayes.engines.registry import engine_of
from tallybayes.engines.threads import get_num_threads
from tallybayes.estimators.base import class_prior_of
from tallybayes.estimators.labels import label_array, labels_and_codes
from tallybayes.families.selection.choice import UNDECLARED
from tallybayes.inspection.explanation import Explanation, explanation_of
from tallybayes.models.class_weights import by_class, by_label, resolved
from tallybayes.models.columns.declarations import Declared, declared, names_declared
from tallybayes.models.columns.families import Reading
from tallybayes.models.columns.mixed import Held
from tallybayes.models.columns.rows import Names, rows_to_score
from tallybayes.models.data_warnings.odd_values import Watched, warn_of_odd_values
from tallybayes.models.table import TableModel
from tallybayes.parameters import Unseen
from tallybayes.sources.find import is_in_database
from tallybayes.tables import Column, Numbers, Strings, Table, read_table
from tallybayes.tally import TableTally

__all__ = ["LazyNaiveBayes"]

Array = NDArray[np.float64]
Where = str | tuple[str, Sequence[Any]]

LEVELS = ("text", "category", "boolean")
"""Kinds of columns that are levels unless they are declared otherwise; others are numbers."""


def _condition(where: Any) -> list[Condition]:
    if where is None:
        return []
    text, values = (where, ()) if isinstance(where, str) else (where[0], tuple(where[1]))
    if not isinstance(text, str) or not text.strip() or "\0" in text:
        raise ValueError(
            "where= is a condition in SQL, such as 'age > 30', or with values of its own "
            f"('age > ?', [30]); got {where!r}"
        )
    return [Condition(text, values)]


def _need_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{name} is one of {', '.join(map(repr, choices))}; got {value!r}")


def _need_strength(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < np.inf:
        raise ValueError(f"{name} is a finite number from 0 on, in rows; got {value!r}")


def _need_family(name: str, family: Any) -> None:
    """Raises ValueError for a family that needs more than the counts of what was asked for."""
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


class LazyNaiveBayes(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Naive Bayes that is never fitted: it counts when it is asked, in the source as it then is.

    Each call of a method that predicts runs one SQL statement in DuckDB, which counts just what the
    rows of the call ask for: the levels that occur in them, the classes, the number of levels, and
    for columns of numbers the moments. No row of the source reaches Python. The answers are those
    of a :class:`NaiveBayes` that had been fitted to the source at that moment with the same columns
    declared; here numbers and dates are ``Gaussian(var_smoothing=0, ddof=1, pooled_rows=1)`` where
    they are not declared, and a column that is missing in all the rows asked about is not looked
    at.

    Needs DuckDB: ``pip install 'tallybayes[duckdb]'``.

    Parameters
    ----------
    source : frame, relation, DatabaseRows, path or str
        A pandas or polars frame, a pyarrow table, a DuckDB relation, a table or query of a database
        (:func:`tallybayes.table`, :func:`tallybayes.sql`), the path of a Parquet, CSV (with a line
        of names) or JSON lines file, or with `connection` the name of a table or view, or SQL text.
        Of a table or query in PostgreSQL the columns that are asked about are read, and counted
        here.
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
        its markers ``?`` may be given beside it, but not for PostgreSQL. It is part of the
        statement as it stands: give nobody's input but in the values.
    connection : duckdb.DuckDBPyConnection, optional
        Where a table's name or SQL text is looked up. It sees what its own open transaction has
        changed.
    alpha : float, default=1.0
        Smoothing of level counts: in rows of weight 1 where `columns` names the family, else in
        effective rows where these weigh more than 1.
    class_alpha : float, default=1.0
        Smoothing of the class prior: (count + class_alpha) / (m + K·class_alpha).
    class_prior : array-like (n_classes,) or dict, optional
        A class prior that no count changes, classes in sorted order or by label; class_alpha is
        then 0 or its default.
    class_weight : "balanced" or dict, optional
        What a row weighs by its label, as for :class:`NaiveBayes`; "balanced" gives the classes of
        the rows that are evidence the same weight. Smoothing is in units of it.
    missing : {"ignore", "level"}, default="ignore"
        Missing values, NULL or NaN, are left out of the product, or are evidence themselves.
    unseen : {"smooth", "ignore", "error"}, default="smooth"
        What happens with a level that the evidence does not have: it gets the probability
        α / (n_cj + α·N_j), its column is left out of the product, or an error.

    Attributes
    ----------
    classes_ : array (n_classes,)
        The classes that the last call found, sorted: the columns of the probabilities.
    class_count_ : float64 array (n_classes,)
    tally_ : TableTally
        All that the last call counted.
    statement_ : str
        The SQL that it ran; empty for PostgreSQL.

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
        _need_choice("missing", self.missing, ("ignore", "level"))
        _need_choice("unseen", self.unseen, ("smooth", "ignore", "error"))
        _need_strength("alpha", self.alpha)
        if self.class_weight != "balanced":
            by_label(self.class_weight)  # raises for what is not weights
        _need_strength("class_alpha", self.class_alpha)
        if not isinstance(self.target, str):
            raise TypeError(f"target is the name of a column, got {self.target!r}")
        self._families = {} if self.columns is None else self.columns
        names_declared(self._families)  # raises for what is not a family
        self._where = _condition(self.where)
        passing = ["memory"] if is_in_database(self.source) else ["memory", "stream"]
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
        """
        labels = label_array(y)
        return float(accuracy_score(labels, self.predict(rows, where), sample_weight=sample_weight))

    # ---- what is asked ---------------------------------------------------------------------------
    def _columns_now(self) -> tuple[dict[str, SourceColumn], Declared]:
        """The columns that count, without the target, and their families."""
        there = self._engine.columns(self._opened)
        if self.target not in there:
            raise ValueError(
                f"the source has no column {self.target!r}, the target; its columns are "
                f"{list(there)}"
            )
        names = [name for name in there if name != self.target]
        for name in names_declared(self._families):
            if name not in names:
                why = "is the target" if name == self.target else "the source does not have"
                raise ValueError(f"columns= names {name!r}, which {why}; it has {names}")
        what = declared(self._families)
        if what.groups:
            _need_family(str(next(iter(what.groups))), next(iter(what.groups.values())))
        columns: dict[str, SourceColumn] = {}
        for name in names:
            column = there[name]
            if what.left_out(name):
                continue
            if column.kind is None:
                raise ValueError(
                    f"column {name!r} of the source is of the type {column.type}, neither number, "
                    f"text, boolean nor date: leave it out, columns={{{name!r}: None}}"
                )
            columns[name] = column
        return columns, self._with_families(columns, what)

    def _with_families(self, columns: Mapping[str, SourceColumn], what: Declared) -> Declared:
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

    def _rows(self, rows: Any, columns: Mapping[str, SourceColumn], what: Declared) -> Table:
        """The rows that are asked about, each column as the source counts it."""
        table = read_table(rows, get_num_threads())
        if not table.n_rows:
            raise ValueError("no row is asked about: give at least one")
        if not table.named:
            if len(table.columns) != len(columns):
                raise ValueError(
                    f"the rows are an array of {len(table.columns)} columns, but the source has "
                    f"{len(columns)} beside the target: {list(columns)}"
                )
            renamed = dict(zip(columns, table.columns.values(), strict=True))
            table = Table(renamed, table.n_rows, True)
        holds = {
            name: Held(numbers=True, dates=column.kind == "date")
            if what.is_number(name)
            else Held(strings=True, booleans=column.kind == "boolean")
            for name, column in columns.items()
        }
        records = isinstance(rows, list | tuple)
        names = list(columns)
        x = rows_to_score(table, names, names, holds, what, records=records)
        counts = [n for n in names if (f := what.families.get(n)) is not None and f.whole]
        booleans = [name for name in names if holds[name].booleans and self.unseen != "error"]
        warn_of_odd_values(x, Watched(tuple(counts), tuple(booleans)), self._warned)
        return x

    def _asked(self, x: Table, what: Declared) -> dict[str, CountLevels | CountNumbers]:
        """What has to be counted for these rows: levels, then numbers."""
        levels: dict[str, CountLevels | CountNumbers] = {}
        numbers: dict[str, CountLevels | CountNumbers] = {}
        for name, column in x.columns.items():
            if isinstance(column, Numbers):
                there = not np.isnan(column.values.astype(np.float64, copy=False)).all()
            else:
                there = isinstance(column, Strings) and bool((column.codes >= 0).any())
            if not there and self.missing == "ignore":
                continue
            if what.is_number(name):
                numbers[name] = CountNumbers(non_negative=what.least(name) == 1, grid=False)
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

    def _ask(self, rows: Any, where: Where | None) -> tuple[TableModel, Table]:
        """Counts what the rows need; the model that is read from the counts, and the rows."""
        conditions = [*self._where, *_condition(where)]
        columns, what = self._columns_now()
        x = self._rows(rows, columns, what)
        asked = self._asked(x, what)
        tally = self._engine.collect(Counting(asked, where=conditions), self._opened, self.target)
        classes = tally.schema.classes
        labels_and_codes(classes)  # raises for what is not a class
        weights = resolved(self.class_weight, classes, tally.classes.count)
        if weights:
            tally = tally.weighted(by_class(weights, classes))
        prior = class_prior_of(
            self.class_prior,
            classes,
            float(self.class_alpha),
            False,
            "class_prior",
            default=1.0,
        )
        model = TableModel(tally, prior, type(self).__name__)
        model.warned = self._warned  # once for this object, not for each question
        names = list(asked)
        model.seen = Names(names, frozenset(names))
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
        return explanation_of(model, x)

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

    def __repr__(self) -> str:
        shown = repr(self.source) if isinstance(self.source, str) else type(self.source).__name__
        return f"LazyNaiveBayes({shown}, {self.target!r})"
