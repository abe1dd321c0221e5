"""Optimisers of weights: the penalised leave-one-out log-loss and the descents on it."""
