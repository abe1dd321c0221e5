"""Counting in a database: one SQL statement for all counts of a question."""
