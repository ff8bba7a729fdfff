"""The config that is proposed for a data file works, and leaves out what identifies rows."""

import gzip
from pathlib import Path

import pytest

from kernel_pipeline.config.loading import read_config
from kernel_pipeline.config.starter_config import starter_config
from kernel_pipeline.data.prepared import PreparedDataset, prepare_dataset
from kernel_pipeline.errors import ConfigError
from tests.helpers.build import put

CLINIC = "patient,age,sex,pressure,smoker,remark,visit,outcome\n" + "".join(
    f"p{i},{40 + i * i % 17},{'fm'[i % 2]},{'' if i % 7 == 0 else 120 + i % 9},{['yes', 'no', ''][i % 3]},,{i},"
    f"{['ill', 'healthy'][i // 3 % 2]}\n"
    for i in range(24)
)


def loaded(folder: Path, content: str | bytes, name: str = "things.csv") -> tuple[str, PreparedDataset]:
    """Return the proposed config for a file, and the samples that it selects."""
    file = put(folder, content, name)
    with pytest.raises(ConfigError) as caught:
        read_config(str(file))
    text = str(caught.value).partition(":\n\n")[2]
    config, where = read_config(str(put(folder, text, "things.toml")))
    return text, prepare_dataset(config, config.dataset[0], where)


@pytest.mark.parametrize("name", ["things.csv", "things.csv.gz"])
@pytest.mark.parametrize("separator", [",", ";"])
def test_text_gaps_and_an_index(separator: str, name: str, tmp_path: Path) -> None:
    text, samples = loaded(tmp_path, CLINIC.replace(",", separator), name)
    for line in (
        'task = "classification"          # or "regression"',
        'target = "outcome"               # the last column',
        'encode = "onehot"                # text',
        'missing = "mean"                 # impute',
        'index = "patient"                # identifies',
        'drop = ["visit", "remark"]       # not features: identifiers or comments, empty\n',
    ):
        assert f"\n{line}" in text
    assert samples.columns is not None
    assert samples.columns.names == ("age", "sex_f", "sex_m", "pressure", "smoker_no", "smoker_yes")
    assert not any("index" in note for note in samples.notes)


def test_dates_and_texts_of_many_values_are_not_features(tmp_path: Path) -> None:
    header = "seen;born;stay;place;size;species\n"
    rows = (
        f"{i % 28 + 1}.{i % 12 + 1}.2024;{1950 + i}-01-{i % 9 + 1};{'' if i % 3 else '2024-01-02 10:00'};s{i % 40};"
        f"{i * i % 17},5;{'ab'[i % 2]}\n"
        for i in range(60)
    )
    text, samples = loaded(tmp_path, header + "".join(rows))
    dates = "dates (to use them, replace them by numbers, such as days)"
    assert f'\ndrop = ["seen", "born", "stay", "place"] # not features: {dates}, identifiers or comments\n' in text
    assert not any(key in text for key in ("encode", "missing", "index"))
    assert samples.columns is not None
    assert samples.columns.names == ("size",)
    assert "drop" not in "".join(samples.notes)


def test_numbers_need_no_further_keys(tmp_path: Path) -> None:
    text, samples = loaded(tmp_path, "".join(f"{i * i % 11},{i * 7 % 5},{i * i}\n" for i in range(20)))
    assert "target = -1 " in text
    assert 'task = "regression" ' in text
    assert not any(key in text for key in ("encode", "missing", "index", "drop"))
    assert samples.features.shape == (20, 2)


def test_decimal_commas_and_another_encoding(tmp_path: Path) -> None:
    rows = "".join(f"{i},5;{'fm'[i % 2]};{'ab'[i // 2 % 2]}\n" for i in range(9))
    text, samples = loaded(tmp_path, ("Größe;x;y\n" + rows).encode("latin-1"))
    assert 'decimal = ","' in text
    assert 'encoding = "latin-1"' in text
    assert samples.features.shape == (9, 3)


@pytest.mark.parametrize(
    "content", [b"", b"u,v\n", b"\xff\xfeu\0", gzip.compress(b"u,v\n", mtime=0)[:9], b'u,"v\n1,2\n']
)
@pytest.mark.parametrize("name", ["things.csv", "things.csv.gz", "things.data"])
def test_a_broken_file_has_a_general_config(name: str, content: bytes, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    _, text = starter_config(tmp_path / name, "table" if name.endswith("data") else "csv")
    assert "target = " in text
