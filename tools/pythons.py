"""The CPython interpreters of this machine from 3.11 on, a line each: version and path.

    python tools/pythons.py [newest]

Looks on the PATH, and where pyenv, uv and the containers that build wheels keep theirs.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

VERSIONS = range(11, 30)
ASK = """
import platform, sys
assert platform.python_implementation() == "CPython"
print(*sys.version_info[:2])
"""


def candidates() -> list[str]:
    """Paths that may be interpreters: a shim of pyenv is one only where its version is chosen."""
    home = Path.home()
    folders = [
        Path(os.environ.get("PYENV_ROOT", home / ".pyenv"), "versions"),
        Path(os.environ.get("UV_PYTHON_INSTALL_DIR", home / ".local/share/uv/python")),
        Path("/opt/python"),
    ]
    names = [f"python3.{minor}" for minor in VERSIONS]
    paths = [path for folder in folders for name in names for path in folder.glob(f"*/bin/{name}")]
    found = [sys.executable, *map(shutil.which, names), *map(str, paths)]
    return [path for path in found if path]


def pythons() -> dict[tuple[int, int], str]:
    """The first interpreter found of each version, with the GIL, the oldest version first."""
    known: dict[tuple[int, int], str] = {}
    for path in candidates():
        done = subprocess.run([path, "-I", "-c", ASK], capture_output=True, text=True)
        if done.returncode == 0:
            major, minor = map(int, done.stdout.split())
            if (major, minor) >= (3, VERSIONS[0]) and not path.endswith("t"):
                known.setdefault((major, minor), path)
    return dict(sorted(known.items()))


if __name__ == "__main__":
    lines = [f"{major}.{minor} {path}" for (major, minor), path in pythons().items()]
    print("\n".join(lines[-1:] if sys.argv[1:] == ["newest"] else lines))
