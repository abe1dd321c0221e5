"""Scores that follow rows learned one by one."""

from tallybayes.estimators.live.columns import Outgrown
from tallybayes.estimators.live.score import LiveScore, live_score

__all__ = ["LiveScore", "Outgrown", "live_score"]
