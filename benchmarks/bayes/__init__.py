"""What Bayesian estimation promises, measured: smoothing that is chosen, calibration, intervals.

``alpha`` compares alpha="auto" with fixed alphas, ``calibration`` calibrate= with scikit-learn's
CalibratedClassifierCV, and ``coverage`` counts how often credible intervals hold the true
probability. ``held_out`` fits and times on folds; each of the three makes a page of its own.
"""
