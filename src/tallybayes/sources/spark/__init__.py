"""Spark DataFrames: rows stay on the cluster, and are counted there."""
