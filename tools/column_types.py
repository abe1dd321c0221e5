"""Writes docs/column-types.md: what each type of column is read as."""

from __future__ import annotations

from pathlib import Path

from tallybayes.testing.column_types import page

if __name__ == "__main__":
    (Path(__file__).parents[1] / "docs" / "column-types.md").write_text(page(), encoding="utf-8")
