"""Reading data files in batches, every format as the same columns."""

from __future__ import annotations

from tallybayes.cli.reading.batch import Batch
from tallybayes.cli.reading.cells import Misfit
from tallybayes.cli.reading.source import Source

__all__ = ["Batch", "Misfit", "Source"]
