"""Class conditionals whose events are rows of an array."""

from __future__ import annotations

import functools
from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.distributions.base import ClassConditional, shown

__all__ = ["ArrayConditional"]

Array = NDArray[np.float64]

MAX_INTERMEDIATE = 1 << 20  # of the intermediate results of a block of rows


class ArrayConditional(ClassConditional):
    """A class conditional whose events are rows of an array.

    Rows are asked about in blocks, so that intermediate results stay small.
    """

    @abstractmethod
    def _log_prob(self, x: NDArray[Any]) -> Array:
        """(n_rows, n_classes) of rows (n_rows, n_features)."""

    def _cells_a_row(self, sparse: bool) -> int:
        """How large an intermediate result is for each row."""
        return len(self.features) * len(self.classes)

    def _log_prob_of_sparse(self, x: Any) -> Array:
        """The same of a block of rows in CSR format."""
        return self._log_prob(self._read(x.toarray()))

    def _read(self, x: Any) -> NDArray[Any]:
        return np.asarray(x, dtype=np.float64)

    def log_prob(self, x: Any) -> Array:
        """log p(x | c), in nats.

        Parameters
        ----------
        x : array-like (…, n_features), or sparse matrix (n_rows, n_features)
            Rows; every one is asked about in every class.

        Returns
        -------
        float64 array (…, n_classes)
            −inf for what cannot be.

        Raises
        ------
        ValueError
            For other columns than the distribution has.
        """
        return self._by_block(x)

    def _by_block(self, x: Any, **more: Any) -> Array:
        sparse = hasattr(x, "toarray")
        rows: Any = x.tocsr() if sparse else self._read(x)
        log_prob = self._log_prob_of_sparse if sparse else self._log_prob
        (d,) = self.event_shape
        if rows.ndim == 0 or rows.shape[-1] != d:
            raise ValueError(
                f"x has the shape {rows.shape}, but the last axis of events is {d} long: a row has "
                f"the columns {shown(self.features)}"
            )
        lead = rows.shape[:-1]
        rows = rows if sparse else rows.reshape(-1, d)
        out = np.empty((rows.shape[0], len(self.classes)))
        step = max(1, MAX_INTERMEDIATE // max(1, self._cells_a_row(sparse)))
        for start in range(0, len(out), step):
            out[start : start + step] = log_prob(rows[start : start + step], **more)
        return out.reshape(*lead, len(self.classes))

    def sample(self, n: int | None = None, random_state: Any = None, **more: Any) -> NDArray[Any]:
        """Draw events of every class.

        Parameters
        ----------
        n : int, optional
            Draws of each class; one, without an axis for it, by default.
        random_state : None, int, RandomState or Generator
            The seed, or the generator, of the draws.
        **more : Any
            Parameters of the class conditional.

        Returns
        -------
        array (n, n_classes, n_features), or (n_classes, n_features)
            Draws of each class; one draw without the first axis.
        """
        put = functools.partial(_shaped, event_shape=self.event_shape)
        return self._by_class(n, random_state, put, **more)  # type: ignore[no-any-return]


def _shaped(
    drawn: NDArray[Any], shape: tuple[int, ...], event_shape: tuple[int, ...]
) -> NDArray[Any]:
    return drawn.reshape(*shape, *event_shape)
