"""Leave out the datasets of a sweep that are too large for the workers or the disk, on request."""

from kernel_pipeline.config.loading import config_values, parse_config
from kernel_pipeline.errors import TooLargeError
from kernel_pipeline.events import Emitter
from kernel_pipeline.plan.plan import Plan, make_plan
from kernel_pipeline.run.directory import is_run_directory
from kernel_pipeline.run.manifest import read_manifest
from kernel_pipeline.run.options import Options, temporary_folder, workers_and_memory
from kernel_pipeline.store.storage import Storage


def without_too_large(plan: Plan, root: Storage, arrays: Storage, options: Options, emit: Emitter) -> Plan:
    """Return the plan without datasets that are too large, and emit a notice for each of them.

    A run that exists keeps the datasets with which it was started. Methods that are left without a dataset are left
    out as well.

    Raises
    ------
    TooLargeError
        If no dataset is left.
    """
    if is_run_directory(root):
        known = {dataset.name for dataset in read_manifest(root).config.dataset}
        reasons = {
            dataset.name: f"dataset {dataset.name!r} is not part of the run in {root}"
            for dataset in plan.datasets
            if dataset.name not in known
        }
    else:
        reasons = _reasons(plan, arrays, options)
    if not reasons:
        return plan
    if len(reasons) == len(plan.datasets):
        raise TooLargeError("\n".join(reasons.values()) + "\nNo dataset is left to run")
    for reason in reasons.values():
        emit.notice(f"note: {reason}. It is left out, as --skip-too-large requests")
    values = config_values(plan.config)
    values["dataset"] = [dataset for dataset in values["dataset"] if dataset["name"] not in reasons]
    problems = {task for dataset in plan.config.dataset if dataset.name not in reasons for task in dataset.task}
    values["methods"] = [
        given
        for given, method in zip(values["methods"], plan.config.methods, strict=True)
        if problems & set(method.problems)
    ]
    infos = [dataset.info for dataset in plan.datasets if dataset.name not in reasons]
    return make_plan(parse_config(values, "the config without datasets that are too large"), infos)


def _reasons(plan: Plan, arrays: Storage, options: Options) -> dict[str, str]:
    """Return why datasets are too large, by name.

    In the order of the config, a dataset is kept if its arrays fit on the disk beside those of the datasets before it.
    """
    count, limit = workers_and_memory(options)
    free, temporary = arrays.free_bytes(), temporary_folder(options)
    found: dict[str, str] = {}
    for dataset in plan.datasets:
        reason = "" if limit is None else dataset.memory_shortage(limit, count)
        if not reason and temporary is not None:
            reason = dataset.temporary_shortage(*temporary, count, limit)
        if not reason and free is not None:
            reason = dataset.disk_shortage(free, str(arrays))
        if reason:
            found[dataset.name] = reason
        elif free is not None:
            free -= dataset.disk_bytes
    return found
