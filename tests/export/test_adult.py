"""Every row of the Adult table, where the data are: `python -m benchmarks sql` measures there."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from benchmarks.accuracy.data import all_data_sets

from export.databases import check_same
from tallybayes import NaiveBayes, WeightedNaiveBayes


@pytest.fixture(scope="module")
def adult():
    """The table, and its labels."""
    [found] = [data for data in all_data_sets() if data.name == "adult"]
    if not found.paths:
        pytest.skip("TALLYBAYES_DATA names no folder with the Adult table")
    x, y = found.table
    return pa.Table.from_pandas(x.rename(columns=str), preserve_index=False), np.asarray(y)


@pytest.fixture(scope="module")
def weighted(adult):
    """The usual model of two classes."""
    return WeightedNaiveBayes(parts=1).fit(*adult)


def rows_for(back_end, table):
    """The rows: some of them for back_ends that take their time."""
    return table.slice(0, 4000) if back_end.dialect in ("sqlite", "mysql") else table


def test_every_row_has_the_label_and_the_probabilities_of_the_model(back_end, adult, weighted):
    check_same(back_end, weighted, rows_for(back_end, adult[0]))


def test_of_fifteen_classes_too(back_end, adult):
    table, _ = adult
    jobs = [job or "unknown" for job in table["occupation"].to_pylist()]
    model = NaiveBayes({"occupation": None}).fit(table, jobs)
    assert len(model.classes_) == 15
    check_same(back_end, model, rows_for(back_end, table))
