"""Read an HTML page: its elements, texts, identifiers and links."""

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "link", "br", "img", "input", "hr"}


@dataclass
class HtmlPage(HTMLParser):
    """Elements of a page; reading fails if they are not nested properly."""

    text: str
    elements: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        HTMLParser.__init__(self)
        self._open: list[str] = []
        self.feed(self.text)
        self.close()
        assert not self._open, self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag, tag

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.texts.append(data.strip())

    def values(self, name: str) -> list[str]:
        """Return all values of an attribute."""
        return [value for _, attributes in self.elements if (value := attributes.get(name)) is not None]

    def count(self, tag: str) -> int:
        """Return the number of elements with a tag."""
        return sum(found == tag for found, _ in self.elements)


def sections(text: str) -> dict[str, str]:
    """Return the parts of a report from one top-level section to the next, by identifier."""
    names = ("result", "datasets", "notes", "failures", "fits", "run", "timings", "config")
    starts = {name: text.index(f'<section id="{name}"') for name in names if f'<section id="{name}"' in text}
    ends = [*list(starts.values())[1:], len(text)]
    found = {name: text[start:end] for (name, start), end in zip(starts.items(), ends, strict=True)}
    return {"head": re.split(r'<section id="', text)[0], **found}
