"""How complete the types of the public interface are, as pyright sees an installed package.

    python tools/check_types.py

Fails below 95 %. What pyright cannot know, such as scikit-learn's base classes, which
have no types, counts against us all the same.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

LOWEST = 0.95

# pyright looks for packages in the environment whose python comes first on the PATH
beside = Path(sys.executable).parent
environment = os.environ | {"PATH": f"{beside}{os.pathsep}{os.environ['PATH']}"}
command = [sys.executable, "-m", "pyright", "--verifytypes", "tallybayes", "--ignoreexternal"]
with tempfile.TemporaryDirectory() as folder:
    done = subprocess.run(
        [*command, "--outputjson"], capture_output=True, text=True, cwd=folder, env=environment
    )
try:
    score = json.loads(done.stdout)["typeCompleteness"]["completenessScore"]
except (ValueError, KeyError):
    sys.exit(f"pyright reported nothing:\n{done.stdout}{done.stderr}")
print(f"types: {score:.1%} of the symbols have a known type")
if score < LOWEST:
    sys.exit(f"{LOWEST:.0%} is the least; see {' '.join(command[2:])} in an empty folder")
