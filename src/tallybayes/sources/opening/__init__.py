"""What a file is, and its bytes: a look at the beginning, decompression, and what goes wrong."""
