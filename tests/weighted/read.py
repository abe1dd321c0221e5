"""What the tests of the weighted fit share: tables that are read as cells, and one to learn on."""

import numpy as np
import pandas as pd

from tallybayes import NaiveBayes
from tallybayes.tables import read_table
from tallybayes.weighted.cells import level_cells, number_cells
from tallybayes.weighted.rows import LearningRows


def cells_of(table, y):
    """The columns of a table as cells, the rows in them, and the class counts."""
    model = NaiveBayes().fit(table, y)
    tally = model.tally_
    rows, columns = tally.classes.count, []
    for group, counts in zip(tally.schema.groups, tally.groups, strict=True):
        if group.kind not in ("grid", "levels"):
            continue
        name, gaps = group.names[0], rows - counts.counts.sum(axis=1)
        if group.kind == "grid":
            columns.append(number_cells(name, counts, gaps))
        else:
            columns.append(level_cells(name, group.levels[0].tolist(), counts.counts, gaps))
    codes = np.searchsorted(model.classes_, y).astype(np.int32)
    return columns, LearningRows(codes_in(columns, table), codes, np.ones(len(y)), len(rows)), rows


def codes_in(columns, table):
    """The cells of other rows, (n_columns, n_rows)."""
    read = read_table(table).columns
    return np.stack([column.codes(read[column.name]) for column in columns])


def mixed(n, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    a, b = rng.random(n) < 0.5, rng.random(n) < 0.5
    b = np.where(rng.random(n) < 0.9, a ^ (y == 1), b)  # tells with `a` only
    table = pd.DataFrame(
        {
            "x": rng.normal(y, 1.0),
            "copy": 0.0,
            "a": np.where(a, "u", "v"),
            "b": np.where(b, "u", "v"),
            "noise": rng.normal(size=n),
        }
    )
    table["copy"] = table["x"]
    table.loc[rng.random(n) < 0.1, "x"] = np.nan
    return table, y
