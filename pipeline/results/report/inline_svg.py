"""Prepare SVG images for a page that contains several of them and has a light and a dark appearance."""

import re

from kernel_pipeline.results.figures import style

COLOURS = {
    style.PAPER: "paper",
    style.INK: "ink",
    style.MUTED: "muted",
    style.GRID: "grid",
    style.BLUE: "blue",
    style.VERMILLION: "vermillion",
    style.GREEN: "green",
    style.PURPLE: "purple",
    style.ORANGE: "orange",
    style.SKY: "sky",
    style.SLATE: "slate",
}
"""Names of the colours of figures in the style sheet, which has other values for them on a dark page."""
COLOUR = re.compile("|".join(COLOURS))
IDENTIFIER = re.compile(r'( id="|href="#|url\(#)')
OWN_STYLE = re.compile(r"<defs><style[^>]*>[^<]*</style></defs>")
"""Global style of an image, which would apply to the whole page; the style sheet of the page contains it."""
PROLOGUE = re.compile(r"^.*?(?=<svg\b)", re.DOTALL)
STYLE = re.compile(r' style="([^"<>{}]*)"')
ROOT = re.compile(r"<svg\b[^>]*>")
VIEW_BOX = re.compile(r'viewBox="[^"]*"')


class SharedStyles:
    """CSS classes that replace the inline styles of all images of a page, most of which occur very often.

    >>> styles = SharedStyles()
    >>> styles.replace('<g style="fill: red"/><g style="fill: red"/>')
    '<g class="s0"/><g class="s0"/>'
    >>> styles.sheet
    '.s0{fill: red}'
    """

    def __init__(self) -> None:
        self._classes: dict[str, str] = {}

    def replace(self, svg: str) -> str:
        """Return an image with classes instead of styles."""
        return STYLE.sub(lambda found: f' class="{self._class(found[1])}"', svg)

    @property
    def sheet(self) -> str:
        """Return the definitions of all classes."""
        return "\n".join(f".{name}{{{text}}}" for text, name in self._classes.items())

    def _class(self, text: str) -> str:
        return self._classes.setdefault(text, f"s{len(self._classes)}")


def inline_svg(svg: bytes, prefix: str) -> str:
    """Return an SVG image for a page: unique identifiers, and colours and fonts of the page.

    Parameters
    ----------
    prefix
        Text before all identifiers of the image, unique on the page.

    >>> inline_svg(b'<?xml ?><svg width="9pt" viewBox="0 0 9 9"><g id="a" style="fill: #23282d"/></svg>', "one-")
    '<svg viewBox="0 0 9 9" aria-hidden="true"><g id="one-a" style="fill: var(--ink)"/></svg>'
    """
    text = PROLOGUE.sub("", svg.decode(), count=1)
    box = VIEW_BOX.search(text)
    # The description of an image is the caption next to it.
    text = ROOT.sub(f'<svg {box[0] if box else ""} aria-hidden="true">', text, count=1)
    text = OWN_STYLE.sub("", text).replace("xlink:href", "href").replace("'DejaVu Sans'", "var(--sans)")
    text = IDENTIFIER.sub(rf"\g<1>{prefix}", text)
    return COLOUR.sub(lambda found: f"var(--{COLOURS[found[0]]})", text).strip()
