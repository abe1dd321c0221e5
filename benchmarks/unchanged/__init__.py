"""Whether two versions say the same, bit for bit."""
