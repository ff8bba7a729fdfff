"""Profiles that `--cluster` names, and messages about invalid ones."""

import json
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from click.testing import CliRunner

from kernel_pipeline.cli.main import main
from kernel_pipeline.cluster.address import AddressProfile
from kernel_pipeline.cluster.backend import BUILT_IN, find_backend
from kernel_pipeline.cluster.errors import ProfileError
from kernel_pipeline.cluster.profile import Profile
from kernel_pipeline.cluster.quantities import handover_seconds, walltime_seconds
from kernel_pipeline.config.profiles import find_profile, known_profiles, parse_profile, profile_folder

QUEUE: dict[str, Any] = {"backend": "slurm", "memory": "4 GiB", "cores": 2, "walltime": "1:00:00"}


@pytest.fixture(autouse=True)
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of the user's own profiles."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    folder = profile_folder()
    assert folder.is_relative_to(tmp_path)
    return folder


def test_every_backend_except_an_address_has_a_valid_shipped_profile() -> None:
    assert set(known_profiles()) == set(BUILT_IN) - {"address"}
    for name in known_profiles():
        assert find_profile(name).backend == name


def test_own_profiles_take_precedence_over_shipped_ones(own: Path) -> None:
    own.mkdir(parents=True)
    (own / "slurm.toml").write_text(tomli_w.dumps(QUEUE | {"jobs": 7}))
    (own / "mine.toml").write_text('backend = "threads"\n')
    assert find_profile("slurm").jobs == 7
    assert find_profile("mine").backend == "threads"


def test_a_file_is_a_profile_or_a_scheduler_file(tmp_path: Path) -> None:
    (tmp_path / "queue.toml").write_text(tomli_w.dumps(QUEUE))
    (tmp_path / "scheduler.json").write_text(json.dumps({"address": "tcp://127.0.0.1:1"}))
    assert find_profile("queue.toml").cores == 2
    assert find_profile("scheduler.json") == AddressProfile(address="scheduler.json")


def test_an_address_is_a_profile_of_its_own() -> None:
    assert find_profile("tls://host:8786") == AddressProfile(address="tls://host:8786")


@pytest.mark.parametrize(("workers", "jobs"), [(1, 1), (2, 1), (3, 2), (8, 4)])
def test_the_number_of_jobs_follows_from_the_number_of_workers(workers: int, jobs: int, tmp_path: Path) -> None:
    (tmp_path / "queue.toml").write_text(tomli_w.dumps(QUEUE | {"adapt": [2, 50]}))
    profile = find_profile("queue.toml", workers)
    assert (profile.jobs, profile.adapt) == (jobs, None)


def test_workers_of_this_machine() -> None:
    assert find_profile("local", 3).jobs == find_profile("threads", 3).jobs == 3


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (("moon",), ["'moon'", "tls://HOST:PORT", "local", "slurm"]),
        (("slrum",), ["Did you mean 'slurm'?"]),
        (("mpi", 4), ["--workers", "mpi"]),
        (("local", None, True), ["--insecure", "local"]),
        (("tls://host:1", None, False, True), ["--dashboard", "tls://host:1"]),
        (("broken.toml",), ["broken.toml", "not valid TOML"]),
    ],
)
def test_an_invalid_cluster_is_refused(asked: tuple[Any, ...], words: list[str], tmp_path: Path) -> None:
    (tmp_path / "broken.toml").write_text("backend = \n")
    with pytest.raises(ProfileError) as refused:
        find_profile(*asked)
    for word in words:
        assert word in str(refused.value)
    assert refused.value.exit_code == 2


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"backend": "cray"}, ["backend", "there is no cluster backend 'cray'", "slurm, pbs"]),
        ({"backend": "slrum"}, ["Did you mean 'slurm'?"]),
        ({"backend": ["slurm"]}, ["backend", "string"]),
        ({"memory": 4}, ["memory", "string", "4"]),
        ({"memory": "4"}, ["memory", "'16 GiB'", "'4'"]),
        ({"memory": "much"}, ["memory", "'much'"]),
        ({"memory": None}, ["'slurm' needs memory"]),
        ({"walltime": None}, ["'slurm' needs walltime"]),
        ({"walltime": "4h"}, ["walltime", "hours:minutes:seconds", "'4h'"]),
        ({"walltime": "0:00:00"}, ["walltime", "'0:00:00'"]),
        ({"walltime": "1:70:00"}, ["walltime", "'1:70:00'"]),
        ({"adapt": [5, 2]}, ["adapt", "[minimum, maximum]", "[5, 2]"]),
        ({"adapt": [0, 0]}, ["adapt", "[0, 0]"]),
        ({"adapt": [1, 2], "jobs": 3}, ["jobs or adapt, not both"]),
        ({"jobs": 0}, ["jobs", "greater than or equal to 1", "0"]),
        ({"que": "long"}, ["backend 'slurm': unknown key 'que'; did you mean 'queue'?", "walltime"]),
        (
            {"image": "x"},
            ["backend 'slurm': unknown key 'image'", "Allowed: backend, description, account"],
        ),
        ({"driver": {"memory": "x"}}, ["driver.memory", "'x'"]),
        ({"driver": {"walltime": "x"}}, ["driver.walltime", "'x'"]),
    ],
)
def test_an_invalid_profile_is_refused(changes: dict[str, Any], words: list[str]) -> None:
    values = {key: value for key, value in (QUEUE | changes).items() if value is not None}
    with pytest.raises(ProfileError) as refused:
        parse_profile(values, "a test")
    for word in words:
        assert word in str(refused.value)


def test_memory_of_a_job_is_shared_by_its_workers() -> None:
    profile = parse_profile(QUEUE, "a test")
    assert profile.job_memory == 4 << 30
    assert profile.worker_memory == 2 << 30
    assert Profile().worker_memory is None


def test_maximum_number_of_jobs() -> None:
    assert parse_profile(QUEUE, "").max_jobs == 1
    assert parse_profile(QUEUE | {"jobs": 9}, "").max_jobs == 9
    assert parse_profile(QUEUE | {"adapt": [2, 50]}, "").max_jobs == 50


@pytest.mark.parametrize(
    ("walltime", "length", "left"), [("0:02:00", 120, 30), ("4:00:00", 14400, 300), ("48:00:10", 172810, 300)]
)
def test_work_is_handed_over_before_a_job_ends(walltime: str, length: float, left: float) -> None:
    assert walltime_seconds(walltime) == length
    assert handover_seconds(walltime) == left


def test_only_timed_queues_accept_a_wall_time() -> None:
    assert {name for name in BUILT_IN if "walltime" in find_backend(name).KEYS} == {"slurm", "pbs", "lsf", "sge"}


def test_a_broken_profile_does_not_affect_other_profiles(own: Path, tmp_path: Path) -> None:
    own.mkdir(parents=True)
    (own / "latin.toml").write_bytes(b'description = "\xe9"')
    (tmp_path / "local").touch()
    assert find_profile("local").backend == "local"
    shown = CliRunner().invoke(main, ["clusters"])
    assert shown.exit_code == 0
    assert "latin.toml is not valid TOML" in shown.output
    with pytest.raises(ProfileError, match="'latin' is not valid TOML"):
        find_profile("latin")
