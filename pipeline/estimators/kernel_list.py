"""Read the parameters `kernels`, `method` and `precomputed` of estimators."""

import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from pydantic import TypeAdapter, ValidationError

from kernel_pipeline.config.families import KernelEntry, KernelField, check_distinct, precomputed_families
from kernel_pipeline.config.feature_columns import FeatureColumns
from kernel_pipeline.config.methods import MethodEntry
from kernel_pipeline.config.python_values import toml_values
from kernel_pipeline.config.validation_errors import describe_errors
from kernel_pipeline.config.views import entry_families
from kernel_pipeline.errors import ConfigError
from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.kernels.family import GramFamily, kernel_names
from kernel_pipeline.tasks.kernels.gaussian import GaussianFamily, median_gamma
from kernel_pipeline.tasks.kernels.precomputed import StoredFamily, exact_shift
from kernel_pipeline.tasks.kernels.spectrum import is_positive_definite
from kernel_pipeline.tasks.weights.method import METHODS, Method, WeightRule

# The default kernels have gamma = 2 ** (c - HALF_WIDTH), ..., 2 ** (c + HALF_WIDTH), where 2 ** c is the power of two
# nearest to the gamma of the median heuristic.
HALF_WIDTH = 3
# Largest asymmetry relative to the largest entry, and largest negative eigenvalue relative to the trace, that count as
# rounding errors.
ROUNDING = 1e-10


def parse_method(method: object) -> WeightRule:
    """Return the method that is given by its name, or by a table as in a config.

    >>> parse_method({"method": "align", "q": 2.0})
    Align(q=2.0)
    """
    found: Method = _validated("method", method, _method_adapter())
    if not isinstance(found, WeightRule):
        names = [name for name, kind in METHODS.items() if issubclass(kind, WeightRule)]
        raise ValueError(
            f"method: must be one of {', '.join(map(repr, names))}, which determine weights before a fit; "
            f"got {found.name!r}. Use the other methods in a sweep: kernel_pipeline.run"
        )
    return found


def parse_families(
    kernels: Sequence[Mapping[str, Any] | KernelEntry] | None,
    columns: FeatureColumns,
    features: Floats,
    matrices: Mapping[str, Floats],
) -> tuple[GramFamily, ...]:
    """Return the families of a list of kernels as in a config, followed by the precomputed matrices.

    Parameters
    ----------
    kernels
        Families as in a config. If None, those of `default_families`, if there are any features.
    matrices
        Precomputed matrices by name, from `check_matrices`.
    """
    if kernels is None:
        families: tuple[GramFamily, ...] = default_families(features) if features.shape[1] else ()
    else:
        entries: list[KernelEntry] = _validated("kernels", kernels, _kernels_adapter())
        if precomputed_families(entries):
            raise ValueError("kernels: pass precomputed matrices as the parameter precomputed={name: matrix}")
        try:
            families = entry_families(entries, columns, "X")
        except ConfigError as error:
            raise ValueError(str(error)) from None
    for place, (name, matrix) in enumerate(matrices.items()):
        families += (StoredFamily(name, place, (exact_shift(float(matrix.min()), float(matrix.max())),)),)
    if not families:
        raise ValueError("kernels: there are no kernels; list at least one family, or pass precomputed={name: matrix}")
    check_distinct(kernel_names(families))
    return families


def default_families(features: Floats) -> tuple[GramFamily, ...]:
    """Return seven Gaussian kernels, whose gammas are powers of two around that of the median heuristic.

    >>> kernel_names(default_families(np.array([[0.0], [1.0], [3.0], [3.0]])))[::6]
    ('gaussian(2^-6)', 'gaussian(2^0)')
    """
    center = min(max(round(math.log2(median_gamma(features))), -900), 900)
    return (GaussianFamily.powers_of_two(center - HALF_WIDTH, center + HALF_WIDTH),)


def check_matrices(precomputed: Mapping[str, Any] | None) -> dict[str, Floats]:
    """Return precomputed matrices as arrays of floats.

    Raises
    ------
    ValueError
        If one is not square, finite, symmetric and positive semi-definite, or their sizes differ.
    TypeError
        If they are not given by name.
    """
    if precomputed is not None and not isinstance(precomputed, Mapping):
        raise TypeError(
            f"precomputed: must be a dict of matrices by name, as {{'string': K}}; got {type(precomputed).__name__}"
        )
    found: dict[str, Floats] = {}
    for name, given in (precomputed or {}).items():
        matrix = np.asarray(given, dtype=np.float64)
        size = len(next(iter(found.values()), matrix))
        if matrix.ndim != 2 or matrix.shape != (size, size) or size == 0:
            raise ValueError(
                f"precomputed[{name!r}]: must be a square matrix with one row per sample, of the same size as the "
                f"others; got shape {matrix.shape}"
            )
        if not np.isfinite(matrix).all():
            raise ValueError(f"precomputed[{name!r}]: contains NaN or infinity")
        asymmetry = float(np.abs(matrix - matrix.T).max())
        if asymmetry > ROUNDING * float(np.abs(matrix).max()):
            raise ValueError(f"precomputed[{name!r}]: is not symmetric; entries differ by {asymmetry:.1e}")
        if matrix.any() and not is_positive_definite(matrix.copy(), ROUNDING * abs(float(np.trace(matrix)))):
            raise ValueError(f"precomputed[{name!r}]: is not positive semi-definite")
        found[name] = matrix
    return found


@cache
def _method_adapter() -> TypeAdapter[Any]:
    return TypeAdapter(dict[str, MethodEntry])


@cache
def _kernels_adapter() -> TypeAdapter[Any]:
    return TypeAdapter(dict[str, list[KernelField]])


def _validated(name: str, value: object, adapter: TypeAdapter[Any]) -> Any:
    """Validate a value like that of a key of a config.

    Raises
    ------
    ValueError
        If the value is not valid, with the same message as for a config.
    """
    values = toml_values({name: value})
    try:
        return adapter.validate_python(values)[name]
    except ValidationError as error:
        raise ValueError("; ".join(describe_errors(error, values))) from None
