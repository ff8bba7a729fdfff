"""pytorch-cka: linear CKA of many views, from minibatches or from all Gram matrices."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np

from tests.benchmarks.peers.peer import Arrays, Call, Peer, Problem, Program, Size
from tests.benchmarks.peers.problems import Floats

COLUMNS, SHARED = 64, 16
BATCH = 256


def data(size: Size) -> Arrays:
    """Return p views of n samples, which share some latent columns in decreasing parts."""
    rng = np.random.default_rng(0)
    latent = rng.standard_normal((size.n, SHARED))
    views = []
    for place in range(size.p):
        common = latent @ rng.standard_normal((SHARED, COLUMNS)) / 4
        views.append(common + (0.5 + place / size.p) * rng.standard_normal((size.n, COLUMNS)))
    return {"views": np.array(views)}


def unbiased_alignments(views: Floats) -> Floats:
    """Return the debiased linear CKA over all samples, from products of features: no Gram matrix is needed."""
    p, n, _ = views.shape
    views = views - views.mean(axis=1, keepdims=True)
    diagonals = (views**2).sum(axis=2)
    rows = np.array([view @ view.sum(axis=0) for view in views]) - diagonals
    found = np.empty((p, p))
    for i in range(p):
        for j in range(p):
            product = ((views[i].T @ views[j]) ** 2).sum() - diagonals[i] @ diagonals[j]
            totals = rows[i].sum() * rows[j].sum() / ((n - 1) * (n - 2))
            found[i, j] = product + totals - 2 / (n - 2) * (rows[i] @ rows[j])
    norms = np.sqrt(np.diag(found))
    return np.asarray(found / np.outer(norms, norms))


def ours(data: Arrays) -> Call:
    from kernel_pipeline.estimators.similarity import kernel_similarity

    def run() -> Arrays:
        found = kernel_similarity({f"view {place}": view for place, view in enumerate(data["views"])})
        return {"alignments": found.to_numpy()}

    return run


def minibatches(data: Arrays) -> Call:
    torch, package = import_module("torch"), import_module("cka")
    p, n, columns = data["views"].shape
    # One network whose layers are the views: the i-th one returns its columns of the input.
    rows = torch.tensor(data["views"].transpose(1, 0, 2).reshape(n, p * columns))
    network = torch.nn.Module()
    for place in range(p):
        network.add_module(f"view{place}", torch.nn.Identity())

    def forward(batch: Any) -> Any:
        for place, view in enumerate(batch.split(columns, dim=1)):
            getattr(network, f"view{place}")(view)
        return batch

    network.forward = forward

    def run() -> Arrays:
        loader = torch.utils.data.DataLoader(
            [batch for batch in rows.split(BATCH) if len(batch) == BATCH], batch_size=None
        )
        names = [f"view{place}" for place in range(p)]
        (found,) = package.compute_cka(network, network, loader, layers=names, device="cpu", progress=False)
        return {"alignments": found.numpy()}

    return run


def all_samples(data: Arrays) -> Call:
    torch, package = import_module("torch"), import_module("cka")
    views = torch.tensor(data["views"])

    def run() -> Arrays:
        return {"alignments": package.cka_from_features(views, views).numpy()}

    return run


def score(data: Arrays, answer: Arrays) -> Mapping[str, float]:
    exact = unbiased_alignments(data["views"])
    return {"largest error": float(np.abs(answer["alignments"] - exact).max())}


PEER = Peer(
    name="pytorch-cka",
    package="pytorch-cka",
    requirements=("torch==2.13.0", "pytorch-cka==1.1.3"),
    problems=(
        Problem(
            title="linear CKA of all pairs of views with 64 columns",
            sizes=(Size(2000, 10), Size(10000, 10)),
            data=data,
            score=score,
            programs=(
                Program("ours: `kernel_similarity`, exact", ours, is_ours=True),
                Program(f"pytorch-cka {{version}}, minibatches of {BATCH}", minibatches),
                Program("pytorch-cka {version}, all samples", all_samples),
            ),
        ),
    ),
)
