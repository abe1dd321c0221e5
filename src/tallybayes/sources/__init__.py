"""Where rows come from: files in every format, batches and lazy frames, part by part.

Nothing is imported here: what a command looks at before it opens a file is quick to import.
"""
