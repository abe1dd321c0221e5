"""What the command line prints about data, models and predictions."""
