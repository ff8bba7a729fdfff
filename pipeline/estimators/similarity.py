"""Compare many representations of the same samples by the centered alignments of their kernels."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from kernel_pipeline.config.feature_columns import FeatureColumns
from kernel_pipeline.estimators.kernel_list import parse_families
from kernel_pipeline.estimators.similarity_sources import open_source, row_blocks
from kernel_pipeline.estimators.similarity_tiles import MatrixKernel, ViewKernel, total_sums
from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.kernels.family import Samples, kernel_names
from kernel_pipeline.tasks.kernels.fitted_families import fitted_families
from kernel_pipeline.tasks.kernels.gaussian import MEDIAN_SAMPLES
from kernel_pipeline.tasks.kernels.linear import LinearFamily
from kernel_pipeline.tasks.statistics.debiased import MIN_SAMPLES
from kernel_pipeline.tasks.statistics.sums import Sums

# A kernel is constant up to rounding if centering reduces its squared norm to at most this fraction.
CONSTANT_SQUARE_TOLERANCE = 1e-13


def kernel_similarity(
    views: Mapping[str, Any],
    *,
    kernel: Mapping[str, Any] | None = None,
    precomputed: Mapping[str, Any] | None = None,
    debiased: bool = True,
    tile_size: int | None = None,
    client: Any = None,
) -> pd.DataFrame:
    """Compute the centered alignments (CKA) of the kernels of all pairs of views, exactly, over all samples.

    All kernels are computed tile by tile in one pass, and no Gram matrix is formed. Memory is needed for the features
    of two spans of samples (with the default `tile_size`, at most 128 MB, or 512 rows of all views if these need
    more), a block of all kernels (1 MB, or 16 x 16 entries of each kernel if these need more), and three numbers per
    sample and view.

    Parameters
    ----------
    views
        Feature matrices, (n, d), of the same n samples by name, such as the layers of a network: arrays, data frames,
        or data from which only the rows of a tile are read: a `numpy.memmap`, a zarr array, or the path of a .npy or
        .zarr file.
    kernel
        Family of the kernels, as in a config, with one kernel: `{"family": "gaussian", "gamma": "median"}`. By
        default, the linear kernel. The median distance, or another data-dependent parameter, is that of 1,000 evenly
        spaced samples.
    precomputed
        Additional kernels: symmetric matrices, (n, n), by name, or paths of .npy or .zarr files. Only blocks of them
        are read, so a file can be larger than memory.
    debiased
        Whether to use unbiased estimates of the inner products (Song et al. 2012), which are around 0 for independent
        views even if n is small; needs n >= 4.
    tile_size
        Number of samples of a tile. By default, it follows from the widths of the views.
    client
        A `distributed.Client`, whose workers compute the tiles. Files must be readable on the workers; arrays in memory
        are sent to each worker. The result is the same as without a client.

    Returns
    -------
    DataFrame
        Alignment of each pair; NaN if it is not defined, because a kernel is constant or an estimate of a squared norm
        is not positive.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(100, 5))
    >>> found = kernel_similarity({"x": x, "reversed": x[:, ::-1], "other": rng.normal(size=(100, 5))})
    >>> round(float(found.loc["x", "reversed"]), 6), bool(abs(found.loc["x", "other"]) < 0.05)
    (1.0, True)
    """
    names = _checked_names(views, precomputed, tile_size)
    kernels: list[ViewKernel | MatrixKernel] = [_view_kernel(name, view, kernel) for name, view in views.items()]
    kernels += [_matrix_kernel(name, matrix) for name, matrix in (precomputed or {}).items()]
    sizes = {name: one.source.shape[0] for name, one in zip(names, kernels, strict=True)}
    n = _check_samples(sizes, debiased)
    sums = total_sums(kernels, n, tile_size, client)
    return pd.DataFrame(pairwise_alignments(sums, debiased), index=names, columns=names)


def pairwise_alignments(sums: Sums, debiased: bool) -> Floats:
    """Return the centered alignments of all pairs of kernels, given their sums over one fold, (p, p).

    The biased inner products are those of Lemma 1. The unbiased ones are those of Song et al. (2012), computed from
    the matrices without their diagonals, since the kernels of the sums are not centered, unlike those of
    `debiased_products`; both are invariant to constants that are subtracted from a kernel.
    """
    products, rows, diagonal = sums.products[0, 0], sums.rows[0], sums.diagonal
    n, before = rows.shape[1], np.diag(products)
    if debiased:
        if n < MIN_SAMPLES:
            return np.full_like(products, np.nan)
        products, rows = products - diagonal @ diagonal.T, rows - diagonal
        total = rows.sum(axis=1)
        found = products + np.outer(total, total) / ((n - 1) * (n - 2)) - (2.0 / (n - 2)) * (rows @ rows.T)
    else:
        total = rows.sum(axis=1)
        found = products + np.outer(total, total) / n**2 - (2.0 / n) * (rows @ rows.T)
    squares = np.diag(found)
    varies = squares > CONSTANT_SQUARE_TOLERANCE * before
    norms = np.sqrt(np.where(varies, squares, np.nan))
    return np.asarray((found + found.T) / (2.0 * np.outer(norms, norms)))


def _checked_names(views: object, precomputed: object, tile_size: int | None) -> list[str]:
    """Return the names of all views and matrices; raise a `ValueError` if they, or the tile size, are not valid."""
    names: list[str] = []
    for argument, given in (("views", views), ("precomputed", precomputed or {})):
        if not isinstance(given, Mapping):
            raise ValueError(f"{argument}: must be a dict of matrices by name; got a {type(given).__name__}")
        names += given
    if not names or len(set(names)) < len(names):
        raise ValueError(f"views: must have at least one entry, and unique names; got {names}")
    if tile_size is not None and (not isinstance(tile_size, int) or tile_size < 1):
        raise ValueError(f"tile_size: must be a positive integer, or None; got {tile_size!r}")
    return names


def _check_samples(sizes: Mapping[str, int], debiased: bool) -> int:
    """Return the common number of samples, given that of each kernel; raise a `ValueError` if it is not valid."""
    n = next(iter(sizes.values()))
    if set(sizes.values()) != {n}:
        raise ValueError(f"views: must all have the same number of samples; got {sizes}")
    if debiased and n < MIN_SAMPLES:
        raise ValueError(
            f"debiased: needs at least {MIN_SAMPLES} samples; got {n}. For fewer samples, use debiased=False (--biased "
            "on the command line)"
        )
    return n


def _view_kernel(name: str, view: Any, kernel: Mapping[str, Any] | None) -> ViewKernel:
    """Return the kernel of one view; data-dependent parameters are fitted to evenly spaced samples."""
    source = open_source(f"views[{name!r}]", view)
    n, width = source.shape
    columns = [f"x{place}" for place in range(width)]
    entries = [{"family": "linear"} if kernel is None else kernel]
    families = parse_families(entries, FeatureColumns.of(columns, columns, ()), np.empty((0, width)), {})
    if len(kernel_names(families)) != 1:
        raise ValueError(f"kernel: must define exactly one kernel; got {', '.join(kernel_names(families))}")
    few = np.linspace(0, n - 1, min(n, MEDIAN_SAMPLES)).astype(np.int64) if families[0].fitted_steps() else np.empty(0)
    reference = [source.read(slice(int(row), int(row) + 1)) for row in few]
    (family,) = fitted_families(families, Samples(np.concatenate([np.empty((0, width)), *reference])))
    if not isinstance(family, LinearFamily):
        return ViewKernel(source, family)
    # With centered features, the centered kernel is the same, with smaller rounding errors.
    means = sum(source.read(rows).sum(axis=0) for rows in row_blocks(n)) / n
    return ViewKernel(source, family, np.asarray(means))


def _matrix_kernel(name: str, matrix: Any) -> MatrixKernel:
    """Return a precomputed kernel."""
    label = f"precomputed[{name!r}]"
    source = open_source(label, matrix)
    if source.shape[0] != source.shape[1]:
        raise ValueError(f"{label}: must be a matrix of shape (n, n); its shape is {source.shape}")
    return MatrixKernel(source, label)
