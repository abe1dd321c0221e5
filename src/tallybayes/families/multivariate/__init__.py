"""Columns of numbers that are read together, with a covariance for each class."""
