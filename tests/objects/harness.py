"""Helpers of the tests with object stores: the objects in a place, and checks of a run there."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from kernel_pipeline.store.object_storage import ObjectStorage
from tests.faults.harness import command, tables


def files(root: ObjectStorage, folder: str = "") -> dict[str, bytes]:
    """Return the content of every object below a place."""
    keys = list(root.keys(folder))
    return {key: content for key, content in zip(keys, root.read_many(keys), strict=True) if content is not None}


def assert_same(root: ObjectStorage, reference: Path) -> None:
    """Check that the tables equal those of a local run, that no lock is left, and that the run is intact."""
    found = {key.removeprefix("results/"): content for key, content in files(root, "results").items()}
    del found["timings.csv"]
    assert found == tables(reference)
    assert not root.exists("lock")
    verified = command("verify", root.address)
    assert verified.exit_code == 0, verified.output


def copied(root: ObjectStorage, to: ObjectStorage) -> ObjectStorage:
    """Copy all objects to another place, and return it."""
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda item: to.write(*item), files(root).items()))
    return to
