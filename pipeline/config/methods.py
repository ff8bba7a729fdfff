"""Define the methods of a config: a name, or a table with the name and the parameters of the method."""

from typing import Annotated, Any

from pydantic import GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError

from kernel_pipeline.config.parameter_models import Tagged
from kernel_pipeline.config.registry_fields import alternatives
from kernel_pipeline.tasks.weights.method import METHODS, Method


class NameOrTable(Tagged):
    """Annotation of a pydantic field for a registered method.

    A name without a table is the method with the default values of its parameters.
    """

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Return the JSON schema of all methods that are registered now."""
        names = {"enum": list(self.registry), "type": "string"}
        tables = [handler(self._model(name).__pydantic_core_schema__) for name in self.registry if self._has_keys(name)]
        return {"anyOf": [names, *tables]}

    def parse(self, value: object) -> Any:
        """Return the method that a name or a table describes; a method is returned unchanged."""
        if isinstance(value, Method):
            return value
        if not isinstance(value, dict):
            if value not in list(self.registry):
                known = {"expected": alternatives(self.registry)}
                raise PydanticCustomError("method_name", "must be {expected}, or a table", known)
            value = {self.tag: value}
        return super().parse(value)

    def dump(self, value: Any) -> Any:
        """Return the entry of a method in a config: its name if no parameter is set, otherwise a table."""
        table = super().dump(value)
        return table if len(table) > 1 else value.name

    def _has_keys(self, name: str) -> bool:
        return len(self._model(name).model_fields) > 1


MethodEntry = Annotated[Method, NameOrTable("method", METHODS)]
