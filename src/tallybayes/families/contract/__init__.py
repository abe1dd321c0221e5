"""What a family, and the likelihood that it makes of counts, answer."""
