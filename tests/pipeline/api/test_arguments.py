"""Arguments of a wrong type or value: errors of this package that name the argument, the value and what is allowed."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kernel_pipeline as kp
from tests.pipeline.api.test_running import TINY

CONFIG = "config: must be the name of a shipped config, the path of a TOML file, a dict or a kp.Config; got "
CLUSTER = (
    "cluster: must be the name or file of a profile (`pipeline clusters` lists them), the address of a scheduler, or a "
    "connected distributed.Client; got "
)
LISTENERS = "listeners: must be a list of functions, such as [kp.RunView()]; got "
WORKERS = "workers: must be an integer of at least 1, or None; got "
SETTINGS = "settings: must be a dict with dotted keys, such as {'protocol.folds': 3}; got "
DIRECTORY = "must be the path of a run directory, or s3://BUCKET/PREFIX; got "
run: Any = kp.run
plan: Any = kp.plan
read_config: Any = kp.read_config
open_run: Any = kp.open_run


def ignore(event: object) -> None:
    """Do nothing."""


WRONG: list[tuple[Callable[[], object], str]] = [
    (lambda: run(3), f"{CONFIG}3 (int)"),
    (lambda: run(None), f"{CONFIG}None (NoneType)"),
    (lambda: plan(["a"]), f"{CONFIG}['a'] (list)"),
    (lambda: read_config(list(range(100))), f"{CONFIG}[0, 1, 2, 3, 4, 5, ...] (list)"),
    (lambda: plan(TINY, settings=["seed=1"]), f"{SETTINGS}['seed=1'] (list)"),
    (lambda: read_config(TINY, {3: 4}), f"{SETTINGS}{{3: 4}} (dict)"),
    (lambda: plan(TINY, data_dir=3), "data_dir: must be a path; got 3 (int)"),
    (lambda: run(TINY, cluster=3), f"{CLUSTER}3 (int)"),
    (lambda: run(TINY, cluster=None), f"{CLUSTER}None (NoneType)"),
    (lambda: run(TINY, cluster="threads", workers=0), f"{WORKERS}0 (int)"),
    (lambda: run(TINY, cluster="threads", workers=-1), f"{WORKERS}-1 (int)"),
    (lambda: run(TINY, cluster="threads", workers=True), f"{WORKERS}True (bool)"),
    (lambda: run(TINY, cluster="threads", workers="2"), f"{WORKERS}'2' (str)"),
    (lambda: run(TINY, cluster="threads", listeners=3), f"{LISTENERS}3 (int)"),
    (lambda: run(TINY, cluster="threads", listeners=[3]), f"{LISTENERS}[3] (list)"),
    (lambda: run(TINY, cluster="threads", listeners=ignore), f"{LISTENERS}<function ign"),
    (lambda: run(TINY, cluster="threads", verify="fast"), "verify: must be 'quick' or 'full'; got 'fast' (str)"),
    (lambda: run(TINY, cluster="threads", out=5), f"out: {DIRECTORY}5 (int)"),
    (lambda: open_run(5), f"directory: {DIRECTORY}5 (int)"),
]


@pytest.mark.parametrize(("call", "message"), WRONG, ids=[message.partition(" must")[0] for _, message in WRONG])
def test_wrong_arguments_are_refused_before_anything_is_written(
    call: Callable[[], object], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(kp.ConfigError) as refused:
        call()
    assert str(refused.value).startswith(message)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("cluster", "options", "message"),
    [
        ("no-such-cluster", {}, "there is no such cluster"),
        ("tcp://127.0.0.1:1", {"workers": 2}, "--workers does not apply"),
        ("threads", {"insecure": True}, "--insecure does not apply"),
    ],
)
def test_errors_of_clusters_are_errors_of_the_package(cluster: str, options: Any, message: str) -> None:
    with pytest.raises(kp.PipelineError, match=message) as refused:
        kp.run(TINY, cluster=cluster, **options)
    assert type(refused.value) is kp.ClusterError
    assert refused.value.exit_code == 2  # that of the command line
