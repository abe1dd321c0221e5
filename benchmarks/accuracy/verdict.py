"""Whether what was promised holds: ours beside the best peer, and beside twenty lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.accuracy.folds import Scores, standard_error

__all__ = ["Beside", "Result", "beside_best", "geometric_mean", "loss_ratio"]

FLOOR = 1e-3  # log-losses below it count as it: less is nothing to boast about
SIGN = {"log_loss": 1.0, "accuracy": -1.0}


@dataclass(frozen=True)
class Result:
    """A data set and what the models scored on it.

    Parameters
    ----------
    name, group, what : str
    rows, columns, classes : int
    scores : dict of str to Scores
        By the name of the model.
    """

    name: str
    group: str
    what: str
    rows: int
    columns: int
    classes: int
    scores: Mapping[str, Scores]

    def done(self, name: str) -> Scores | None:
        """The scores of a model that ran and did not fail."""
        scores = self.scores.get(name)
        return None if scores is None or scores.failed else scores


@dataclass(frozen=True)
class Beside:
    """Ours beside the best peer, by one metric.

    Parameters
    ----------
    metric : {"log_loss", "accuracy"}
    ours : float
        Mean over folds.
    best : str
        The peer whose mean is best.
    theirs : float
    behind : float
        Mean over folds of how much worse ours is; negative where it is better.
    error : float
        Standard error of `behind`, from the differences in each fold.
    """

    metric: str
    ours: float
    best: str
    theirs: float
    behind: float
    error: float

    @property
    def holds(self) -> bool:
        """At least as good, within one standard error."""
        return self.behind <= self.error


def beside_best(result: Result, ours: str, peers: Sequence[str], metric: str) -> Beside | None:
    """Ours beside the peer whose mean is best; None where one of them has not run.

    The best of several means is a little better than it deserves: that is to the peers' advantage.
    """
    mine = result.done(ours)
    ran = [scores for name in peers if (scores := result.done(name)) is not None]
    if mine is None or not ran:
        return None
    sign = SIGN[metric]
    best = min(ran, key=lambda scores: sign * scores.mean(metric))
    behind = sign * (np.array(getattr(mine, metric)) - getattr(best, metric))
    return Beside(
        metric=metric,
        ours=mine.mean(metric),
        best=best.model,
        theirs=best.mean(metric),
        behind=float(behind.mean()),
        error=standard_error(behind),
    )


def loss_ratio(result: Result, ours: str, yardstick: str) -> float | None:
    """Our log-loss by the yardstick's, both at least FLOOR; None where one has not run."""
    mine, theirs = result.done(ours), result.done(yardstick)
    if mine is None or theirs is None:
        return None
    return max(mine.mean("log_loss"), FLOOR) / max(theirs.mean("log_loss"), FLOOR)


def geometric_mean(ratios: Sequence[float]) -> float:
    return float(np.exp(np.mean(np.log(ratios))))
