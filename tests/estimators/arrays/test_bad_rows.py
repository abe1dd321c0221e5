"""X of another shape, type, width or name than it should have: refused as scikit-learn does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from estimators import malformed_sparse
from estimators.cases import LAYOUTS, call, every, fitted, methods_of, peer, refused, rows

SMALL = 60

BAD_SHAPES = {
    "one row as a vector": (lambda x: x[0], ValueError, "Expected 2D array, got 1D array"),
    "three axes": (lambda x: x[None], ValueError, "dim(ension)? ?3|3D|dim 3"),
    "a number": (lambda x: 3.0, ValueError, "Expected 2D array, got scalar"),
    "no row": (lambda x: x[:0], ValueError, r"Found array with 0 sample\(s\)"),
    "no row, sparse": (lambda x: sparse.csr_array(x[:0]), ValueError, r"0 sample\(s\)"),
    "strings": (lambda x: x.astype(str).astype(object) + "?", ValueError, "string|convert"),
    "complex": (lambda x: x + 1j, ValueError, "Complex data not supported"),
    "complex, sparse": (lambda x: sparse.csr_array(x + 1j), ValueError, "Complex data"),
    "None": (lambda x: None, ValueError, "Expected 2D array, got scalar"),
    "ragged": (lambda x: [[1.0, 2.0], [3.0]], ValueError, "inhomogeneous|sequence"),
}


@every()
@pytest.mark.parametrize("kind", BAD_SHAPES)
def test_x_of_another_shape_or_type_is_refused_as_scikit_learn_does(NB, kind):
    spoil, error, message = BAD_SHAPES[kind]
    model, x, y = fitted(NB, SMALL)
    theirs = peer(NB)().fit(x, y)
    comparable = "sparse" not in kind and kind != "None"  # of which scikit-learn makes two errors
    for method in methods_of(NB):
        with refused(error, message, model) as mine:
            call(model, method, spoil(x), y)
        if method in ("fit", "partial_fit", "predict", "predict_proba") and comparable:
            with pytest.raises(mine.type):
                call(theirs, method, spoil(x), y)


@every()
@pytest.mark.parametrize("columns", [1, 3, 5])
def test_another_number_of_features_is_refused(NB, columns):
    model, _, y = fitted(NB, SMALL)
    x = rows(SMALL, d=columns)[0]
    message = f"X has {columns} features, but {NB.__name__} is expecting 4 features"
    for method in methods_of(NB):
        for hold in LAYOUTS.values() if method != "fit" else ():
            with refused(ValueError, message, model):
                call(model, method, hold(x), y)


@every()
def test_no_column_is_refused(NB):
    with refused(ValueError, r"0 feature\(s\)", model := NB()):
        model.fit(np.empty((3, 0)), [0, 1, 1])


@every()
@pytest.mark.parametrize("method", ["partial_fit", "forget", "predict"])
@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["a", "b", "d", "c"], "must be in the same order"),
        (["a", "b", "c", "e"], "unseen at fit time.*e.*\n.*missing.*\n?.*d"),
    ],
    ids=["other order", "other name"],
)
def test_other_feature_names_are_refused(NB, method, names, message):
    x, y = rows(SMALL)
    model = NB().fit(pd.DataFrame(x, columns=list("abcd")), y)
    with refused(ValueError, f"(?s)feature names should match.*{message}", model):
        call(model, method, pd.DataFrame(x, columns=names), y)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="each attempt may end its process, so it forks")
def test_a_sparse_matrix_whose_indices_lie_outside_is_refused_and_not_followed():
    """What became of every attempt of the program, in a process of its own."""
    program = Path(malformed_sparse.__file__)
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(program.parents[1]), os.environ.get("PYTHONPATH", "")]),
        "TALLYBAYES_NUM_THREADS": "1",
    }
    done = subprocess.run(
        [sys.executable, str(program)], env=environment, capture_output=True, text=True, check=True
    )
    outcomes = json.loads(done.stdout)
    assert len(outcomes) == len(malformed_sparse.ATTEMPTS)
    assert {what: found for what, found in outcomes.items() if found != "refused"} == {}


@every()
def test_a_text_among_numbers_has_its_place_and_what_reads_it(NB):
    frame = pd.DataFrame({"n": [1, 2, 3], "job": ["4", "nurse", "5"]})
    place = r"row 1, column 1 \('job'\) holds 'nurse'.* NaiveBayes and WeightedNaiveBayes"
    with pytest.raises(ValueError, match=f"could not convert string to float.*{place}"):
        NB().fit(frame, [0, 1, 0])
    with pytest.raises(ValueError, match=r"row 1, column 1 holds 'nurse'"):
        NB().fit(frame.to_numpy(), [0, 1, 0])
