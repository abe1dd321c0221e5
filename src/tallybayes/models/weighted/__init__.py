"""Weighted models: what was learned on rows, and how it scores."""
