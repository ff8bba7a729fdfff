"""State how the data of two runs differ, from what their run directories record about them."""

from collections.abc import Mapping

from kernel_pipeline.config.datasets import DatasetBase
from kernel_pipeline.data.source_files import FileIdentity
from kernel_pipeline.run.manifest import Manifest

FOLD_KEYS = ("groups", "folds")
"""Keys of a dataset that determine its folds."""
RESULT = "so that errors cannot be compared trial by trial"


def data_differences(first: Manifest, second: Manifest) -> list[str]:
    """Return a sentence for each dataset of both runs whose samples, kernels or folds differ.

    The fingerprint of a dataset covers all of these. That only the folds differ is stated if the run directories show
    it: the source files are the same, and the configs differ in the assignment of samples to folds.
    """
    found = []
    for name in first.fingerprints:
        if second.fingerprints.get(name, first.fingerprints[name]) == first.fingerprints[name]:
            continue
        if facts := [*_sizes(first, second, name), *_files(first, second, name)]:
            found.append(f"The data of {name!r} differ ({'; '.join(facts)}), {RESULT}.")
        elif settings := _fold_settings(first, second, name):
            found.append(f"The data of {name!r} are the same, but its folds differ ({'; '.join(settings)}), {RESULT}.")
        else:
            found.append(f"The data or the folds of {name!r} differ, {RESULT}.")
    return found


def _sizes(first: Manifest, second: Manifest, name: str) -> list[str]:
    """Return the sizes of a dataset that differ; none if the data of either run are not stored yet."""
    infos = [manifest.info(name) for manifest in (first, second)]
    sizes = [
        {"rows": info.rows, "features": info.columns, "kernels": len(info.kernels), "rows left out": info.left_out}
        for info in infos
        if info
    ]
    if len(sizes) < len(infos):
        return []
    return [f"{what}: {size:,} and {sizes[1][what]:,}" for what, size in sizes[0].items() if size != sizes[1][what]]


def _files(first: Manifest, second: Manifest, name: str) -> list[str]:
    """Return the source files of a dataset that differ."""
    before, after = _digests(first.sources.get(name, {})), _digests(second.sources.get(name, {}))
    if sorted(before.values()) == sorted(after.values()):  # the same files may have been renamed
        return []
    changed = [file for file in before if file in after and before[file] != after[file]]
    if changed:
        return [f"{file} has another content" for file in changed]
    return [f"files: {', '.join(before) or 'none'} and {', '.join(after) or 'none'}"]


def _digests(files: Mapping[str, FileIdentity]) -> dict[str, str]:
    return {name: identity["sha256"] for name, identity in files.items()}


def _fold_settings(first: Manifest, second: Manifest, name: str) -> list[str]:
    """Return the settings by which the folds of a dataset differ; none if something else may differ as well."""
    datasets = [_dataset(manifest, name) for manifest in (first, second)]
    fixed = [dataset.model_dump(exclude=set(FOLD_KEYS)) for dataset in datasets]
    if fixed[0] != fixed[1] or datasets[0].rows is not None or not first.sources.get(name):
        return []
    values = [
        {
            "seed": manifest.config.seed,
            "protocol.folds": manifest.config.protocol.folds,
            "protocol.repeats": manifest.config.protocol.repeats,
        }
        | {key: getattr(dataset, key, None) for key in FOLD_KEYS}
        for manifest, dataset in zip((first, second), datasets, strict=True)
    ]
    return [
        f"{key}: {_shown(value)} and {_shown(values[1][key])}"
        for key, value in values[0].items()
        if value != values[1][key]
    ]


def _shown(value: object) -> str:
    return "not set" if value is None else str(value)


def _dataset(manifest: Manifest, name: str) -> DatasetBase:
    return next(dataset for dataset in manifest.config.dataset if dataset.name == name)
