"""Families whose score is looked up: levels, yes/no, bins, atoms and the class prior."""
