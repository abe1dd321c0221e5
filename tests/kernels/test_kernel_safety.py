"""What callers can do wrong raises; it neither crashes nor is it quietly done to a copy."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from reference.inputs import triple
from tallybayes import _kernels
from tallybayes.tally import Moments

X = np.array([[1.0, 0.0], [2.0, 4.0], [0.0, 1.0]])
HELD = {"csr": sparse.csr_array(X), "csc": sparse.csc_array(X)}


def count_with(kernel, codes, weights, out):
    """Calls a counting kernel for two classes on three rows of two columns; out(shape) makes room
    for what it counts."""
    start = np.array([0, 3, 8], dtype=np.int64)
    levels = X.astype(np.int64)
    if kernel == "count_classes":
        made = [out((2,))]
        _kernels.count_classes(codes, weights, *made, 1)
    elif kernel == "moments_dense":
        made = [out((2, 2)) for _ in range(4)]
        _kernels.moments_dense(X, codes, weights, np.zeros(2), *made, 1)
    elif kernel.startswith("moments"):
        made = [out((2, 2)) for _ in range(4)]
        held = HELD[kernel[-3:]]
        _kernels.moments_sparse(*triple(held), held.format == "csc", codes, weights, *made, 1)
    elif kernel == "sums_dense":
        made = [out((2, 2))]
        _kernels.sums_dense(X, codes, weights, None, False, *made, 1)
    elif kernel.startswith("sums"):
        made, held = [out((2, 2))], HELD[kernel[-3:]]
        _kernels.sums_sparse(
            *triple(held), held.format == "csc", codes, weights, None, False, *made, 1
        )
    elif kernel == "levels_dense":
        made = [out((2, 8))]
        _kernels.levels_dense(levels, codes, weights, start, *made, 1)
    else:
        made = [out((2, 8))]
        held = sparse.csr_array(levels)
        _kernels.levels_csr(*triple(held), codes, weights, start, *made)
    return made


COUNTING = [
    "count_classes",
    "moments_dense",
    "moments_csr",
    "moments_csc",
    "sums_dense",
    "sums_csr",
    "sums_csc",
    "levels_dense",
    "levels_csr",
]


# ---- class codes ---------------------------------------------------------------------------------
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("wrong", [-1, 2, 2**31 - 1, -(2**31)])
@pytest.mark.parametrize("row", [0, 2])
@pytest.mark.parametrize("kernel", COUNTING)
def test_a_class_code_out_of_range_raises(kernel, row, wrong, weighted):
    codes = np.zeros(3, dtype=np.int32)
    codes[row] = wrong
    weights = np.ones(3) if weighted else None
    with pytest.raises(IndexError, match="class code"):
        count_with(kernel, codes, weights, np.zeros)


ATTEMPTS = [
    (kernel, fmt, threads)
    for threads in (2, 8)
    for kernel, fmt in (
        ("count_classes", "csr"),
        ("moments_dense", "csr"),
        ("sums_dense", "csr"),
        ("levels_dense", "csr"),
        ("moments_sparse", "csr"),
        ("moments_sparse", "csc"),
        ("sums_sparse", "csr"),
    )
]


@pytest.fixture(scope="module")
def outcomes():
    """What became of every attempt, in a process of its own: what this is about would end it. Those
    that come after run in another."""
    found = []
    while len(found) < len(ATTEMPTS):
        rest = json.dumps(ATTEMPTS[len(found) :])
        program = [sys.executable, "-P", Path(__file__).with_name("wrong_class_codes.py"), rest]
        done = subprocess.run(program, capture_output=True, text=True)
        found += done.stdout.splitlines()
        if done.returncode:
            found.append(f"the process ended with {done.returncode}: {done.stderr}")
        else:
            assert len(found) == len(ATTEMPTS)
    return dict(zip(ATTEMPTS, found, strict=True))


@pytest.mark.parametrize("what", ATTEMPTS, ids=lambda what: "-".join(map(str, what)))
def test_a_class_code_out_of_range_raises_on_several_threads(what, outcomes):
    assert outcomes[what] == "refused"


# ---- arrays that are written to ------------------------------------------------------------------
def read_only(shape):
    array = np.zeros(shape)
    array.flags.writeable = False
    return array


UNWRITABLE = {
    "float32": lambda shape: np.zeros(shape, dtype=np.float32),
    "integers": lambda shape: np.zeros(shape, dtype=np.int64),
    "strided": lambda shape: np.zeros((*shape[:-1], 2 * shape[-1]))[..., ::2],
    "read-only": read_only,
    "one dimension too many": lambda shape: np.zeros((*shape, 1)),
}


@pytest.mark.parametrize("out", UNWRITABLE)
@pytest.mark.parametrize("kernel", COUNTING)
def test_counts_are_not_written_to_a_copy(kernel, out):
    """An array that the kernel cannot write into is refused: a copy's counts would be lost."""
    codes = np.array([0, 1, 1], dtype=np.int32)
    with pytest.raises((TypeError, ValueError)):
        count_with(kernel, codes, None, UNWRITABLE[out])


