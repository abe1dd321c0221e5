"""Training: counting files, samples of their rows, and how good a model is."""
