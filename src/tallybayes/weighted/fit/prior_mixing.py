"""Nothing is impossible: the class prior has a small share in every prediction.

    P'(k | x) = (1 − ε)·P(k | x) + ε·p_k,    ε = ½ / (n + ½)

n rows say of no class that it cannot be; half a row that is still to come keeps P' off 0 and 1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["mixed", "prior_share"]

Array = NDArray[np.float64]

UNSEEN = 0.5  # rows
MOST = float(np.nextafter(1.0, 0.0))  # 1 − ε·(1 − p) may round to 1


def prior_share(n_rows: float) -> float:
    """ε, of so many effective rows."""
    return UNSEEN / (n_rows + UNSEEN)


def mixed(proba: Array, prior: Array, share: float) -> Array:
    """P', float64 (n_rows, n_classes), in the place of P; below 1, and above 0 where the prior is.

    Parameters
    ----------
    proba : float64 array (n_rows, n_classes)
        P.
    prior : float64 array (n_classes,) or (n_rows, n_classes)
        p.
    share : float
        ε.
    """
    proba *= 1.0 - share
    proba += share * prior
    return np.minimum(proba, MOST, out=proba)
