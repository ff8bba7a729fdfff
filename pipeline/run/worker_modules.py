"""Modules that workers import while they start; together they take some seconds."""

from kernel_pipeline.config.sweep import Config


def worker_modules(config: Config) -> tuple[str, ...]:
    """Return the modules that the tasks of a sweep need.

    The modules of the methods are among them: a worker that receives a task must know the method that it holds.
    """
    names = ["kernel_pipeline.run.worker", "kernel_pipeline.plan.plan"]
    for method in config.methods:
        names += [type(method).__module__, *method.preload]
    if any("classification" in dataset.task for dataset in config.dataset):
        names.append("sklearn.svm")
    return tuple(dict.fromkeys(names))
