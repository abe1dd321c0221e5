"""Warnings about data: odd values, identifiers, numbers too small to matter."""
