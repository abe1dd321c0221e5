"""Text: counting, classifying, and learning with few labels, beside scikit-learn."""
