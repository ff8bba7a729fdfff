"""Read code blocks, headings and links of Markdown pages."""

import re
import shlex
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from tests.helpers.build import PROJECT

FOLDERS = (".github", "cluster", "configs", "pipeline", "tasks", "tests")
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")


@dataclass(frozen=True)
class Block:
    """A fenced block of code, and its language."""

    language: str
    text: str

    def commands(self) -> list[list[str]]:
        """Return the words of each command line of a shell block, without comments."""
        return [words for line in self.text.splitlines() if (words := shlex.split(line, comments=True))]


def pages() -> list[Path]:
    """Return all pages of this project, relative to its folder."""
    found = [*PROJECT.glob("*.md"), *(path for folder in FOLDERS for path in (PROJECT / folder).rglob("*.md"))]
    return sorted(path.relative_to(PROJECT) for path in found)


def blocks(page: str | Path, language: str | None = None) -> list[Block]:
    """Return the fenced blocks of a page, or those in one language."""
    found = [Block(*match) for match in FENCE.findall((PROJECT / page).read_text())]
    return [block for block in found if language in (None, block.language)]


def prose(page: str | Path) -> str:
    """Return a page without its fenced blocks."""
    return FENCE.sub("", (PROJECT / page).read_text())


def links(page: str | Path) -> list[str]:
    """Return the targets of all links and images of a page."""
    return LINK.findall(re.sub(r"`[^`\n]*`(?!\])", "", prose(page)))


def anchors(page: str | Path) -> set[str]:
    """Return the anchors that the usual hosts create for the headings of a page."""
    seen, found = Counter[str](), set()
    for heading in re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE):
        text = LINK.sub(lambda match: match[0].split("](")[0].lstrip("!["), heading)
        slug = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
        found.add(f"{slug}-{seen[slug]}" if seen[slug] else slug)
        seen[slug] += 1
    return found
