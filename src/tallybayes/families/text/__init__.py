"""Text: what its terms say of the classes."""
