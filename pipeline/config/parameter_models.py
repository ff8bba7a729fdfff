"""Build strict models of registered dataclasses, which validate their entries in a config and describe its schema.

A dataclass that describes its fields with `tasks.parameters.parameter` needs no separate model.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import MISSING, Field, fields
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import pydantic
from pydantic import ConfigDict, GetCoreSchemaHandler, GetJsonSchemaHandler, ValidationError, create_model
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, InitErrorDetails, PydanticCustomError, core_schema

from kernel_pipeline.config.registry_fields import name_in
from kernel_pipeline.config.strict_model import StrictModel
from kernel_pipeline.tasks.parameters import ParameterError
from kernel_pipeline.tasks.plugins import PluginError
from kernel_pipeline.tasks.registry import Registry


class Tagged:
    """Annotation of a pydantic field that holds an instance of a registered dataclass.

    In a config, this is a table whose key `tag` is the name of an entry of the registry. The registry is read when a
    config is validated, so that entries that are registered later are accepted too.

    Parameters
    ----------
    tag
        The key that names the entry, such as "family".
    registry
        The dataclasses by name.
    shared
        A model with optional keys that the tables of all entries may have as well; `make` uses them. A parameter of
        the same name takes precedence.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from kernel_pipeline.tasks.parameters import parameter
    >>> @dataclass(frozen=True)
    ... class Circle:
    ...     radius: int = parameter("in mm", ge=0)
    >>> shape = pydantic.TypeAdapter(Annotated[object, Tagged("shape", {"circle": Circle})])
    >>> shape.validate_python({"shape": "circle", "radius": 2})
    Circle(radius=2)

    A parameter of type `tuple[T, ...]` is written as one value or as a list of values:

    >>> @dataclass(frozen=True)
    ... class Rings:
    ...     radii: tuple[float, ...] = parameter("in mm", gt=0)
    >>> rings = pydantic.TypeAdapter(Annotated[object, Tagged("shape", {"rings": Rings})])
    >>> rings.validate_python({"shape": "rings", "radii": 2})
    Rings(radii=(2.0,))
    """

    def __init__(self, tag: str, registry: Mapping[str, type[Any]], shared: type[StrictModel] = StrictModel) -> None:
        self.tag = tag
        self.registry = registry
        self.shared = shared

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return the schema by which pydantic validates and dumps a field."""
        dump = core_schema.plain_serializer_function_ser_schema(self.dump)
        return core_schema.no_info_plain_validator_function(self.parse, serialization=dump)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Return the JSON schema of all entries that are registered now."""
        choices = {}
        for name in self.registry:
            with suppress(PluginError):  # a broken plug-in is reported only if it is used
                choices[name] = self._model(name).__pydantic_core_schema__
        return handler(core_schema.tagged_union_schema(choices, discriminator=self.tag))

    def parse(self, value: object) -> Any:
        """Return the dataclass instance that a table describes; an instance is returned unchanged."""
        if not isinstance(value, dict) and type(value) in self._loaded().values():
            return value
        name = name_in(value, self.tag, self.registry)
        model = self._model(name).model_validate(value)
        kind = self.registry[name]
        try:
            return self.make(kind, model)
        except ParameterError as error:
            raise at_field(error, getattr(model, error.name)) from None

    def make(self, kind: type[Any], model: StrictModel) -> Any:
        """Return the instance for a validated table."""
        return kind(**{field.name: getattr(model, field.name) for field in fields(kind)})

    def dump(self, value: Any) -> dict[str, Any]:
        """Return the table of an instance in a config, without parameters that are not set."""
        name = next(name for name, kind in self._loaded().items() if kind is type(value))
        parameters = {field.name: getattr(value, field.name) for field in fields(value)}
        return {self.tag: name} | {key: inner for key, inner in parameters.items() if inner is not None}

    def _loaded(self) -> Mapping[str, type[Any]]:
        """Return the entries except plug-ins that were not imported, of which no instances can exist."""
        return self.registry.loaded() if isinstance(self.registry, Registry) else self.registry

    def _model(self, name: str) -> type[StrictModel]:
        kind: Any = self.registry[name]
        return _strict_model(kind, self.tag, name, self.shared)


class _ParameterModel(StrictModel):
    """A strict model whose numbers are finite."""

    model_config = ConfigDict(allow_inf_nan=False)


@cache
def _strict_model(kind: Any, tag: str, name: str, shared: type[StrictModel]) -> type[StrictModel]:
    """Return a closed, strict model with a tag of a fixed value, the parameters of a dataclass and shared keys."""
    types = get_type_hints(kind)
    keys: dict[str, Any] = {tag: (Literal[name], ...)}
    keys |= {field.name: _typed(types[field.name], field) for field in fields(kind)}
    keys |= {key: (field.annotation, field) for key, field in shared.model_fields.items() if key not in keys}
    return create_model(kind.__name__, __base__=_ParameterModel, __doc__=kind.__doc__, **keys)


def _typed(kind: Any, field: Field[Any]) -> tuple[Any, Any]:
    """Return the type of a field of a model, and its default and description."""
    bounds = {key: field.metadata[key] for key in ("gt", "ge", "le") if field.metadata.get(key) is not None}
    default = ... if field.default is MISSING else field.default
    return _bounded(kind, bounds), pydantic.Field(default, description=field.metadata.get("description"))


def _bounded(kind: Any, bounds: dict[str, Any]) -> Any:
    """Add bounds to the numbers of a type, including those in tuples and unions."""
    parts = get_args(kind)
    if kind in (int, float):
        return Annotated[kind, pydantic.Field(**bounds)]
    if get_origin(kind) in (Union, UnionType):
        single = any(part is not NoneType and get_origin(part) is not tuple for part in parts)
        return Union[tuple((_alternative if single else _bounded)(part, bounds) for part in parts)]  # noqa: UP007
    if get_origin(kind) is not tuple:
        return kind
    if parts[-1] is ...:
        return _one_or_many(_bounded(parts[0], bounds))
    items = tuple(_bounded(part, bounds) for part in parts)
    # Not strict, since TOML has lists but no tuples; the items are strict.
    return Annotated[tuple.__class_getitem__(items), pydantic.Field(strict=False)]


def _alternative(kind: Any, bounds: dict[str, Any]) -> Any:
    """Add bounds to a member of a union that also contains the type of a single value."""
    item, *rest = get_args(kind) or (kind,)
    if get_origin(kind) is tuple and rest == [...]:
        bounded: Any = _bounded(item, bounds)
        return Annotated[tuple[bounded, ...], pydantic.Field(strict=False)]
    return _bounded(kind, bounds)


def _one_or_many(item: Any) -> Any:
    """Return a type that accepts one value or a list of values; both become a tuple."""
    many = Annotated[tuple[item, ...], pydantic.Field(strict=False, min_length=1), pydantic.Tag("list")]
    return Annotated[
        Annotated[item, pydantic.Tag("value")] | many,
        pydantic.Discriminator(lambda value: "list" if isinstance(value, list | tuple) else "value"),
        pydantic.AfterValidator(lambda value: value if isinstance(value, tuple) else (value,)),
    ]


def at_field(error: ParameterError, value: object) -> ValidationError:
    """Return a pydantic error that is located at one parameter, which has this value."""
    what = PydanticCustomError("value_error", "{message}", {"message": error.message})
    details = InitErrorDetails(type=what, loc=(error.name,), input=value)
    return ValidationError.from_exception_data(error.name, [details])
