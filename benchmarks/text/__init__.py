"""Text: counting documents beside scikit-learn's CountVectorizer."""
