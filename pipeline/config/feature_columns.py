"""Define the feature columns of a dataset, to which the views of a config refer."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Self

from kernel_pipeline.text import printable


@dataclass(frozen=True)
class FeatureColumns:
    """Names of the feature columns, and the source columns from which they were derived.

    Examples
    --------
    A table with the columns `age`, `died` (the target) and `color`, which is text:

    >>> columns = FeatureColumns.of(["age", "color_green", "color_red"], ["age", "color", "color"], [0, 2, 2])
    >>> columns.named("color"), columns.numbered(2), columns.numbered(0)
    ([1, 2], [1, 2], [0])
    """

    names: tuple[str, ...]
    sources: tuple[str, ...] = ()
    """Name of the source column of each feature; empty if these are the names of the features."""
    numbers: tuple[int, ...] = ()
    """Number of the source column of each feature, counted as in `target` and `drop`; empty for 0, 1, 2, ..."""

    @classmethod
    def of(cls, names: Sequence[str], sources: Sequence[Hashable], numbers: Sequence[int]) -> Self:
        """Return feature columns; control characters in names are escaped."""
        own, origin = (tuple(printable(str(name)) for name in texts) for texts in (names, sources))
        in_order = tuple(numbers) == tuple(range(len(own)))
        return cls(own, () if origin == own else origin, () if in_order else tuple(numbers))

    def named(self, name: str) -> list[int]:
        """Return the indices of the features with this name.

        If there are none, return those of the features derived from the source column with this name.
        """
        found = [index for index, known in enumerate(self.names) if known == name]
        return found or [index for index, known in enumerate(self.sources) if known == name]

    def numbered(self, number: int) -> list[int]:
        """Return the indices of the features that were derived from a source column."""
        if not self.numbers:
            return [number] if 0 <= number < len(self.names) else []
        return [index for index, known in enumerate(self.numbers) if known == number]

    def to_json(self) -> dict[str, Any]:
        """Return the fields for JSON, without those that are empty."""
        fields = {"names": self.names, "sources": self.sources, "numbers": self.numbers}
        return {key: list(value) for key, value in fields.items() if value or key == "names"}

    @classmethod
    def from_json(cls, values: object) -> Self:
        """Return the columns from the output of `to_json`.

        Raises
        ------
        ValueError
            If the values do not have this form.
        """
        if not isinstance(values, dict) or not {"names"} <= values.keys() <= {"names", "sources", "numbers"}:
            raise ValueError("features is not a table of names, sources and numbers")
        names, sources, numbers = (values.get(key, []) for key in ("names", "sources", "numbers"))
        for key, texts in (("names", names), ("sources", sources)):
            if not isinstance(texts, list | tuple) or not all(isinstance(text, str) for text in texts):
                raise ValueError(f"features.{key} is not a list of strings")
        if not isinstance(numbers, list | tuple) or not all(type(number) is int and number >= 0 for number in numbers):
            raise ValueError("features.numbers is not a list of non-negative integers")
        if len(sources) not in (0, len(names)) or len(numbers) not in (0, len(names)):
            raise ValueError("features has lists of different lengths")
        return cls(tuple(map(printable, names)), tuple(map(printable, sources)), tuple(numbers))
