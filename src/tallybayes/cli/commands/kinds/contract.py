"""What commands do differently for models of tables and of text, behind one interface.

Reading, predicting and counting are the same calls for both (:mod:`tallybayes.cli.io.loading`);
the rest is here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from tallybayes.cli.io.chosen_rows import ChosenRows
from tallybayes.cli.terminal.console import Bar

__all__ = ["Kind"]


class Kind(ABC):
    """The steps of commands for one kind of model. Files and sources are those of the kind."""

    @abstractmethod
    def explain(self, file: Any, source: Any, rows: ChosenRows, json: bool) -> None:
        """Explains rows or documents, to people or to machines."""

    @abstractmethod
    def show(self, file: Any, path: str, tables: bool, show_all: bool, json: bool) -> None:
        """Shows a model, to people or to machines."""

    @abstractmethod
    def reweight(
        self, file: Any, source: Any, bar: Bar, target: str | None, parts: Any, group: Any
    ) -> int:
        """Learns weights again; the number of rows or documents learned on."""

    @abstractmethod
    def need_reweighting(self, file: Any, path: str, parts: Any) -> None:
        """Raises where nothing is learned on rows, or `parts` has no meaning."""

    @abstractmethod
    def take_in(self, whole: Any, first: str, part: Any, path: str) -> None:
        """Merges the model of `path` into that of `first`."""

    @abstractmethod
    def before_learning(self, file: Any) -> Any:
        """What :meth:`after_learning` compares with."""

    @abstractmethod
    def need_sound(self, file: Any, source: Any) -> None:
        """Raises where what was counted cannot be meant so, before the file is written."""

    @abstractmethod
    def after_learning(self, file: Any, source: Any, before: Any) -> None:
        """Notes on what the new rows have changed."""

    @abstractmethod
    def note_stale(self, file: Any, path: str) -> None:
        """Reports that what was learned is older than the counts."""
