"""The machine and the versions that a benchmark ran on. Nothing that names the host."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

__all__ = ["OtherWork", "cpu_model", "machine_record", "usable_cores"]

PACKAGES = ("numpy", "scipy", "scikit-learn", "tallybayes")


def _field(file: str, name: str) -> str | None:
    """The value of the first line ``name : value`` of a file of the Linux kernel."""
    try:
        lines = Path(file).read_text().splitlines()
    except OSError:
        return None
    for line in lines:
        key, colon, value = line.partition(":")
        if colon and key.strip() == name:
            return value.strip()
    return None


def cpu_model() -> str:
    """What the processor calls itself."""
    return _field("/proc/cpuinfo", "model name") or platform.processor() or platform.machine()


def usable_cores() -> int:
    """Cores that this process may use."""
    import joblib  # a dependency of scikit-learn; it knows affinity and cgroups

    return int(joblib.cpu_count())


def memory_gib() -> float | None:
    """Main memory in GiB, where the system tells."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    except (OSError, ValueError):
        return None


class OtherWork:
    """How many cores other processes, or other guests of the host, keep busy from now on.

    A time measured on a machine that works for others as well says little; so the report tells.
    """

    def __init__(self) -> None:
        self._wall = time.perf_counter()
        self._own = self._own_seconds()
        self._busy = self._busy_seconds()

    @staticmethod
    def _own_seconds() -> float:
        """Processor time of this process and of its children that have ended."""
        return sum(os.times()[:4])

    @staticmethod
    def _busy_seconds() -> float | None:
        """Processor time of the whole machine, where Linux tells."""
        try:
            ticks = [int(n) for n in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
        except (OSError, ValueError):
            return None
        user, nice, system, _idle, _iowait, irq, softirq, steal = ticks
        return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")

    def cores(self) -> float | None:
        """Cores kept busy by others since this object was made, on average."""
        busy = self._busy_seconds()
        if busy is None or self._busy is None:
            return None
        others = (busy - self._busy) - (self._own_seconds() - self._own)
        return max(0.0, others / (time.perf_counter() - self._wall))


def peer_threads() -> dict[str, int]:
    """Threads of the libraries that scikit-learn computes with, by kind: BLAS and OpenMP."""
    import sklearn.utils._openmp_helpers  # noqa: F401 (loads OpenMP, which is then listed)
    from threadpoolctl import threadpool_info

    threads: dict[str, int] = {}
    for library in threadpool_info():
        kind = library["user_api"]
        threads[kind] = max(threads.get(kind, 0), library["num_threads"])
    return threads


def installed_versions(packages: Iterable[str]) -> dict[str, str]:
    """Versions of the packages that are installed."""
    found = {}
    for name in packages:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def machine_record(peers: Iterable[str] = ()) -> dict[str, Any]:
    """Date, processor, memory, versions, instruction set and threads, ready for JSON.

    Parameters
    ----------
    peers : iterable of str
        Packages whose versions matter besides those of every benchmark, where installed.
    """
    import tallybayes
    from tallybayes import _kernels

    versions = installed_versions([*PACKAGES, *peers])
    memory = memory_gib()
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "cpu": cpu_model(),
        "cores": usable_cores(),
        "memory_gib": None if memory is None else round(memory, 1),
        "load_at_start": [round(load, 2) for load in os.getloadavg()],
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        **versions,
        "packages": list(versions),
        "instruction_set": _kernels.instruction_set(),
        "threads_tallybayes": tallybayes.get_num_threads(),
        "threads_scikit_learn": peer_threads(),
    }
