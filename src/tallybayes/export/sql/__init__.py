"""A formula as one SELECT."""
