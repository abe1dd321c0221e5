"""The engine for Spark DataFrames: what is counted is sent to the rows."""
