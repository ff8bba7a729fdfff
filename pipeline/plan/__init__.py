"""The plan of a sweep as a value: tasks, what they need, and their memory, disk and time."""

from kernel_pipeline.callable_module import make_callable

make_callable(__name__)  # `kernel_pipeline.plan(...)` is a function of the public API
