"""Where counting and scoring happen: memory here; databases and clusters later."""
