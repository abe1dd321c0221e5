"""Makes the source distribution and wheels as they are published, and tries them as users would.

    python tools/wheel.py [newest]

Builds the sdist, and from it a wheel for Python 3.11 and one for the stable ABI of 3.12 and later,
by the interpreters of this machine. auditwheel tags them for Linux; then they are checked, and each
is installed into an empty environment of every Python it serves (or of the newest alone), without a
compiler on the PATH, where the README's Python blocks run. All that is made lies in dist/.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from importlib import metadata
from pathlib import Path

from pythons import pythons

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
MAX_BYTES = 3_000_000
EXTRAS = "cli,plots,report,duckdb,sql"
NEEDED_BY_README = ["pandas", "polars"]


def run(*command: str | Path, **options: object) -> None:
    """A command that has to succeed; what it prints is shown."""
    print("+", *command, flush=True)
    subprocess.run([str(word) for word in command], check=True, **options)  # type: ignore[call-overload]


def tool(name: str, *arguments: str | Path) -> None:
    """A command of a package of the group "wheel", which lies beside this interpreter."""
    beside = Path(sys.executable).parent
    path = os.pathsep.join([str(beside), os.environ["PATH"]])
    run(beside / name, *arguments, env=os.environ | {"PATH": path})


def build(found: dict[tuple[int, int], str], folder: Path) -> list[Path]:
    """The wheels of one sdist: for 3.11, and for the stable ABI by the newest later Python."""
    run(sys.executable, "-m", "build", "--sdist", "--outdir", DIST, ROOT)
    (sdist,) = DIST.glob("*.tar.gz")
    oldest, newest = found.get((3, 11)), max(found)
    for python in filter(None, [oldest, found[newest] if newest >= (3, 12) else None]):
        run(python, "-m", "venv", folder / "building")
        pip = [folder / "building/bin/python", "-m", "pip", "--disable-pip-version-check"]
        run(*pip, "wheel", "--quiet", "--no-deps", "--wheel-dir", folder / "built", sdist)
        shutil.rmtree(folder / "building")
    for wheel in sorted((folder / "built").glob("*.whl")):
        if sys.platform == "linux":
            tool("auditwheel", "repair", "--wheel-dir", DIST, wheel)
        else:
            shutil.copy(wheel, DIST)
    return sorted(DIST.glob("*.whl"))


def check(wheels: list[Path]) -> None:
    """Size, metadata, contents, the stable ABI, and the licences of all that is compiled in."""
    tool("twine", "check", "--strict", *DIST.iterdir())
    tool("check-wheel-contents", *wheels)
    bundled = metadata.distribution("nanobind").read_text("licenses/LICENSE")
    if (ROOT / "LICENSES" / "nanobind.txt").read_text() != bundled:
        sys.exit("LICENSES/nanobind.txt is not the licence of the nanobind that is installed")
    for wheel in wheels:
        if "abi3" in wheel.name:
            tool("abi3audit", "--strict", "--report", wheel)
        size = wheel.stat().st_size
        print(f"{wheel.name}: {size / 1e6:.2f} MB", flush=True)
        if size > MAX_BYTES:
            sys.exit(f"a wheel may have {MAX_BYTES} bytes; {wheel.name} has {size}")
        with zipfile.ZipFile(wheel) as archive:
            names = archive.namelist()
        for licence in ["LICENSE", *(f"LICENSES/{p.name}" for p in (ROOT / "LICENSES").iterdir())]:
            if not any(name.endswith(f".dist-info/licenses/{licence}") for name in names):
                sys.exit(f"{wheel.name} does not hold {licence}")
        if grafted := [name for name in names if ".libs/" in name]:
            sys.exit(f"{wheel.name} bundles {grafted}: add their licences")


def serves(wheel: Path, version: tuple[int, int]) -> bool:
    """Whether pip would take a wheel for a version of Python."""
    if "abi3" in wheel.name:
        return version >= (3, 12)
    return f"-cp{version[0]}{version[1]}-" in wheel.name


def try_out(python: str, wheel: Path, folder: Path) -> None:
    """The README's blocks in an empty environment, on a PATH that holds nothing at all."""
    run(python, "-m", "venv", "--clear", folder / "trying")
    fresh = folder / "trying/bin/python"
    (folder / "empty").mkdir(exist_ok=True)
    without = {k: v for k, v in os.environ.items() if k not in ("CC", "CXX", "PYTHONPATH")}
    without["PATH"] = str(folder / "empty")
    install = [fresh, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    install += ["--no-compile", "--only-binary", ":all:"]
    run(*install, f"{wheel}[{EXTRAS}]", *NEEDED_BY_README, env=without)
    run(fresh, "-P", ROOT / "tools/readme.py", env=without)


def main() -> None:
    found = pythons()
    shutil.rmtree(DIST, ignore_errors=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wheels = build(found, folder)
        check(wheels)
        chosen = {max(found): found[max(found)]} if sys.argv[1:] == ["newest"] else found
        for version, python in chosen.items():
            (wheel,) = [wheel for wheel in wheels if serves(wheel, version)]
            print(f"\nPython {version[0]}.{version[1]}: {wheel.name}", flush=True)
            try_out(python, wheel, folder)
    print("wheels: built, checked and tried on Python " + ", ".join(f"{a}.{b}" for a, b in chosen))


if __name__ == "__main__":
    main()
