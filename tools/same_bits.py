"""Whether two builds of the kernels return the same bits in the kernel tests.

    python tools/same_bits.py FOLDER [pytest arguments]

FOLDER holds the package with kernels that another compiler built; the other build is that of the
environment. Runs the kernel tests on both, each with the same examples, and compares what every
call returned and wrote. Fails if a test fails, if a digest differs or if a build recorded nothing.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from importlib.resources import files
from pathlib import Path


def records_of(path: str | Path, arguments: list[str]) -> dict[str, str]:
    """The digest of each kernel test that called a kernel, with the package in `path`.

    Both packages are copied to folders alike: Hypothesis draws constants from modules that are not
    installed, so that from an installed package and from one in a folder it draws other examples.
    """
    with tempfile.TemporaryDirectory() as name:
        folder, package = Path(name, "records"), Path(name, "package")
        folder.mkdir()
        shutil.copytree(Path(path, "tallybayes"), package / "tallybayes")
        environment = os.environ | {"RECORD_KERNELS": str(folder), "PYTHONPATH": str(package)}
        pytest = [sys.executable, "-P", "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        done = subprocess.run(
            [*pytest, "tests/kernels", *arguments],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if done.returncode:
            sys.exit(f"{done.stdout[-8000:]}\nThe kernel tests fail with the kernels of {path}.")
        parts = [json.loads(file.read_text()) for file in folder.glob("*.json")]
    return {test: digest for part in parts for test, digest in part.items()}


def main(folder: str, *arguments: str) -> None:
    installed = Path(str(files("tallybayes"))).parent
    ours, others = records_of(installed, list(arguments)), records_of(folder, list(arguments))
    if not ours or ours.keys() != others.keys():
        sys.exit(f"{len(ours)} tests called a kernel in one build, {len(others)} in the other")
    if different := [test for test in sorted(ours) if ours[test] != others[test]]:
        sys.exit("Different bits in:\n" + "\n".join(different))
    print(f"compilers: the same bits in {len(ours)} kernel tests")


if __name__ == "__main__":
    main(*sys.argv[1:])
