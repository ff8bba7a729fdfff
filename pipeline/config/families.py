"""Define the kernel families of a config: tables whose key `family` is the name of a registered family.

Each table may also have the keys of a view: `columns`, `each` and `name`.
"""

import json
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import MISSING, dataclass, fields
from pathlib import PurePath
from typing import Annotated, Any, Literal

from pydantic import Field

from kernel_pipeline.cluster.strict_model import did_you_mean, nearest_name
from kernel_pipeline.config.parameter_models import Tagged, at_field
from kernel_pipeline.config.strict_model import Name, StrictModel
from kernel_pipeline.tasks.kernels.family import FAMILIES, ColumnFamily, Family, GramFamily
from kernel_pipeline.tasks.kernels.guard import check_declarations, named_errors
from kernel_pipeline.tasks.kernels.precomputed import PrecomputedFamily
from kernel_pipeline.tasks.parameters import ParameterError
from kernel_pipeline.tasks.plugins import PluginError
from kernel_pipeline.text import printable

ColumnKey = Annotated[int, Field(ge=0)] | Annotated[str, Field(min_length=1)]


class ViewKeys(StrictModel):
    """The keys that the tables of all families share."""

    columns: list[ColumnKey] | None = Field(
        None,
        min_length=1,
        description="feature columns to which the family is applied; default: all. A column is given by its name, "
        "which may be that of an encoded text column, by a pattern such as 'gene_*', by the number of its source "
        "column, from 0 as in 'target' and 'drop', or by a range of numbers such as '10-20', both ends included",
    )
    each: Literal["column"] | None = Field(
        None, description="'column' applies the family to each of the columns separately"
    )
    name: Name | None = Field(
        None, description="prefix of the names of the kernels, such as 'genes'; for precomputed kernels, their name"
    )


@dataclass(frozen=True)
class ViewSpec:
    """A family with the keys of a view, whose columns are resolved when the data are read."""

    family: Family
    columns: tuple[int | str, ...] | None = None
    each: Literal["column"] | None = None
    name: str | None = None

    def __post_init__(self) -> None:
        repeated = [column for column, count in Counter(self.columns or ()).items() if count > 1]
        if repeated:
            raise ParameterError("columns", f"{repeated[0]!r} is listed more than once")
        if self.each and self.family.is_per_column:
            raise ParameterError("each", "this family always has one kernel per column; remove this key")
        for key in ("columns", "each"):
            if not self.family.needs_features and getattr(self, key) is not None:
                raise ParameterError(
                    key, "precomputed kernels are read from a file and use no columns; remove this key"
                )

    @property
    def is_view(self) -> bool:
        """Whether this is a view: it chooses feature columns, names its kernels, or has one kernel per column."""
        given = (self.columns, self.each, self.name) != (None, None, None)
        return self.family.needs_features and (given or self.family.is_per_column)

    @property
    def is_per_column(self) -> bool:
        """Whether there is one kernel, or one family of kernels, per column."""
        return self.each is not None or self.family.is_per_column

    @property
    def prefix(self) -> str:
        """Prefix of the names of the kernels, with a colon; empty if there is none."""
        return f"{self.name}:" if self.name else ""


KernelEntry = Family | ViewSpec
"""Entry of `kernels`: a family, or a view if the entry has keys of a view."""


class FamilyOrView(Tagged):
    """Annotation of a field that holds a family or a view of one.

    If a parameter of a family has the same name as a key of a view, the parameter takes precedence.
    """

    def __init__(self) -> None:
        super().__init__("family", FAMILIES, shared=ViewKeys)

    def parse(self, value: object) -> Any:
        """Return the family or the view that a table describes; an instance is returned unchanged."""
        if isinstance(value, dict) and isinstance(name := value.get("family"), str) and name not in FAMILIES:
            allowed = ", ".join(map(repr, FAMILIES))
            found = f"must be one of {allowed}; got {name!r}.{did_you_mean(name, FAMILIES)}"
            missing = "A family of another package is available only if that package is installed"
            raise at_field(ParameterError("family", f"{found} {missing}"), name)
        return value if isinstance(value, ViewSpec) else super().parse(value)

    def make(self, kind: type[Any], model: StrictModel) -> Any:
        """Return the family or the view for a validated table."""
        with named_errors(kind):
            family = super().make(kind, model)
        if isinstance(family, GramFamily):
            check_declarations(family)
        own = {field.name for field in fields(kind)}
        keys = {key: getattr(model, key) for key in ViewKeys.model_fields if key not in own}
        given = {key: value for key, value in keys.items() if value is not None}
        if "columns" in given:
            given["columns"] = tuple(given["columns"])
        return ViewSpec(family, **given) if given else family

    def _model(self, name: str) -> type[StrictModel]:
        with named_errors(self.registry[name]):  # parameters of a plug-in may have types that configs do not support
            return super()._model(name)

    def dump(self, value: Any) -> dict[str, Any]:
        """Return the table of a family or a view in a config, without keys that are not set."""
        if not isinstance(value, ViewSpec):
            return super().dump(value)
        keys = {key: getattr(value, key) for key in ViewKeys.model_fields}
        return super().dump(value.family) | {key: inner for key, inner in keys.items() if inner is not None}


