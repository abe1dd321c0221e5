"""Models said in other languages."""
