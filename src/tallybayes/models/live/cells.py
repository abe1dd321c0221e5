"""The cells of many columns side by side, whose counts change row by row."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tallybayes.families.cells import CellLaw
from tallybayes.families.smooth import spread_of
from tallybayes.tally.base import RESIDUE

__all__ = ["LiveCells", "Touched"]

Array = NDArray[np.float64]
Index = NDArray[np.intp]


class Touched:
    """The cells that a row is in, with the number of the law of each.

    Laws whose base measure is the shares of the rows (marginal) are apart from those whose base
    measure is fixed.
    """

    def __init__(self) -> None:
        self.laws: list[int] = []
        self.cells: list[int] = []
        self.marginal_laws: list[int] = []
        self.marginal_cells: list[int] = []


class LiveCells:
    """Laws of cells side by side.

    Parameters
    ----------
    n_classes : int
    """

    def __init__(self, n_classes: int) -> None:
        self.size: int = 0
        self.counts: Array = np.zeros((64, n_classes))
        self.rows: Array = np.zeros(64)
        self.pseudo: Array = np.zeros(64)  # S·q, where q is not a share of the rows
        self.total: Array = np.zeros((0, n_classes))
        self.n_cells: Array = np.zeros(0)
        self.strength: Array = np.zeros(0)
        self.start: list[int] = []
        self.marginal: list[bool] = []
        self.width: list[int] = []
        self.row: Array = np.zeros(0)
        self.share: list[float | None] = []  # S·q of every cell, where it is the same
        self.in_effective_rows: list[bool] = []
        self.growth: float = 1.0  # of the strength of those laws since they were read

    def add_law(self, law: CellLaw, *, in_effective_rows: bool = False) -> int:
        """Adds a law and returns its number. Its cells stand in order from ``start`` on.

        Parameters
        ----------
        law : CellLaw
        in_effective_rows : bool
            Whether its strength is multiplied by ``growth``.
        """
        self.in_effective_rows.append(in_effective_rows)
        n = law.counts.shape[1]
        self.start.append(self._room(n))
        cells = slice(self.start[-1], self.start[-1] + n)
        self.counts[cells] = law.counts.T
        self.rows[cells] = law.counts.sum(axis=0) if law.rows is None else law.rows
        strength = float(law.strength)
        even = None
        if law.base is not None:
            self.pseudo[cells] = strength * law.base
            even = float(self.pseudo[cells.start]) if np.ptp(law.base) == 0.0 else None
        self.marginal.append(law.base is None)
        self.width.append(law.width)
        self.share.append(even)
        self.total = np.concatenate([self.total, law.total.T])
        self.n_cells = np.append(self.n_cells, law.n_cells)
        self.strength = np.append(self.strength, strength)
        self.row = np.append(self.row, law.row)
        return len(self.start) - 1

    def _room(self, n: int) -> int:
        """The first of n new cells."""
        first, self.size = self.size, self.size + n
        if self.size > len(self.rows):
            more = max(self.size, 2 * len(self.rows)) - len(self.rows)
            self.counts = np.pad(self.counts, ((0, more), (0, 0)))
            self.rows, self.pseudo = np.pad(self.rows, (0, more)), np.pad(self.pseudo, (0, more))
        return first

    def add_cell(self, law: int) -> int | None:
        """A new cell of a law, one level more; None where its base measure does not define one."""
        share = self.share[law]
        if share is None:
            return None
        cell = self._room(1)
        self.pseudo[cell] = share
        self.n_cells[law] += 1
        self.strength[law] += share
        return cell

    def touch(self, law: int, cell: int, touched: Touched) -> None:
        """Notes that a row is in a cell."""
        if self.marginal[law]:
            touched.marginal_laws.append(law)
            touched.marginal_cells.append(cell)
        else:
            touched.laws.append(law)
            touched.cells.append(cell)

    def add(self, touched: Touched, k: int, weight: float) -> None:
        """Counts a row of class k in the cells that it touches."""
        if touched.cells:
            cells = np.array(touched.cells)
            self.counts[cells, k] += weight
            self.rows[cells] += weight
            self.total[touched.laws, k] += weight
        for law, cell in zip(touched.marginal_laws, touched.marginal_cells, strict=True):
            self.rows[cell] += weight
            self.total[law, k] += weight
            if not self.width[law]:
                self.counts[cell, k] += weight
                continue
            start, n = self.start[law], int(self.n_cells[law])
            spread = spread_of(cell - start, n, self.width[law])
            self.counts[start : start + n, k] += weight * spread

    def take_out(self, touched: Touched, k: int, weight: float) -> bool:
        """Takes such a row out; whether each cell has other rows left. Otherwise cells and columns
        may be gone with it, and everything has to be read again."""
        cells = touched.cells + touched.marginal_cells
        laws = touched.laws + touched.marginal_laws
        left = self.counts[touched.cells, k] >= (1.0 - RESIDUE) * weight
        others = self.rows[cells] > (1.0 + RESIDUE) * weight
        columns = self.total[laws, k] > (1.0 + RESIDUE) * weight
        if not (left.all() and others.all() and columns.all()):
            return False
        self.add(touched, k, -weight)
        changed = [*touched.cells]
        for law in touched.marginal_laws:
            changed += range(self.start[law], self.start[law] + int(self.n_cells[law]))
        rest = self.counts[changed, k]
        self.counts[changed, k] = np.where(rest > RESIDUE * weight, rest, 0.0)
        return True

    def fade(self, factor: float) -> None:
        """Multiplies the weight of every row by `factor`."""
        self.counts *= factor
        self.rows *= factor
        self.total *= factor

    def log_prob(self, touched: Touched) -> Array:
        """Σ log P(cell | c), (n_classes,), in nats."""
        scores: Array = np.zeros(self.counts.shape[1])
        for laws, cells, marginal in (
            (touched.laws, touched.cells, False),
            (touched.marginal_laws, touched.marginal_cells, True),
        ):
            if cells:
                law = self._law(np.array(laws), np.array(cells), marginal)
                scores += law.log_prob().sum(axis=1)
        return scores

    def _law(self, laws: Index, cells: Index, marginal: bool) -> CellLaw:
        strength, base = self.strength[laws], None
        if not marginal:
            base = np.divide(
                self.pseudo[cells], strength, out=np.zeros(len(cells)), where=strength > 0.0
            )
        if self.growth != 1.0:
            grown = [self.in_effective_rows[law] for law in laws.tolist()]
            strength = np.where(grown, self.growth * strength, strength)
        return CellLaw(
            counts=self.counts[cells].T,
            total=self.total[laws].T,
            n_cells=self.n_cells[laws],
            strength=strength,
            base=base,
            rows=self.rows[cells] if marginal else None,
            row=self.row[laws] if marginal else 1.0,
        )
