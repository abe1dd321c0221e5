"""The service under load, beside an empty handler that parses and writes the same JSON."""
