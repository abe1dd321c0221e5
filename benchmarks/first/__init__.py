"""The first prediction of a wide table of many classes."""
