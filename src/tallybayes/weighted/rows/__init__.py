"""Rows to learn on: order-free hashes, samples and folds, and duplicated columns."""
