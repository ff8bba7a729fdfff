"""Define the table `[fit]` of a config: grids of regularisation values, and settings of the fits.

The table has one entry per registered method with its own grids, so its model is built from the registry.
"""

from collections.abc import Sequence
from functools import cache
from itertools import product
from typing import Annotated, Any, Literal, Self

from pydantic import (
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    SerializationInfo,
    create_model,
    field_validator,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from kernel_pipeline.cluster.quantities import MemorySize
from kernel_pipeline.config.strict_model import StrictModel, refuse_sample_weights
from kernel_pipeline.tasks.metrics import METRICS
from kernel_pipeline.tasks.weights.method import METHODS, Method
from kernel_pipeline.tasks.weights.method import Grid as MethodGrid

PACKAGE = __name__.partition(".")[0]
# Regularisation beyond these exponents overflows or has no effect.
GridExponent = Annotated[int, Field(ge=-100, le=100)]


class Grid(StrictModel):
    """Regularisation values 2 ** (from..to)."""

    start: GridExponent = Field(alias="from", description="the smallest exponent")
    stop: GridExponent = Field(alias="to", description="the largest exponent")
    step: int = Field(2, ge=1, description="difference between consecutive exponents")

    @model_validator(mode="after")
    def _ascending(self) -> Self:
        if self.start > self.stop:
            raise ValueError(f"goes from {self.start} to {self.stop}; 'from' must not be above 'to'")
        return self

    def values(self, descending: bool = False) -> list[float]:
        """Return the values, in ascending order by default."""
        values = [2.0**exponent for exponent in range(self.start, self.stop + 1, self.step)]
        return values[::-1] if descending else values


def make_grid(start: int, stop: int, step: int = 2) -> Grid:
    """Return a grid. `Grid(from=...)` is not valid Python, since `from` is a reserved word."""
    return Grid(**{"from": start, "to": stop, "step": step})


class Fit(StrictModel):
    """Regularisation paths for kernels scaled to trace one, and settings of the fits."""

    krr: Grid = Field(make_grid(-30, 0), description="ridge parameters of kernel ridge regression")
    svm: Grid = Field(make_grid(-4, 18), description="C of the support vector machine")
    class_weight: Literal["balanced"] | None = Field(
        None,
        description="'balanced': C of each class of a support vector machine is inversely proportional to its size",
    )
    memory: MemorySize = Field(
        "8 GiB",
        description="largest memory of a fit in one piece; a fit of a two-stage method that needs more (1.3 n^2 "
        "numbers for a ridge path of n training samples, 2.2 n^2 for a support vector machine) is solved in parts",
    )
    metric: str | None = Field(
        None,
        description="metric by which the regularisation value is chosen, and which is the error in the tables, such as "
        "'auc' or 'mae'; default: misclassification and rmse, which are also used for a task that the metric does not "
        "support",
    )

    refit: Literal["train", "train+validation"] = Field(
        "train",
        description="samples of the fit that is tested, at the chosen regularisation value: the training set, or the "
        "training and validation sets",
    )

    @model_validator(mode="before")
    @classmethod
    def _no_sample_weights(cls, data: object) -> object:
        return refuse_sample_weights(data)

    @field_validator("metric")
    @classmethod
    def _check_metric(cls, value: str | None) -> str | None:
        if value is not None and value not in METRICS:
            raise ValueError(METRICS.unknown_message(value))
        if value is not None and METRICS[value].needs_probabilities:
            raise ValueError(
                f"{value!r} requires predicted probabilities, which no method provides; choose another metric"
            )
        return value

    def metric_name(self, problem: str) -> str:
        """Return the metric by which the regularisation value is chosen; empty for the primary one of the problem."""
        return self.metric if self.metric and problem in METRICS[self.metric].problems else ""

    @property
    def has_final_fit(self) -> bool:
        """Return whether cells are fitted again with the chosen value, to the training and validation samples."""
        return self.refit == "train+validation"

    def class_weights(self, problem: str) -> str | None:
        """Return the weights of the classes for a problem; None if they are equal or there are no classes."""
        return self.class_weight if problem == "classification" else None

    def grids(self, problem: str, method: Method) -> dict[str, Grid]:
        """Return the grids of a method for a problem by their dotted keys, as in `--set`.

        The last one has the regularisation values; the others are further parameters of a method with its own grids.
        """
        if not method.grids:
            return {"fit.krr": self.krr} if problem == "regression" else {"fit.svm": self.svm}
        keys = (f"fit.{method.name}.{grid.name}".rstrip(".") for grid in method.grids)
        return dict(zip(keys, self._own_grids(method), strict=True))

    def path(self, problem: str, method: Method | None = None) -> list[tuple[float, ...]]:
        """Return the values of a method for a problem, from the most to the least regularised.

        Parameters
        ----------
        method
            For a method with its own grids, all combinations of their values are returned; the last grid varies
            fastest. A method without regularisation has one fit without values.
        """
        if method is not None and not method.is_regularised:
            return [()]
        if method is None or not method.grids:
            values = self.krr.values(descending=True) if problem == "regression" else self.svm.values()
            return [(value,) for value in values]
        directions = [grid.descending for grid in method.grids]
        own = zip(self._own_grids(method), directions, strict=True)
        return list(product(*(grid.values(down) for grid, down in own)))

    def _own_grids(self, method: Method) -> list[Grid]:
        """Return the grids of a method that has its own."""
        own = getattr(self, _attribute(method.name))
        return [getattr(own, _attribute(grid.name)) if grid.name else own for grid in method.grids]

    def unused_extensions(self, used: Sequence[Method]) -> list[str]:
        """Return the keys of methods from outside this package that a sweep does not use.

        They are left out of the resolved config: registering a method must not change the configs of other sweeps.
        """
        names = {method.name for method in used}
        return [
            name
            for name, method in METHODS.items()
            if method.grids and name not in names and method.__module__.partition(".")[0] != PACKAGE
        ]

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the values only: the class is built from the registry."""
        return _parse_fit, (self.model_dump(by_alias=True),)


def _attribute(key: str) -> str:
    """Return the attribute of a model for a key of a config; the prefix prevents conflicts with other attributes."""
    return f"grid_{key.replace('-', '_')}"


def fit_model() -> type[Fit]:
    """Return the model of `[fit]` with the grids of all methods that are registered now."""
    return _fit_model(tuple(method for method in METHODS.values() if method.grids))


@cache
def _fit_model(with_grids: tuple[type[Method], ...]) -> type[Fit]:
    fields: dict[str, Any] = {_attribute(method.name): _grid_field(method) for method in with_grids}
    return create_model("Fit", __base__=Fit, __doc__=Fit.__doc__, **fields)


def _grid_field(method: type[Method]) -> tuple[Any, Any]:
    """Return the type of a method's entry, and its default and description: one grid, or a table of named grids."""
    first = method.grids[0]
    if not first.name:
        return Grid, Field(_default(first), alias=method.name, description=first.description)
    grids: dict[str, Any] = {
        _attribute(grid.name): (Grid, Field(_default(grid), alias=grid.name, description=grid.description))
        for grid in method.grids
    }
    docstring = f"The grids of {method.name}; every combination of their values is tried."
    table = create_model(f"{method.__name__}Grid", __base__=StrictModel, __doc__=docstring, **grids)
    return table, Field(table(), alias=method.name, description=f"the grids of {method.name}")


def _default(grid: MethodGrid) -> Grid:
    return make_grid(grid.start, grid.stop, grid.step)


def _parse_fit(value: object) -> Fit:
    return value if isinstance(value, Fit) else fit_model().model_validate(value)


class _FitTable:
    """Annotation of the pydantic field for the table `[fit]`."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        dump = core_schema.plain_serializer_function_ser_schema(_dump, info_arg=True)
        return core_schema.no_info_plain_validator_function(_parse_fit, serialization=dump)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        model = fit_model()
        return handler(model.__pydantic_core_schema__) | {"default": model().model_dump(by_alias=True)}


def _dump(fit: Fit, info: SerializationInfo) -> dict[str, Any]:
    return fit.model_dump(by_alias=info.by_alias, exclude_none=info.exclude_none)


FitTable = Annotated[Fit, _FitTable()]
