"""What a family compiles to: few score kinds.

An engine evaluates them and knows no family; a family compiles to one and knows no engine.
Parameters do not hold the class prior.
"""

from __future__ import annotations

from tallybayes.parameters.columns import (
    Cells,
    Correlated,
    Counts,
    Density,
    Description,
    Laws,
    PooledLess,
    PooledTerms,
    QuadraticTerms,
    TermScores,
    TriangularTerms,
)
from tallybayes.parameters.formula import Formula
from tallybayes.parameters.formula_cells import Inexpressible
from tallybayes.parameters.formula_terms import Term
from tallybayes.parameters.improper import ImproperPrior
from tallybayes.parameters.missing import missing_patterns
from tallybayes.parameters.scores import Linear, Lookup, Parameters, Quadratic, Unseen
from tallybayes.parameters.without import (
    CellsWithout,
    ComplementWithout,
    MomentsWithout,
    PresenceWithout,
    SumsWithout,
    Without,
)

__all__ = [
    "Cells",
    "CellsWithout",
    "ComplementWithout",
    "Correlated",
    "Counts",
    "Density",
    "Description",
    "Formula",
    "ImproperPrior",
    "Inexpressible",
    "Laws",
    "Linear",
    "Lookup",
    "MomentsWithout",
    "Parameters",
    "PooledLess",
    "PooledTerms",
    "PresenceWithout",
    "Quadratic",
    "QuadraticTerms",
    "SumsWithout",
    "Term",
    "TermScores",
    "TriangularTerms",
    "Unseen",
    "Without",
    "missing_patterns",
]
