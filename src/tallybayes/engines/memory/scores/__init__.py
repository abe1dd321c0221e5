"""What the parts of a table add to the score of each class."""
