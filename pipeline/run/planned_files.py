"""Compare the files in the ledger with the plan: the arrays, their metadata (`zarr.json`) and the sizes of chunks.

Digests show only whether files match the ledger, and a forged run directory may have a forged ledger. Files that belong
to no array of the plan, or whose size in the ledger does not match their array, are therefore not read.
"""

from collections.abc import Iterable

from kernel_pipeline.plan.dataset_plan import DatasetPlan
from kernel_pipeline.store.array_metadata import parse_metadata
from kernel_pipeline.store.digests import size_of
from kernel_pipeline.store.keys import array_of
from kernel_pipeline.store.ledger_entries import LedgerEntry
from kernel_pipeline.store.regular_files import MAX_FILE_BYTES
from kernel_pipeline.store.storage import Storage

METADATA = "/zarr.json"


def unplanned_files(
    dataset: DatasetPlan, entries: Iterable[LedgerEntry], arrays: Storage, ignored: tuple[str, ...]
) -> tuple[dict[str, str], dict[str, str]]:
    """Find files that do not match the plan of a dataset; only metadata are read.

    Parameters
    ----------
    ignored
        Prefixes of the keys of arrays that are ignored, since no pending task needs them.

    Returns
    -------
    mismatched, unplanned
        Reasons by key: for metadata that do not match, and for files that must not be read at all.
    """
    planned = {array.key: array for array in dataset.arrays}
    kept = [array for key, array in planned.items() if not f"{key}/".startswith(ignored)]
    mismatched: dict[str, str] = {}
    sizes: dict[str, int] = {}
    contents = arrays.read_many([f"{array.key}{METADATA}" for array in kept])
    for array, content in zip(kept, contents, strict=True):
        key = f"{array.key}{METADATA}"
        try:
            found = parse_metadata(content) if content is not None else None
        except ValueError as error:
            mismatched[key] = f"does not describe an array that this package writes: {error}"
            continue
        if found and array.matches(found):
            sizes[array.key] = found.chunk_bytes
        elif found:
            mismatched[key] = "does not describe the array of the plan"
    folders = {key.rsplit("/", parts)[0] for key in planned for parts in range(key.count("/") + 1)}
    claims = ((key, size_of(digest)) for entry in entries for key, digest in entry.digests.items())
    reasons = {key: _unplanned_reason(key, size, folders, sizes, planned) for key, size in claims}
    return mismatched, {key: why for key, why in reasons.items() if why}


def _unplanned_reason(key: str, size: int, folders: set[str], sizes: dict[str, int], planned: Iterable[str]) -> str:
    """Return why a file of this size cannot belong to the plan; empty if it can."""
    if key.endswith(METADATA) and key.removesuffix(METADATA) in folders:
        return "is larger than array metadata can be" if size > MAX_FILE_BYTES else ""
    array = array_of(key)
    if array not in planned:
        return "belongs to no array of the plan"
    return "" if size == sizes.get(array, size) else f"has {size:,} bytes in the ledger, not {sizes[array]:,}"
