"""Plants faults in a copy of the source, one at a time, and runs the tests that should notice.

    python tools/mutants.py [TITLE…] [--list] [--workers 1] [--hold]

tools/mutants.toml has the faults, each of them the small mistake of a person: ``old``, a text that
stands once in the files below ``where``, becomes ``new``, and one of ``tests`` has to fail. A fault
is found by its text, so that files can be moved and merged. First all these tests run without a
fault, and have to pass. A fault is

- caught, if a test failed, crashed or did not end in time;
- survived, if all tests passed;
- broken, if it did not compile or its tests were not collected: it has to be replaced.

Titles, or parts of them, choose faults. ``--hold`` writes the table to
benchmarks/results/mutants.md, with what a fault's ``survives`` says of why nothing notices. The
command fails if a fault is broken or fewer than 95 per cent are caught.

The source is not touched: each worker has a copy of the files that git knows or does not ignore.
Faults of kernels are compiled by the first worker, in one build folder, with ``-O1`` for ``-O3``:
optimisation changes no bit of a result. That needs CMake, Ninja, nanobind and a C++ compiler.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter, deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FAULTS = Path(__file__).with_suffix(".toml")
PAGE = ROOT / "benchmarks" / "results" / "mutants.md"
KERNELS = "src/kernels"
BAR = 0.95
BESIDE = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}  # CMake, Ninja
LIMIT = 600  # seconds of the tests of one fault: some faults never end
PYTEST = [sys.executable, "-P", "-m", "pytest", "-q", "-x", "-n0", "-p", "no:cacheprovider"]
PYTEST += ["--hypothesis-profile=first-failure"]  # of tests/conftest.py
SUFFIXES = {".py", ".cpp", ".hpp"}


@dataclass(frozen=True)
class Fault:
    """One entry of tools/mutants.toml."""

    title: str
    where: str
    old: str
    new: str
    tests: list[str]
    survives: str = ""

    @property
    def in_kernels(self) -> bool:
        return self.where.startswith(KERNELS)

    def files(self, root: Path) -> list[Path]:
        """The files below `where` that hold the text, one for each time that it stands there."""
        paths = [path for path in sorted((root / self.where).rglob("*")) if path.suffix in SUFFIXES]
        return [path for path in paths for _ in range(path.read_text("utf-8").count(self.old))]


def all_faults() -> list[Fault]:
    return [Fault(**entry) for entry in tomllib.loads(FAULTS.read_text("utf-8"))["fault"]]


class Checkout:
    """A copy of the tree, with kernels of its own."""

    def __init__(self, folder: Path, compiles: bool) -> None:
        self.root, self.objects, self.kept = folder / "tree", folder / "objects", folder / "kept"
        known = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        names = subprocess.run(known, cwd=ROOT, check=True, capture_output=True, text=True).stdout
        for name in filter(None, names.split("\0")):
            if (ROOT / name).is_file():  # and was not removed
                (self.root / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, self.root / name)
        if not compiles:
            (compiled,) = Path(str(files("tallybayes"))).glob("_kernels*.so")
            shutil.copy2(compiled, self.root / "src" / "tallybayes")
            return
        listed = self.root / "CMakeLists.txt"
        listed.write_text(listed.read_text("utf-8").replace("-O3", "-O1"), encoding="utf-8")
        found = [sys.executable, "-m", "nanobind", "--cmake_dir"]
        nanobind = subprocess.run(found, check=True, capture_output=True, text=True).stdout.strip()
        options = {
            "nanobind_DIR": nanobind,
            "Python_EXECUTABLE": sys.executable,
        }
        configure = ["cmake", "-G", "Ninja", "-S", str(self.root), "-B", str(self.objects)]
        defined = [f"-D{name}={value}" for name, value in options.items()]
        environment, quiet = os.environ | BESIDE, subprocess.DEVNULL
        subprocess.run([*configure, *defined], check=True, env=environment, stdout=quiet)
        if not self.compiled():
            sys.exit("The kernels do not compile without a fault.")
        headers = shutil.ignore_patterns("*.gch")  # precompiled: large, and no fault is in them
        shutil.copytree(self.objects, self.kept, ignore=headers)

    def compiled(self) -> bool:
        """Whether the kernels compile; their module then lies in the package."""
        ninja = ["ninja", "-j1", "-C", str(self.objects)]
        environment, quiet = os.environ | BESIDE, subprocess.DEVNULL
        if subprocess.run(ninja, env=environment, stdout=quiet).returncode:
            return False
        self.place_module()
        return True

    def place_module(self) -> None:
        (module,) = self.objects.glob("_kernels*.so")
        shutil.copy2(module, self.root / "src" / "tallybayes")

    def run(self, tests: Sequence[str], limit: float | None = None) -> tuple[int | None, str]:
        """The exit status of pytest, None where the tests do not end, and what it writes."""
        try:
            done = subprocess.run(
                [*PYTEST, *tests],
                cwd=self.root,
                env=os.environ | {"PYTHONPATH": str(self.root / "src")},
                timeout=limit,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
            )
        except subprocess.TimeoutExpired:
            return None, ""
        return done.returncode, done.stdout

    def outcome(self, fault: Fault) -> str:
        (path,) = fault.files(self.root)
        text, times = path.read_text("utf-8"), path.stat()
        path.write_text(text.replace(fault.old, fault.new), encoding="utf-8")
        try:
            if fault.in_kernels and not self.compiled():
                return "broken"
            status, _ = self.run(fault.tests, LIMIT)
        finally:
            path.write_text(text, encoding="utf-8")
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
            if fault.in_kernels:
                # objects and times as before, so that nothing else is compiled for the next one
                shutil.copytree(self.kept, self.objects, dirs_exist_ok=True)
                self.place_module()
        return meaning(status)


def meaning(status: int | None) -> str:
    """What an exit status of pytest, None where it did not end, says of a fault."""
    if status is None or status < 0 or status == 1:
        return "caught"  # not in time, by a crash, by a test
    return "broken" if status else "survived"  # not collected, or no test


@dataclass(frozen=True)
class Result:
    fault: Fault
    outcome: str
    seconds: float


def work(checkout: Checkout, queues: Sequence[deque[Fault]], results: list[Result]) -> None:
    """Tries the faults of each queue that no other worker has taken."""
    for queue in queues:
        while queue:
            try:
                fault = queue.popleft()
            except IndexError:  # another worker took the last one
                break
            start = time.monotonic()
            outcome = checkout.outcome(fault)
            results.append(Result(fault, outcome, time.monotonic() - start))
            print(f"{outcome:8} {results[-1].seconds:5.0f} s  {fault.title}", flush=True)


def all_results(faults: Sequence[Fault], workers: int) -> list[Result]:
    compiled = deque(fault for fault in faults if fault.in_kernels)
    others = deque(fault for fault in faults if not fault.in_kernels)
    results: list[Result] = []
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(workers) as pool:
        checkouts = [
            Checkout(Path(name, str(i)), compiles=not i and bool(compiled)) for i in range(workers)
        ]
        tests = sorted({test for fault in faults for test in fault.tests})
        print(f"The {len(tests)} files and folders of tests, without a fault", flush=True)
        status, written = checkouts[0].run(tests)
        if status:
            sys.exit(f"{written[-8000:]}\nThe tests do not pass without a fault.")
        tasks = [
            pool.submit(work, checkout, [others] if i else [compiled, others], results)
            for i, checkout in enumerate(checkouts)
        ]
        for task in tasks:
            task.result()
    order = {fault.title: i for i, fault in enumerate(faults)}
    return sorted(results, key=lambda result: order[result.fault.title])


def page(results: Sequence[Result], command: str) -> str:
    """The results as Markdown."""
    count = Counter(result.outcome for result in results)
    share = count["caught"] / len(results)
    head = ["git", "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(head, cwd=ROOT, capture_output=True, text=True).stdout.strip()
    lines = [
        "# Planted faults",
        "",
        f"- Command: `{command}`",
        f"- Date: {datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        f"- Commit: {commit}",
        f"- {count['caught']} of {len(results)} faults are caught, {share:.1%}; "
        f"at least {BAR:.0%}: {'met' if share >= BAR else 'missed'}",
    ]
    for outcome in ("survived", "broken"):
        if left := [result.fault for result in results if result.outcome == outcome]:
            lines += ["", f"{outcome.capitalize()}:", ""]
            lines += [f"- {fault.title}: {fault.survives or 'not explained'}" for fault in left]
    lines += ["", "| fault | in | tests |  | s |", "| --- | --- | --- | --- | --- |"]
    for result in results:
        fault = result.fault
        tests = ", ".join(f"`{test.removeprefix('tests/')}`" for test in fault.tests)
        row = [fault.title, f"`{fault.where}`", tests, result.outcome, f"{result.seconds:.0f}"]
        lines.append(f"| {' | '.join(row)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("titles", nargs="*", help="titles of faults, or parts of them")
    parser.add_argument("--list", action="store_true", help="name the faults and stop")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--hold", action="store_true", help=f"write {PAGE.relative_to(ROOT)}")
    asked = parser.parse_args()
    faults = [
        fault
        for fault in all_faults()
        if not asked.titles or any(title in fault.title for title in asked.titles)
    ]
    if not faults:
        sys.exit("No fault has such a title; --list names them.")
    if asked.list:
        print("\n".join(fault.title for fault in faults))
        return
    results = all_results(faults, asked.workers)
    text = page(results, shlex.join(["python", "tools/mutants.py", *sys.argv[1:]]))
    print(f"\n{text}")
    if asked.hold:
        PAGE.write_text(text, encoding="utf-8")
    caught = sum(result.outcome == "caught" for result in results)
    if caught < BAR * len(results) or any(result.outcome == "broken" for result in results):
        sys.exit(1)


if __name__ == "__main__":
    main()
