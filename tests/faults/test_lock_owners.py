"""Owners of locks in an object store, where hosts and containers may share host names and process ids."""

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from kernel_pipeline.errors import RefusedError
from kernel_pipeline.store import lock, object_lock
from kernel_pipeline.store.lock import Holder
from kernel_pipeline.store.system import INITIAL_PID_NAMESPACE

if TYPE_CHECKING:
    from kernel_pipeline.store.object_storage import ObjectStorage

pytestmark = pytest.mark.faults

CONTAINER, OTHER = "pid:[4026532000]", "pid:[4026532001]"
DEAD = 2**22 + 1  # above the largest number that Linux gives a process


class Objects:
    """The part of an object store that a lock uses."""

    def __init__(self) -> None:
        self.content: bytes | None = None

    def create(self, key: str, content: bytes) -> bool:
        return self.content is None and self.replace(key, content, "")

    def replace(self, key: str, content: bytes, tag: str) -> bool:
        self.content = content
        return True

    def read(self, key: str, limit: int = 0) -> bytes:
        if self.content is None:
            raise FileNotFoundError
        return self.content

    def read_tagged(self, key: str, limit: int = 0) -> tuple[bytes, str]:
        return self.read(key), "tag"

    def remove(self, key: str) -> None:
        self.content = None


def held_by(holder: Holder) -> "ObjectStorage":
    objects = Objects()
    objects.content = holder.content()
    return cast("ObjectStorage", objects)


def system(monkeypatch: pytest.MonkeyPatch, **facts: str) -> None:
    """Replace the system facts that this process reads."""
    seen = {"machine": "m1", "boot": "b1", "pid_namespace": INITIAL_PID_NAMESPACE} | facts
    monkeypatch.setattr(lock, "system_facts", lambda: seen)


def owner(monkeypatch: pytest.MonkeyPatch, pid: int, **facts: str) -> Holder:
    """Return the holder of a lock that was taken by a process of the given system."""
    with monkeypatch.context() as patch:
        system(patch, **facts)
        return replace(Holder.this_process(), pid=pid)


@pytest.mark.parametrize(
    "theirs",
    [
        pytest.param({"boot": "b2", "pid_namespace": CONTAINER}, id="container on another machine"),
        pytest.param({"pid_namespace": CONTAINER}, id="another container of this machine"),
        pytest.param({"boot": "b2", "machine": "m2"}, id="another machine"),
        pytest.param({"boot": "b2", "machine": ""}, id="a machine without an id"),
    ],
)
@pytest.mark.parametrize("pid", [DEAD, 1])
def test_a_lock_of_another_system_with_the_same_hostname_is_not_taken_over(
    monkeypatch: pytest.MonkeyPatch, theirs: dict[str, str], pid: int
) -> None:
    root = held_by(owner(monkeypatch, pid, **theirs))
    system(monkeypatch, pid_namespace=OTHER)
    with pytest.raises(RefusedError, match="in use"), object_lock.locked(root):
        pass
    assert object_lock.holder(root) is not None
    assert object_lock.unlock(root) is not None  # the user can override it
    with object_lock.locked(root):
        pass


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        pytest.param({}, {}, id="a dead process of this system"),
        pytest.param({"pid_namespace": CONTAINER}, {"pid_namespace": CONTAINER}, id="a dead process of this container"),
        pytest.param({"boot": "b0"}, {}, id="this machine after a reboot"),
    ],
)
def test_a_lock_of_a_dead_process_of_this_system_is_taken_over(
    monkeypatch: pytest.MonkeyPatch, theirs: dict[str, str], ours: dict[str, str]
) -> None:
    root = held_by(owner(monkeypatch, DEAD, **theirs))
    system(monkeypatch, **ours)
    assert object_lock.holder(root) is None
    with object_lock.locked(root):
        pass


def test_a_lock_of_a_live_process_of_this_system_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    system(monkeypatch)
    root = held_by(owner(monkeypatch, os.getpid()))
    with pytest.raises(RefusedError, match="in use"):
        object_lock.unlock(root)


def test_lock_without_system_facts_is_compared_by_hostname(monkeypatch: pytest.MonkeyPatch) -> None:
    """Locks of earlier versions have no system facts."""
    content: dict[str, Any] = json.loads(owner(monkeypatch, DEAD).content())
    objects = Objects()
    objects.content = json.dumps({key: content[key] for key in ("host", "pid", "since", "job", "life")}).encode()
    with object_lock.locked(cast("ObjectStorage", objects)):
        pass


def test_rebooted_machine_takes_over_its_lock_in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "lock").write_bytes(owner(monkeypatch, DEAD, boot="b0").content())
    system(monkeypatch)
    with lock.locked(tmp_path):
        pass
