"""List the modules that workers import while they start, since importing them takes several seconds."""

from kernel_pipeline.config.sweep import Config


def worker_modules(config: Config) -> tuple[str, ...]:
    """Return the modules that the tasks of a sweep need.

    The modules of the methods are included, since a worker has to unpickle the method that a task holds.
    """
    names = ["kernel_pipeline.run.worker", "kernel_pipeline.plan.plan"]
    for method in config.used_methods:
        names += [type(method).__module__, *method.preload]
    if any("classification" in dataset.task for dataset in config.dataset):
        names.append("sklearn.svm")
    return tuple(dict.fromkeys(names))
