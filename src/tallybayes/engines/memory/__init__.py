"""Counting and scoring arrays and tables in memory, with the compiled kernels."""
