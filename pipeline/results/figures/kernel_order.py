"""Find out whether the kernels of a figure are ordered by a number, so that lines may connect them."""

import re
from collections.abc import Sequence
from itertools import pairwise

NUMBER = re.compile(r"(?<![\w.])(?:2\^)?-?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?![\w.])")
"""A number or a power of two in the name of a kernel."""


def are_ordered(kernels: Sequence[str]) -> bool:
    """Return whether kernels are ordered by a number.

    This is read from the names, whatever family they belong to: they differ only in one number in parentheses, which
    increases or decreases. A "median" among numbers has no known place in the order.

    >>> are_ordered(["gaussian(2^-9)", "gaussian(2^-8)", "gaussian(0.5)"])
    True
    >>> are_ordered(["gaussian(median)", "gaussian(2^-9)"]), are_ordered(["gaussian(1)", "gaussian(2)", "linear"])
    (False, False)
    """
    parts = [kernel.partition("(") for kernel in kernels]
    if len({(beginning, NUMBER.sub("", parameters)) for beginning, _, parameters in parts}) > 1:
        return False
    values = [[_value(number) for number in NUMBER.findall(parameters)] for _, _, parameters in parts]
    varying = [column for column in zip(*values, strict=True) if len(set(column)) > 1]
    return len(varying) == 1 and any(
        all(sign * before < sign * after for before, after in pairwise(varying[0])) for sign in (1, -1)
    )


def _value(number: str) -> float:
    return 2.0 ** float(number[2:]) if number.startswith("2^") else float(number)
