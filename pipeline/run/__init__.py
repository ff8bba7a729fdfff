"""Implement the driver, which runs a plan on a cluster, and resumes, verifies and repairs runs."""

from kernel_pipeline.callable_module import make_callable

make_callable(__name__)  # `kernel_pipeline.run(...)` is a function of the public API
