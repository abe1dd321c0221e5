"""Opening files: the format by its first bytes, decompression, and errors."""
