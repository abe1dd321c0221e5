"""How the columns of a table are declared, read and counted."""
