"""Estimate the time of fits of support vector machines from their sizes.

Costs are in nanoseconds of one core. They were measured on the dataset a9a with 4,000 to 16,000 training samples,
7 Gaussian kernels and 12 values of C: with the kernel in memory, libsvm is faster than working sets at all of these
sizes, since most of its iterations read two rows only. libsvm needs the whole kernel in memory, so larger fits compute
rows when they are needed (`svm_rows`).
"""

from kernel_pipeline.tasks.arrays import FLOAT_BYTES

# Costs per n^2 and value of C.
LIBSVM, WORKING_SETS = 5.0, 9.0
# Rows that a fit by working sets computes for all values of C together, relative to n, if the cache holds at least
# this share of the kernel, which is enough for the support vectors of one value of C.
ROWS_PER_SAMPLE, KEPT_SHARE = 1.0, 0.45
# Rows that it computes for each value of C, relative to n, if the cache holds at most this share of the kernel.
ROWS_PER_SAMPLE_AND_VALUE, LOST_SHARE = 1.1, 0.25


def libsvm_path_cost(n: int, values: int, classes: int) -> float:
    """Return the expected time of libsvm for all values of C on a kernel in memory, in nanoseconds of one core.

    >>> libsvm_path_cost(1000, 2, 2)
    10000000.0
    """
    return LIBSVM * _squares(n, classes) * values


def working_set_entries(n: int, values: int, classes: int, cache_bytes: int) -> float:
    """Return the expected number of entries of the rows that a fit by working sets computes for all values of C.

    >>> [round(working_set_entries(1000, 10, 2, int(share * 8 * 1000**2))) for share in (1.0, 0.35, 0.1)]
    [1000000, 6000000, 11000000]
    """
    missing = (KEPT_SHARE - cache_bytes / (FLOAT_BYTES * n**2)) / (KEPT_SHARE - LOST_SHARE)
    repeated = ROWS_PER_SAMPLE_AND_VALUE * values - ROWS_PER_SAMPLE
    return _squares(n, classes) * (ROWS_PER_SAMPLE + min(max(missing, 0.0), 1.0) * repeated)


def working_set_cost(n: int, values: int, classes: int) -> float:
    """Return the expected time of a fit by working sets for all values of C, without that of the rows.

    The time is in nanoseconds of one core.
    """
    return WORKING_SETS * _squares(n, classes) * values


def _squares(n: int, classes: int) -> float:
    """Return the total number of entries of the kernels of all pairs of classes, each with 2 n / classes samples."""
    return n**2 if classes == 2 else 2 * n**2 * (classes - 1) / classes
