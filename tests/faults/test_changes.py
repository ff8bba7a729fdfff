"""Changed configs or data are refused by name; if accepted, only the tasks that depend on the change are executed."""

import copy
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from tests.faults.harness import TINY, CrashError, added, assert_same, command, lines, listing, no_workers
from tests.helpers.sweeps import pipeline

pytestmark = pytest.mark.faults

FLOWERS: dict[str, Any] = {
    "name": "flowers",
    "source": "sklearn",
    "id": "iris",
    "task": ["regression"],
    "positive": ["virginica"],
    "rows": 60,
    "kernels": [{"family": "rank-one"}],
}
BEFORE: dict[str, Any] = TINY | {
    "name": "before",
    "protocol": {"folds": 4},
    "baselines": False,
    "methods": ["unif", "l2-krr", "each-kernel", {"method": "align", "q": 1.5}],
    "dataset": [
        TINY["dataset"][0] | {"rows": 50, "kernels": [{"family": "gaussian", "log2_gamma": [-3, -2]}]},
        FLOWERS,
    ],
}


def every_task(name: str) -> bool:
    return True


def no_task(name: str) -> bool:
    return False


def of(*parts: str) -> Callable[[str], bool]:
    return lambda name: any(part in name for part in parts)


def fitted_by_krr(name: str) -> bool:
    return name.startswith("fits/") and "l2-krr" not in name


def reordered(values: dict[str, Any]) -> None:
    values["dataset"].reverse()


def put(path: str, value: object) -> Callable[[dict[str, Any]], None]:
    def change(values: dict[str, Any]) -> None:
        *parts, last = path.split(".")
        place: Any = values
        for part in parts:
            place = place[int(part)] if isinstance(place, list) else place.setdefault(part, {})
        if isinstance(place, list):
            place[int(last) : int(last) + 1] = [value] if value is not None else []
        else:
            place[last] = value

    return change


# Field: how it is changed, how the refusal describes the change, and which tasks have to be executed again.
CHANGES: dict[str, tuple[Callable[[dict[str, Any]], None], str, Callable[[str], bool]]] = {
    "seed": (put("seed", 1), "seed: 0 -> 1", every_task),
    "name": (put("name", "after"), "name: before -> after", no_task),
    "one more method": (put("methods.4", "alignf"), "methods[4]: not set -> alignf", of("/alignf/")),
    "one method less": (put("methods.0", None), "methods[0]: unif -> l2-krr", no_task),
    "q": (put("methods.3", {"method": "align", "q": 3}), "methods[3].q: 1.5 -> 3.0", of("/align-q3/")),
    "fewer folds": (put("protocol.folds", 3), "protocol.folds: 4 -> 3", every_task),
    "krr": (put("fit.krr.to", -6), "fit.krr.to: 0 -> -6", fitted_by_krr),
    "l2-krr": (put("fit.l2-krr.to", 2), "fit.l2-krr.to: 4 -> 2", of("/l2-krr/")),
    "svm": (put("fit.svm", {"from": 0, "to": 4}), "fit.svm.from: -4 -> 0", no_task),
    "l1-svm": (put("fit.l1-svm", {"from": 0, "to": 4}), "fit.l1-svm.to: 18 -> 4", no_task),
    "align-krr": (put("fit.align-krr.gamma", {"from": -6, "to": 0}), "fit.align-krr.gamma.step: 6 -> 2", no_task),
    "a smaller tile": (put("storage.tile", 20), "storage.tile: 40 -> 20", of("/wave/")),
    "a larger tile": (put("storage.tile", 60), "storage.tile: 40 -> 60", of("/wave/")),
    "one more dataset": (
        put("dataset.2", FLOWERS | {"name": "more"}),
        "dataset[2].name: not set -> more",
        of("/more/"),
    ),
    "one dataset less": (put("dataset.1", None), "dataset[1].name: flowers -> not set", no_task),
    "datasets reordered": (reordered, "dataset[0].name: wave -> flowers", no_task),
    "name of a dataset": (put("dataset.0.name", "waves"), "dataset[0].name: wave -> waves", of("/waves/")),
    "rows": (put("dataset.0.rows", 30), "dataset[0].rows: 50 -> 30", of("/wave/")),
    "scale": (put("dataset.0.scale", "standard"), "dataset[0].scale: none -> standard", of("/wave/")),
    "kernels": (
        put("dataset.0.kernels.0.log2_gamma", [-3, -1]),
        "dataset[0].kernels[0].log2_gamma: [-3, -2] -> [-3, -1]",
        of("/wave/"),
    ),
    "a family split in two": (  # the same kernels, up to rounding
        put("dataset.0.kernels", [{"family": "gaussian", "log2_gamma": [gamma, gamma]} for gamma in (-3, -2)]),
        "dataset[0].kernels[0].log2_gamma: [-3, -2] -> [-3, -3]",
        of("/wave/"),
    ),
    "one more task": (
        put("dataset.1.task", ["regression", "classification"]),
        "dataset[1].task: ['regression'] -> ['regression', 'classification']",
        of("/flowers/"),
    ),
}


