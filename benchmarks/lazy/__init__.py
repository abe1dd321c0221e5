"""Counting when asked, beside a fitted model: ``python -m benchmarks lazy``."""
