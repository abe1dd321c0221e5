"""`LazyNaiveBayes` over edge tables: it answers as a model of the rows that are there now."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from estimators.model_laws import assert_close, quietly, rounding
from tallybayes import LazyNaiveBayes, NaiveBayes
from tallybayes.families import Categorical
from tallybayes.families.choice import UNDECLARED
from tallybayes.testing.edge_tables import COLUMNS, NUMBERS, edge_tables

pytestmark = pytest.mark.filterwarnings("ignore::tallybayes.errors.TallyWarning")
law = settings(
    max_examples=settings.default.max_examples // 2,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink],  # to explain takes minutes
)
# a column of a database has one type
KINDS = tuple(
    kind for kind in COLUMNS if "and" not in kind and kind not in ("missing", "identifiers")
)
TYPES = {"whole": pa.int64(), "booleans": pa.bool_(), "dates": pa.date32()}


def source(table, order=None):
    order = range(len(table)) if order is None else order
    arrays = {}
    for name, values in table.columns.items():
        kind = table.kinds[name]
        of = TYPES.get(kind, pa.float64() if kind in NUMBERS else pa.string())
        arrays[name] = pa.array([values[i] for i in order], of)
    arrays["label"] = pa.array([table.labels[i] for i in order])
    return pa.table(arrays)


def families(table):
    numbers = (*NUMBERS, "dates")
    return {n: UNDECLARED if k in numbers else Categorical() for n, k in table.kinds.items()}


@law
@given(
    table=edge_tables(kinds=KINDS, min_rows=2, max_rows=20, of_weights=("none",)),
    missing=st.sampled_from(["ignore", "level"]),
    data=st.data(),
)
def test_it_is_a_model_of_the_rows_that_are_there_in_any_order(table, missing, data):
    """Those rows may be all but one: so it leaves out, and forgets, as any other."""
    order = data.draw(st.permutations(range(len(table))))
    left = order[: data.draw(st.integers(1, len(table)))]
    lazy = LazyNaiveBayes(source(table, left), "label", missing=missing)
    fresh = NaiveBayes(families(table), missing=missing)
    here = source(table, sorted(left)).drop_columns(["label"])
    fresh.fit(here, table.labels[sorted(left)])
    rows = table.records(data.draw(st.sets(st.integers(0, len(table) - 1), min_size=1, max_size=5)))
    found, expected = quietly(lazy.predict_log_proba, rows), quietly(fresh.predict_log_proba, rows)
    assert lazy.classes_.tolist() == fresh.classes_.tolist()
    assert_close(found, expected, rounding(fresh, rows))
    assert np.isfinite(quietly(lazy.predict_proba, rows)).all()
