"""Finished sweeps that several files check; the tests must not change them."""

from pathlib import Path

import pytest
import tomli_w

from kernel_pipeline.config.loading import parse_config
from kernel_pipeline.stages import single_kernels
from tests.helpers.plain import gaussian_trial, rank_one_trial
from tests.helpers.sweeps import SMALL, run_here, small_config, write_results
from tests.pipeline.stages import one_stage_sweep, rank_one_sweep
from tests.pipeline.stages.one_stage_sweep import OneStageRun
from tests.pipeline.stages.rank_one_sweep import RankOneRun, Trials


@pytest.fixture(scope="session")
def rank_one_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the config and the data of the rank-one sweep."""
    folder = tmp_path_factory.mktemp("columns")
    rank_one_sweep.write_data(folder)
    (folder / "sweep.toml").write_text(tomli_w.dumps(rank_one_sweep.SWEEP))
    return folder


@pytest.fixture(scope="session")
def rank_one_run(rank_one_folder: Path) -> RankOneRun:
    """Return the finished rank-one sweep: its directory, its plan and its datasets."""
    config = parse_config(rank_one_sweep.SWEEP, "a test")
    root = rank_one_folder / "here"
    root.mkdir()
    for name in ("numbers.csv", "documents.txt"):
        (root / name).write_bytes((rank_one_folder / name).read_bytes())
    plan, samples, finished = run_here(root, config)
    write_results(root, plan, finished)
    return root, plan, {loaded.name: loaded for loaded in samples}


@pytest.fixture(scope="session")
def rank_one_trials(rank_one_run: RankOneRun) -> Trials:
    """Return the trials of the rank-one sweep, from whole matrices."""
    _, plan, samples = rank_one_run
    return {
        (dataset.name, task, trial): rank_one_trial(samples[dataset.name], task, trial, rank_one_sweep.FOLDS)
        for dataset in plan.datasets
        for task in dataset.problems
        for trial in range(rank_one_sweep.FOLDS)
    }


@pytest.fixture(scope="session")
def one_stage_run(tmp_path_factory: pytest.TempPathFactory) -> OneStageRun:
    """Return the finished sweep of one-stage methods: its directory, its plan, and its trials from whole matrices."""
    root = tmp_path_factory.mktemp("run")
    families = [[-6, -5], [-1000, -1000], [0, 1]]
    wave = {**SMALL["dataset"][0], "kernels": [{"family": "gaussian", "log2_gamma": ends} for ends in families]}
    config = small_config(
        methods=["l1-svm", "each-kernel", "l2-krr", "alignf", "alignf-linear", "align-krr"],
        fit=one_stage_sweep.FIT,
        dataset=[wave, SMALL["dataset"][1]],
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(single_kernels, "OPERATIONS_PER_TASK", 2 * 101**3)  # two kernels of wave per task
        plan, samples, finished = run_here(root, config)
    write_results(root, plan, finished)
    folds, gammas = one_stage_sweep.FOLDS, one_stage_sweep.GAMMAS
    trials = {
        (loaded.name, task, trial): gaussian_trial(loaded, gammas[loaded.name], task, trial, folds)
        for loaded in samples
        for task in loaded.targets
        for trial in range(folds)
    }
    return root, plan, trials
