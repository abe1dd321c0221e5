"""What the command line prints about models of text."""
