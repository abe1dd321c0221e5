"""How soon the command line has answered."""
