"""Kernel families of other packages are found, and broken ones give clear messages."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from kernel_pipeline.cli.main import main
from kernel_pipeline.config.plugins import plugin_notes, plugin_packages
from kernel_pipeline.errors import ConfigError
from kernel_pipeline.store.arrays import DATA, GRAM, RunStore
from kernel_pipeline.store.local_storage import LocalStorage
from tests.helpers.build import GAUSSIAN, parsed, put_config, synthetic_values
from tests.helpers.plugin_packages import FAMILY, install, plugin_folders

MINE = {"family": "mine"}
PRODUCTS = "out[0] = x[rows] @ x[columns].T"


def with_method(signature: str, body: str) -> str:
    """Return the source of a family with one more method."""
    return f"{FAMILY}\n    def {signature}:\n        {body}\n"


@pytest.fixture
def add(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Path], None]]:
    with plugin_folders(monkeypatch) as add:
        yield add


def run(folder: Path, *kernels: dict[str, Any], rows: int = 40) -> tuple[int, str]:
    """Run a sweep, and return its exit code and its output."""
    config = put_config(folder, synthetic_values(rows=rows, kernels=list(kernels)) | {"storage": {"tile": 16}})
    done = CliRunner().invoke(main, ["run", str(config), "--cluster", "threads", "--out", str(folder / "run")])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.output


def refusal(folder: Path, *kernels: dict[str, Any]) -> str:
    """Return the message about a sweep that is refused before anything is written."""
    code, output = run(folder, *kernels)
    assert code == 2, output
    assert not (folder / "run").exists()
    assert "Traceback" not in output
    return output


def test_a_plug_in_is_a_family_like_any_other(add: Callable[[Path], None], tmp_path: Path) -> None:
    add(install(tmp_path / "site"))
    code, output = run(tmp_path, MINE, MINE | {"columns": ["1-2"], "name": "few"}, GAUSSIAN)
    assert code == 0, output
    store = RunStore(LocalStorage(tmp_path / "run"))
    stored, features = store.array(GRAM, "made/gram"), store.read(DATA, "made/features")
    assert stored.attrs["kernels"] == ["mine", "few:mine", "gaussian(2^-1)", "gaussian(2^0)"]
    upper = np.triu_indices(40)
    for number, columns in enumerate((slice(None), slice(1, 3))):
        expected = features[:, columns] @ features[:, columns].T
        np.testing.assert_allclose(np.asarray(stored[number])[upper], expected[upper], rtol=1e-12)
    facts = json.loads((tmp_path / "run/environment.json").read_text())
    assert facts["libraries"]["my-kernels"] == "1.0"
    assert '"mine"' in CliRunner().invoke(main, ["config", "schema"]).stdout


def test_only_the_packages_of_families_that_are_used_are_needed(add: Callable[[Path], None], tmp_path: Path) -> None:
    add(install(tmp_path / "site"))
    add(install(tmp_path / "other", package="other-kernels", family="other"))
    assert plugin_packages(parsed(synthetic_values(kernels=[GAUSSIAN]))) == ()
    assert plugin_packages(parsed(synthetic_values(kernels=[GAUSSIAN, MINE | {"name": "a"}]))) == (
        ("my-kernels", "my_kernels"),
    )


def test_another_version_is_reported_when_a_run_is_resumed(add: Callable[[Path], None], tmp_path: Path) -> None:
    add(install(tmp_path / "site"))
    assert run(tmp_path, MINE)[0] == 0
    (tmp_path / "run/results/rows.csv").unlink()
    (tmp_path / "run/gram.zarr/made/gram/c/0/0/0").unlink()
    add(install(tmp_path / "newer", version="1.1"))
    output = run(tmp_path, MINE)[1]
    assert "earlier results, since the environment has changed: my-kernels 1.0 -> 1.1" in output


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import no_such_library", "cannot be imported: ModuleNotFoundError: No module named 'no_such_library'"),
        ("raise SystemExit(3)", "cannot be imported: SystemExit: 3"),
        ("Mine = (", "cannot be imported: SyntaxError"),
        ("Other = 1", "cannot be imported: AttributeError"),
        ("Mine = 1", "cannot be used: my_kernels:Mine is not a subclass of GramFamily or ColumnFamily"),
        ("class Mine: pass", "cannot be used: my_kernels:Mine is not a subclass of GramFamily"),
        (FAMILY.replace("def prepare", "def other"), "cannot be used: my_kernels:Mine does not define prepare"),
        (FAMILY.replace("@dataclass(frozen=True)", "@dataclass"), "is not decorated with @dataclass(frozen=True)"),
        (FAMILY.replace('    """Inner', '    size: "Unknown" = 1\n    """Inner'), "raised NameError"),
        (with_method("__post_init__(self)", "1 / 0"), "raised ZeroDivisionError: division by zero"),
        (FAMILY.replace('return ("mine",)', "return ()"), "names() must return one or more non-empty strings; got []"),
        (FAMILY.replace('return ("mine",)', "return (1,)"), "must return one or more non-empty strings; got [1]"),
        (FAMILY.replace('return ("mine",)', "return None"), "raised TypeError: 'NoneType' object is not iterable"),
        (with_method("shifts(self)", "return (1, 2)"), "a finite number for each of 1 kernels; got [1, 2]"),
        (with_method("shifts(self)", "return (float('nan'),)"), "a finite number for each of 1 kernels; got [nan]"),
        (
            with_method("fitted_steps(self)", 'return ("scale",)'),
            "['scale'], so fitted(samples) must return the family",
        ),
        (with_method("fitted(self, samples)", "return 1 / 0"), "raised ZeroDivisionError: division by zero"),
        (FAMILY.replace("x = samples.features", "x = samples.fetures"), "raised AttributeError: 'Samples' object has"),
        (FAMILY.replace(PRODUCTS, "out[0] = x @ x.T"), "raised ValueError: could not broadcast"),
        (FAMILY.replace(PRODUCTS, "return x[rows] @ x[columns].T"), "121 of 121 values are not finite, or were not"),
        (FAMILY.replace(PRODUCTS, "out[0] = x[rows] @ x[columns].T / 0"), "values are not finite"),
        (FAMILY.replace(PRODUCTS, "out[0] = x[rows, :1]"), "it is not symmetric: `out[k][i, j]` and `out[k][j, i]`"),
        (FAMILY.replace(PRODUCTS, "raise KeyError('a')"), "raised KeyError: 'a'"),
        (FAMILY.replace(PRODUCTS, "raise SystemExit(3)"), "raised SystemExit: 3"),
        (FAMILY.replace("x = samples.features", "raise SystemExit('stop')"), "raised SystemExit: stop"),
        (FAMILY.replace('return ("mine",)', "raise SystemExit(3)"), "raised SystemExit: 3"),
        (FAMILY.replace(PRODUCTS, "out[0] = 1e300"), "absolute values reach 1e+300; at most 1e+140 is allowed"),
        (FAMILY.replace(PRODUCTS, "out[0] = -x[rows] @ x[columns].T"), "its smallest eigenvalue is -"),
        (with_method("shifts(self)", "return (-1e3,)"), "must be positive semi-definite"),
        (with_method("notes_together(*_)", "return 1 / 0"), "raised ZeroDivisionError: division by zero"),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_broken_plug_in_gives_one_message_and_breaks_no_other_sweep(
    source: str, expected: str, add: Callable[[Path], None], tmp_path: Path
) -> None:
    add(install(tmp_path / "site", source))
    output = refusal(tmp_path, GAUSSIAN, MINE | {"name": "a"})
    assert "the kernel family 'mine' of the package my-kernels 1.0" in output
    assert expected in output
    assert parsed(synthetic_values(kernels=[GAUSSIAN])).dataset[0].kernels
    schema = CliRunner().invoke(main, ["config", "schema"])
    assert schema.exit_code == 0
    assert "GaussianFamily" in schema.stdout


@pytest.mark.parametrize(
    ("body", "shift"),
    [
        ("out[0] = 1e130 * (x[rows] @ x[columns].T)", 0.0),
        (PRODUCTS.replace("x[rows] @ x[columns].T", "(x[rows].astype('f') @ x[columns].T.astype('f'))"), 0.0),
        ("out[0] = 0", 0.0),
        (f"{PRODUCTS}; out -= 5", 5.0),
    ],
    ids=["large", "single precision", "zero", "shifted"],
)
def test_sound_kernels_of_a_plug_in_are_accepted(
    body: str, shift: float, add: Callable[[Path], None], tmp_path: Path
) -> None:
    source = FAMILY.replace(PRODUCTS, body)
    add(install(tmp_path / "site", f"{source}\n    def shifts(self):\n        return ({shift},)\n"))
    code, output = run(tmp_path, GAUSSIAN, MINE)
    assert code == 0, output


def test_an_error_during_the_run_fails_the_task_with_the_name_of_the_family(
    add: Callable[[Path], None], tmp_path: Path
) -> None:
    add(install(tmp_path / "site", FAMILY.replace(PRODUCTS, f"{PRODUCTS}\n            out[0, 0, -1] += rows.start")))
    code, output = run(tmp_path, MINE | {"columns": [0], "name": "one"}, rows=60)
    assert code == 3, output
    rows = pd.read_csv(tmp_path / "run/results/rows.csv")
    assert rows["status"].str.contains("FamilyError: the kernel family 'mine' of the package my-kernels 1.0").all()
    assert rows["status"].str.contains("not symmetric").all()


def test_a_name_that_two_packages_declare_is_refused_if_it_is_used(add: Callable[[Path], None], tmp_path: Path) -> None:
    add(install(tmp_path / "site"))
    add(install(tmp_path / "other", package="other-kernels"))
    output = refusal(tmp_path, MINE)
    assert "the kernel family 'mine' is declared by several packages: other-kernels, my-kernels. Uninstall" in output
    assert run(tmp_path, GAUSSIAN)[0] == 0


def test_a_package_that_is_found_twice_counts_once(add: Callable[[Path], None], tmp_path: Path) -> None:
    add(install(tmp_path / "old"))
    add(install(tmp_path / "new", version="2.0"))
    (package,) = plugin_packages(parsed(synthetic_values(kernels=[MINE])))
    assert package == ("my-kernels", "my_kernels")


def test_a_built_in_family_takes_precedence(add: Callable[[Path], None], tmp_path: Path) -> None:
    add(install(tmp_path / "site", "raise RuntimeError", family="gaussian"))
    config = parsed(synthetic_values(kernels=[GAUSSIAN]))
    (note,) = plugin_notes(config)
    assert note == (
        "the kernel family 'gaussian' of the package my-kernels 1.0 is not used, since the built-in family has the "
        "same name"
    )
    assert plugin_packages(config) == ()
    assert plugin_notes(parsed(synthetic_values(kernels=[{"family": "linear"}]))) == []
    code, output = run(tmp_path, GAUSSIAN)
    assert code == 0
    assert f"note: {note}\n" in output


def test_a_family_whose_package_is_not_installed_is_unknown() -> None:
    with pytest.raises(ConfigError, match=r"family: must be one of .*; got 'mine'\..* A family of another package is"):
        parsed(synthetic_values(kernels=[MINE]))
