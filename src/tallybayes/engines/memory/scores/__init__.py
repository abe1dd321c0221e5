"""The contributions of the parts of a table to the score of each class."""
