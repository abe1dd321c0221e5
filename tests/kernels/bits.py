"""The same bits on any number of threads and with every instruction set."""

from collections.abc import Callable, Iterable

import numpy as np

from tallybayes import _kernels


def assert_same_bits(
    run: Callable[[int], Iterable[object]], threads: tuple[int, ...] = (1, 2, 3, 8)
) -> None:
    """Assert that ``run``, from a number of threads to arrays and numbers, gives the same bits.

    The best instruction set is asked on each number of threads, and the others on the last.
    """
    *others, best = _kernels.available_instruction_sets()
    before, first = _kernels.instruction_set(), None
    try:
        for name, n in [(best, n) for n in threads] + [(name, threads[-1]) for name in others]:
            _kernels.use_instruction_set(name)
            found = [np.asarray(array).tobytes() for array in run(n)]
            first = first or found
            assert found == first, f"{name}, {n} threads"
    finally:
        _kernels.use_instruction_set(before)
