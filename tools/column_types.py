"""Writes docs/column-types.md: what each type of column is read as."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "tests"))  # whose cells these are

from estimators.containers.column_types import page  # noqa: E402

if __name__ == "__main__":
    (ROOT / "docs" / "column-types.md").write_text(page(), encoding="utf-8")