@pytest.mark.parametrize("kernel", [k for k in COUNTING if k != "count_classes"])
def test_counts_are_not_written_to_a_copy_of_a_fortran_array(kernel):
    codes = np.array([0, 1, 1], dtype=np.int32)
    with pytest.raises((TypeError, ValueError)):
        count_with(kernel, codes, None, lambda shape: np.zeros(shape, order="F"))


WRITING = {
    "rank_labels": lambda out: _kernels.rank_labels(np.arange(4), 99, out((4,), np.int32), 1),
    "rank_items": lambda out: _kernels.rank_items(
        np.ones((4, 2), dtype=np.uint8), out((4,), np.int32)
    ),
    "bin_entries": lambda out: _kernels.bin_entries(
        np.arange(4), np.zeros(1), out((4,), np.int32), 1
    ),
    "highest_codes": lambda out: _kernels.highest_codes(
        np.ones((2, 4), dtype=int), out((4,), np.int64), 1
    ),
    "normalise": lambda out: _kernels.normalise(
        out((4, 4), np.float64), np.zeros(4), True, None, 1
    ),
    "normalise, evidence": lambda out: _kernels.normalise(
        np.zeros((4, 4)), np.zeros(4), True, out((4,), np.float64), 1
    ),
    "add_moments": lambda out: _kernels.add_moments(
        *(out((4, 4), np.float64) for _ in range(6)), *(np.ones((4, 4)) for _ in range(6)), 1.0
    ),
    "rebase_moments": lambda out: _kernels.rebase_moments(
        *(out((4, 4), np.float64) for _ in range(6)), np.ones(4), np.zeros(4)
    ),
    "centre_moments": lambda out: _kernels.centre_moments(
        *(np.ones((4, 4)) for _ in range(6)),
        np.zeros(4),
        0.0,
        *(out((4, 4), np.float64) for _ in range(2)),
    ),
    "centre_columns": lambda out: _kernels.centre_columns(
        *(np.ones((4, 4)) for _ in range(6)),
        np.zeros(4),
        0.0,
        *(out((4, 4), np.float64) for _ in range(2)),
        np.empty((4, 3)),
    ),
    "DenseScorer, joint": lambda out: _kernels.DenseScorer(
        np.ones((4, 2)), None, np.zeros(4), 0, None, False
    ).score(np.ones((4, 2)), out((4, 4), np.float64), None, 1),
    "DenseScorer, best": lambda out: _kernels.DenseScorer(
        np.ones((4, 2)), None, np.zeros(4), 0, None, False
    ).score(np.ones((4, 2)), None, out((4,), np.int64), 1),
    "LaneScorer, joint": lambda out: _kernels.LaneScorer(
        np.ones((4, 2)), None, np.zeros(4), 0, 1
    ).score_codes(np.zeros((4, 1), dtype=int), np.array([0, 2]), out((4, 4), np.float64), None, 1),
    "LaneScorer, best": lambda out: _kernels.LaneScorer(
        np.ones((4, 2)), None, np.zeros(4), 0, 1
    ).score_codes(np.zeros((4, 1), dtype=int), np.array([0, 2]), None, out((4,), np.int64), 1),
    "LaneScorer, sparse": lambda out: _kernels.LaneScorer(
        np.ones((4, 2)), None, np.zeros(4), 0, 1
    ).score_sparse(
        *triple(sparse.csr_array(np.ones((4, 2)))), None, False, out((4, 4), np.float64), None, 1
    ),
}


