"""Where rows come from: files in every format, batches and lazy frames, part by part."""

from __future__ import annotations

from tallybayes.sources.contract import Part, ReadAgain, Source, SourceColumn
from tallybayes.sources.find import is_source, source_of

__all__ = ["Part", "ReadAgain", "Source", "SourceColumn", "is_source", "source_of"]