def write(path: Path, values: dict[str, Any]) -> Path:
    path.write_text(tomli_w.dumps(values))
    return path


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of `BEFORE`."""
    folder = tmp_path_factory.mktemp("changes")
    with no_workers():
        done = command("run", write(folder / "before.toml", BEFORE), "--out", folder / "run")
    assert done.exit_code == 0, done.output
    return folder / "run"


@pytest.fixture
def root(before: Path, tmp_path: Path) -> Path:
    return shutil.copytree(before, tmp_path / "run")


@pytest.mark.parametrize("field", CHANGES)
def test_changed_field_is_refused_and_if_accepted_only_dependent_tasks_run(
    root: Path, before: Path, tmp_path: Path, field: str
) -> None:
    change, words, again = CHANGES[field]
    values = copy.deepcopy(BEFORE)
    change(values)
    config, untouched = write(tmp_path / "after.toml", values), listing(root)
    with no_workers():
        refused = command("run", config, "--out", root)
        assert refused.exit_code == 4, refused.output
        assert f"  {words}\n" in refused.output
        assert "--accept-changes" in refused.output
        assert listing(root) == untouched
        accepted = command("run", config, "--out", root, "--accept-changes")
        fresh = command("run", config, "--out", tmp_path / "fresh")
    assert (accepted.exit_code, fresh.exit_code) == (0, 0), accepted.output + fresh.output
    wanted = {name for name in lines(tmp_path / "fresh") if name.count("/") > 1 and again(name)}
    assert {name for name in added(root, before) if name.count("/") > 1} == wanted
    assert_same(root, tmp_path / "fresh")


@pytest.mark.parametrize("field", ["seed", "rows"])
def test_accepted_change_that_crashes_before_its_data_are_stored_is_resumed(
    root: Path, tmp_path: Path, field: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = copy.deepcopy(BEFORE)
    CHANGES[field][0](values)
    config = write(tmp_path / "after.toml", values)

    def crash(*_: object) -> None:
        raise CrashError

    with no_workers():
        with monkeypatch.context() as patch:
            patch.setattr("kernel_pipeline.run.driver.create_arrays", crash)
            with pytest.raises(CrashError):
                command("run", config, "--out", root, "--accept-changes")
        assert "are done" not in command("status", root).output
        repaired = command("verify", root, "--repair")
        assert repaired.exit_code == 0, repaired.output
        assert not {name for name, count in lines(root).items() if count > 1 and name.count("/") > 1}
        resumed = command("resume", root)
        fresh = command("run", config, "--out", tmp_path / "fresh")
    assert (resumed.exit_code, fresh.exit_code) == (0, 0), resumed.output
    assert_same(root, tmp_path / "fresh")


def test_removed_parts_that_are_added_back_are_not_recomputed(root: Path, before: Path, tmp_path: Path) -> None:
    fewer = write(tmp_path / "fewer.toml", BEFORE | {"methods": ["unif"], "dataset": BEFORE["dataset"][:1]})
    with no_workers():
        for config in (fewer, before.parent / "before.toml"):
            assert command("run", config, "--out", root, "--accept-changes").exit_code == 0
    assert not {name for name in added(root, before) if not name.startswith(("data/", "sweep"))}
    assert_same(root, before)


def test_equivalent_config_resumes_without_a_refusal(root: Path, before: Path, tmp_path: Path) -> None:
    same = {key: BEFORE[key] for key in reversed(BEFORE)} | {"description": "other words", "protocol": {"folds": 4.0}}
    untouched = listing(root)
    with no_workers():
        done = command("run", write(tmp_path / "same.toml", same), "--out", root)
    assert done.exit_code == 0, done.output
    changed = {name for name, content in listing(root).items() if content != untouched.get(name)}
    assert changed <= {"logs/driver.log"}


def test_added_method_and_changed_grid_run_only_their_tasks_on_workers(
    root: Path, before: Path, tmp_path: Path
) -> None:
    values = copy.deepcopy(BEFORE) | {"methods": [*BEFORE["methods"], "alignf"]}
    values["fit"]["l2-krr"]["to"] = 2
    config = write(tmp_path / "after.toml", values)
    refused = pipeline("run", config, "--out", root, cwd=tmp_path)
    assert refused.returncode == 4
    assert "fit.l2-krr.to: 4 -> 2" in refused.stderr
    assert "methods[4]: not set -> alignf" in refused.stderr
    accepted = pipeline("run", config, "--out", root, "--accept-changes", cwd=tmp_path)
    assert accepted.returncode == 0, accepted.stderr
    with no_workers():
        assert command("run", config, "--out", tmp_path / "fresh").exit_code == 0
    again = {name for name in added(root, before) if name.count("/") > 1}
    assert again == {name for name in lines(tmp_path / "fresh") if "/alignf/" in name or "/l2-krr/" in name}
    assert_same(root, tmp_path / "fresh")


def table(path: Path, offset: float) -> None:
    """Write a data file whose size and modification time do not depend on the values."""
    rows = (f"{number % 7}.0,{(number * 5) % 11:02d}.0,{(number % 7) * 2 + offset:04.1f}" for number in range(40))
    path.write_text("\n".join(rows) + "\n")
    os.utime(path, (1_700_000_000, 1_700_000_000))


def test_changed_data_of_equal_name_size_and_time_are_detected(tmp_path: Path) -> None:
    data = {"name": "table", "source": "file", "path": "table.csv", "format": "csv", "task": "regression"}
    values = BEFORE | {"methods": ["unif"], "dataset": [data | {"kernels": [{"family": "rank-one"}]}, FLOWERS]}
    config, root, source = write(tmp_path / "data.toml", values), tmp_path / "run", tmp_path / "table.csv"
    with no_workers():
        table(source, 0.0)
        assert command("run", config, "--out", root).exit_code == 0
        reference, untouched = shutil.copytree(root, tmp_path / "reference"), listing(root)
        table(source, 0.5)
        refused = command("run", config, "--out", root)
        assert refused.exit_code == 4
        assert "the data of 'table' have changed" in refused.output
        assert command("resume", root).exit_code == 0  # it does not need the source
        assert tables_are_untouched(root, untouched)
        lost = root / "data.zarr/table/targets/c/0/0"
        lost.unlink()
        for arguments in (("resume", root), ("verify", root, "--repair")):
            found = command(*arguments)
            assert found.exit_code == 4, "lost data cannot be restored from a changed source"
            assert "the data of 'table' have changed" in found.output
        table(source, 0.0)
        assert command("verify", root, "--repair").exit_code == 0
        assert_same(root, reference)
        table(source, 0.5)
        assert command("run", config, "--out", root, "--accept-changes").exit_code == 0
        assert command("run", config, "--out", tmp_path / "fresh").exit_code == 0
    again = {name for name in added(root, reference) if name.count("/") > 1}
    assert again == {name for name in lines(root) if "/table/" in name and name.count("/") > 1}
    assert_same(root, tmp_path / "fresh")


def tables_are_untouched(root: Path, untouched: dict[str, tuple[int, bytes]]) -> bool:
    return all(content == untouched[name] for name, content in listing(root).items() if name.startswith("results/"))
