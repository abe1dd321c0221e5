"""Weighted naive Bayes of documents: ratios of counts, weights of bins of terms, and a ridge."""