KernelField = Annotated[KernelEntry, FamilyOrView()]


def family_of(entry: KernelEntry) -> Family:
    """Return the family of an entry of `kernels`."""
    return entry.family if isinstance(entry, ViewSpec) else entry


def spec_of(entry: KernelEntry) -> ViewSpec:
    """Return an entry of `kernels` as a view; a family without the keys of a view becomes a view of all columns."""
    return entry if isinstance(entry, ViewSpec) else ViewSpec(entry)


def precomputed_families(entries: Sequence[KernelEntry]) -> list[PrecomputedFamily]:
    """Return the families among the entries of `kernels` that are read from files."""
    return [family for family in map(family_of, entries) if isinstance(family, PrecomputedFamily)]


def precomputed_name(entry: KernelEntry) -> str:
    """Return the name of the kernels of a precomputed family: its key `name`, or its file name without extension.

    >>> precomputed_name(PrecomputedFamily("kernels/string.npy"))
    'string'
    """
    family = family_of(entry)
    assert isinstance(family, PrecomputedFamily)
    return spec_of(entry).name or printable(PurePath(family.path).stem)


def example_table(value: object) -> str:
    """Return a table of a family in TOML, for messages about a value that should be a table or a list of tables.

    Parameters
    ----------
    value
        The given value; if it is the name of a family, or similar to one, or a table of a family, this one is used.

    Examples
    --------
    >>> example_table("gausian"), example_table({"family": "linear", "name": "x"}), example_table(3)
    ('{ family = "gaussian", gamma = "median" }', '{ family = "linear", ... }', '{ family = "..." }')
    """
    wanted = value.get("family") if isinstance(value, dict) else value
    name = nearest_name(wanted, FAMILIES) if isinstance(wanted, str) else None
    if name is None:
        return '{ family = "..." }'
    if isinstance(value, dict) and len(value) > 1:
        return f'{{ family = "{name}", ... }}'
    example: dict[str, Any] = {}
    required: set[str] = set()
    with suppress(PluginError):  # an error of a plug-in is reported when it is used
        kind: Any = FAMILIES[name]
        example = dict(kind.example)
        required = {field.name for field in fields(kind) if field.default is field.default_factory is MISSING}
    given = [f"{key} = {json.dumps(parameter)}" for key, parameter in ({"family": name} | example).items()]
    return f"{{ {', '.join(given)}{'' if required <= example.keys() else ', ...'} }}"


def requested_kinds(entries: Sequence[KernelEntry]) -> list[str]:
    """Return the kinds of columns that the entries of `kernels` with one kernel per column use, each once.

    >>> from kernel_pipeline.tasks.kernels.rank_one_family import RankOneFamily
    >>> requested_kinds([RankOneFamily("bigrams"), ViewSpec(RankOneFamily(("unigrams", "bigrams")), name="words")])
    ['bigrams', 'unigrams']
    """
    families = [family for family in map(family_of, entries) if isinstance(family, ColumnFamily)]
    return list(dict.fromkeys(kind for family in families for kind in family.choice().kinds))


def known_names(entries: Sequence[KernelEntry]) -> list[str]:
    """Return the names of all kernels that are known before data are read; for kernels of a file, their prefix."""
    names: list[str] = []
    for entry in entries:
        spec = spec_of(entry)
        if not spec.family.needs_features:
            names.append(precomputed_name(entry))
        elif not spec.is_per_column:
            names += [spec.prefix + name for name in spec.family.gram_family().names()]
    return names


def check_distinct(names: Sequence[str]) -> None:
    """Check that all kernels of a dataset have different names.

    Raises
    ------
    ValueError
        If two have the same name.
    """
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise ValueError(
            f"{repeated[0]!r} is listed more than once. If these are different kernels, set 'name' of one of the "
            "families, such as name = 'genes', which becomes the prefix of the names of its kernels"
        )
