"""Naive Bayes without training: each question counts what it needs."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import accuracy_score

from tallybayes import scoring
from tallybayes.engines.contract import Counting
from tallybayes.engines.registry import engine_of
from tallybayes.estimators.base import class_prior_of
from tallybayes.estimators.reported import draw_waterfall
from tallybayes.estimators.tables.lazy_questions import (
    Where,
    columns_that_count,
    condition,
    counts_needed,
    need_choice,
    need_strength,
    rows_asked,
)
from tallybayes.estimators.tables.lazy_rows import RowsAsked, are_read_here
from tallybayes.explain.explanation import Explanation, explanation_of
from tallybayes.models.class_weights import by_class, by_label, resolved
from tallybayes.models.declarations import Reading, names_declared
from tallybayes.models.rows import Names
from tallybayes.models.table import TableModel
from tallybayes.parameters import Unseen
from tallybayes.sources.files import is_in_database
from tallybayes.tables import Table
from tallybayes.tally import TableTally
from tallybayes.validation import label_array, labels_and_codes, warn_of_other_order

__all__ = ["LazyNaiveBayes"]

Array = NDArray[np.float64]


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
        warn_of_other_order(rows, y, sample_weight)
        labels = label_array(y)
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

    def __repr__(self) -> str:
        shown = repr(self.source) if isinstance(self.source, str) else type(self.source).__name__
        return f"LazyNaiveBayes({shown}, {self.target!r})"
