"""Reading data files in batches, every format as the same columns."""
