"""Questions to a fitted model: explanations, evidence, intervals, importances, summaries."""
