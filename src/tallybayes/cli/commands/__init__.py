"""The commands, a file each with the function ``run``, and what only commands need."""
