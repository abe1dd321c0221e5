"""Sources of rows: files in every format, batches and lazy frames, read part by part.

Nothing is imported here: commands import what they need before they open a file, and it is quick.
"""
