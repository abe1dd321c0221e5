"""What a model says of its predictions: explanations, importances, small weights."""
