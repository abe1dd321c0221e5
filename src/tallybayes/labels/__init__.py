"""Many labels a row, and classes in a tree: classifiers that count the rows of another by label."""
