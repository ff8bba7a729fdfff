"""Sums over kernels, and the statistics, alignments and bounds computed from them."""
