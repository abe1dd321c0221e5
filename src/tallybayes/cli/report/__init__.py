"""What the command line says of data, models and predictions."""
