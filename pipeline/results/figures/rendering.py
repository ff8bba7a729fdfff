"""Render images as SVG and PNG files; equal images give equal bytes."""

import io
import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernel_pipeline.results.figures.figure import FIGURES, Drawing, figure_stem
from kernel_pipeline.results.figures.style import PIXELS_PER_INCH, style
from kernel_pipeline.results.view import Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

log = logging.getLogger("kernel_pipeline")

DOCTYPE = re.compile(r"<!DOCTYPE[^>]*>")
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
TAG = re.compile(r"<[^>]+>")
LONG_NUMBER = re.compile(r"(\.\d\d)\d+")
METADATA = re.compile(r"<metadata>.*?</metadata>", re.DOTALL)
IDENTIFIER = re.compile(r' id="([^"]+)"')
REFERENCE = re.compile(r'(?:href="#|url\(#)([^")]+)')
GROUP = re.compile(r"<g(?: [^>]*[^>/])?>|</g>")
NO_ROTATION = re.compile(r' transform="rotate\(-0 [^"]*"')
SPACE = re.compile(r">\s+<")


@dataclass(frozen=True)
class Rendered:
    """One image of a figure as the contents of its files."""

    name: str
    """Name of the figure."""
    title: str
    caption: str
    dataset: str = ""
    problem: str = ""
    svg: bytes = b""
    """Empty if the figure could not be drawn; the caption then states why."""
    png: bytes = b""

    @property
    def stem(self) -> str:
        """Return the key of the files without their extension."""
        return figure_stem(self.name, self.dataset, self.problem)

    @property
    def files(self) -> dict[str, bytes]:
        """Return the contents of the files by their keys in the run directory."""
        return {f"{self.stem}.svg": self.svg, f"{self.stem}.png": self.png} if self.svg else {}


def render_figures(results: Results, png: bool = True) -> Iterator[Rendered]:
    """Draw all registered figures, in the order of the registry.

    An error in a figure does not stop the run: it is logged, and shown as the caption of the figure.

    Parameters
    ----------
    png
        Whether to make PNG files too; the report needs only SVG.
    """
    with style():
        for name, figure in FIGURES.items():
            try:
                for drawing in figure.draw(results.first(figure.max_problems)):
                    yield _render(name, drawing, png)
            except (ArithmeticError, LookupError, TypeError, ValueError) as error:
                log.warning("the figure %s could not be drawn", name, exc_info=error)
                yield Rendered(name, name, f"This figure could not be drawn: {type(error).__name__}: {error}")


def _render(name: str, drawing: Drawing, png: bool) -> Rendered:
    return Rendered(
        name,
        drawing.title,
        drawing.caption,
        drawing.dataset,
        drawing.problem,
        svg_bytes(drawing.image),
        png_bytes(drawing.image) if png else b"",
    )


def png_bytes(image: "Figure") -> bytes:
    """Return an image as PNG, without the version of the library in its metadata."""
    target = io.BytesIO()
    image.savefig(target, format="png", dpi=PIXELS_PER_INCH, metadata={"Software": None})
    return target.getvalue()


def svg_bytes(image: "Figure") -> bytes:
    """Return an image as SVG, without date, comments, unused identifiers and superfluous digits."""
    target = io.BytesIO()
    image.savefig(target, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    return compact_svg(target.getvalue().decode()).encode()


def compact_svg(text: str) -> str:
    """Return a smaller SVG that looks the same, with at most two decimals and without unused groups and identifiers.

    >>> compact_svg('<g id="line_1"><path id="m1" d="M 1.23456 2 "/> <!-- x --> <use href="#m1"/></g>')
    '<path id="m1" d="M 1.23 2"/><use href="#m1"/>'
    """
    text = METADATA.sub("", COMMENT.sub("", DOCTYPE.sub("", text)))
    used = set(REFERENCE.findall(text))
    text = IDENTIFIER.sub(lambda found: found[0] if found[1] in used else "", text)
    text = TAG.sub(_compact_tag, NO_ROTATION.sub("", text))
    return _without_plain_groups(SPACE.sub("><", text))


def _compact_tag(tag: re.Match[str]) -> str:
    return LONG_NUMBER.sub(r"\1", " ".join(tag[0].split())).replace(' "', '"')


def _without_plain_groups(text: str) -> str:
    """Remove the tags of groups without attributes; their contents are kept."""
    are_kept: list[bool] = []

    def replaced(tag: re.Match[str]) -> str:
        if tag[0] == "</g>":
            return tag[0] if are_kept.pop() else ""
        are_kept.append(tag[0] != "<g>")
        return tag[0] if are_kept[-1] else ""

    return GROUP.sub(replaced, text)
