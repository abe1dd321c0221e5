"""Scores that follow rows learned one by one."""

from tallybayes.models.live.columns import Outgrown
from tallybayes.models.live.score import LiveScore, live_score

__all__ = ["LiveScore", "Outgrown", "live_score"]
