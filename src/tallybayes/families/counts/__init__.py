"""Families of whole numbers: Poisson, negative binomial, and counts that share a total."""
