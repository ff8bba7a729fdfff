"""Families whose kernels are not defined for the features of a dataset."""

from pathlib import Path

from tests.helpers.build import load, put, refused

ROWS = "a,b,label\n" + "".join(f"{i},{i % 4 - 1.5},{i % 2}\n" for i in range(12))
CHI_SQUARED = [{"family": "chi-squared"}]


def test_negative_features_are_refused_with_the_name_of_the_dataset_and_the_column(tmp_path: Path) -> None:
    text = refused(tmp_path, ROWS, kernels=CHI_SQUARED, header=True)
    assert text.startswith("dataset 'things': family 'chi-squared' requires features that are not negative; column 'b'")
    assert "contains -1.5" in text
    assert "scale = 'minmax'" in text


def test_features_are_checked_after_scaling(tmp_path: Path) -> None:
    put(tmp_path, ROWS)
    assert load(tmp_path, kernels=CHI_SQUARED, header=True, scale="minmax").kernels == ("chi-squared(1)",)
    assert "column 'a' contains" in refused(tmp_path, ROWS, kernels=CHI_SQUARED, header=True, scale="standard")


def test_the_median_is_noted(tmp_path: Path) -> None:
    put(tmp_path, ROWS)
    samples = load(tmp_path, kernels=[{"family": "gaussian", "gamma": "median"}], header=True, index=False)
    (note,) = (note for note in samples.notes if "median" in note)
    assert note.startswith("gaussian(median): gamma = ")
    assert note.endswith("of samples in columns 'a', 'b'")
