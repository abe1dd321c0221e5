"""What people ask a fitted model: explanations, evidence, intervals, importances, summaries."""
