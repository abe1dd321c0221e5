"""Models as formulas in other languages."""
