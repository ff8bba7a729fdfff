"""Strict models of registered dataclasses: what a config may write for one of them, checked and described.

A dataclass that describes its fields with `tasks.parameters.parameter` needs no model of its own.
"""

from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from functools import cache
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import pydantic
from pydantic import ConfigDict, GetCoreSchemaHandler, GetJsonSchemaHandler, ValidationError, create_model
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, InitErrorDetails, PydanticCustomError, PydanticKnownError, core_schema

from kernel_pipeline.config.strict_model import StrictModel
from kernel_pipeline.tasks.parameters import ParameterError


class Tagged:
    """Annotation of a pydantic field that holds an instance of a registered dataclass.

    A config writes a table whose key `tag` names the entry of the registry. The registry is read when a config is
    validated, so that entries that are registered later are accepted too.

    Parameters
    ----------
    tag
        The key that names the entry, such as "family".
    registry
        The dataclasses by name.

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
    """

    def __init__(self, tag: str, registry: Mapping[str, type[Any]]) -> None:
        self.tag = tag
        self.registry = registry

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return the schema by which pydantic validates and dumps a field."""
        dump = core_schema.plain_serializer_function_ser_schema(self.dump)
        return core_schema.no_info_plain_validator_function(self.parse, serialization=dump)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Return the JSON schema of all entries that are registered now."""
        choices = {name: self._model(name).__pydantic_core_schema__ for name in self.registry}
        return handler(core_schema.tagged_union_schema(choices, discriminator=self.tag))

    def parse(self, value: object) -> Any:
        """Return the dataclass that a table describes; an instance of one is returned as it is."""
        if type(value) in self.registry.values():
            return value
        if not isinstance(value, dict):
            raise PydanticKnownError("model_type", {"class_name": self.tag})
        if self.tag not in value:
            raise PydanticKnownError("union_tag_not_found", {"discriminator": repr(self.tag)})
        name = value[self.tag]
        if name not in list(self.registry):
            known = ", ".join(map(repr, self.registry))
            context = {"discriminator": repr(self.tag), "tag": str(name), "expected_tags": known}
            raise PydanticKnownError("union_tag_invalid", context)
        model = self._model(name).model_validate(value)
        kind = self.registry[name]
        try:
            return kind(**{field.name: getattr(model, field.name) for field in fields(kind)})
        except ParameterError as error:
            raise _at_field(error, value) from None

    def dump(self, value: Any) -> dict[str, Any]:
        """Return the table that a config writes for an instance, without parameters that are not set."""
        name = next(name for name, kind in self.registry.items() if kind is type(value))
        parameters = {field.name: getattr(value, field.name) for field in fields(value)}
        return {self.tag: name} | {key: inner for key, inner in parameters.items() if inner is not None}

    def _model(self, name: str) -> type[StrictModel]:
        kind: Any = self.registry[name]
        return _strict_model(kind, self.tag, name)


class _ParameterModel(StrictModel):
    """A strict model whose numbers are finite."""

    model_config = ConfigDict(allow_inf_nan=False)


@cache
def _strict_model(kind: Any, tag: str, name: str) -> type[StrictModel]:
    """Return a closed, strict model with a tag of a fixed value and the parameters of a dataclass."""
    types = get_type_hints(kind)
    keys: dict[str, Any] = {tag: (Literal[name], ...)}
    keys |= {field.name: _typed(types[field.name], field) for field in fields(kind)}
    return create_model(kind.__name__, __base__=_ParameterModel, __doc__=kind.__doc__, **keys)


def _typed(kind: Any, field: Field[Any]) -> tuple[Any, Any]:
    """Return the type of a field of a model, and its default and description."""
    bounds: dict[str, Any] = {key: field.metadata[key] for key in ("ge", "le") if field.metadata.get(key) is not None}
    description = field.metadata.get("description")
    default = ... if field.default is MISSING else field.default
    if get_origin(kind) is not tuple:
        return kind, pydantic.Field(default, description=description, **bounds)
    items = tuple(item if item is ... else Annotated[item, pydantic.Field(**bounds)] for item in get_args(kind))
    # Not strict, since TOML has lists only; the items are.
    return tuple.__class_getitem__(items), pydantic.Field(default, description=description, strict=False)


def _at_field(error: ParameterError, value: dict[str, Any]) -> ValidationError:
    """Return an error of pydantic at the place of one parameter."""
    what = PydanticCustomError("value_error", "{message}", {"message": error.message})
    details = InitErrorDetails(type=what, loc=(error.name,), input=value.get(error.name))
    return ValidationError.from_exception_data(error.name, [details])
