"""Define field types of a config whose allowed values are the entries of a registry.

The registry is read when a value is validated or when a JSON schema is generated, not when a model is defined, so that
entries that are registered later are allowed as well.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticKnownError, core_schema

from kernel_pipeline.tasks.registry import Registry


@dataclass(frozen=True)
class NameIn:
    """Annotation of a string that must be the name of an entry, as in `Annotated[str, NameIn(FORMATS)]`."""

    registry: Registry[Any]

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return the schema by which pydantic validates the field."""
        return core_schema.no_info_before_validator_function(self._check, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Return the JSON schema: one of the names that are registered now."""
        return {"enum": list(self.registry), "type": "string"}

    def _check(self, value: object) -> object:
        if value not in list(self.registry):
            raise PydanticKnownError("literal_error", {"expected": alternatives(self.registry)})
        return value


@dataclass(frozen=True)
class ModelIn:
    """Annotation of a table that one of the models of a registry validates; one of its keys names the model.

    Parameters
    ----------
    registry
        Models by name.
    key
        Key of the table whose value is the name, such as `source`.
    """

    registry: Registry[Any]
    key: str

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return the schema by which pydantic validates the field, and dumps it with all fields of its own model."""
        dump = core_schema.wrap_serializer_function_ser_schema(
            lambda value, serialize: serialize(value), schema=core_schema.any_schema()
        )
        return core_schema.no_info_plain_validator_function(self._validate, serialization=dump)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Return the JSON schema: one of the models that are registered now."""
        choices = {name: model.__pydantic_core_schema__ for name, model in self.registry.items()}
        return handler(core_schema.tagged_union_schema(choices, discriminator=self.key))

    def _validate(self, value: object) -> BaseModel:
        if isinstance(value, BaseModel) and isinstance(value, tuple(self.registry.values())):
            return value
        validated: BaseModel = self.registry[name_in(value, self.key, self.registry)].model_validate(value)
        return validated


def name_in(table: object, key: str, registry: Mapping[str, object]) -> str:
    """Return the name of the entry that a table of a config names.

    Parameters
    ----------
    table
        Value of the config, which should be a table.
    key
        Key of the table that holds the name, such as `source`.
    registry
        Entries by name.

    Raises
    ------
    PydanticKnownError
        If the value is not a table, the table lacks the key, or there is no entry of this name.
    """
    if not isinstance(table, dict):
        raise PydanticKnownError("model_type", {"class_name": key})
    if key not in table:
        raise PydanticKnownError("union_tag_not_found", {"discriminator": repr(key)})
    names = list(registry)  # a list, since the value of a config may not be hashable
    if table[key] not in names:
        known = ", ".join(map(repr, names))
        context = {"discriminator": repr(key), "tag": str(table[key]), "expected_tags": known}
        raise PydanticKnownError("union_tag_invalid", context)
    return str(table[key])


def alternatives(names: Iterable[str]) -> str:
    """Return the names for an error message.

    >>> alternatives(["csv", "arff", "npz"])
    "'csv', 'arff' or 'npz'"
    """
    *most, last = map(repr, names)
    return f"{', '.join(most)} or {last}" if most else last
