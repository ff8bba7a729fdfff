"""Provide scikit-learn estimators that learn kernels in memory, with the numerical functions of a sweep."""
