"""Choose how support vector machines are fitted: a pure function of sizes, so that all hosts make the same choice.

Costs are in nanoseconds of one core. They were measured on the dataset a9a with 4,000 to 16,000 training samples,
7 Gaussians and 12 values of C: with the kernel in memory, libsvm is faster at all of these sizes, since most of its
iterations read two rows only. It is limited by memory.
"""

from dataclasses import dataclass

# Costs per n^2 and value of C.
LIBSVM, WORKING_SETS = 5.0, 9.0
# Rows that working sets compute, relative to n, if all support vectors of a path stay in the cache.
ROWS_PER_SAMPLE = 0.7
# Rows that they compute per value of C, relative to n, if the cache holds few of them.
ROWS_PER_SAMPLE_AND_VALUE = 1.0
FLOAT_BYTES = 8
# Memory besides the kernel: libsvm's cache and labels.
OVERHEAD_BYTES = 256 << 20
# Fraction of the memory for the cache of rows; the kernels of working sets need half as much.
CACHE_SHARE = 0.6


@dataclass(frozen=True)
class SvmApproach:
    """The solver of support vector machines, and the reason for it."""

    is_libsvm: bool
    cost: float
    """Nanoseconds of one core for all values of C, including the kernel."""
    cache_bytes: int
    """Size of the cache of rows for working sets; 0 for libsvm."""
    reason: str


def choose_svm_approach(n: int, values: int, classes: int, memory: int, entry_cost: float) -> SvmApproach:
    """Choose between libsvm on a kernel in memory, and working sets with rows that are computed when needed.

    Parameters
    ----------
    n
        Number of training samples.
    values
        Number of values of C.
    classes
        Number of classes; more than two are separated one against one.
    memory
        Bytes that a fit may use.
    entry_cost
        Nanoseconds to compute one entry of the combined kernel from the features.

    Examples
    --------
    >>> print(choose_svm_approach(8_000, 12, 2, 8 << 30, 20.0).reason)
    libsvm: the kernel of 8,000 training samples needs 0.7 of 8.0 GiB
    >>> print(choose_svm_approach(60_000, 12, 2, 8 << 30, 20.0).reason)
    working sets: the kernel of 60,000 training samples would need 27.1 of 8.0 GiB; a cache of 4.8 GiB holds 18 % of \
its rows
    """
    needed = FLOAT_BYTES * n**2 + OVERHEAD_BYTES
    total = f"{memory / 2**30:.1f} GiB"
    if needed <= memory:
        cost = entry_cost * n**2 / 2 + libsvm_path_cost(n, values, classes)
        reason = f"libsvm: the kernel of {n:,} training samples needs {needed / 2**30:.1f} of {total}"
        return SvmApproach(True, cost, 0, reason)
    cache = int(CACHE_SHARE * memory)
    share = min(1.0, cache / (FLOAT_BYTES * n**2))
    return SvmApproach(
        False,
        entry_cost * working_set_rows(n, values, classes, cache) + working_set_cost(n, values, classes),
        cache,
        f"working sets: the kernel of {n:,} training samples would need {needed / 2**30:.1f} of {total}; a cache of "
        f"{cache / 2**30:.1f} GiB holds {100 * share:.0f} % of its rows",
    )


def libsvm_path_cost(n: int, values: int, classes: int) -> float:
    """Return the expected time of libsvm for all values of C on a kernel in memory, in nanoseconds of one core.

    >>> libsvm_path_cost(1000, 2, 2)
    10000000.0
    """
    return LIBSVM * _squares(n, classes) * values


def working_set_rows(n: int, values: int, classes: int, cache_bytes: int) -> float:
    """Return the expected number of entries of the rows that working sets compute for all values of C.

    >>> working_set_rows(1000, 10, 2, 8 * 1000**2), working_set_rows(1000, 10, 2, 8 * 1000)
    (700000.0, 10000000.0)
    """
    is_kept = cache_bytes >= ROWS_PER_SAMPLE * FLOAT_BYTES * n**2
    return _squares(n, classes) * (ROWS_PER_SAMPLE if is_kept else ROWS_PER_SAMPLE_AND_VALUE * values)


def working_set_cost(n: int, values: int, classes: int) -> float:
    """Return the expected time of working sets for all values of C, besides the rows, in nanoseconds of one core."""
    return WORKING_SETS * _squares(n, classes) * values


def _squares(n: int, classes: int) -> float:
    """Return the total number of entries of the kernels of all pairs of classes, each with 2 n / classes samples."""
    return n**2 if classes == 2 else 2 * n**2 * (classes - 1) / classes
