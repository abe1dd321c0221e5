"""Class conditional of a whole table: a product over its named columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.distributions.base import ClassConditional, Index, shown
from tallybayes.distributions.columns import Column, GroupOfCounts, NumberColumn, names_of
from tallybayes.distributions.vectors import GroupOfNumbers
from tallybayes.tables import Table

__all__ = ["ProductOfColumns"]

Array = NDArray[np.float64]


class ProductOfColumns(ClassConditional):
    """p(x | c) = Π_j p(x_j | c) over the columns of a table; events are rows.

    Missing values are left out of the product, which then is the probability of what the row has;
    where the model takes missing values for evidence, they are values. ``distribution["age"]`` is
    one column's.

    Parameters
    ----------
    columns : sequence of Column, GroupOfCounts and GroupOfNumbers
        Those that count.
    classes : array (n_classes,)
        Labels of the classes.
    read : callable
        Rows as the model reads them: a Table.
    write : callable
        A dict of columns, and the number of rows, as a table that the model reads.

    Attributes
    ----------
    columns : list of Column, GroupOfCounts and GroupOfNumbers
    features : list of str

    Examples
    --------
    >>> from tallybayes import NaiveBayes
    >>> rows = [{"sky": "sun", "degrees": 25.0}, {"sky": "rain", "degrees": 11.0}]
    >>> model = NaiveBayes().fit(rows, ["out", "in"])
    >>> model.class_conditional_["sky"].probs.round(3).tolist()
    [[0.333, 0.667], [0.667, 0.333]]
    >>> x, y = model.joint_.sample(random_state=0)
    >>> sorted(x)
    ['degrees', 'sky']
    """

    dtype: np.dtype[Any] = np.dtype(object)

    def __init__(
        self,
        columns: Sequence[Column | GroupOfCounts | GroupOfNumbers],
        classes: NDArray[Any],
        read: Callable[[Any], Table],
        write: Callable[[dict[str, Any], int], Any],
    ) -> None:
        super().__init__(classes, names_of(columns))
        self.columns: list[Column | GroupOfCounts | GroupOfNumbers] = list(columns)
        self._read = read
        self._write = write

    def __getitem__(self, name: str) -> Column | GroupOfCounts | GroupOfNumbers:
        for column in self.columns:
            if name in column.features:
                return column
        raise KeyError(
            f"{name!r} is not a column that counts; those are {shown(self.features)} (schema_ says "
            "what became of the others)"
        )

    def column(self, name: str) -> Column | GroupOfCounts | GroupOfNumbers:
        """The same as ``distribution[name]``."""
        return self[name]

    def events(self, values: dict[Any, NDArray[Any]]) -> Any:
        return self.as_rows(values, len(next(iter(values.values()))))

    def _marginal(self, index: list[int]) -> ProductOfColumns:
        features = [self.features[j] for j in index]
        columns: list[Column | GroupOfCounts | GroupOfNumbers] = []
        taken: list[Column | GroupOfCounts | GroupOfNumbers] = []
        for name in features:
            column = self[name]
            if any(column is c for c in taken):
                continue
            taken.append(column)
            if len(column.features) > 1 and not set(column.features) <= set(features):
                wanted = [n for n in column.features if n in features]
                column = column.marginal(wanted)  # type: ignore[assignment]
            columns.append(column)
        return ProductOfColumns(columns, self.classes, self._read, self._write)

    def _details(self) -> dict[str, str]:
        families = [column.what for column in self.columns for _ in column.features]
        return {**super()._details(), "families": shown(families)}

    def log_prob(self, x: Any) -> Array:
        """log p(x | c), in nats.

        Parameters
        ----------
        x : table (n_rows, n_columns), or one row as a dict
            Events: rows, or values of a column.

        Returns
        -------
        float64 array (n_rows, n_classes), or (n_classes,) for a dict
            In nats.

        Raises
        ------
        ValueError
            For rows that the model does not read.
        """
        if isinstance(x, Mapping):
            return self.log_prob([dict(x)])[0]  # type: ignore[no-any-return]
        table = self._read(x)
        scores = np.zeros((table.n_rows, len(self.classes)))
        for column in self.columns:
            for share in column.part.contributions(table).values():
                scores += share
        return scores

    def draw(self, codes: Index, rng: Any, **more: Any) -> dict[str, NDArray[Any]]:
        drawn: dict[str, NDArray[Any]] = {}
        for column in self.columns:
            values = column.draw(codes, rng, **more)
            if isinstance(column, Column):
                drawn[column.name] = values
            else:
                drawn |= {name: values[:, j] for j, name in enumerate(column.features)}
        return drawn

    def sample(
        self, n: int | None = None, random_state: Any = None, **more: Any
    ) -> dict[str, NDArray[Any]]:
        """Draw events of every class, column by column.

        Parameters
        ----------
        n : int, optional
            Draws of each class; one, without an axis for it, by default.
        random_state : None, int, RandomState or Generator
            The seed, or the generator, of the draws.
        **more
            ``total_count``, the sum of each group of counts; 1 by default.

        Returns
        -------
        dict of arrays (n, n_classes), or (n_classes,)
            By column name; a missing value is None among strings and NaN among numbers, a date is a
            number of days since 1970. For rows to give to a model, see ``joint_.sample``.
        """
        return self._by_class(  # type: ignore[no-any-return]
            n,
            random_state,
            lambda drawn, shape: {name: v.reshape(shape) for name, v in drawn.items()},
            **more,
        )

    def as_rows(self, drawn: dict[str, NDArray[Any]], n: int) -> Any:
        return self._write({name: values.tolist() for name, values in drawn.items()}, n)

    def as_row(self, drawn: dict[str, NDArray[Any]]) -> dict[str, Any]:
        return {name: values.tolist()[0] for name, values in drawn.items()}

    def _numbers(self, of: str) -> dict[str, Array]:
        found: dict[str, Array] = {}
        for column in self.columns:
            if isinstance(column, NumberColumn):
                found[column.name] = getattr(column, of)()
            elif isinstance(column, GroupOfNumbers):
                found |= dict(zip(column.features, getattr(column, of)().T, strict=True))
        return found

    def mean(self) -> dict[str, Array]:
        """E x of each column of numbers, (n_classes,), by name; groups of counts have one given
        their sum only."""
        return self._numbers("mean")

    def variance(self) -> dict[str, Array]:
        """Var x of each column of numbers, (n_classes,), by name."""
        return self._numbers("variance")

    def stddev(self) -> dict[str, Array]:
        """The roots of :meth:`variance`."""
        return self._numbers("stddev")

    def entropy(self, **more: Any) -> Array:
        """The sum of the columns' entropies, in nats, float64 (n_classes,).

        Those of levels, bins and counts are of probabilities, those of densities differential, in
        the unit of the column.
        """
        each = [column.entropy(**more) for column in self.columns]
        return np.asarray(sum(each, start=np.zeros(len(self.classes))))
