"""Text: log-ratios of its terms for the classes."""
