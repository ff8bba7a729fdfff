"""Methods, as a config writes them: a name, or a table with the name and the method's parameters."""

from typing import Annotated, Any

from pydantic import GetJsonSchemaHandler, ValidationError
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, InitErrorDetails, PydanticCustomError

from kernel_pipeline.config.parameter_models import Tagged
from kernel_pipeline.tasks.weights.method import METHODS, Method

TAG = "method"


class NameOrTable(Tagged):
    """Annotation of a pydantic field that holds a method of the registry.

    A name alone stands for the method with the defaults of its parameters.
    """

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Return the JSON schema of all methods that are registered now."""
        names = {"enum": list(self.registry), "type": "string"}
        tables = [handler(self._model(name).__pydantic_core_schema__) for name in self.registry if self._has_keys(name)]
        return {"anyOf": [names, *tables]}

    def parse(self, value: object) -> Any:
        """Return the method that a name or a table describes; a method is returned as it is."""
        if isinstance(value, Method):
            return value
        if isinstance(value, dict):
            _check_name(value, self._known())
            return super().parse(value)
        if not isinstance(value, str) or value not in self.registry:
            raise PydanticCustomError("method_name", "must be {known}, or a table", {"known": self._known()})
        return super().parse({TAG: value})

    def dump(self, value: Any) -> Any:
        """Return what a config writes for a method: its name where no parameter is set, else a table."""
        table = super().dump(value)
        return table if len(table) > 1 else value.name

    def _has_keys(self, name: str) -> bool:
        return len(self._model(name).model_fields) > 1

    def _known(self) -> str:
        *most, last = map(repr, self.registry)
        return f"{', '.join(most)} or {last}"


def _check_name(table: dict[str, Any], known: str) -> None:
    """Refuse a table whose key `method` is missing or names no method."""
    if TAG not in table:
        details = InitErrorDetails(type="missing", loc=(TAG,), input=table)
    elif table[TAG] not in list(METHODS):
        unknown = PydanticCustomError("method_name", "must be {known}", {"known": known})
        details = InitErrorDetails(type=unknown, loc=(TAG,), input=table[TAG])
    else:
        return
    raise ValidationError.from_exception_data(TAG, [details])


MethodEntry = Annotated[Method, NameOrTable(TAG, METHODS)]
