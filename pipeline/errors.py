"""What a user can mend, said in one message and without a traceback."""


class PipelineError(Exception):
    """A mistake that the message explains: what was given, what is allowed, what to do next."""

    exit_code = 2


class ConfigError(PipelineError):
    """A config that is not valid."""


class DataError(PipelineError):
    """A dataset that cannot be read or learned from."""


class RefusedError(PipelineError):
    """A run directory that may not be written: another sweep's, or not writable."""


class TooLargeError(PipelineError):
    """A sweep that does not fit the memory of a worker, or the disk."""
