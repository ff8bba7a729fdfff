"""Open a run directory, and read its arrays with the checks and messages that all results share."""

from pathlib import Path

from kernel_pipeline.config.sweep import Config
from kernel_pipeline.errors import PipelineError, RefusedError
from kernel_pipeline.run.known_names import check_known
from kernel_pipeline.run.manifest import Manifest, read_manifest
from kernel_pipeline.run.tables import check_read
from kernel_pipeline.store.arrays import DamagedError, RunStore
from kernel_pipeline.store.dataset_info import DatasetInfo
from kernel_pipeline.store.files import quoted
from kernel_pipeline.store.storage import Storage
from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.text import counted


class OpenedRun:
    """A run directory that is opened for reading.

    Parameters
    ----------
    root
        The run directory.
    data_dir
        Folder for relative paths of data files. By default, the folder that the run used.

    Raises
    ------
    RefusedError
        If `root` is not a run directory, or is damaged.
    """

    def __init__(self, root: Storage, data_dir: Path | None = None) -> None:
        self._root = root.absolute()  # so that the process may change its current folder
        self._data_dir = None if data_dir is None else data_dir.absolute()
        self._manifest: Manifest = read_manifest(self._root)

    def __repr__(self) -> str:
        state = "" if self.is_complete else ", unfinished"
        return f"<{type(self).__name__} of {self.config.name!r} in {self.directory}{state}>"

    @property
    def directory(self) -> str:
        """The run directory, or its address in an object store."""
        return str(self._root)

    @property
    def config(self) -> Config:
        """The config of the run, with every default filled in."""
        return self._manifest.config

    @property
    def is_complete(self) -> bool:
        """Whether all tasks are finished and the tables are written."""
        return self._manifest.is_complete

    def _read(self, group: str, name: str, selection: object = ..., allow_nan: bool = False) -> Floats:
        """Read a part of an array, and compare it with the ledger."""
        store = RunStore(self._manifest.arrays())
        try:
            values: Floats = store.read(group, name, selection, allow_nan)
            check_read(store.access.read, self._manifest.finished)
        except DamagedError as error:
            raise self._unreadable(f"{group}/{name}", error) from error
        return values

    def _unreadable(self, what: str, error: DamagedError) -> RefusedError:
        """Return the error for arrays that cannot be read: damaged ones, or those that a run has not written yet."""
        if self.is_complete:
            return self._damaged(str(error))
        return RefusedError(
            f"{self._root} has no {what} yet: the run is not finished. `pipeline resume {quoted(self._root)}` resumes "
            "the run"
        )

    def _damaged(self, what: str) -> RefusedError:
        return RefusedError(f"{what}. `pipeline verify {quoted(self._root)} --repair` computes it again")

    def _kernels(self, dataset: str) -> tuple[str, ...]:
        return self._info(dataset).kernels

    def _info(self, dataset: str) -> DatasetInfo:
        info = self._manifest.info(dataset)
        if info is None:
            raise RefusedError(
                f"{self._root} has not stored the data of {dataset!r} yet. `pipeline resume {quoted(self._root)}` "
                "resumes the run"
            )
        return info

    def _trial_number(self, trial: int, repeat: int) -> int:
        """Return the number of a trial among those of all repeats."""
        trials = self.config.protocol.folds
        if trial not in range(trials):
            raise PipelineError(f"trial {trial} does not exist; there are {trials} trials: 0 to {trials - 1}")
        return trials * self._check_repeat(repeat) + trial

    def _check_repeat(self, repeat: int) -> int:
        repeats = self.config.protocol.repeats
        if repeat not in range(repeats):
            raise PipelineError(
                f"repeat {repeat} does not exist; the run has {counted(repeats, 'repeat')}, numbered from 0"
            )
        return repeat

    def _check_dataset(self, dataset: str) -> None:
        check_known("dataset", dataset, [known.name for known in self.config.dataset])

    def _problem(self, dataset: str, task: str | None) -> str:
        """Return the problem of a dataset that the user chose; by default, its only one."""
        self._check_dataset(dataset)
        problems = next(known.task for known in self.config.dataset if known.name == dataset)
        if task is None and len(problems) > 1:
            given = " or ".join(f"task={problem!r}" for problem in problems)
            raise PipelineError(f"dataset {dataset!r} has {len(problems)} tasks; choose one with {given}")
        if task is not None:
            check_known("task", task, problems)
        return task or problems[0]
