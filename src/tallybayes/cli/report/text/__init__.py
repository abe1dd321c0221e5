"""What the command line says of models of text."""
