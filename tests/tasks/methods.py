"""The built-in methods by kind, with the defaults of their parameters."""

from kernel_pipeline.tasks.learners.one_stage import OneStageMethod
from kernel_pipeline.tasks.weights.method import METHODS, WeightRule

BUILT_IN = [method() for method in METHODS.values() if method.__module__.startswith("kernel_pipeline.")]
RULES = {method.name: method for method in BUILT_IN if isinstance(method, WeightRule)}
ONE_STAGE = {method.name: method for method in BUILT_IN if isinstance(method, OneStageMethod)}
