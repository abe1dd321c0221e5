"""Files of rows without types: CSV and JSON lines, and the types of their cells."""
