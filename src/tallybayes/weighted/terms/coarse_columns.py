"""Columns as pairs are made of them: in few cells and in more."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tallybayes.weighted.cells.columns import ColumnCells, coarse
from tallybayes.weighted.cells.neighbours import spread
from tallybayes.weighted.terms.learning_rows import LearningRows
from tallybayes.weighted.terms.pair_terms import joint_cells

__all__ = ["CoarseColumns"]

Array = NDArray[np.float64]
Cells = NDArray[np.int32]

COARSE, FINE = 4, 16  # 8 × 8 cells have too few rows of each of ten classes
NONE = 255  # the code of no cell


class CoarseColumns:
    """Columns in few cells, and numbers in more ("fine").

    Parameters
    ----------
    columns : list of ColumnCells
    rows : LearningRows
    among : index array
        The columns that may be in a pair; the others have no codes.
    """

    def __init__(
        self, columns: list[ColumnCells], rows: LearningRows, among: NDArray[np.intp]
    ) -> None:
        self.rows = rows
        self.is_number = np.array([column.is_number for column in columns], dtype=bool)
        self.maps = {
            fine: [coarse(c, FINE if fine else COARSE) for c in columns] for fine in (False, True)
        }
        self.numbers = {  # how many of the cells are of numbers
            fine: np.array(
                [
                    int(m[: c.n_numbers].max(initial=-1)) + 1
                    for m, c in zip(maps, columns, strict=True)
                ],
                dtype=np.int64,
            )
            for fine, maps in self.maps.items()
        }
        self.size = {
            fine: np.array([int(m.max()) + 1 for m in maps], dtype=np.int64)
            for fine, maps in self.maps.items()
        }
        self.codes = {fine: np.zeros((len(columns), rows.n), dtype=np.uint8) for fine in self.maps}
        for j in among:
            for fine, maps in self.maps.items():
                same = fine and not self.is_number[j]
                self.codes[fine][j] = self.codes[False][j] if same else maps[j][rows.cells[j]]
        self.complete = bool((rows.cells >= 0).all())

    def sizes(self, i: int, j: int, fine: bool) -> tuple[int, int]:
        """Coarser cells of two columns."""
        return int(self.size[fine][i]), int(self.size[fine][j])

    def codes_or_none(self, fine: bool) -> NDArray[np.uint8]:
        """The coarser cell of each of the rows, (n_columns, n_rows); 255 where there is none."""
        if self.complete:
            return self.codes[fine]
        return np.where(self.rows.cells < 0, np.uint8(NONE), self.codes[fine])

    @property
    def sizes_of_all(self) -> NDArray[np.int64]:
        """Coarser cells of each column, few and more, (2, n_columns)."""
        return np.stack([self.size[False], self.size[True]])

    @property
    def numbers_of_all(self) -> NDArray[np.int64]:
        """How many of them are of numbers."""
        return np.stack([self.numbers[False], self.numbers[True]])

    def joint_of(self, rows: LearningRows, i: int, j: int, fine: bool) -> Cells:
        """The joint cell of each of some rows, −1 where a column has none."""
        maps = self.maps[fine]
        return joint_cells(rows.cells[i], rows.cells[j], maps[i], maps[j], int(self.size[fine][j]))

    def smoothed(
        self, i: int, j: int, fine: bool, width: float, sums: Array
    ) -> tuple[Array, Array]:
        """C and E over neighbouring cells of numbers, each level and the missing value by
        itself."""
        a, b = self.sizes(i, j, fine)
        cube = sums[:2].reshape(2, a, b, -1)
        if width > 1.0 and self.is_number[i]:
            cube = np.matmul(
                _kernel(a, int(self.numbers[fine][i]), width), cube.reshape(2, a, -1)
            ).reshape(cube.shape)
        if width > 1.0 and self.is_number[j]:
            cube = np.matmul(_kernel(b, int(self.numbers[fine][j]), width), cube)
        flat = cube.reshape(2, a * b, -1)
        return flat[0], flat[1]


@lru_cache(maxsize=256)
def _kernel(n: int, n_numbers: int, width: float) -> Array:
    """Triangular weights between the n cells of a column, of which the first are of numbers; each
    other, a level or the missing value, is by itself."""
    kernel = np.eye(n)
    numbers = np.arange(n_numbers, dtype=np.float64)
    kernel[:n_numbers, :n_numbers] = spread(numbers, width)
    kernel.flags.writeable = False
    return kernel
