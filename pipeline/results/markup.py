"""Write numbers and tables as Markdown and LaTeX."""

import math
from collections.abc import Sequence


def short_number(value: float) -> str:
    """Return a number as the paper prints it: three decimals and no zero before the point; empty if not defined.

    >>> short_number(0.1104), short_number(-0.02), short_number(1.44), short_number(0.0004), short_number(float("nan"))
    ('.110', '-.020', '1.440', '.0004', '')
    """
    if math.isnan(value):
        return ""
    size = abs(value)
    style = ".3f" if 0.001 <= size < 10 or value == 0 else ".1f" if 10 <= size < 10_000 else ".1g"
    return f"{value:{style}}".replace("0.", ".", 1) if size < 1 else f"{value:{style}}"


def short_p(value: float) -> str:
    """Return a p-value with two decimals; empty if not defined.

    >>> short_p(0.147), short_p(0.004), short_p(1.0), short_p(float("nan"))
    ('.15', '< .01', '1.00', '')
    """
    if math.isnan(value):
        return ""
    return "< .01" if value < 0.01 else f"{value:.2f}".removeprefix("0")


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
