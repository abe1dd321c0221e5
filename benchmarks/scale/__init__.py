"""Peak memory and speed of the command line on a file larger than memory ought to need."""
