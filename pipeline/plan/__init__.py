"""Plan a sweep before anything runs: its tasks, their dependencies, and the memory and disk space they need."""

from kernel_pipeline.callable_module import make_callable

make_callable(__name__)  # `kernel_pipeline.plan(...)` is a function of the public API
