"""Determine the number of samples that models of a dataset are fitted to."""

from kernel_pipeline.store.dataset_info import DatasetInfo


def training_samples(info: DatasetInfo, folds: int) -> int:
    """Return the size of the largest training set; it may be one too large, since folds differ by a sample."""
    return info.rows - 2 * (info.rows // folds) if info.largest_train is None else info.largest_train


def fitted_samples(info: DatasetInfo, folds: int, has_final_fit: bool) -> int:
    """Return an upper bound on the number of samples of a fit; a final fit includes the validation samples."""
    if not has_final_fit:
        return training_samples(info, folds)
    return info.rows - info.rows // folds if info.largest_train is None else info.rows
