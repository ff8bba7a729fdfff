"""Kernel families, as a config writes them: a table whose key `family` names one that is registered."""

from typing import Annotated

from kernel_pipeline.config.parameter_models import Tagged
from kernel_pipeline.tasks.kernels.family import FAMILIES, Family

KernelFamily = Annotated[Family, Tagged("family", FAMILIES)]
