from collections.abc import Callable, Iterator
from pathlib import Path
from secrets import token_hex

import pytest

from kernel_pipeline.config.s3_address import S3Address
from kernel_pipeline.store.object_storage import ObjectStorage
from tests.faults.harness import command, no_workers, write_config
from tests.objects.server import Server


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("server"))
    try:
        server.start()
        yield server
    finally:
        server.kill()


@pytest.fixture(autouse=True)
def scratch(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Point all commands to the server, hide the AWS settings of the user, and return the folder of caches."""
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    for name in ("AWS_PROFILE", "AWS_DEFAULT_REGION", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def place(server: Server) -> Callable[[], ObjectStorage]:
    """Function that returns unused places in the bucket."""

    def make() -> ObjectStorage:
        return ObjectStorage(S3Address(server.bucket, f"{token_hex(4)}/run"))

    return make


@pytest.fixture
def root(place: Callable[[], ObjectStorage]) -> ObjectStorage:
    return place()


@pytest.fixture(scope="session")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run in a folder, with its config `tiny.toml` beside it."""
    folder = tmp_path_factory.mktemp("reference")
    config = write_config(folder)
    with no_workers():
        done = command("run", config, "--out", folder / "run")
    assert done.exit_code == 0, done.output
    return folder / "run"
