"""Bound the size of the report, whatever the numbers of datasets, kernels, trials and notes are."""

from collections.abc import Sequence
from itertools import accumulate

from kernel_pipeline.results.figures.figure import FIGURES
from kernel_pipeline.text import format_bytes

MAX_IMAGE_BYTES = 3 * 2**20
"""Maximum size of all images of the report together; those after it is reached are left out."""
MAX_ROWS = 1000
"""Maximum number of rows of a table."""


def shown_images(sizes: Sequence[int]) -> int:
    """Return how many images are shown, given their sizes in bytes: the first ones that are not too large together.

    >>> shown_images([MAX_IMAGE_BYTES // 2, MAX_IMAGE_BYTES // 2, 1]), shown_images([])
    (2, 0)
    """
    return sum(total <= MAX_IMAGE_BYTES for total in accumulate(sizes))


def limit_sentences(problems: int, left_out: int) -> str:
    """Return sentences about figures that are not on the page; empty if all are.

    Parameters
    ----------
    problems
        Number of pairs of a dataset and a problem.
    left_out
        Number of images that are left out because of their size.
    """
    limited: dict[int, list[str]] = {}
    for name, figure in FIGURES.items():
        if figure.max_problems is not None and figure.max_problems < problems:
            limited.setdefault(figure.max_problems, []).append(name)
    parts = [f"the first {limit} of {problems} for {', '.join(names)}" for limit, names in sorted(limited.items())]
    listed = "; ".join(parts)
    drawn = f"Some figures are drawn only for the first pairs of a dataset and a task: {listed}."
    what = "1 image is" if left_out == 1 else f"{left_out:,} images are"
    shown = (
        f"{what} left out, since the images of a report may have at most {format_bytes(MAX_IMAGE_BYTES)} together; the "
        "folder figures of a finished run has all of them."
    )
    return " ".join([drawn] * bool(limited) + [shown] * bool(left_out))
