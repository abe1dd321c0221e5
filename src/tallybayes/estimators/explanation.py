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
