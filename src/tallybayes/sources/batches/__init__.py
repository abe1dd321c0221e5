"""Rows that come as Arrow batches: Parquet, Arrow files and streams, lazy frames."""
