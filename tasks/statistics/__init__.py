"""Compute sums over kernels, and the statistics, alignments and bounds that follow from them."""
