"""A fair sample of a file's rows, whatever its batches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tallybayes.engines.sampling import row_hashes
from tallybayes.sources.text_files.batch import Labelled, stacked

__all__ = ["SAMPLE", "WEIGHTED_SAMPLE", "Sample"]

SAMPLE = 1 << 15  # rows on which smoothing and calibration are chosen, at most
WEIGHTED_SAMPLE = 1 << 17  # rows on which weights and pairs are learned, at most


class Sample:
    """A fair sample of rows: those whose number has a hash below a bound, which is halved when they
    become too many; so batches do not matter, nor any period in the data."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.parts: list[tuple[NDArray[np.uint64], pa.Table, NDArray[Any]]] = []
        self.bound = np.uint64(2**64 - 1)

    def add(self, rows: Labelled) -> None:
        """Takes those rows of a batch that are in the sample."""
        marks = row_hashes(rows.batch.numbers.astype(np.uint64))
        self._keep(marks, rows.batch.table, rows.labels)
        while sum(len(marks) for marks, _, _ in self.parts) > self.most:
            self.bound >>= np.uint64(1)
            parts, self.parts = self.parts, []
            for part in parts:
                self._keep(*part)

    def _keep(self, marks: NDArray[np.uint64], table: pa.Table, labels: NDArray[Any]) -> None:
        kept = np.flatnonzero(marks <= self.bound)
        self.parts.append((marks[kept], table.take(kept), labels[kept]))

    @property
    def n_rows(self) -> int:
        return sum(len(marks) for marks, _, _ in self.parts)

    @property
    def whole(self) -> bool:
        """Whether all rows are in it."""
        return bool(self.bound == np.uint64(2**64 - 1))

    def rows(self) -> tuple[pa.Table, NDArray[Any]]:
        """The sampled rows and their labels."""
        table = stacked([table for _, table, _ in self.parts])
        return table, np.concatenate([labels for _, _, labels in self.parts])
