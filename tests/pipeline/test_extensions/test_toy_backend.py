"""Profiles of a cluster backend that is registered from this folder."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kernel_pipeline.cluster.errors import ProfileError
from kernel_pipeline.config.profiles import find_profile, parse_profile
from tests.pipeline.test_extensions.registering import toy_backend


@pytest.fixture
def toy() -> Iterator[None]:
    with toy_backend():
        yield


@pytest.mark.usefixtures("toy")
def test_profiles_of_the_backend_are_checked_like_all_others() -> None:
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
    with pytest.raises(ProfileError, match=r"there is no cluster backend 'toy'\. Available: local, threads, slurm, "):
        find_profile(str(profile))
