"""The engine for rows that come part by part: files, record batches, lazy frames."""
