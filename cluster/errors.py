"""Define the cluster errors that users can correct; the command line shows their message without a traceback."""


class ClusterError(Exception):
    """Workers are missing, were lost, or cannot run this sweep."""

    exit_code = 5


class StorageUnreachableError(ClusterError):
    """A worker cannot read the storage of the run."""


class SubmitTimeoutError(ClusterError):
    """A queue did not answer in time when a job was submitted, and may or may not have accepted it."""


class ProfileError(ClusterError):
    """A cluster cannot be used as requested: an invalid profile, a missing extra or an unsafe address."""

    exit_code = 2


class LimitError(ClusterError):
    """A system limit on threads, processes or address space is too low for a run."""

    exit_code = 1


class LostWorkersError(Exception):
    """A worker died while it ran a function for a task; the task can submit the function again."""
