"""Define the names of files and folders in a run directory. Users rely on them, so they must not change."""

CONFIG = "config.toml"
ENVIRONMENT = "environment.json"
LEDGER = "ledger.jsonl"
RESULTS = "results"
FIGURES = "figures"
REPORT = "report.html"
LOGS = "logs"
LOCK = "lock"
PROGRESS = "progress.json"
"""State of a run for scripts; in this program, only `pipeline status` reads it."""
MARK = "run-id"
"""File with the id of the run, next to arrays that are stored outside of the run directory."""
TRIALS = "trials"
"""Name of the group of a dataset that has one group per trial."""
REPEATS = "repeats"
"""Name of the group of a dataset that has one group of sums per repeat, if there are several repeats."""
GROUPS = ("data.zarr", "gram.zarr", "statistics.zarr", "weights.zarr", "combined.zarr", "predictions.zarr")


def fitted_group(dataset: str, trial: int | None = None) -> str:
    """Return the name of the group of the arrays that depend on data-dependent steps, such as scaling.

    Parameters
    ----------
    trial
        The trial to whose training set these steps are fitted; None if they are fitted to all samples.

    Examples
    --------
    >>> fitted_group("wave"), fitted_group("wave", 2)
    ('wave', 'wave/trials/2')
    """
    return dataset if trial is None else f"{dataset}/{TRIALS}/{trial}"


def repeat_group(dataset: str, repeat: int) -> str:
    """Return the name of the group of the sums of one of several repeats.

    >>> repeat_group("wave", 3)
    'wave/repeats/3'
    """
    return f"{dataset}/{REPEATS}/{repeat}"
