"""Model files under attack: mutated files, killed commands and concurrent ones."""
