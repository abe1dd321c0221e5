"""What Bayesian estimation promises, measured: smoothing that is chosen, calibration, intervals.

``alpha`` compares alpha="auto" with fixed alphas, ``calibration`` calibrate= with scikit-learn's
CalibratedClassifierCV, and ``coverage`` counts how often credible intervals hold the true
probability; ``factor`` multiplies all weights. ``held_out`` fits and times on folds; each of the
parts makes a page of its own.
"""
