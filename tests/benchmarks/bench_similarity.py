"""Compare `kernel_similarity` of 20 views with the pairwise dense computation: time, memory and accuracy.

    python -m tests.benchmarks.bench_similarity                  n = 20,000 (minutes)
    python -m tests.benchmarks.bench_similarity --samples 4000

The dense computation forms the two Gram matrices of each pair. It is measured on a subsample, where its results are
compared, and its time is extrapolated with n^2. The linear kernels of all samples are checked by the products
`||X'Y||_F^2` of the centered features, which need no Gram matrix.
"""

import argparse
import resource
import tempfile
from pathlib import Path
from time import perf_counter

import numpy as np

import kernel_pipeline as kp
from kernel_pipeline.tasks.arrays import Floats

GAUSSIAN = {"family": "gaussian", "gamma": 0.01}


def make_views(folder: Path, samples: int, count: int, width: int) -> dict[str, Path]:
    """Write views that share a part of their columns, from none to all."""
    rng = np.random.default_rng(0)
    shared = rng.normal(size=(samples, width))
    paths = {}
    for place in range(count):
        share = place / (count - 1)
        path = folder / f"view{place:02}.npy"
        np.save(path, share * shared + (1.0 - share) * rng.normal(size=(samples, width)))
        paths[path.stem] = path
    return paths


def dense_gram(view: Floats) -> Floats:
    """Return the centered Gaussian kernel."""
    norms = (view**2).sum(axis=1)
    gram = np.exp(-0.01 * np.maximum(norms[:, None] + norms - 2.0 * view @ view.T, 0.0))
    return np.asarray(gram - gram.mean(axis=0) - gram.mean(axis=1)[:, None] + gram.mean())


def pairwise_dense(views: list[Floats]) -> Floats:
    """Return the alignment of each pair, whose Gram matrices are formed for the pair."""
    found = np.eye(len(views))
    for i, first in enumerate(views):
        for j in range(i):
            K, L = dense_gram(first), dense_gram(views[j])
            found[i, j] = found[j, i] = (K * L).sum() / (np.linalg.norm(K) * np.linalg.norm(L))
    return found


def linear_alignments(views: list[Floats]) -> Floats:
    """Return the alignments of linear kernels from the products of the features."""
    centered = [view - view.mean(axis=0) for view in views]
    products = np.array([[np.linalg.norm(x.T @ z) ** 2 for z in centered] for x in centered])
    return np.asarray(products / np.sqrt(np.outer(np.diag(products), np.diag(products))))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=20_000)
    parser.add_argument("--views", type=int, default=20)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--subsample", type=int, default=1000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        paths = make_views(Path(folder), options.samples, options.views, options.width)
        start = perf_counter()
        tiles = kp.kernel_similarity(paths, kernel=GAUSSIAN, debiased=False)
        seconds = perf_counter() - start
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"{options.views} views of {options.samples:,} x {options.width}, Gaussian kernels")
        print(f"tiles:          {seconds:8.1f} s, peak memory of the process {memory:,.0f} MiB")
        few = {name: np.load(path)[: options.subsample] for name, path in paths.items()}
        start = perf_counter()
        dense = pairwise_dense(list(few.values()))
        one = perf_counter() - start
        factor = (options.samples / options.subsample) ** 2
        print(f"pairwise dense: {one:8.1f} s for {options.subsample:,} samples, {one * factor:,.0f} s extrapolated")
        print(f"ratio: {one * factor / seconds:.1f}")
        on_few = kp.kernel_similarity(few, kernel=GAUSSIAN, debiased=False)
        print(f"largest difference on the subsample: {np.abs(on_few.to_numpy() - dense).max():.1e}")
        linear = kp.kernel_similarity(paths, debiased=False).to_numpy()
        exact = linear_alignments([np.load(path) for path in paths.values()])
        print(f"largest difference of linear kernels, all samples: {np.abs(linear - exact).max():.1e}")
        print(f"alignment of the first and the last view, all samples: {tiles.to_numpy()[0, -1]:.6f}")


if __name__ == "__main__":
    main()
