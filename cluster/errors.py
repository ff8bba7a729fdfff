"""What a user can mend about a cluster, said in one message."""


class ClusterError(Exception):
    """No worker is left, none came, or not the right ones."""

    exit_code = 5


class UnseenError(ClusterError):
    """A worker does not see where the run is kept."""


class LateAnswerError(ClusterError):
    """A queue that was given a job and did not answer in time: it may have taken it."""


class ProfileError(ClusterError):
    """A cluster that cannot be asked for: a wrong profile, a missing extra, an address that is not safe."""

    exit_code = 2


class LimitError(ClusterError):
    """A limit of the system on threads, processes or address space leaves no room for a run."""

    exit_code = 1


def missing_extra(backend: str, extra: str) -> ProfileError:
    """For a backend whose library is not installed."""
    return ProfileError(f"--cluster {backend} needs more packages: pip install 'kernel-pipeline[{extra}]'")
