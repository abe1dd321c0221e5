"""Counting without a model: the tally of a table or of a source."""

from __future__ import annotations

from typing import Any

from tallybayes.estimators.tables.naive_bayes import NaiveBayes
from tallybayes.tally import TableTally

__all__ = ["collect"]


def collect(
    source: Any, target: str, columns: Any = "auto", *, sample_weight: str | None = None
) -> TableTally:
    """Count the rows of a table or of a source.

    Tallies of parts add up to the tally of all, wherever they were counted: ``tally.save(path)``
    and ``TableTally.load(path)`` take them from one machine to another.
    :meth:`NaiveBayes.from_tally` makes a model of one.

    Parameters
    ----------
    source : table or source of rows
        As for :meth:`NaiveBayes.fit`: a data frame; a path, folder, pattern or list of files;
        record batches; a dataset; a lazy frame; a relation of DuckDB; a Spark DataFrame.
    target : str
        The column of labels.
    columns : "auto", mapping or list of pairs, default="auto"
        Families by column, as for :class:`NaiveBayes`: they define what is counted.
    sample_weight : str, optional
        The column of weights; 1 by default.

    Returns
    -------
    TableTally
        The counts.

    Raises
    ------
    ValueError
        If the source cannot be read (a SourceError), lacks a column, or holds a value that is not
        admitted.

    See Also
    --------
    NaiveBayes.from_tally : A model of a tally.

    Examples
    --------
    >>> import pandas as pd
    >>> from tallybayes import NaiveBayes, collect
    >>> monday = pd.DataFrame({"rain": ["yes", "no", "no"], "late": [1, 0, 0]})
    >>> tuesday = pd.DataFrame({"rain": ["yes", "yes"], "late": [1, 0]})
    >>> tally = collect(monday, "late") + collect(tuesday, "late")
    >>> NaiveBayes.from_tally(tally).predict_proba([{"rain": "yes"}]).round(3)
    array([[0.416, 0.584]])
    """
    return NaiveBayes(columns).fit(source, target, sample_weight).tally_
