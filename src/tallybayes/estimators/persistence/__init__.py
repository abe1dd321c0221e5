"""Model files: each class of model as plain values and arrays, and back."""
