"""Reading tables of any library into plain columns: numbers, or strings as codes."""

from __future__ import annotations

from tallybayes.tables.columns import Column, Empty, Mixed, Numbers, Strings, Table
from tallybayes.tables.read import AllBut, read_table

__all__ = ["AllBut", "Column", "Empty", "Mixed", "Numbers", "Strings", "Table", "read_table"]

Texts = Strings
"""The former name of :class:`Strings`, kept for one version."""
