"""Text under scikit-learn's conventions."""
