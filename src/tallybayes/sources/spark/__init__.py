"""Spark DataFrames: rows that stay on a cluster, to which the counting goes."""
