"""Files of rows without types: CSV and JSON lines, and what their cells are."""
