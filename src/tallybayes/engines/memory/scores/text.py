"""The contribution of a column of text to the score of each class."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallybayes import _kernels
from tallybayes.engines.memory.scores.part import ComputedPart, Distributions, Shown
from tallybayes.parameters import Description, ImproperPrior, Inexpressible, Term, TermScores
from tallybayes.tables import Column, Strings, Table
from tallybayes.tally import GridCounts
from tallybayes.tally.live_terms import LiveTermCounts
from tallybayes.threads import get_num_threads
from tallybayes.tokens.analyzer import Analyzer, KnownTerms
from tallybayes.tokens.counting import Documents

__all__ = ["DistinctDocuments", "TextPart", "distinct_documents"]

Array = NDArray[np.float64]
Index = NDArray[np.intp]

MAX_SHOWN_TERMS = 100  # terms of a table for people
ALTERNATIVES = "declare Categorical() for it, or leave it out with None"


class DistinctDocuments(NamedTuple):
    """The documents of a column, each once.

    Parameters
    ----------
    documents : list of str
    rows : index array (n_there,)
        The rows that have a text.
    of_row : index array (n_there,)
        Its place.
    """

    documents: list[str]
    rows: Index
    of_row: Index


def distinct_documents(column: Column) -> DistinctDocuments:
    """The documents that rows of a column have; a missing value has none."""
    if not isinstance(column, Strings):
        none = np.zeros(0, dtype=np.intp)
        return DistinctDocuments([], none, none)
    rows = np.flatnonzero(column.codes >= 0)
    used, of_row = np.unique(column.codes[rows], return_inverse=True)
    return DistinctDocuments([column.levels[code] for code in used.tolist()], rows, of_row)


@dataclass(frozen=True, eq=False, kw_only=True)
class TextPart(ComputedPart):
    """A column of text. A missing text adds nothing.

    Parameters are those of ComputedPart, and:

    likelihood : TermScores
    analyzer : Analyzer
    """

    likelihood: TermScores
    analyzer: Analyzer

    @cached_property
    def known(self) -> KnownTerms:
        """Documents as rows of the terms that were counted."""
        return KnownTerms(self.analyzer, self.likelihood.counts.held.terms)

    @property
    def reads_documents(self) -> bool:
        return True

    @property
    def follows_rows(self) -> bool:
        return self.analyzer.rules is not None

    def following(self) -> LiveTermCounts | None:
        """The counts as ones that change in place; None where they cannot follow rows."""
        return self.likelihood.following(self.analyzer)

    def of_terms(self, document: str) -> tuple[list[Any], Array]:
        """The terms of a document that were counted, and what each adds, float64
        (n_terms, n_classes)."""
        rows = self.known.rows([document])
        terms = self.likelihood.counts.held.terms[rows.terms].tolist()
        return terms, self.likelihood.contributions(rows)

    def documents(self, column: Column) -> tuple[Documents, Index]:
        """The documents of the rows that have one, and these rows."""
        documents, rows, of_row = distinct_documents(column)
        return self.known.rows(documents, get_num_threads()).take(of_row), rows

    def contribution(self, column: Column) -> Array:
        """(n_rows, n_classes) of a column."""
        scores = np.zeros((column.n_rows, self.n_classes))
        documents, rows, of_row = distinct_documents(column)
        threads = get_num_threads()
        scores[rows] = self.likelihood.scores(self.known.rows(documents, threads), threads)[of_row]
        return scores

    def add(self, x: Table, scores: Array) -> None:
        scores += self.contribution(x.columns[self.name])

    def add_without(self, x: Table, own: Index, weight: Array, scores: Array) -> None:
        documents, rows = self.documents(x.columns[self.name])
        scores[rows] += self.likelihood.without(documents, own[rows], weight[rows])

    def contributions(self, x: Table) -> dict[str, Array]:
        return {self.name: self.contribution(x.columns[self.name])}

    def without(self, x: Table, own: Index, weight: Array) -> Array:
        scores = np.zeros((x.n_rows, self.n_classes))
        self.add_without(x, own, weight, scores)
        return scores

    def add_to_rows(self, scorer: _kernels.RowScorer, least: Callable[[str], int]) -> bool:
        """A row with a text is read as a table."""
        return False

    def terms(self) -> list[Term]:
        raise Inexpressible(
            f"column {self.name!r} is read as text, whose tokens only tallybayes cuts: "
            f"{ALTERNATIVES}"
        )

    def described(self) -> Description:
        return self.likelihood.described()

    def shown(self, values: Callable[[str], Array]) -> dict[str, Shown]:
        """The contributions of the most informative terms, each in a text of this one term."""
        terms = self.likelihood.most_informative(MAX_SHOWN_TERMS)
        one = np.ones(len(terms), dtype=np.int32)
        ends = np.arange(len(terms) + 1, dtype=np.int64)
        rows = Documents(ends, terms.astype(np.int32), one, self.likelihood.counts.held.n_terms)
        names = self.likelihood.counts.held.terms[terms].tolist()
        return {self.name: Shown(names, self.likelihood.scores(rows))}

    # ---- what a text has not ---------------------------------------------------------------------
    def drawn(self, x: Table, rng: Any, n: int) -> Array:
        raise ValueError(
            f"column {self.name!r} is read as text, whose terms have no posterior to draw from: "
            f"{ALTERNATIVES}"
        )

    def log_evidence(self, grid: GridCounts | None) -> list[float]:
        raise ImproperPrior("is read as text, which has no prior", ALTERNATIVES)

    def prior_and_posteriors(self, level: Any) -> Any:
        raise ValueError(
            f"column {self.name!r} is read as text, which has no prior and no posterior: "
            f"{ALTERNATIVES}"
        )

    def distribution(self, made: Distributions) -> Any:
        raise ValueError(
            f"column {self.name!r} is read as text, and there is no distribution of documents: "
            f"{ALTERNATIVES}"
        )
