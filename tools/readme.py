"""Runs the Python blocks of README.md, in order and in one module, with warnings as errors."""

from __future__ import annotations

import os
import re
import tempfile
import warnings
from pathlib import Path

page = Path(__file__).parents[1] / "README.md"
blocks = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
code = compile("\n".join(blocks), page.name, "exec")
warnings.simplefilter("error")
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    exec(code, {"__name__": "page"})
    os.chdir(page.parent)
print(f"README: {len(blocks)} blocks run")
