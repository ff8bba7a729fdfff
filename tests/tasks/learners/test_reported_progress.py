"""Every solver says how far it is, and its results are the same to the bit whether anyone listens or not."""

import re
from collections.abc import Callable
from dataclasses import astuple

import numpy as np
import pytest

from kernel_pipeline.tasks.learners.align_krr import align_krr_path
from kernel_pipeline.tasks.learners.few_columns import fit_column_machines
from kernel_pipeline.tasks.learners.iterative_ridge import solve_ridge_path
from kernel_pipeline.tasks.learners.kernel_operator import InMemoryKernel
from kernel_pipeline.tasks.learners.l1_svm import l1_svm_path
from kernel_pipeline.tasks.learners.l2_krr import l2_krr_path
from kernel_pipeline.tasks.learners.ridge import ridge_coefficients
from kernel_pipeline.tasks.learners.single_columns import single_column_errors
from kernel_pipeline.tasks.learners.svm import fit_pair_machines
from kernel_pipeline.tasks.learners.svm_machines import fit_svm
from kernel_pipeline.tasks.progress import progress_listener
from tests.tasks.dense import Floats
from tests.tasks.learners.ridge_problems import RIDGES, gaussian_kernel
from tests.tasks.learners.svm_problems import of_features, two_classes
from tests.tasks.learners.test_paneled_kernel import paneled
from tests.tasks.learners.test_single_columns import numbers
from tests.tasks.problems import make_problem
from tests.tasks.square_rows import SquareRows

COSTS, CACHE_BYTES = [0.25, 1.0, 64.0], 100**2 * 32


def tridiagonal() -> list[Floats]:
    square, target, _ = gaussian_kernel(120, "mixed")
    return [*ridge_coefficients(square, target, [*RIDGES])]


def iterative() -> list[Floats]:
    square, target, _ = gaussian_kernel(400, "mixed")
    return [*solve_ridge_path(InMemoryKernel(square), target, RIDGES)]


def panels() -> list[Floats]:
    square, target, _ = gaussian_kernel(400, "narrow")
    kernel, _ = paneled(square, [0, 150, 300, 400])
    return [*solve_ridge_path(kernel, target, RIDGES)]


def working_sets() -> list[Floats]:
    problem = two_classes()
    found = fit_svm(SquareRows(problem.kernel), problem.target, COSTS, cache_bytes=CACHE_BYTES)
    return [found.coefficients, found.intercepts, found.gaps]


def three_classes() -> tuple[Floats, Floats]:
    rng = np.random.default_rng(0)
    features = rng.normal(size=(90, 3))
    target = np.eye(3)[np.digitize(features[:, 0] + 0.3 * rng.normal(size=90), [-0.4, 0.4])]
    return of_features(features, target, 90, (0.2,)).kernel, target


def working_sets_of_pairs() -> list[Floats]:
    kernel, target = three_classes()
    found = fit_svm(SquareRows(kernel), target, COSTS, cache_bytes=CACHE_BYTES)
    return [found.coefficients, found.intercepts, found.gaps]


def libsvm() -> list[Floats]:
    found = fit_pair_machines(*three_classes(), COSTS)
    return [found.coefficients, found.intercepts, found.gaps]


def few_columns() -> list[Floats]:
    kernels, split = numbers(0, "three")
    return [*fit_column_machines(kernels.columns.toarray(), split.target[split.train], COSTS)]


def single_columns() -> list[Floats]:
    kernels, split = numbers(0, "two")
    return [*single_column_errors("classification", kernels, split, COSTS)]


def l1_svm() -> list[Floats]:
    problem = make_problem(1, "gaussian", n=30, p=6)
    found = l1_svm_path(problem.kernels, problem.classes, [(1.0,), (64.0,)])
    return [np.asarray(part) for solution in found for part in astuple(solution)]


def l2_krr() -> list[Floats]:
    problem = make_problem(1, "gaussian", n=30, p=6)
    found = l2_krr_path(problem.kernels, problem.y, [(1.0,), (64.0,)])
    return [np.asarray(part) for solution in found for part in astuple(solution)]


def align_krr() -> list[Floats]:
    problem = make_problem(1, "gaussian", n=30, p=6)
    found = align_krr_path(problem.kernels, problem.y, [(1.0, 0.01, 0.0), (1.0, 1e-4, 1.0)])
    return [np.asarray(part) for solution in found for part in astuple(solution)]


# What the solvers say, in this order; other texts may be between these.
SOLVERS: dict[Callable[[], list[Floats]], list[str]] = {
    tridiagonal: ["tridiagonalisation"],
    iterative: [
        r"preconditioner, \d+ of at most \d+ columns",
        r"ridges 1 to \d+ of 16: (outputs 1 to 1 of 2, )?pass 1, \d+ of \d+ ridges done",
        r"ridges \d+ to 16 of 16: factorisation",
        r"ridges \d+ to 16 of 16: (outputs 2 to 2 of 2, )?pass \d+, (\d+) of \2 ridges done",
    ],
    panels: [
        "kernel, panel 1 of 3",
        "kernel, panel 3 of 3",
        r"ridges \d+ to \d+ of 16: factorisation",
        r"ridges \d+ to \d+ of 16: factorisation, panel 3 of 3",
        r"ridges \d+ to 16 of 16: (outputs 2 to 2 of 2, )?pass \d+, (\d+) of \2 ridges done",
    ],
    working_sets: ["value 1 of 3", "value 1 of 3: round 1, gap 1", r"value 3 of 3: round [2-9]\d*, gap \S+"],
    working_sets_of_pairs: ["pair 1 of 3: value 1 of 3: round 1, gap .*", "pair 3 of 3: value 3 of 3: round 2, gap .*"],
    libsvm: ["value 1 of 3, tolerance 0.001", "value 3 of 3, tolerance 0.001"],
    few_columns: ["value 1 of 3, pair 1 of 3", "value 3 of 3, pair 3 of 3"],
    single_columns: ["kernels 1 to 6 of 6"],
    l1_svm: ["value 1 of 2: round 1, working set of 6: step 1, gap .*", "value 2 of 2: .*: step 5, gap .*"],
    l2_krr: ["value 1 of 2: step 1, gap .*", "value 2 of 2: step 2, gap .*"],
    align_krr: ["value 1 of 2: step 1, residual .*", "value 2 of 2: step 2, residual .*"],
}


@pytest.mark.parametrize("solve", SOLVERS, ids=lambda solve: solve.__name__)
def test_steps_are_reported_and_change_nothing(solve: Callable[[], list[Floats]]) -> None:
    silent, heard = solve(), list[str]()
    with progress_listener(heard.append):
        found = solve()
    for before, after in zip(silent, found, strict=True):
        assert before.tobytes() == after.tobytes()
    rest = iter(heard)
    for pattern in SOLVERS[solve]:
        assert any(re.fullmatch(pattern, text) for text in rest), (pattern, heard[:20], heard[-5:])
