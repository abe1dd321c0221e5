"""Fitted models: a tally, how it is read, and what was learned on rows. No scikit-learn."""
