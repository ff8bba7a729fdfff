"""What workers import sooner or later; together it takes some seconds, which may be spent ahead."""

from kernel_pipeline.config.sweep import Config


def worker_modules(config: Config) -> tuple[str, ...]:
    """The modules that the tasks of a sweep need."""
    classifies = any("classification" in dataset.task for dataset in config.dataset)
    return ("kernel_pipeline.run.worker", "kernel_pipeline.plan.plan", "osqp", *(["sklearn.svm"] if classifies else []))
