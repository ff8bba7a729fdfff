"""The names in a run directory, which are a contract."""

CONFIG = "config.toml"
ENVIRONMENT = "environment.json"
LEDGER = "ledger.jsonl"
RESULTS = "results"
LOGS = "logs"
LOCK = "lock"
MARK = "run-id"
"""Where arrays are kept apart from the run directory: the id of the run that they belong to."""
GROUPS = ("data.zarr", "gram.zarr", "statistics.zarr", "weights.zarr", "combined.zarr")
TABLE_FILES = tuple(
    f"{RESULTS}/{name}"
    for name in (
        *(f"{table}.csv" for table in ("rows", "path", "bounds", "kernels", "correlation", "notes", "timings")),
        "rows.parquet",
        *(f"summary.{kind}" for kind in ("csv", "md", "tex")),
    )
)
"""All tables that a run writes."""
