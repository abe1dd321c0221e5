"""Classifiers of tables: a family for each column."""
