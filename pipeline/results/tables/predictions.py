"""`predictions`: predictions of the chosen fit of every cell for its validation and test samples, as parquet."""

from collections.abc import Iterator, Sequence
from itertools import groupby

import numpy as np
import pandas as pd

from kernel_pipeline.plan.dataset_plan import DatasetPlan
from kernel_pipeline.results.columns import columns
from kernel_pipeline.results.context import TableContext, concatenate
from kernel_pipeline.results.predictions import CellPredictions, dataset_predictions
from kernel_pipeline.results.table import Table, register
from kernel_pipeline.tasks.labels import class_names

DECISION = "decision"


class Predictions(Table):
    """One row per cell and held-out sample, and per output if a regression has several; one row group per method."""

    name = "predictions"
    main_format = "parquet"
    columns = columns(
        "dataset",
        "task",
        "method",
        "repeat",
        "trial",
        "role",
        "row",
        "output",
        "true",
        "prediction",
        DECISION,
        f"{DECISION}_<class>",
    )
    optional = ("output", DECISION, f"{DECISION}_<class>")

    def rows(self, context: TableContext) -> Iterator[pd.DataFrame]:
        datasets = context.plan.datasets
        extra = decision_columns(datasets)
        if any(dataset.info.outputs for dataset in datasets):
            extra = ["output", *extra]
        for dataset in datasets:
            found = dataset_predictions(context, dataset)
            for _, parts in groupby(found, key=lambda part: part.cell.task.method_key):
                frames = [prediction_frame(dataset, part) for part in parts]
                yield _with_columns(concatenate(frames), extra)


def decision_columns(datasets: Sequence[DatasetPlan]) -> list[str]:
    """Return the names of the columns of decision values, for all datasets with classes."""
    with_classes = [dataset for dataset in datasets if "classification" in dataset.problems]
    one = [DECISION] if any(len(dataset.info.classes) <= 2 for dataset in with_classes) else []
    several = [
        name for dataset in with_classes if len(dataset.info.classes) > 2 for name in class_names(dataset.info.classes)
    ]
    return one + [f"{DECISION}_{name}" for name in dict.fromkeys(several)]


def prediction_frame(dataset: DatasetPlan, found: CellPredictions) -> pd.DataFrame:
    """Return the rows of one cell; its decision columns are only those of its own dataset."""
    keys = {**found.cell.key, "role": found.roles, "row": found.rows}
    columns = found.labels.shape[1]
    if found.cell.task.problem == "regression":
        frames = [
            pd.DataFrame({**keys, "true": found.labels[:, column], "prediction": found.values[:, column]})
            for column in range(columns)
        ]
        named = zip(frames, dataset.info.outputs or ("",), strict=True)
        return concatenate([frame.assign(output=output) if output else frame for frame, output in named])
    true, predicted = found.classes()
    if columns == 1:
        signs = {"true": 2.0 * true - 1.0, "prediction": 2.0 * predicted - 1.0}
        return pd.DataFrame({**keys, **signs, DECISION: found.values[:, 0]})
    names = [f"{DECISION}_{name}" for name in class_names(dataset.info.classes)]
    decisions = dict(zip(names, found.values.T, strict=True))
    return pd.DataFrame({**keys, "true": true.astype(float), "prediction": predicted.astype(float), **decisions})


def _with_columns(frame: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """Add the columns that only other datasets have, as empty columns."""
    missing = {name: "" if name == "output" else np.nan for name in names if name not in frame}
    return frame.assign(**missing)


register(Predictions())
