"""Files of the command line: data in every format, predictions, model files and their locks."""
