"""How good predictions are, as plain numbers."""
