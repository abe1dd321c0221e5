"""Where counting and scoring happen: in memory, or in a database."""
