"""Data of the displays: rows, and answers of a model, as arrays. Nothing is drawn here."""