@pytest.mark.parametrize("how", ["another type", "strided"])
@pytest.mark.parametrize("kernel", WRITING)
def test_results_are_not_written_to_a_copy(kernel, how):
    def out(shape, dtype):
        if how == "another type":
            return np.zeros(shape, dtype=np.float32)
        return np.zeros((*shape[:-1], 2 * shape[-1]), dtype=dtype)[..., ::2]

    with pytest.raises((TypeError, ValueError)):
        WRITING[kernel](out)


def test_an_in_place_sum_into_fortran_arrays_is_done_or_refused():
    """The same seen from a tally: ``accumulate`` must not lose what it adds."""
    arrays = [np.zeros((2, 3), order="F") for _ in range(5)]
    total, part = Moments(np.zeros(3), *arrays), Moments.zeros(2, np.zeros(3))
    part.n += 1.0
    try:
        total.accumulate(part)
    except (TypeError, ValueError):
        return
    assert (total.n == 1.0).all()


# ---- sizes ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("kernel", COUNTING)
def test_codes_and_weights_of_another_length_are_refused(kernel):
    good = np.zeros(3, dtype=np.int32)
    if kernel != "count_classes":
        with pytest.raises(ValueError, match="codes has the wrong length"):
            count_with(kernel, good[:2], None, np.zeros)
    for n in (2, 4):
        with pytest.raises(ValueError, match="weights has the wrong length"):
            count_with(kernel, good, np.ones(n), np.zeros)


@pytest.mark.parametrize("kernel", [k for k in COUNTING if k != "count_classes"])
def test_counts_of_another_shape_are_refused(kernel):
    codes = np.zeros(3, dtype=np.int32)
    with pytest.raises(ValueError, match="wrong length"):
        count_with(kernel, codes, None, lambda shape: np.zeros((shape[0], shape[1] + 1)))


@pytest.mark.parametrize(
    "x",
    [
        np.ones((3, 2), dtype=complex),
        np.ones((3, 2), dtype=np.float16),
        np.full((3, 2), "a"),
        np.full((3, 2), None),
        np.full((3, 2), np.datetime64("2026-01-01")),
    ],
    ids=lambda x: str(x.dtype),
)
def test_elements_that_are_no_real_numbers_are_refused(x):
    with pytest.raises((TypeError, ValueError)):
        _kernels.sums_dense(x, np.zeros(3, dtype=np.int32), None, None, False, np.zeros((1, 2)), 1)


@pytest.mark.parametrize("shape", [(), (3, 2, 1)])
def test_rows_of_other_dimensions_are_refused(shape):
    with pytest.raises((TypeError, ValueError)):
        _kernels.sums_dense(
            np.ones(shape), np.zeros(3, dtype=np.int32), None, None, False, np.zeros((1, 2)), 1
        )


def test_a_broadcast_array_is_read_as_what_it_stands_for():
    x = np.broadcast_to(np.array([1.0, 2.0]), (500, 2))
    sums = np.zeros((1, 2))
    _kernels.sums_dense(x, np.zeros(500, dtype=np.int32), None, None, True, sums, 1)
    assert sums.tolist() == [[500.0, 1000.0]]
