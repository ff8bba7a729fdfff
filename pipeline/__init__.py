"""Learn kernels at scale: run sweeps from Python, and read their results.

Examples
--------
>>> import kernel_pipeline as kp
>>> run = kp.run("default", cluster="local")  # doctest: +SKIP
>>> run.summary  # doctest: +SKIP

The names below are the public API. They are imported when they are first used, so that `import kernel_pipeline` is
fast. Extensions also import `kernel_pipeline.events`, and the base classes and registries that CONTRIBUTING.md
lists. All other modules may change at any time.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from kernel_pipeline.api import open_run as open_run
    from kernel_pipeline.api import plan as plan
    from kernel_pipeline.api import read_config as read_config
    from kernel_pipeline.api import run as run
    from kernel_pipeline.cli.run_view import RunView as RunView
    from kernel_pipeline.config.sweep import Config as Config
    from kernel_pipeline.errors import ClusterError as ClusterError
    from kernel_pipeline.errors import ConfigError as ConfigError
    from kernel_pipeline.errors import DataError as DataError
    from kernel_pipeline.errors import FailedError as FailedError
    from kernel_pipeline.errors import InterruptedRunError as InterruptedRunError
    from kernel_pipeline.errors import PipelineError as PipelineError
    from kernel_pipeline.errors import RefusedError as RefusedError
    from kernel_pipeline.errors import StorageError as StorageError
    from kernel_pipeline.errors import TooLargeError as TooLargeError
    from kernel_pipeline.estimators.classifier import AlignedKernelClassifier as AlignedKernelClassifier
    from kernel_pipeline.estimators.combiner import KernelCombiner as KernelCombiner
    from kernel_pipeline.estimators.functions import align as align
    from kernel_pipeline.estimators.functions import alignf as alignf
    from kernel_pipeline.estimators.functions import alignment_statistics as alignment_statistics
    from kernel_pipeline.estimators.functions import centered_alignment as centered_alignment
    from kernel_pipeline.estimators.regressor import AlignedKernelRegressor as AlignedKernelRegressor
    from kernel_pipeline.estimators.similarity import kernel_similarity as kernel_similarity
    from kernel_pipeline.models.model import FittedModel as FittedModel
    from kernel_pipeline.models.model_file import load_model as load_model
    from kernel_pipeline.plan.plan import Plan as Plan
    from kernel_pipeline.results.figures.centering_example import draw_centering_example as draw_centering_example
    from kernel_pipeline.run.run_results import RunResults as RunResults
    from kernel_pipeline.run.run_results import TrialStatistics as TrialStatistics

_ORIGINS = {
    "open_run": "api",
    "read_config": "api",
    "RunView": "cli.run_view",
    "Config": "config.sweep",
    "ClusterError": "errors",
    "ConfigError": "errors",
    "DataError": "errors",
    "FailedError": "errors",
    "InterruptedRunError": "errors",
    "PipelineError": "errors",
    "RefusedError": "errors",
    "StorageError": "errors",
    "TooLargeError": "errors",
    "AlignedKernelClassifier": "estimators.classifier",
    "KernelCombiner": "estimators.combiner",
    "AlignedKernelRegressor": "estimators.regressor",
    "align": "estimators.functions",
    "alignf": "estimators.functions",
    "alignment_statistics": "estimators.functions",
    "centered_alignment": "estimators.functions",
    "kernel_similarity": "estimators.similarity",
    "FittedModel": "models.model",
    "load_model": "models.model_file",
    "Plan": "plan.plan",
    "draw_centering_example": "results.figures.centering_example",
    "RunResults": "run.run_results",
    "TrialStatistics": "run.run_results",
}
_CALLABLE_MODULES = ("plan", "run")

__all__ = [
    "AlignedKernelClassifier",
    "AlignedKernelRegressor",
    "ClusterError",
    "Config",
    "ConfigError",
    "DataError",
    "FailedError",
    "FittedModel",
    "InterruptedRunError",
    "KernelCombiner",
    "PipelineError",
    "Plan",
    "RefusedError",
    "RunResults",
    "RunView",
    "StorageError",
    "TooLargeError",
    "TrialStatistics",
    "align",
    "alignf",
    "alignment_statistics",
    "centered_alignment",
    "draw_centering_example",
    "kernel_similarity",
    "load_model",
    "open_run",
    "plan",
    "read_config",
    "run",
]


if not TYPE_CHECKING:  # type checkers use the imports above

    def __getattr__(name: str) -> Any:
        if name in _CALLABLE_MODULES:
            return import_module(f"{__name__}.{name}")
        if name in _ORIGINS:
            return getattr(import_module(f"{__name__}.{_ORIGINS[name]}"), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
