"""Learning a weighted model: terms in stages, cell offsets, shrinkage, averaging, pruning."""
