"""The contracts of families, and of the likelihoods that they make from counts."""
