"""The commands, a file each with the function ``run``, and what only commands need: how models are
trained on files, and what differs by kind of model."""
