"""What displays draw: rows, and what a model answers, as arrays. Nothing is drawn here."""
