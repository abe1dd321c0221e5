"""The scikit-learn face: validation, labels, fit and predict. No arithmetic."""
