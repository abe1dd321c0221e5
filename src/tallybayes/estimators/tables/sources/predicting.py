"""Predicting rows that are read part by part."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from tallybayes.errors import SourceError
from tallybayes.estimators.base import TallyClassifier
from tallybayes.estimators.tables.sources.counted_rows import labelled
from tallybayes.estimators.tables.sources.part_by_part import need_name, rows_of, tables_of
from tallybayes.estimators.tables.sources.where_rows_lie import (
    hits_of,
    predicted_where_rows_lie,
    right_where_rows_lie,
)
from tallybayes.models.table import TableModel
from tallybayes.sources.contract import Source, is_distributed, restarted
from tallybayes.sources.files import is_relation, is_source, is_spark_frame, source_of
from tallybayes.tables import AllBut, Table
from tallybayes.threads import get_num_threads
from tallybayes.validation import as_numpy

if TYPE_CHECKING:
    from tallybayes.sources.rows import PredictedRows

__all__ = ["PredictingSources"]

Array = NDArray[np.float64]


class PredictingSources(TallyClassifier):
    """Base of a table classifier that predicts the rows of a source. Not for direct use."""

    def _names_to_read(self, source: Source) -> list[str]:
        """The columns of a source that the model reads.

        Raises
        ------
        SourceError
            If one is lacking.
        """
        model = self._fitted()
        assert isinstance(model, TableModel)
        what = model.reading.declared
        there = source.columns()
        names = [name for name in model.names if name in there]
        lacking = [n for n in model.required if n not in there and not what.left_out(n)]
        if lacking and not model.has_names:
            raise SourceError(
                f"this {self._name} was trained on columns without names, which {source.name} has: "
                "give the rows as an array"
            )
        if lacking:
            raise SourceError(
                f"{source.name} lacks the column(s) {lacking} that the model was trained with; it "
                f"has {list(there)}"
            )
        return names

    def _parts_to_read(
        self, source: Source, label: Sequence[str] = (), more: Sequence[str] = ()
    ) -> Iterator[Table]:
        """The parts of a source, with the columns that the model reads, labels, and more."""
        names = self._names_to_read(source)
        model = self._fitted()
        assert isinstance(model, TableModel)
        what = model.reading.declared
        written = [*label, *(name for name in names if what.is_text(name))]
        asked = dict.fromkeys([*names, *label, *more])
        return tables_of(source, list(asked), written)

    def _over_parts(self, x: Any, do: Callable[[Any], Any]) -> Any:
        """What `do` returns for the rows of a source, part by part, one below the other."""
        source = source_of(x)
        results = restarted(lambda: [do(table) for table in self._parts_to_read(source)])
        if not results:
            self._raise_no_rows(source)
        return np.concatenate(results)

    def _raise_no_rows(self, source: Source) -> NoReturn:
        raise ValueError(
            f"Found array with 0 sample(s): {source.name} has no rows, while a minimum of 1 is "
            f"required by {self._name}."
        )

    def predict(self, X: Any) -> Any:
        """The most probable class of each row.

        Parameters
        ----------
        X : table (n_rows, n_columns), or source of rows
            Rows to predict; see `fit`.

        Returns
        -------
        array (n_rows,), duckdb.DuckDBPyRelation or pyspark.sql.DataFrame
            Labels; of equally probable classes the first. For a relation of DuckDB a relation, as
            :meth:`predict_rows` gives the rows, which is evaluated when it is read, in a
            database of its own. For a Spark DataFrame a Spark DataFrame: all its columns,
            ``prediction``, and ``p(label)`` for each class, evaluated when they are read.

        Raises
        ------
        ValueError
            If X lacks a column, or a value cannot be read.
        """
        if is_relation(X):
            from tallybayes.sources.databases.duckdb import relation_of

            return relation_of(self.predict_rows(X))
        if is_spark_frame(X):
            source = source_of(X)
            assert is_distributed(source)
            return predicted_where_rows_lie(self, source, self._names_to_read(source))
        return self._predicted(X)

    def _predicted(self, X: Any) -> Any:
        """The most probable class of each row, as an array."""
        if is_source(X):
            return self._over_parts(X, super().predict)
        return super().predict(X)

    def predict_rows(self, X: Any, *, keep: Sequence[str] | None = None) -> PredictedRows:
        """The rows of a source with their predictions, made batch by batch when they are read.

        Parameters
        ----------
        X : source of rows
            Rows to predict: files, a table or query of a database (:func:`tallybayes.table`,
            :func:`tallybayes.sql`), a DuckDB relation, a ``LazyFrame``, record batches, a
            ``pyarrow.dataset.Dataset``. Of a Spark DataFrame :meth:`predict` gives the rows.
        keep : sequence of str, optional
            Columns of X that stay; by default those that the model does not read. Columns of CSV
            and JSON lines stay as strings as they are written, those of other sources as they are.

        Returns
        -------
        PredictedRows
            An Arrow stream of the columns that stay, ``prediction``, and ``p(label)`` for each
            class.

        Raises
        ------
        ValueError
            If X lacks a column. Values that cannot be read raise when they are.

        Examples
        --------
        >>> import duckdb, tallybayes
        >>> db = duckdb.connect()
        >>> _ = db.sql("CREATE TABLE days AS SELECT 7 AS id, 'sun' AS sky, 1 AS y")
        >>> _ = db.sql("INSERT INTO days VALUES (8, 'rain', 0)")
        >>> days = tallybayes.table("days", db)
        >>> model = tallybayes.NaiveBayes({"id": None}).fit(days, "y")
        >>> predicted = model.predict_rows(days, keep=["id"])
        >>> _ = db.cursor().from_arrow(predicted).create("predictions")
        >>> db.sql("SELECT id, prediction FROM predictions").fetchall()
        [(7, 1), (8, 0)]
        """
        from tallybayes.estimators.tables.sources.predicted_rows import predicted_rows

        source = source_of(X)
        model = self._fitted()
        assert isinstance(model, TableModel)
        what = model.reading.declared
        read = [name for name in self._names_to_read(source) if not what.left_out(name)]
        written = [name for name in read if what.is_text(name)]
        return predicted_rows(self, source, read, written, keep)

    def predict_joint_log_proba(self, X: Any) -> Any:
        """log P(c) + log p(x | c), in nats.

        Parameters
        ----------
        X : table (n_rows, n_columns), or source of rows
            Rows to predict; see `fit`.

        Returns
        -------
        array (n_rows, n_classes)
            −inf where a class rules a row out.
        """
        if is_source(X):
            return self._over_parts(X, super().predict_joint_log_proba)
        return super().predict_joint_log_proba(X)

    def _posterior(self, X: Any, *, log: bool) -> Array:
        if is_source(X):
            posterior: Array = self._over_parts(X, partial(super()._posterior, log=log))
            return posterior
        return super()._posterior(X, log=log)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of rows whose label is predicted.

        Parameters
        ----------
        X : table (n_rows, n_columns), or source of rows
            Rows to predict; see `fit`.
        y : array-like (n_rows,) or str
            Their labels, or the column of X that has them.
        sample_weight : array-like (n_rows,) or str, optional
            How much each row counts, or the column of X that holds it; 1 by default.

        Returns
        -------
        float
            The accuracy, by weight.
        """
        if not isinstance(y, str):
            return float(super().score(X, y, sample_weight))
        need_name(sample_weight, "sample_weight")
        source = self._labelled_rows(X, [y, sample_weight])
        right, total = restarted(lambda: self._right_of(source, y, sample_weight))
        if not total:
            self._raise_no_rows(source)
        return right / total

    def _labelled_rows(self, x: Any, beside: Sequence[str | None]) -> Source:
        """Rows with their labels, of which other columns than the model's may hold anything."""
        model = self._fitted()
        assert isinstance(model, TableModel)
        what = model.reading.declared
        read = [*beside, *(name for name in model.names if not what.left_out(name))]
        return rows_of(as_numpy(x), get_num_threads(), AllBut(filter(None, read)))

    def _right_of(self, source: Source, target: str, weight: str | None) -> tuple[float, float]:
        """The weight of the rows that are predicted as they are labelled, and that of all."""
        if is_distributed(source):
            names = [*self._names_to_read(source), target, *([] if weight is None else [weight])]
            return right_where_rows_lie(self, source, names, target, weight)
        right = total = 0.0
        for x, labels, weights in self._labelled_parts(source, target, weight):
            hits, mass = hits_of(self, x, labels, weights)
            right, total = right + hits, total + mass
        return right, total

    def _labelled_parts(
        self, source: Source, target: str, weight: str | None
    ) -> Iterator[tuple[Table, list[Any], Array | None]]:
        """The parts of a source: what the model reads, the labels, and the weights."""
        known = {str(label): label for label in self.classes_.tolist()}  # text has no types
        for table in self._parts_to_read(source, [target], [] if weight is None else [weight]):
            yield labelled(table, target, weight, known)

    def _log_proba_without(self, X: Any, y: Any, sample_weight: Any) -> Array:
        of_rows = super()._log_proba_without
        if not isinstance(y, str):
            return of_rows(X, y, sample_weight)
        need_name(sample_weight, "sample_weight")
        source = self._labelled_rows(X, [y, sample_weight])

        def without() -> list[Array]:
            return [of_rows(*part) for part in self._labelled_parts(source, y, sample_weight)]

        results = restarted(without)
        if not results:
            self._raise_no_rows(source)
        return np.concatenate(results)
