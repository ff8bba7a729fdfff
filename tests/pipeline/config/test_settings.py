"""Values of a config are changed with `--set`."""

from pathlib import Path
from typing import Any

import pytest

from kernel_pipeline.config.families import ViewSpec
from kernel_pipeline.config.loading import (
    read_config,
)
from kernel_pipeline.config.sweep import Config
from kernel_pipeline.config.views import gram_families
from kernel_pipeline.errors import ConfigError
from kernel_pipeline.tasks.kernels.linear import LinearFamily
from kernel_pipeline.tasks.weights.align import Align
from kernel_pipeline.tasks.weights.best_kernel import BestKernel
from tests.helpers.build import config_values, put_config, synthetic_values
from tests.pipeline.config.full_config import FULL


def setting(*settings: str, base: dict[str, Any] | None = None, folder: Path) -> Config:
    return read_config(str(put_config(folder, base or FULL)), settings)[0]


def test_set_a_nested_value_even_if_its_table_is_not_written(tmp_path: Path) -> None:
    base = config_values()
    del base["protocol"]
    assert setting("protocol.folds=4", base=base, folder=tmp_path).protocol.folds == 4
    assert setting("fit.krr.step=1", folder=tmp_path).fit.krr.step == 1


def test_set_one_value_of_a_grid_that_is_not_written(tmp_path: Path) -> None:
    base = {key: value for key, value in config_values().items() if key != "fit"}
    fit = setting("fit.svm.from=-10", "fit.krr.to=2", "fit.align-krr.gamma2.step=2", base=base, folder=tmp_path).fit
    assert (fit.svm.start, fit.svm.stop, fit.svm.step) == (-10, 18, 2)
    assert (fit.krr.start, fit.krr.stop, fit.krr.step) == (-30, 2, 2)
    grids = fit.model_dump(by_alias=True)["align-krr"]
    assert grids["gamma2"] == {"from": -40, "to": -8, "step": 2}
    assert grids["gamma1"] == {"from": -40, "to": -20, "step": 20}


def test_set_does_not_complete_a_grid_that_is_written(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"fit\.svm\.to: is missing"):
        setting("fit.svm.from=-10", base=config_values() | {"fit": {"svm": {"step": 1}}}, folder=tmp_path)


def test_set_a_dataset_by_name(tmp_path: Path) -> None:
    config = setting("dataset.made.rows=99", folder=tmp_path)
    assert [dataset.rows for dataset in config.dataset] == [50, 60, 70, 99, 90, 40, None]


def test_set_lists_and_tables(tmp_path: Path) -> None:
    config = setting(
        'methods=["best-kernel", {method = "align", q = 1.25}]',
        'dataset.made.kernels=[{family = "gaussian", log2_gamma = [1, 2]}]',
        "fit.svm={from = 0, to = 1, step = 1}",
        folder=tmp_path,
    )
    assert config.methods == [BestKernel(), Align(1.25)]
    assert [method.method_id for method in config.methods] == ["best-kernel", "align-q1.25"]
    assert [name for family in gram_families(config.dataset[3], None) for name in family.names()] == [
        "gaussian(2^1)",
        "gaussian(2^2)",
    ]
    assert config.fit.svm.values() == [1.0, 2.0]


@pytest.mark.parametrize(("text", "value"), [("two words", "two words"), ('"quoted"', "quoted"), ("a=b", "a=b")])
def test_set_reads_bare_words_as_text(text: str, value: str, tmp_path: Path) -> None:
    assert setting(f"description={text}", folder=tmp_path).description == value


def test_set_allows_blanks_and_the_last_setting_wins(tmp_path: Path) -> None:
    assert setting(" seed = 1", "seed= 2 ", folder=tmp_path).seed == 2


def test_set_changes_a_shipped_config_for_this_run_only() -> None:
    assert read_config("default", ["seed=5"])[0].seed == 5
    assert read_config("default")[0].seed == 0


@pytest.mark.parametrize("written", ["seed", "=3", ""])
def test_set_needs_a_key_and_a_value(written: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="expected key=value") as caught:
        setting(written, folder=tmp_path)
    assert repr(written) in str(caught.value)


def test_set_of_an_unknown_dataset_lists_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match=r"there is no table named 'mad'\. Available: file, open, flowers, made, words, reviews"
    ):
        setting("dataset.mad.rows=3", folder=tmp_path)


@pytest.mark.parametrize(
    "written", ["dataset.rows=3", "seed.x=3", "seed.x.y=3", "methods.0=align", "methods.align.q=3"]
)
def test_set_inside_a_value_that_is_not_a_table(written: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"is not a table|follows a list; set the whole list"):
        setting(written, folder=tmp_path)


def test_set_of_an_unknown_key_and_of_a_wrong_value(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="unknown key 'sed'; did you mean 'seed'"):
        setting("sed=3", folder=tmp_path)
    with pytest.raises(ConfigError, match=r"protocol\.folds: must be .*integer; got 'many'"):
        setting("protocol.folds=many", folder=tmp_path)


def test_set_a_view_by_its_name_unless_several_have_it(tmp_path: Path) -> None:
    kernels = [{"family": "linear", "name": "a"}, {"family": "linear", "name": "b", "columns": [0]}]
    found = setting("dataset.made.kernels.b.columns=[1]", base=synthetic_values(kernels=kernels), folder=tmp_path)
    assert found.dataset[0].kernels[1] == ViewSpec(LinearFamily(), (1,), name="b")
    kernels = [{"family": "linear", "name": "a"}, {"family": "gaussian", "log2_gamma": [0, 0], "name": "a"}]
    with pytest.raises(ConfigError, match="several tables are named 'a'; set the whole list"):
        setting("dataset.made.kernels.a.columns=[1]", base=synthetic_values(kernels=kernels), folder=tmp_path)


def test_set_a_dataset_with_a_dot_in_its_name(tmp_path: Path) -> None:
    assert setting("dataset.a.b.rows=5", base=synthetic_values(name="a.b"), folder=tmp_path).dataset[0].rows == 5
