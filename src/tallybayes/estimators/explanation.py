"""Why a row got its classes: what each column adds to each class's score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.estimators.frames import frame

__all__ = ["Explanation"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Explanation:
    """Scores taken apart: ``base + contributions.sum(axis=2)`` is the joint log-probability.

    Parameters
    ----------
    base : float64 array (n_classes,)
        log P(c), in nats.
    contributions : float64 array (n_rows, n_classes, n_columns)
        log p(x_j | c), in nats; 0 for a gap.
    classes : array (n_classes,)
    columns : list of str
    """

    base: Array
    contributions: Array
    classes: NDArray[Any]
    columns: list[str]

    def __str__(self) -> str:
        """A readable table of the first row: the columns that speak most, first."""
        share = self.contributions[0] if len(self.contributions) else np.zeros((len(self.base), 0))
        # what a column says is how far apart it sets the classes
        apart = share.max(axis=0) - share.min(axis=0) if share.size else np.zeros(share.shape[1])
        rows = [
            ("(prior)", self.base),
            *((self.columns[j], share[:, j]) for j in np.argsort(-apart)),
        ]
        rows.append(("(sum)", self.base + share.sum(axis=1)))
        width = max(len(name) for name, _ in rows)
        labels = [str(label) for label in self.classes.tolist()]
        cells = [max(10, len(label)) for label in labels]
        head = " ".join(label.rjust(c) for label, c in zip(labels, cells, strict=True))
        lines = [f"{'nats'.ljust(width)} {head}"]
        for name, values in rows:
            shown = " ".join(f"{v:.4f}".rjust(c) for v, c in zip(values, cells, strict=True))
            lines.append(f"{name.ljust(width)} {shown}")
        return "\n".join(lines)

    def to_frame(self) -> Any:
        """A frame with the columns row, class, column and contribution (nats); the class prior is
        the column "(prior)"."""
        n, k, d = self.contributions.shape
        labels = [*self.columns, "(prior)"]
        base = np.broadcast_to(self.base[None, :, None], (n, k, 1))
        values = np.concatenate([self.contributions, base], axis=2)
        return frame(
            {
                "row": np.repeat(np.arange(n), k * (d + 1)),
                "class": np.tile(np.repeat(self.classes, d + 1), n),
                "column": np.tile(np.array(labels, dtype=object), n * k).tolist(),
                "contribution": values.ravel(),
            }
        )
