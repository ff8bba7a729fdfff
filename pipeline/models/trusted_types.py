"""List the types that files of models may contain.

The names of these types, of their modules and of their fields are part of the format of model files.
"""

from typing import Any

from kernel_pipeline.data.column_encoding import ColumnEncoding
from kernel_pipeline.data.document_rows import DocumentRows, WordCounting
from kernel_pipeline.data.fitted_features import TableSteps
from kernel_pipeline.data.imputation import Imputation
from kernel_pipeline.data.scaling import Scaling
from kernel_pipeline.data.sparse_rows import SparseRows
from kernel_pipeline.data.table_rows import TableRows
from kernel_pipeline.data.vocabulary import PlacedVocabulary, Vocabulary
from kernel_pipeline.estimators.learned_kernel import KernelData, LearnedKernel
from kernel_pipeline.models.model import FittedModel, ModelFacts
from kernel_pipeline.models.predictors import ColumnPredictor, KernelPredictor, Outputs
from kernel_pipeline.tasks.kernels.family import FAMILIES, GramFamily
from kernel_pipeline.tasks.kernels.guard import is_built_in
from kernel_pipeline.tasks.kernels.view import View

PLAIN_TYPES = (
    "builtins.bool",
    "builtins.dict",
    "builtins.float",
    "builtins.int",
    "builtins.list",
    "builtins.str",
    "builtins.tuple",
    "numpy.float64",
    "numpy.int64",
    "numpy.ndarray",
)
"""Types of values, by their full names; skops has its own names for some of them."""


def project_types() -> list[type[Any]]:
    """Return the types of this package that models consist of: those listed here, and all built-in families."""
    families = [kind for kind in FAMILIES.values() if issubclass(kind, GramFamily) and is_built_in(kind)]
    return [
        FittedModel,
        ModelFacts,
        Outputs,
        KernelPredictor,
        ColumnPredictor,
        LearnedKernel,
        KernelData,
        TableRows,
        DocumentRows,
        SparseRows,
        ColumnEncoding,
        WordCounting,
        TableSteps,
        Imputation,
        Scaling,
        Vocabulary,
        PlacedVocabulary,
        View,
        *families,
    ]
