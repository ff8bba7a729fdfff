"""Write numbers and tables as Markdown and LaTeX."""

import math
from collections.abc import Sequence

from kernel_pipeline.results.paired_tests import LEVEL

MAX_DECIMALS = 4
"""Largest number of decimals of a p-value."""


def short_number(value: float) -> str:
    """Return a number as the paper prints it: three decimals and no zero before the point; empty if not defined.

    >>> short_number(0.1104), short_number(-0.02), short_number(1.44), short_number(0.0004), short_number(float("nan"))
    ('.110', '-.020', '1.440', '.0004', '')
    >>> short_number(54.3), short_number(50328.4), short_number(2.5e9)
    ('54.3', '50,328', '2.5e+09')
    """
    if math.isnan(value):
        return ""
    size = abs(value)
    if size >= 10:
        return f"{value:.1f}" if size < 10_000 else f"{value:,.0f}" if size < 10_000_000 else f"{value:.3g}"
    style = ".3f" if size >= 0.001 or value == 0 else ".1g"
    return f"{value:{style}}".replace("0.", ".", 1) if size < 1 else f"{value:{style}}"


def short_p(value: float) -> str:
    """Return a p-value with two decimals; empty if not defined.

    A value close to the significance level has more decimals, so that one can see on which side of it the value is.

    >>> short_p(0.147), short_p(0.004), short_p(1.0), short_p(float("nan")), short_p(0.0996)
    ('.15', '< .01', '1.00', '', '.0996')
    """
    if math.isnan(value):
        return ""
    if value < 0.01:
        return "< .01"
    decimals = next((count for count in range(2, MAX_DECIMALS) if round(value, count) != LEVEL), MAX_DECIMALS)
    return f"{value:.{decimals}f}".removeprefix("0")


def latex_text(text: str) -> str:
    """Escape a name for LaTeX.

    >>> latex_text("breast_cancer")
    'breast\\\\_cancer'
    """
    return text.replace("_", r"\_")


def markdown_table(heading: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table as Markdown."""
    lines = [heading, ["---"] * len(heading), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def latex_table(heading: Sequence[str], rows: Sequence[Sequence[str]], layout: str) -> str:
    """Return a table as LaTeX; the texts must already be escaped."""
    lines = [rf"\begin{{tabular}}{{{layout}}}", " & ".join(heading) + r" \\", r"\hline"]
    lines += [" & ".join(row) + r" \\" for row in rows]
    return "\n".join([*lines, r"\end{tabular}"]) + "\n"
