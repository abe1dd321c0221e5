"""What a family compiles to: few score kinds.

An engine evaluates them and knows no family; a family compiles to one and knows no engine.
Parameters do not hold the class prior.
"""

from __future__ import annotations

from tallybayes.parameters.formula import Formula, Inexpressible, NumberLaw, NumberTerm, Term
from tallybayes.parameters.kinds import (
    Cells,
    CellsWithout,
    ComplementWithout,
    Correlated,
    Counts,
    Density,
    Description,
    ImproperPrior,
    Laws,
    Linear,
    Lookup,
    MomentsWithout,
    Parameters,
    PooledLess,
    PooledTerms,
    PresenceWithout,
    Quadratic,
    QuadraticTerms,
    SumsWithout,
    TermScores,
    TriangularTerms,
    Unseen,
    Without,
    missing_patterns,
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
    "NumberLaw",
    "NumberTerm",
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
