"""Define the errors that users can correct; the command line shows their message without a traceback.

Exit codes: 0 success, 1 system error, 2 invalid config, command or data, 3 some tasks or cells failed, 4 the run
directory cannot be used, 5 no suitable workers, 130 interrupted.
"""

import errno

CHOOSE_DIRECTORY = "Choose another directory with --out"
DISK_IS_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
CHECK_DISK = "Check the disk and its file system, then run the same command again"


class PipelineError(Exception):
    """Base class of errors whose message states the value found, the allowed values, and the next command."""

    exit_code = 2


class ConfigError(PipelineError):
    """The config, or an argument of a function of the Python API, is not valid."""


class ClusterError(PipelineError):
    """Workers are missing, were lost, or cannot run this sweep.

    The Python API raises it for the errors of `kernel_pipeline.cluster.errors`, with their messages and exit codes.
    """

    def __init__(self, message: str, exit_code: int = 5) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class DataError(PipelineError):
    """A dataset cannot be read or learned from."""


class TooLargeError(PipelineError):
    """A sweep does not fit in the memory of a worker, or on the disk."""


class RefusedError(PipelineError):
    """A run directory cannot be used: it belongs to another sweep, is in use, is damaged or is not writable."""

    exit_code = 4


class SupersededError(RefusedError):
    """The lock of a run was taken over by another driver, or removed, so the run may no longer write."""


class StorageError(PipelineError):
    """The disk is full or cannot be accessed during a run."""

    exit_code = 1


class UnreachableError(OSError):
    """An object store refuses access or does not answer. It is an `OSError`, so it is retried like other I/O errors."""

    @property
    def may_be_temporary(self) -> bool:
        """Return whether the error may be temporary."""
        return self.errno == errno.EIO


class MissingExtraError(PipelineError):
    """An optional library is not installed."""

    def __init__(self, what: str, extra: str, error: ImportError) -> None:
        super().__init__(
            f"{what} need libraries that are not installed ({error.name}): pip install 'kernel-pipeline[{extra}]'"
        )


class FailedError(PipelineError):
    """A task failed and `--fail-fast` stopped the run, or a method has no model because its fits failed.

    Runs that continue after a failure have the same exit code.
    """

    exit_code = 3


class InterruptedRunError(PipelineError):
    """The run was interrupted and stopped cleanly; it can be resumed."""

    exit_code = 130
