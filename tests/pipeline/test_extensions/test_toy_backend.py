"""A cluster backend that is registered from this folder runs a whole sweep, without a change anywhere else."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import tomli_w

from kernel_pipeline.cluster.backend import BACKENDS
from kernel_pipeline.cluster.errors import ProfileError
from kernel_pipeline.config.profiles import find_profile, parse_profile
from tests.faults.harness import TINY, command, tables, write_config


@pytest.fixture
def toy() -> Iterator[None]:
    from tests.pipeline.test_extensions.toy_backend import Toy

    BACKENDS.register("toy")(Toy)  # importing the module has registered it, unless another test has removed it
    yield
    BACKENDS.unregister("toy")


@pytest.mark.usefixtures("toy")
def test_a_sweep_runs_on_a_backend_of_ones_own(tmp_path: Path) -> None:
    config = write_config(tmp_path, TINY | {"methods": ["unif", "alignf"]})
    profile = tmp_path / "toy.toml"
    profile.write_text(tomli_w.dumps({"backend": "toy", "jobs": 2, "label": "me"}))
    done = command("run", config, "--cluster", profile, "--out", tmp_path / "toy")
    assert done.exit_code == 0, done.output
    assert "2 workers; dashboard: none for me" in done.output
    reference = command("run", config, "--cluster", "threads", "--workers", "2", "--out", tmp_path / "threads")
    assert reference.exit_code == 0, reference.output
    assert tables(tmp_path / "toy") == tables(tmp_path / "threads")


@pytest.mark.usefixtures("toy")
def test_its_profiles_are_checked_as_all_others() -> None:
    with pytest.raises(ProfileError, match="backend 'toy': unknown key 'labl'; did you mean 'label'"):
        parse_profile({"backend": "toy", "jobs": 1, "labl": "a"}, "a test")
    with pytest.raises(ProfileError, match="backend 'toy': unknown key 'memory'"):
        parse_profile({"backend": "toy", "jobs": 1, "label": "a", "memory": "1 GiB"}, "a test")
    with pytest.raises(ProfileError, match="backend 'toy' needs jobs"):
        parse_profile({"backend": "toy", "label": "a"}, "a test")
    with pytest.raises(ProfileError, match="label"):
        parse_profile({"backend": "toy", "jobs": 1}, "a test")


def test_a_backend_that_is_not_registered_is_unknown(tmp_path: Path) -> None:
    profile = tmp_path / "toy.toml"
    profile.write_text('backend = "toy"\njobs = 2\n')
    with pytest.raises(ProfileError, match="there is no cluster backend 'toy'; there are: local, threads, slurm, "):
        find_profile(str(profile))
