"""Warnings about data: odd values, identifiers, repeated rows, numbers too small to matter."""
