"""Field types of a config whose allowed values are the entries of a registry.

The registry is read when a value is validated or when a JSON schema is generated, not when a model is defined, so that
entries that are registered later are allowed as well.
"""

from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticKnownError, core_schema

from kernel_pipeline.tasks.registry import Registry


@dataclass(frozen=True)
class NameIn:
    """Annotation of a text that must be the name of an entry, as in `Annotated[str, NameIn(FORMATS)]`."""

    registry: Registry[Any]

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return the schema by which pydantic validates the field."""
        return core_schema.no_info_before_validator_function(self._check, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Return the JSON schema: one of the names that are registered now."""
        return {"enum": list(self.registry), "type": "string"}

    def _check(self, value: object) -> object:
        if value not in list(self.registry):
            *names, last = map(repr, self.registry)
            expected = f"{', '.join(names)} or {last}" if names else last
            raise PydanticKnownError("literal_error", {"expected": expected})
        return value


@dataclass(frozen=True)
class ModelIn:
    """Annotation of a table that one of the models of a registry validates; one of its keys names the model.

    Parameters
    ----------
    registry
        Models by name.
    key
        Key of the table that holds the name, such as `source`.
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
        if not isinstance(value, dict):
            raise PydanticKnownError("model_type", {"class_name": self.registry.kind})
        if self.key not in value:
            raise PydanticKnownError("union_tag_not_found", {"discriminator": repr(self.key)})
        tag = value[self.key]
        if tag not in list(self.registry):
            expected = ", ".join(map(repr, self.registry))
            found = {"discriminator": repr(self.key), "tag": str(tag), "expected_tags": expected}
            raise PydanticKnownError("union_tag_invalid", found)
        validated: BaseModel = self.registry[tag].model_validate(value)
        return validated
