"""Conjugate priors as values, posteriors, draws, and the checks of hyperparameters."""
