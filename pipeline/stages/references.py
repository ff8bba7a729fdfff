"""Fits stage: fit the cells of reference methods, which use no base kernels."""

from dataclasses import dataclass, replace
from typing import ClassVar

from kernel_pipeline.stages.cell_results import Alignments, CellResult
from kernel_pipeline.stages.cells import NO_RESULT, failed
from kernel_pipeline.stages.final_fits import FinalFitTask
from kernel_pipeline.stages.rank_one import column_inputs, read_columns
from kernel_pipeline.stages.task import Output
from kernel_pipeline.store.arrays import DATA, RunStore
from kernel_pipeline.store.inputs import Input, whole
from kernel_pipeline.tasks.folds import Split
from kernel_pipeline.tasks.learners.fit_options import FitOptions
from kernel_pipeline.tasks.learners.paths import PathResult
from kernel_pipeline.tasks.learners.reference import Features, ReferenceMethod


@dataclass(frozen=True, kw_only=True)
class ReferenceTask(FinalFitTask):
    """Fit one cell of a reference method."""

    stage: ClassVar[str] = "fits"
    version: ClassVar[int] = 2

    method: ReferenceMethod
    values: tuple[float, ...] = ()
    class_weight: str | None = None
    rank_one: bool = False
    """Whether the features are stored as the sparse columns of a rank-one family."""

    def inputs(self) -> tuple[Input, ...]:
        if not self.method.reads_features:
            return self.split_inputs()
        stored = column_inputs(self.data_group) if self.rank_one else (whole(DATA, f"{self.data_group}/features"),)
        return (*self.split_inputs(), *stored)

    def writes(self) -> tuple[Input, ...]:
        return self.predictions_written()

    def run(self, store: RunStore) -> Output:
        split = self.split(store)
        options, features = FitOptions(self.values, self.metrics, self.metric, self.class_weight), self._features(store)

        def final(joined: Split, value: tuple[float, ...]) -> PathResult:
            return self.method.fit(self.problem, features, joined, replace(options, values=value)).path

        try:
            found = self.method.fit(self.problem, features, split, options)
            path = self.with_final_fit(found.path, split, final).in_units(split.unit)
        except NO_RESULT as error:
            return failed(error)
        alignments = Alignments.of(found.train_alignment, found.test_alignment) if self.method.reads_features else None
        return Output(
            digests=self.write_predictions(store, split, path), result=CellResult(path=path, alignments=alignments)
        )

    def _features(self, store: RunStore) -> Features | None:
        if not self.method.reads_features:
            return None
        if self.rank_one:
            return read_columns(store, self.data_group)[0]
        features: Features = store.read(DATA, f"{self.data_group}/features")
        return features
