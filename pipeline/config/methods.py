"""Methods, as a config writes them, and which of them fit a dataset."""

from typing import Literal

from pydantic import Field

from kernel_pipeline.config.strict_model import StrictModel

MethodName = Literal[
    "unif", "align", "alignf", "alignf-linear", "best-kernel", "l1-svm", "l2-krr", "align-krr", "each-kernel"
]


class AlignMethod(StrictModel):
    """`align` with its parameter: weights proportional to `<K_k, yy'>` of the trace-one kernels to the 1 / (q - 1)."""

    method: Literal["align"]
    q: float = Field(
        ge=1,
        allow_inf_nan=False,
        description="of the L_q norm that bounds the weights (problem 4); without it, equation 3",
    )


Method = MethodName | AlignMethod

# Methods that learn weights and predictor at once, with a regularisation path of their own.
ONE_STAGE = ("l1-svm", "l2-krr", "align-krr")
# Fits every base kernel alone; it gives no weights.
EACH_KERNEL = "each-kernel"
TASKS = {"l1-svm": "classification", "l2-krr": "regression", "align-krr": "regression"}
# These need the p x p matrix M.
NEEDS_M = ("alignf-linear", "align-krr")
MOST_KERNELS_WITH_M = 5000


def label(method: Method) -> str:
    """The name of a method in tables and arrays.

    >>> label(AlignMethod(method="align", q=1.5))
    'align-q1.5'
    """
    return method if isinstance(method, str) else f"{method.method}-q{str(method.q).removesuffix('.0')}"


def why_unfit(method: Method, task: str, kernels: int, rank_one: bool) -> str | None:
    """Why a method is left out for a task of a dataset; None if it fits."""
    name = label(method)
    wanted = TASKS.get(name, task)
    if wanted != task:
        return f"it is for {wanted}"
    if name in NEEDS_M and kernels > MOST_KERNELS_WITH_M:
        return f"it needs a matrix of {kernels:,} x {kernels:,}; {MOST_KERNELS_WITH_M:,} kernels at most"
    if name == EACH_KERNEL and rank_one:
        return "a rank-one kernel alone is a single feature"
    return None
