"""Estimate the time of fits of support vector machines from their sizes.

Costs are in nanoseconds of one core. They were measured on the dataset a9a with 4,000 to 16,000 training samples,
7 Gaussian kernels and 12 values of C: with the kernel in memory, libsvm is faster than working sets at all of these
sizes, since most of its iterations read two rows only. libsvm needs the whole kernel in memory, so larger fits compute
rows when they are needed (`svm_rows`).
"""

from kernel_pipeline.tasks.arrays import FLOAT_BYTES

# Costs per n^2 and value of C.
LIBSVM, WORKING_SETS = 5.0, 9.0
# Rows that a fit by working sets computes, relative to n, if all support vectors of a path stay in the cache.
ROWS_PER_SAMPLE = 0.7
# Rows that such a fit computes per value of C, relative to n, if the cache holds few of them.
ROWS_PER_SAMPLE_AND_VALUE = 1.0


def libsvm_path_cost(n: int, values: int, classes: int) -> float:
    """Return the expected time of libsvm for all values of C on a kernel in memory, in nanoseconds of one core.

    >>> libsvm_path_cost(1000, 2, 2)
    10000000.0
    """
    return LIBSVM * _squares(n, classes) * values


def working_set_entries(n: int, values: int, classes: int, cache_bytes: int) -> float:
    """Return the expected number of entries of the rows that a fit by working sets computes for all values of C.

    >>> working_set_entries(1000, 10, 2, 8 * 1000**2), working_set_entries(1000, 10, 2, 8 * 1000)
    (700000.0, 10000000.0)
    """
    is_kept = cache_bytes >= ROWS_PER_SAMPLE * FLOAT_BYTES * n**2
    return _squares(n, classes) * (ROWS_PER_SAMPLE if is_kept else ROWS_PER_SAMPLE_AND_VALUE * values)


def working_set_cost(n: int, values: int, classes: int) -> float:
    """Return the expected time of a fit by working sets for all values of C, without that of the rows.

    The time is in nanoseconds of one core.
    """
    return WORKING_SETS * _squares(n, classes) * values


def _squares(n: int, classes: int) -> float:
    """Return the total number of entries of the kernels of all pairs of classes, each with 2 n / classes samples."""
    return n**2 if classes == 2 else 2 * n**2 * (classes - 1) / classes
