"""Models of documents: a tally of terms, how it is read, and what was learned in addition."""
