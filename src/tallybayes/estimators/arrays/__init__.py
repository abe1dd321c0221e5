"""Classifiers of arrays, as in scikit-learn: one family for all columns."""
