"""Write models to files and read them, with skops: a file contains no code, and only listed types are created."""

import json
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from kernel_pipeline.errors import DataError, RefusedError, StorageError
from kernel_pipeline.models.model import FittedModel
from kernel_pipeline.models.trusted_types import PLAIN_TYPES, project_types
from kernel_pipeline.store.files import write_whole
from kernel_pipeline.tasks.kernels.family import GramFamily
from kernel_pipeline.tasks.kernels.guard import is_built_in
from kernel_pipeline.tasks.kernels.view import View

SCHEMA = "schema.json"
# A schema describes the structure of a model without its arrays.
MAX_SCHEMA_BYTES = 256 << 20
FORMAT = 1
"""Version of the structure of models."""


def save_model(model: FittedModel, path: Path) -> None:
    """Write a model to a file; an existing file is replaced atomically.

    Raises
    ------
    RefusedError
        If the model has kernels of another package, whose types cannot be trusted when the file is read.
    """
    import skops.io

    for family in getattr(getattr(model.predictor, "kernel", None), "families", ()):
        kind = _kind(family)
        if not is_built_in(kind):
            raise RefusedError(
                f"the model of {model.facts.dataset!r} cannot be saved: the kernel family {kind.__module__}."
                f"{kind.__qualname__} is not part of this package, and model files contain only types of this package. "
                "Use the model in Python, without saving it"
            )
    content = skops.io.dumps({"format": FORMAT, "model": model}, compression=zipfile.ZIP_DEFLATED)
    try:
        write_whole(path, content, sync=False)
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error.strerror}. Choose another file with --out") from None


def load_model(path: str | Path) -> FittedModel:
    """Read a model from a file.

    Only the types that `trusted_types` lists are created; a file with any other type is refused before anything is
    created.

    Raises
    ------
    DataError
        If the file does not exist or is not a model.
    RefusedError
        If it contains a type that no model contains.

    Examples
    --------
    >>> import kernel_pipeline as kp
    >>> kp.load_model("model.skops").predict(rows)  # doctest: +SKIP
    """
    import skops.io

    path = Path(path)
    allowed = _allowed()
    foreign = sorted({found for found in _types(_read_schema(path)) if found not in allowed})
    if foreign:
        raise RefusedError(
            f"{path} contains {', '.join(foreign[:5])}, which no model of this package contains. It was not read; use "
            "a file that `pipeline fit` wrote"
        )
    try:
        content = skops.io.load(path, trusted=sorted(allowed))
    except Exception as error:  # a damaged file causes exceptions of many types
        raise DataError(f"{path} is a damaged model: {type(error).__name__}: {error}") from None
    model = content.get("model") if isinstance(content, dict) else None
    if not isinstance(model, FittedModel) or content.get("format") != FORMAT:
        found = content.get("format") if isinstance(content, dict) else None
        raise DataError(
            f"{path} is not a model of format {FORMAT}, which this version reads (found {found!r}). Fit it again: "
            "`pipeline fit DIR --dataset D --method M --out FILE`"
        )
    return model


def _read_schema(path: Path) -> Any:
    """Return the description of the content of a file."""
    try:
        with zipfile.ZipFile(path) as archive:
            if archive.getinfo(SCHEMA).file_size > MAX_SCHEMA_BYTES:
                raise ValueError(f"its {SCHEMA} is larger than {MAX_SCHEMA_BYTES >> 20} MiB")
            return json.loads(archive.read(SCHEMA))
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror or error}") from None
    except (zipfile.BadZipFile, KeyError, ValueError, RecursionError) as error:
        raise DataError(
            f"{path} is not a model ({error}). Write one with `pipeline fit DIR --dataset D --method M --out FILE`"
        ) from None


def _types(schema: Any) -> Iterator[str]:
    """Yield the full names of all types that a schema names."""
    pending = [schema]
    while pending:
        node = pending.pop()
        if isinstance(node, dict):
            if "__class__" in node or "__module__" in node:
                yield f"{node.get('__module__')}.{node.get('__class__')}"
            pending += node.values()
        elif isinstance(node, list):
            pending += node


@cache
def _allowed() -> frozenset[str]:
    return frozenset(PLAIN_TYPES) | {f"{kind.__module__}.{kind.__qualname__}" for kind in project_types()}


def _kind(family: GramFamily) -> type[GramFamily]:
    return type(family.family) if isinstance(family, View) else type(family)
