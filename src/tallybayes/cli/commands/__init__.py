"""One command a file; each has the function ``run``."""
