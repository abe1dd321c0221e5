"""Tables as cells, and what a learned weighted model says of cells, written plainly."""

from __future__ import annotations

import numpy as np
import pandas as pd

from tallybayes import NaiveBayes
from tallybayes.tables import read_table
from tallybayes.weighted.cells import level_cells, number_cells
from tallybayes.weighted.learned import Averaged
from tallybayes.weighted.rows import LearningRows

__all__ = ["cells_of", "loss", "mixed", "proba", "scores", "term_tables"]


def cells_of(table, y):
    """The columns of a table as cells, the rows in them, and the class counts."""
    model = NaiveBayes().fit(table, y)
    tally = model.tally_
    rows, columns = tally.classes.count, []
    for group, counts in zip(tally.schema.groups, tally.groups, strict=True):
        name = group.names[0]
        if group.kind == "grid":
            columns.append(number_cells(name, counts, rows - counts.counts.sum(axis=1)))
        elif group.kind == "levels":
            gaps = rows - counts.counts.sum(axis=1)
            levels = group.levels[0].tolist()
            columns.append(level_cells(name, levels, counts.counts, gaps))
    read = read_table(table)
    cells = np.stack([column.codes(read.columns[column.name]) for column in columns])
    codes = np.searchsorted(model.classes_, y).astype(np.int32)
    return columns, LearningRows(cells, codes, np.ones(len(y)), len(rows)), rows


def term_tables(learned):
    """What each term of one fit adds, under the counts that its columns have."""
    share = np.exp(learned.offset - learned.weights.offsets)
    return learned.term_tables(learned.columns, share)


def scores(learned, cells):
    """Of what one fit gave, or of the mean of several."""
    if isinstance(learned, Averaged):
        parts = zip(learned.shares, learned.parts, strict=True)
        found = sum(share * scores(part, cells) for share, part in parts)
        smooth = learned.smooth
        if smooth is None:
            return found
        tables = [*smooth.columns, *(pair.table for pair in smooth.pairs)]
        return found + summed(smooth.offset, tables, smooth.pairs, cells)
    return summed(learned.offset, term_tables(learned), learned.pairs, cells)


def summed(offset, tables, pairs, cells):
    """The offset and, for each row, the entries of its cells in the tables of columns and pairs."""
    found = np.tile(offset, (cells.shape[1], 1))
    codes = [*cells, *(pair.codes(cells) for pair in pairs)]
    for cell, table in zip(codes, tables, strict=True):
        found[cell >= 0] += table[cell[cell >= 0]]
    return found


def proba(learned, cells):
    said = scores(learned, cells)
    p = np.exp(said - said.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)


def loss(p, y):
    return -np.log(p[np.arange(len(y)), y]).mean()


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
