"""``python -m benchmarks unchanged``: whether two versions say the same, to the last bit.

Each version writes down what its classifiers say of the same tables, with its own installation or
with PYTHONPATH:

    PYTHONPATH=before/src python -m benchmarks unchanged write before.pkl
    python -m benchmarks unchanged write after.pkl
    python -m benchmarks unchanged compare before.pkl after.pkl
"""

from __future__ import annotations

import argparse
import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["main"]


def main(argv: list[str]) -> int:
    """0 where all is the same, 1 where something differs."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks unchanged", description=__doc__)
    steps = parser.add_subparsers(dest="step", required=True)
    write = steps.add_parser("write", help="fit, and write down what the classifiers say")
    write.add_argument("file", type=Path)
    compare = steps.add_parser("compare", help="compare two files")
    compare.add_argument("before", type=Path)
    compare.add_argument("after", type=Path)
    compare.add_argument("--all", action="store_true", help="print every array that differs")
    options = parser.parse_args(argv)
    if options.step == "write":
        return _write(options.file)
    before, after = (pickle.loads(p.read_bytes()) for p in (options.before, options.after))
    return _compare(before, after, everything=options.all)


def _write(file: Path) -> int:
    from benchmarks.unchanged.fits import said

    found = {}
    for name, arrays in said():
        print(f"{name}: {len(arrays)} arrays", flush=True)
        found[name] = arrays
    file.write_bytes(pickle.dumps(found))
    print(f"{sum(map(len, found.values())):,} arrays of {len(found)} fits in {file}")
    return 0


def _compare(
    before: dict[str, dict[str, Any]], after: dict[str, dict[str, Any]], *, everything: bool
) -> int:
    wrong = 0
    for fit in sorted(before.keys() | after.keys()):
        ours, theirs = before.get(fit, {}), after.get(fit, {})
        apart = [
            f"{name}: {difference}"
            for name in sorted(ours.keys() | theirs.keys())
            if (difference := _difference(ours.get(name), theirs.get(name)))
        ]
        wrong += bool(apart)
        for line in apart if everything else apart[:1]:
            print(f"{fit}: {line}")
        if len(apart) > 1 and not everything:
            print(f"    and {len(apart) - 1} more arrays")
    same = sum(fit in after for fit in before) - wrong
    print(f"{same} of {len(before.keys() | after.keys())} fits say the same, bit for bit")
    return int(wrong > 0)


def _difference(before: Any, after: Any) -> str:
    """What differs; nothing where the bits are the same."""
    if before is None or after is None:
        return "only in the version " + ("after" if before is None else "before")
    before, after = np.asarray(before), np.asarray(after)
    if before.dtype != after.dtype or before.shape != after.shape:
        return f"{before.dtype} {before.shape} became {after.dtype} {after.shape}"
    if before.dtype.kind == "f":
        if before.tobytes() == after.tobytes():
            return ""
        with np.errstate(invalid="ignore"):
            most = np.nanmax(np.abs(before - after), initial=0.0)
        return f"differs by up to {most:.3g}"
    return "" if np.array_equal(before, after) else "differs"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
