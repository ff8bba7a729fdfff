"""Check the results of families that are not built in, and name the family in errors.

Built-in families are not checked, since the test suite covers them, and checks take time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.parameters import ParameterError
from kernel_pipeline.tasks.plugins import PluginError

if TYPE_CHECKING:  # the module of the families imports this one
    from kernel_pipeline.tasks.kernels.family import FillEach, GramFamily, Samples

PACKAGE = "kernel_pipeline"
# Largest absolute value of a kernel: sums of its squares over all pairs of samples must not overflow.
MAX_VALUE = 1e140
# Largest negative eigenvalue that counts as rounding, relative to the largest entry; families may use single precision.
EIGENVALUE_ROUNDING = 1e-4


class FamilyError(PluginError):
    """A family violates the protocol of `GramFamily` or raises an error; the message names it."""


def is_built_in(kind: type[Any]) -> bool:
    """Return whether a class belongs to this package."""
    return kind.__module__.partition(".")[0] == PACKAGE


@contextmanager
def named_errors(kind: type[Any]) -> Iterator[None]:
    """Name the family in the errors that its code raises, unless it is built in.

    A `MemoryError`, and errors that already name the plug-in or the parameter, are not changed. A `SystemExit` becomes
    an error as well, since it would end the process without a message.
    """
    try:
        yield
    except (PluginError, ParameterError, MemoryError):
        raise
    except (Exception, SystemExit) as error:
        if is_built_in(kind):
            raise
        raise FamilyError(f"{_describe(kind)} raised {type(error).__name__}: {error}") from None


def prepare_checked(kind: type[GramFamily], families: Sequence[Any], samples: Samples) -> FillEach:
    """Fit and prepare families of one class; blocks of families that are not built in are checked."""
    with named_errors(kind):
        fill_each = kind.prepare_together([family.fitted(samples) for family in families], samples)
    if is_built_in(kind):
        return fill_each

    def fill_checked(rows: slice, columns: slice, outs: Sequence[Floats]) -> None:
        for out in outs:
            out.fill(np.nan)
        with named_errors(kind):
            fill_each(rows, columns, outs)
        for family, out in zip(families, outs, strict=True):
            _check_block(family, out, is_diagonal=rows == columns)

    return fill_checked


def check_declarations(family: GramFamily) -> None:
    """Check the names, shifts and fitted steps of a family that is not built in.

    Raises
    ------
    FamilyError
        If there are no kernels, a kernel does not have a name and a finite shift, or there are fitted steps and
        `fitted` is not defined.
    """
    from kernel_pipeline.tasks.kernels.family import GramFamily

    kind = type(family)
    if is_built_in(kind):
        return
    with named_errors(kind):
        names, shifts, steps = list(family.names()), list(family.shifts()), list(family.fitted_steps())
    if steps and kind.fitted is GramFamily.fitted:
        raise FamilyError(
            f"{_describe(kind)}: fitted_steps() returns {steps!r}, so fitted(samples) must return the family with the "
            "values of these steps for samples.reference; it is not defined"
        )
    if not names or not all(isinstance(name, str) and name for name in names):
        raise FamilyError(f"{_describe(kind)}: names() must return one or more non-empty strings; got {names!r}")
    if len(shifts) != len(names) or not np.isfinite(np.array(shifts, dtype=np.float64)).all():
        raise FamilyError(
            f"{_describe(kind)}: shifts() must return a finite number for each of {len(names)} kernels; got {shifts!r}"
        )


def check_semidefinite(family: GramFamily, blocks: Floats) -> None:
    """Check that the kernels of a family that is not built in are positive semi-definite on a few samples.

    Parameters
    ----------
    blocks
        The values `K - shift` of each kernel on these samples, (p, n, n).

    Raises
    ------
    FamilyError
        If a kernel has a negative eigenvalue that is too large for rounding.
    """
    for name, shift, block in zip(family.names(), family.shifts(), blocks, strict=True):
        kernel = block + shift
        scale = float(np.abs(kernel).max())
        smallest = float(np.linalg.eigvalsh(kernel / scale)[0]) * scale if scale else 0.0
        if smallest < -EIGENVALUE_ROUNDING * scale:
            raise FamilyError(
                f"{_describe(type(family))} computed an invalid kernel {name!r}: on {len(kernel)} samples, its "
                f"smallest eigenvalue is {smallest:.3g}, and its largest absolute value is {scale:.3g}. A kernel must "
                "be positive semi-definite: its eigenvalues must be 0 or positive, up to rounding. Correct `fill`, or "
                "choose other parameters"
            )


def _check_block(family: GramFamily, block: Floats, is_diagonal: bool) -> None:
    """Raise a `FamilyError` unless a block has valid numbers for all kernels, and is symmetric if on the diagonal."""
    for name, kernel in zip(family.names(), block, strict=True):
        wrong = f"{_describe(type(family))} computed an invalid kernel {name!r}: in a block of shape {kernel.shape},"
        missing = int((~np.isfinite(kernel)).sum())
        if missing:
            raise FamilyError(f"{wrong} {missing} of {kernel.size} values are not finite, or were not written to `out`")
        largest = float(np.abs(kernel).max())
        if largest > MAX_VALUE:
            raise FamilyError(
                f"{wrong} absolute values reach {largest:.3g}; at most {MAX_VALUE:g} is allowed, since sums of their "
                "squares may overflow. Scale the features, for example with scale = 'standard', or divide the kernel "
                "by a constant"
            )
        if is_diagonal and not np.array_equal(kernel, kernel.T):
            off = np.abs(kernel - kernel.T).max()
            raise FamilyError(
                f"{wrong} it is not symmetric: `out[k][i, j]` and `out[k][j, i]` differ by up to {off:.3g}. They must "
                "be exactly equal if rows and columns are the same samples"
            )


def _describe(kind: type[Any]) -> str:
    """Return the name of a family, and its package if it is a plug-in."""
    from kernel_pipeline.tasks.kernels.family import FAMILIES

    names = [name for name, known in FAMILIES.loaded().items() if known is kind]
    plugins = [str(plugin) for name, plugin in FAMILIES.plugins.items() if name in names]
    if plugins:
        return plugins[0]
    return f"the kernel family {names[0] if names else kind.__qualname__!r} ({kind.__module__}.{kind.__qualname__})"
