"""The displays, a file each."""
