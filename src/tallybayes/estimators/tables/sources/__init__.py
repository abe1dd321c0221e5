"""Rows of a source, which are read part by part: counted, learned and predicted."""
