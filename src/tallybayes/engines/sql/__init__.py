"""Counting in a database: one SQL statement for all that is asked."""
