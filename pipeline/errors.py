"""Errors that a user can correct: one clear message, and no traceback.

Exit codes: 0 done, 1 the machine failed, 2 a wrong config or command, 3 done but some cells failed, 4 refused, 5 no
workers or not the right ones (`kernel_pipeline.cluster.errors`), 130 interrupted.
"""

import errno

ELSEWHERE = "Choose another directory with --out"
DISK_IS_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
CHECK_DISK = "Check the disk and its file system; then the same command goes on"


class PipelineError(Exception):
    """A mistake that the message explains: what was given, what is allowed, what to do next."""

    exit_code = 2


class ConfigError(PipelineError):
    """A config that is not valid."""


class DataError(PipelineError):
    """A dataset that cannot be read or learned from."""


class TooLargeError(PipelineError):
    """A sweep that does not fit the memory of a worker, or the disk."""


class RefusedError(PipelineError):
    """A run directory that may not be written: another sweep's, in use, damaged or not writable."""

    exit_code = 4


class SupersededError(RefusedError):
    """A run whose lock now names another driver, or is gone: it may write nothing any longer."""


class StorageError(PipelineError):
    """A disk that is full or gone while a run goes on."""

    exit_code = 1


class UnreachableError(OSError):
    """An object store that refuses or does not answer; as an error of reading and writing, it may be tried again."""

    @property
    def may_pass(self) -> bool:
        """Whether it may be otherwise in a while."""
        return self.errno == errno.EIO


class MissingExtraError(PipelineError):
    """A library that is not installed, as most do not need it."""

    def __init__(self, what: str, extra: str, error: ImportError) -> None:
        super().__init__(
            f"{what} need libraries that are not installed ({error.name}): pip install 'kernel-pipeline[{extra}]'"
        )


class FailedError(PipelineError):
    """A failure at which the run was told to stop; its exit code is also that of runs that went on past one."""

    exit_code = 3


class InterruptedRunError(PipelineError):
    """Someone asked the run to stop, and it did so in order."""

    exit_code = 130
